"""Both ends of messages as packed columns: what one process says it sent, or received.

A row is a digest of the message's contents and the index of the event, in a FIFO channel the
message's number, and in a stream the number and the event's clock. Rows are kept by channel: the
beginning of the ids of its messages, as JSON, which names both ends.
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
CLOCK: Final = 3
DATAGRAM_ROW: Final = Struct("<qq").pack
FIFO_ROW: Final = Struct("<qqq").pack
STREAM_ROW: Final = Struct("<qqqq").pack
_MOST: Final = 2**62

Digest: TypeAlias = Callable[[bytes], int]
"""What stands for contents: of others it is the same with a chance of 2**-64."""


def stable_digest(contents: bytes) -> int:
    """A digest that is the same in every process; where there is one, `hash` does it sooner."""
    return int.from_bytes(blake2b(contents, digest_size=8).digest(), "little", signed=True)


class Channel:
    """One end of a channel: the rows of what went through it."""

    __slots__ = ("count", "fifo", "rows", "sent_as", "text", "width")

    def __init__(self, text: str, *, fifo: bool, width: int = 0, sent_as: str = "") -> None:
        self.text, self.fifo = text, fifo
        self.width = width or (3 if fifo else 2)
        self.sent_as = sent_as or text
        """The sender's name of the channel: a stream that several read has one for each of them."""
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
        """The rows: digests, indices, in a FIFO channel numbers, in a stream clocks as well."""
        return np.frombuffer(self.rows, dtype=np.int64).reshape(-1, self.width)


def ends_of(text: str) -> tuple[tuple[str, int], tuple[str, int]]:
    """The processes at both ends of a channel: who sends, and who receives."""
    _, node, incarnation, other, life = msgspec.json.decode(text)
    return (str(node), int(incarnation)), (str(other), int(life))


class Stream(Channel):
    """One end of a stream: its messages have numbers, not all of them, and its events clocks.

    What is read was sent at the same number, and later by the clock. So no message's row is needed
    once both its ends have met.
    """

    __slots__ = ("append",)

    def __init__(self, text: str, sent_as: str = "") -> None:
        super().__init__(text, fifo=True, width=4, sent_as=sent_as)
        self.append: Callable[[bytes], None] = self.rows.extend
        """Adds a row."""


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
