"""The state of a member of a run: everything delivered since the group began, as one checksum.

A joiner gets it from a member, and adds the deliveries from there on. So at the end all survivors
have the same if and only if (apart from chance) each state was that of the joiner's own cut, and
the order was the same for all. Unordered messages count by a sum, which is the same in any order.

The state also says who gave it, at which positions of its delivery logs, and which messages that
one had last of each sender: so the log of who takes it can say what it has instead of delivering.
"""

import json
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from random import Random

PADDING = 256 << 10
"""Bytes that follow the state, so that it takes many datagrams."""
_BLOCK = 10_000
_MOST = 1 << 64


@dataclass(frozen=True, slots=True)
class Given:
    """The provider of a state, and where it was: in its log, and in that of unordered messages."""

    provider: str
    position: int
    unordered: int
    highest: dict[str, int] = field(default_factory=dict)
    """The last message of each sender."""
    highest_unordered: dict[str, int] = field(default_factory=dict)


class Everything:
    """The number of delivered messages, and the checksum of them in their order."""

    def __init__(self) -> None:
        self.count = 0
        self.sum = 0
        self.unordered = 0
        """The sum of the checksums of unordered messages."""
        self.transfers = 0
        """How often a state was set."""
        self.here: Callable[[], Given] = lambda: Given("", 0, 0)
        """Asked, when this member gives a state, where it is."""
        self.on_taken: Callable[[Given], None] | None = None
        """Called with where the provider was when a state has been set."""
        self.taken: Given | None = None
        """The last state that was set before there was anybody to call."""

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
        given = json.dumps(asdict(self.here())).encode()
        numbers = self.count, self.sum, self.unordered, len(given)
        yield b"".join(each.to_bytes(8) for each in numbers) + given
        draw = Random(self.sum)
        for at in range(0, PADDING, _BLOCK):
            yield draw.randbytes(min(_BLOCK, PADDING - at))

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        """Take the state of a member; raise ValueError if it is none."""
        state = b"".join([chunk async for chunk in chunks])
        count, checksum, unordered, size = (
            int.from_bytes(state[at : at + 8]) for at in (0, 8, 16, 24)
        )
        draw = Random(checksum)
        padding = b"".join(
            draw.randbytes(min(_BLOCK, PADDING - at)) for at in range(0, PADDING, _BLOCK)
        )
        if state[32 + size :] != padding:
            raise ValueError("the state that came is not the one that was sent")
        self.count, self.sum, self.unordered = count, checksum, unordered
        self.transfers += 1
        given = Given(**json.loads(state[32 : 32 + size]))
        if self.on_taken is None:
            self.taken = given
        else:
            self.on_taken(given)
