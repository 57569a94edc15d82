"""The deliveries of one file, packed, and the stand-ins for the contents of its messages.

A delivery is one word, its sender and its seqno; behind that of a run stands, negative, how many
messages it has. The contents are a 64-bit hash that is the same in every process.
"""

from array import array
from hashlib import blake2b
from os import SEEK_END
from tempfile import TemporaryFile
from typing import IO

import numpy as np

from raincheck.conformance.trace.events import Address, Run

SEQNO_BITS = 40
"""Delivery keys are `sender's code << SEQNO_BITS | seqno`."""
NO_CRC = 1 << 32
"""Stands for an absent CRC: greater than any."""


def stable_hash(text: str) -> int:
    """A hash of a name that does not differ between processes, as `hash` of a str does."""
    return int.from_bytes(blake2b(text.encode(), digest_size=7).digest())


def content_of(view: int, code: int, run: Run, crc: int | None) -> int:
    """What the two ends of a channel must agree on, in one word; `code` is the sender's."""
    # The hash of a tuple of integers is not salted, unlike that of a str.
    return hash((view, code, run[1], run[2], run[3], NO_CRC if crc is None else crc))


class Rows:
    """The deliveries of one (node, incarnation)."""

    def __init__(self) -> None:
        self.delivered: array[int] = array("q")
        self.codes: dict[Address, int] = {}
        self.view_starts: list[tuple[int, int]] = []
        self._hashes: dict[str, int] = {}
        self._view = -1
        self._next = -1
        self._earlier: IO[bytes] | None = None
        self._moved = 0

    def __del__(self) -> None:
        """Close the file that nobody else knows."""
        if self._earlier is not None:
            self._earlier.close()

    def code_of(self, node: str) -> int:
        """The node's name as a number, the same in every process."""
        code = self._hashes.get(node)
        if code is None:
            code = self._hashes[node] = stable_hash(node)
        return code

    def key_of(self, sender: Address) -> int:
        """The key of the sender's message number 0; that of number n is n more."""
        code = self.codes.get(sender)
        if code is None:
            code = self.codes[sender] = len(self.codes)
        return code << SEQNO_BITS

    def packed(self) -> bytes:
        """The delivery log, as it travels."""
        if self._earlier is None:
            return self.delivered.tobytes()
        self._earlier.seek(0)
        return self._earlier.read() + self.delivered.tobytes()

    def spill(self) -> None:
        """Move the log, but for the last run, which may become longer, to a file without a name."""
        last = 2 if self.delivered and self.delivered[-1] < 0 else 1
        rows = self.delivered[:-last]
        if self._earlier is None:
            self._earlier = TemporaryFile()  # noqa: SIM115 - it is gone when nobody needs it
        self._earlier.seek(0, SEEK_END)
        self._earlier.write(rows.tobytes())
        self._moved += len(rows)
        del self.delivered[:-last]

    def by_view(self) -> dict[int, int]:
        """The number of messages that were delivered in each view."""
        rows = np.frombuffer(self.packed(), dtype=np.int64)
        # A run's length is behind its first message, which is one already.
        sizes = np.where(rows < 0, -rows - 1, 1)
        ends = [*(start for start, _ in self.view_starts), len(rows)][1:]
        found: dict[int, int] = {}
        for (start, view), end in zip(self.view_starts, ends, strict=True):
            found[view] = found.get(view, 0) + int(sizes[start:end].sum())
        return found

    def deliver(self, view: int, key: int, count: int) -> None:
        """Append a run to the delivery log; one that continues the last one lengthens it."""
        if view != self._view:
            self._view = view
            self.view_starts.append((self._moved + len(self.delivered), view))
        elif key == self._next:
            if self.delivered[-1] < 0:
                self.delivered[-1] -= count
            else:
                self.delivered.append(-1 - count)
            self._next += count
            return
        self.delivered.append(key)
        if count > 1:
            self.delivered.append(-count)
        self._next = key + count
