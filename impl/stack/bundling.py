"""The send buffer: what the application sent and has not left yet, cut into bundles."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from raincheck.impl.messages import Frame, Payloads


class SendBuffer:
    """A queue of payloads. Adding one is an append; a bundle of any size is cut by bisection."""

    __slots__ = ("_ends", "_framed", "_limit", "_payloads", "_start")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._payloads: list[bytes] = []
        self._ends = [0]  # running total of the payloads' bytes, length fields included
        self._start = 0
        self._framed = False  # since when it was empty, a frame was added

    def __len__(self) -> int:
        return len(self._payloads) - self._start

    @property
    def size(self) -> int:
        """Bytes in the buffer, length fields included."""
        return self._ends[-1] - self._ends[self._start]

    @property
    def room(self) -> int:
        """Bytes for which there is room; the last message may exceed it."""
        return self._limit - self.size

    @property
    def writable(self) -> bool:
        """Whether there is room for a message of any size."""
        return self.size < self._limit

    def append(self, payload: bytes) -> None:
        """Add one payload."""
        self._payloads.append(payload)
        self._ends.append(self._ends[-1] + len(payload) + 4)

    def append_frame(self, frame: Frame) -> None:
        """Add a frame."""
        self._framed = True
        self.append(frame)

    def extend(self, payloads: Sequence[bytes], lengths: Sequence[int]) -> int:
        """Add as many of the first payloads as there is room for; return how many."""
        # The last payload taken may exceed the limit, so there is always room for one.
        end = self._ends[-1]
        each = lengths[0] + 4 if lengths else 0
        if lengths and lengths.count(lengths[0]) == len(lengths):
            ends = list(range(end, end + each * len(lengths) + 1, each))
        else:
            ends = list(accumulate([length + 4 for length in lengths], initial=end))
        room = self._ends[self._start] + self._limit
        taken = min(bisect_right(ends, room - 1), len(payloads))
        self._payloads += payloads[:taken]
        self._ends += ends[1 : taken + 1]
        return taken

    def take(self, size: int, count: int) -> Payloads:
        """Take out the first payloads, as many as fit into so many bytes, and at least one."""
        start, ends = self._start, self._ends
        stop = bisect_right(ends, ends[start] + size, start + 1) - 1
        stop = max(start + 1, min(stop, start + count))
        bundle = Payloads.pack(self._payloads[start:stop], framed=self._framed)
        self._start = stop
        if stop == len(self._payloads):
            self._payloads.clear()
            self._ends = [0]
            self._start = 0
            self._framed = False
        elif stop > len(self._payloads) // 2:
            del self._payloads[:stop]
            del ends[:stop]
            self._start = 0
        return bundle
