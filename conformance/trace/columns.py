"""Both ends of messages as packed columns: what one process says it sent, or received.

A row is a digest of the message's contents and the index of the event, and in a FIFO channel the
message's number before them. Rows are kept by channel: the beginning of the ids of its messages, as
JSON, which names both ends.
"""

from __future__ import annotations

from collections.abc import Callable
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
DATAGRAM_ROW: Final = Struct("<qq").pack
FIFO_ROW: Final = Struct("<qqq").pack
_MOST: Final = 2**62

Digest: TypeAlias = Callable[[bytes], int]
"""What stands for contents: of others it is the same with a chance of 2**-64."""


def stable_digest(contents: bytes) -> int:
    """A digest that is the same in every process; where there is one, `hash` does it sooner."""
    return int.from_bytes(blake2b(contents, digest_size=8).digest(), "little", signed=True)


class Channel:
    """One end of a channel: the rows of what went through it."""

    __slots__ = ("count", "fifo", "rows", "text")

    def __init__(self, text: str, *, fifo: bool) -> None:
        self.text, self.fifo = text, fifo
        self.count = 0
        """The number of the last message, in a FIFO channel."""
        self.rows = bytearray()

    def add(self, digest: int, index: int, number: int) -> None:
        """Add a message; only those of FIFO channels have a number."""
        if self.fifo:
            self.rows += FIFO_ROW(digest, index, max(-_MOST, min(number, _MOST)))
        else:
            self.rows += DATAGRAM_ROW(digest, index)

    def table(self) -> Table:
        """The rows: digests, indices, and in a FIFO channel numbers."""
        return np.frombuffer(self.rows, dtype=np.int64).reshape(-1, 3 if self.fifo else 2)


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

    def channel(self, text: str, *, incoming: bool, fifo: bool) -> Channel:
        """The end of that channel."""
        known = self.received if incoming else self.sent
        found = known.get(text)
        if found is None:
            found = known[text] = Channel(text, fifo=fifo)
        return found
