"""Both ends of messages as packed columns: what one process says it sent, or received.

A row is a digest of the message's contents and the index of the event, and in a FIFO channel the
message's number before them. Rows are kept by channel: the beginning of the ids of its messages, as
JSON, which names both ends.
"""

from __future__ import annotations

import hashlib
from struct import Struct
from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

Table: TypeAlias = npt.NDArray[np.int64]

DIGEST: Final = 0
INDEX: Final = 1
NUMBER: Final = 2
_DATAGRAM: Final = Struct("<8sq").pack
_FIFO: Final = Struct("<8sqq").pack
_MOST: Final = 2**62


def digest_of(contents: bytes) -> bytes:
    """Return what stands for the contents: others have the same with a chance of 2**-64."""
    return hashlib.blake2b(contents, digest_size=8).digest()


class Channel:
    """One end of a channel: the rows of what went through it."""

    __slots__ = ("count", "fifo", "rows", "text")

    def __init__(self, text: str, *, fifo: bool) -> None:
        self.text, self.fifo = text, fifo
        self.count = 0
        """The number of the last message."""
        self.rows = bytearray()

    def add(self, digest: bytes, index: int, number: int) -> None:
        """Add a message; only those of FIFO channels have a number."""
        if self.fifo:
            self.rows += _FIFO(digest, index, max(-_MOST, min(number, _MOST)))
        else:
            self.rows += _DATAGRAM(digest, index)

    def table(self) -> Table:
        """The rows."""
        return table(self.rows, fifo=self.fifo)


def table(rows: bytes | bytearray, *, fifo: bool) -> Table:
    """Packed rows as a table of digests, indices, and in a FIFO channel numbers."""
    return np.frombuffer(rows, dtype=np.int64).reshape(-1, 3 if fifo else 2)


def ends_of(text: str) -> tuple[tuple[str, int], tuple[str, int]]:
    """The processes at both ends of a channel: who sends, and who receives."""
    _, node, incarnation, other, life = msgspec.json.decode(text)
    return (str(node), int(incarnation)), (str(other), int(life))


class Columns:
    """The ends of all channels at one process."""

    __slots__ = ("received", "sent")

    def __init__(self) -> None:
        self.sent: dict[str, Channel] = {}
        self.received: dict[str, Channel] = {}

    def channel(self, text: str, *, incoming: bool, fifo: bool) -> Channel:
        """The end of that channel."""
        known = self.received if incoming else self.sent
        found = known.get(text)
        if found is None:
            found = known[text] = Channel(text, fifo=fifo)
        return found
