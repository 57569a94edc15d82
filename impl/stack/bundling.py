"""The send buffer: what the application sent and has not left yet, cut into bundles."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from raincheck.impl.messages import Frame, Payloads


class SendBuffer:
    """A queue of payloads. Adding one is an append; a bundle of any size is cut by bisection."""

    __slots__ = ("_ends", "_framed", "_limit", "_payloads", "_start", "_taken", "append")

    append: Callable[[bytes], None]
    """Add one payload. It is the list's own method, and sizes are counted when they are asked."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._payloads: list[bytes] = []
        self._ends = [0]  # running total of the counted payloads' bytes, length fields included
        self._start = 0
        self._taken = 0  # payloads that are not in the list any more
        self._framed = False  # since when it was empty, a frame was added
        self.append = self._payloads.append

    def __len__(self) -> int:
        return len(self._payloads) - self._start

    @property
    def added(self) -> int:
        """How many payloads have been added in all."""
        return self._taken + len(self._payloads)

    @property
    def size(self) -> int:
        """Bytes in the buffer, length fields included."""
        return self._counted()[-1] - self._ends[self._start]

    @property
    def room(self) -> int:
        """Bytes for which there is room; the last message may exceed it."""
        return self._limit - self.size

    @property
    def writable(self) -> bool:
        """Whether there is room for a message of any size."""
        return self.size < self._limit

    def _counted(self) -> list[int]:
        """Return the running total, of all payloads."""
        ends = self._ends
        if len(ends) <= len(self._payloads):
            ends += _totals(ends[-1], list(map(len, self._payloads[len(ends) - 1 :])))[1:]
        return ends

    def append_frame(self, frame: Frame) -> None:
        """Add a frame."""
        self._framed = True
        self.append(frame)

    def extend(self, payloads: Sequence[bytes], lengths: Sequence[int]) -> int:
        """Add as many of the first payloads as there is room for; return how many."""
        # The last payload taken may exceed the limit, so there is always room for one.
        ends = _totals(self._counted()[-1], lengths)
        room = self._ends[self._start] + self._limit
        taken = min(bisect_right(ends, room - 1), len(payloads))
        self._payloads += payloads[:taken]
        self._ends += ends[1 : taken + 1]
        return taken

    def take(self, size: int, count: int) -> Payloads:
        """Take out the first payloads, as many as fit into so many bytes, and at least one."""
        start, ends = self._start, self._counted()
        stop = bisect_right(ends, ends[start] + size, start + 1) - 1
        stop = max(start + 1, min(stop, start + count))
        bundle = Payloads.pack(self._payloads[start:stop], framed=self._framed)
        self._start = stop
        if stop == len(self._payloads):
            self._taken += stop
            self._payloads.clear()
            self._ends = [0]
            self._start = 0
            self._framed = False
        elif stop > len(self._payloads) // 2:
            self._taken += stop
            del self._payloads[:stop]
            del ends[:stop]
            self._start = 0
        return bundle


def _totals(start: int, lengths: Sequence[int]) -> list[int]:
    """Return the running total of payloads of these lengths, from `start` on."""
    if lengths and lengths.count(lengths[0]) == len(lengths):  # the usual case, three times as fast
        each = lengths[0] + 4
        return list(range(start, start + each * len(lengths) + 1, each))
    return list(accumulate([length + 4 for length in lengths], initial=start))
