"""The application of a simulated node: its block(), and a state that is transferred to joiners.

The state is a checksum of all messages in their order, another of the unordered ones in any order,
padded to some size. Members that agree on the messages agree on the state; a joiner that had the
state, and then the messages behind it, does too.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from raincheck.impl.messages import Address, Batch
from raincheck.impl.state_transfer.events import Begun, EndState, Failed, GetState, HandUp

if TYPE_CHECKING:
    from raincheck.impl.stack.stack import Stack


class Application:
    """A node's application. `padding`: bytes of state beside the checksum."""

    def __init__(self, padding: int = 0) -> None:
        self.checksum = 0
        self.applied = 0
        self.unordered = 0
        """A sum over the unordered messages, which does not depend on their order."""
        self.padding = padding
        self.blocked = False
        """Whether block() was called and unblock() not yet."""
        self.blocks = 0
        """How often block() was called."""
        self.transferred: bool | None = None
        """Whether the state has arrived; None if it was not asked for."""
        self.block_takes: Callable[[], float | None] = lambda: 0.0
        """Draws the seconds that block() takes; None if it does not return."""
        self.garbage = False
        """Whether it gives a state that nobody can use."""
        self._given: dict[Address, list[bytes]] = {}
        self._taken: list[bytes] = []

    def apply(self, batch: Batch) -> None:
        """Apply a run of delivered messages."""
        sender = batch.sender.node.encode()
        for seqno in range(batch.first, batch.first + batch.count):
            self.checksum = zlib.crc32(b"%s %d" % (sender, seqno), self.checksum)
        self.applied += batch.count

    def count(self, batch: Batch) -> None:
        """Apply unordered messages."""
        sender = batch.sender.node.encode()
        self.unordered += sum(zlib.crc32(sender + payload) for payload in batch.payloads)

    def state(self) -> bytes:
        """Return the state in chunks, as it is transferred."""
        if self.garbage:
            return b"garbage"
        return b"%d %d %d " % (self.checksum, self.applied, self.unordered) + bytes(self.padding)

    def handle(
        self, stack: Stack, indication: GetState | EndState | Begun | HandUp | Failed, now: float
    ) -> None:
        """Handle a report of state transfer."""
        layer = stack.state
        match indication:
            case GetState(requester, _):
                state, size = self.state(), layer.max_chunk
                chunks = [state[start : start + size] for start in range(0, len(state), size)]
                self._given[requester] = chunks
            case EndState(requester):
                self._given.pop(requester, None)
            case Begun():
                self._taken = []
            case HandUp(payload, last):
                self._taken.append(payload)
                layer.take(now)
                if last:
                    layer.finish(self._set(b"".join(self._taken)), now)
            case Failed():
                self.transferred = False

    def give(self, stack: Stack, now: float) -> bool:
        """Send the chunks for which requesters have credit; return whether there were any."""
        layer, any_given = stack.state, False
        for requester, chunks in list(self._given.items()):
            while chunks and layer.room(requester):
                layer.give(requester, chunks.pop(0), not chunks, now)
                any_given = True
            if not chunks:
                del self._given[requester]
        return any_given

    def _set(self, state: bytes) -> bool:
        words = state.split(b" ", 3)
        good = len(words) == 4 and all(word.isdigit() for word in words[:3])
        if good:
            self.checksum, self.applied, self.unordered = map(int, words[:3])
        self.transferred = good
        return good
