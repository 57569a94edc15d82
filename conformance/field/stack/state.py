"""The state of a member of a run: everything delivered since the group began, as one checksum.

A joiner gets it from a member, and adds the deliveries from there on. So at the end all survivors
have the same if and only if (apart from chance) each state was that of the joiner's own cut, and
the order was the same for all. Unordered messages count by a sum, which is the same in any order.
"""

import zlib
from collections.abc import AsyncIterator, Iterable, Iterator
from random import Random

PADDING = 256 << 10
"""Bytes that follow the state, so that it takes many datagrams."""
_BLOCK = 10_000
_MOST = 1 << 64


class Everything:
    """The number of delivered messages, and the checksum of them in their order."""

    def __init__(self) -> None:
        self.count = 0
        self.sum = 0
        self.unordered = 0
        """The sum of the checksums of unordered messages."""
        self.transfers = 0
        """How often a state was set."""

    def add(self, sender: str, numbers: Iterable[int]) -> None:
        """Add messages that were delivered one after the other."""
        name = sender.encode()
        words = [name + number.to_bytes(8) for number in numbers]
        self.count += len(words)
        self.sum = zlib.crc32(b"".join(words), self.sum)

    def count_unordered(self, sender: str, numbers: Iterable[int]) -> None:
        """Add unordered messages."""
        name = sender.encode()
        sums = [zlib.crc32(name + number.to_bytes(8)) for number in numbers]
        self.unordered = (self.unordered + sum(sums)) % _MOST

    def get_state(self) -> Iterator[bytes]:
        """Yield the state for a joiner."""
        yield b"".join(each.to_bytes(8) for each in (self.count, self.sum, self.unordered))
        draw = Random(self.sum)
        for at in range(0, PADDING, _BLOCK):
            yield draw.randbytes(min(_BLOCK, PADDING - at))

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        """Take the state of a member; raise ValueError if it is none."""
        state = b"".join([chunk async for chunk in chunks])
        count, checksum, unordered = (int.from_bytes(state[at : at + 8]) for at in (0, 8, 16))
        draw = Random(checksum)
        padding = b"".join(
            draw.randbytes(min(_BLOCK, PADDING - at)) for at in range(0, PADDING, _BLOCK)
        )
        if state[24:] != padding:
            raise ValueError("the state that came is not the one that was sent")
        self.count, self.sum, self.unordered = count, checksum, unordered
        self.transfers += 1
