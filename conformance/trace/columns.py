"""Both ends of messages as packed columns: what one process says it sent, or received.

A row is a digest of the message's contents and the index of the event, and in a FIFO channel the
message's number, which is kept only where it is not that of the row. In a stream the event's clock
is in a row as well. Rows are kept by channel: the beginning of the ids of its messages, as JSON,
which names both ends.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from struct import Struct
from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

Table: TypeAlias = npt.NDArray[np.int64]

DIGEST: Final = 0
INDEX: Final = 1
NUMBER: Final = 2
CLOCK: Final = 3
STREAM_ROW: Final = Struct("<qqqq").pack
_MOST: Final = 2**62
_TO_ALL: Final = 3
"""Parts of the name of a channel to all: what it carries, and whose it is."""

Digest: TypeAlias = Callable[[bytes], int]
"""What stands for contents: of others it is the same with a chance of 2**-64."""
Append: TypeAlias = Callable[[int], None]


SPOILED: Final = -1
"""In place of a digest: the receiver knows that the contents are not those that were sent."""


def stable_digest(contents: bytes) -> int:
    """A digest that is the same in every process; where there is one, `hash` does it sooner."""
    return int.from_bytes(blake2b(contents, digest_size=8).digest(), "little", signed=True)


class Channel:
    """One end of a channel: the rows of what went through it."""

    __slots__ = ("count", "digests", "fifo", "indices", "numbers", "sent_as", "text")

    def __init__(self, text: str, *, fifo: bool, sent_as: str = "") -> None:
        self.text, self.fifo = text, fifo
        self.sent_as = sent_as or text
        """The sender's name of it, which has another one for each reader if it is for several."""
        self.count = 0
        """The number of the last message, in a FIFO channel."""
        self.digests, self.indices = array("q"), array("q")
        self.numbers: array[int] | None = None
        """In a FIFO channel; None while they are 1, 2, 3 and so on."""

    def add(self, digest: int, index: int, number: int) -> None:
        """Add a message; only those of FIFO channels have a number."""
        if self.fifo:
            rows = len(self.digests)
            if self.numbers is None and number != rows + 1:
                self.numbers = array("q", range(1, rows + 1))
            if self.numbers is not None:
                self.numbers.append(max(-_MOST, min(number, _MOST)))
        self.digests.append(digest)
        self.indices.append(index)

    def appending(self) -> tuple[Append, Append]:
        """Return what adds the digest, and what the index, of the message with the next number."""
        return self.digests.append, self.indices.append

    def table(self) -> Table:
        """The rows: digests, indices, and in a FIFO channel numbers."""
        columns = [np.array(each, dtype=np.int64) for each in (self.digests, self.indices)]
        if self.fifo:
            numbers = range(1, len(self.digests) + 1) if self.numbers is None else self.numbers
            columns.append(np.array(numbers, dtype=np.int64))
        return np.stack(columns, axis=1)


class Stream(Channel):
    """One end of a stream: its messages have numbers, not all of them, and its events clocks.

    A message is read with the number with which it was sent, and at a later clock. So its row is
    not needed any more once both ends have met.
    """

    __slots__ = ("append", "rows")

    def __init__(self, text: str, sent_as: str = "") -> None:
        super().__init__(text, fifo=True, sent_as=sent_as)
        self.rows = array("q")
        self.append: Callable[[bytes], None] = self.rows.frombytes
        """Adds a row."""

    def table(self) -> Table:
        """The rows: digests, indices, numbers and clocks."""
        return np.array(self.rows, dtype=np.int64).reshape(-1, CLOCK + 1)


@lru_cache(maxsize=4096)
def ends_of(text: str) -> tuple[tuple[str, int], tuple[str, int]]:
    """The processes at both ends of a channel: who sends, and who receives."""
    _, node, incarnation, other, life = msgspec.json.decode(text)
    return (str(node), int(incarnation)), (str(other), int(life))


class Columns:
    """The ends of all channels at one process."""

    __slots__ = ("digest", "received", "sent")

    def __init__(self, digest: Digest = hash) -> None:
        self.digest = digest
        self.sent: dict[str, Channel] = {}
        self.received: dict[str, Channel] = {}

    def counted(self) -> bool:
        """Whether each FIFO channel has as many rows as messages were counted."""
        ends = (*self.sent.values(), *self.received.values())
        return all(end.count == len(end.digests) for end in ends if end.fifo)

    def receivers(self) -> set[tuple[str, int]]:
        """The processes to which something was sent: of what is for all its readers tell."""
        named = (msgspec.json.decode(end.text) for end in self.sent.values() if end.digests)
        return {(ends[3], ends[4]) for ends in named if len(ends) > _TO_ALL}

    def channel(self, text: str, *, incoming: bool, fifo: bool, sent_as: str = "") -> Channel:
        """The end of that channel."""
        known = self.received if incoming else self.sent
        found = known.get(text)
        if found is None:
            found = known[text] = Channel(text, fifo=fifo, sent_as=sent_as)
        return found
