"""Unicasts and calls between the members of a run, and what must hold of them.

Every few messages a member sends a unicast to another one, and calls all or some. A receiver has
the
unicasts of each sender once and in their order, for as long as both are members. The answer to a
call is the state of the member that answers: for a call of all it is asked at one place in the
order of all, so all answers are equal. What is wrong is told to the harness, and fails the run.
"""

from collections.abc import Iterable
from random import Random

from raincheck.conformance.field.telling import tell
from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.events import Request
from raincheck.impl.errors import NotInView
from raincheck.impl.messages import Address, Batch
from raincheck.impl.stack.calls import Replies

from .state import Everything

EVERY = 20
"""A unicast and a call for so many messages."""
PATIENCE = 5.0
"""Seconds for the replies to a call."""
LARGE = 100_000
"""Bytes of each tenth unicast."""


class Talk:
    """What one member says to others, and hears of them, beside its messages to all."""

    def __init__(self, me: str, everything: Everything, draw: Random) -> None:
        self._me, self._everything, self._draw = me, everything, draw
        self._sent: dict[Address, int] = {}
        self._heard: dict[Address, int] = {}
        self.counts = {"unicasts": 0, "calls": 0, "answers": 0, "unanswered": 0}
        """How many unicasts were delivered here, and what became of its own calls."""

    def answer(self, request: Request) -> bytes:
        """Answer a call with the state of this member."""
        if request.unicast:
            return request.payload
        return self._everything.count.to_bytes(8) + self._everything.sum.to_bytes(8)

    async def speak(self, channel: Channel) -> None:
        """Send a unicast, and call all or some."""
        members = channel.view.members
        to = self._draw.choice(members)
        number = self._sent.get(to, 0) + 1
        size = LARGE if number % 10 == 0 else 16
        try:
            await channel.send(number.to_bytes(8) + bytes(size), to=to)
        except NotInView:
            return  # it has left meanwhile
        self._sent[to] = number
        await self._call(channel, self._draw.choice([None, (to,)]))

    async def _call(self, channel: Channel, to: tuple[Address, ...] | None) -> None:
        question = self._draw.randbytes(12)
        try:
            replies = await channel.call(question, to, timeout=PATIENCE)
        except NotInView:
            return
        self.counts["calls"] += 1
        self.counts["answers"] += len(replies.answers)
        self.counts["unanswered"] += len(replies.late) + len(replies.failed)
        wrong = self._wrong(replies, question if to else None)
        if wrong:
            tell("wrong", sentence=f"{self._me} called {'all' if to is None else to[0]}: {wrong}")

    @staticmethod
    def _wrong(replies: Replies, echo: bytes | None) -> str:
        """Return what is wrong with the answers to a call, or ""."""
        answers = set(replies.answers.values())
        if echo is not None and not answers <= {echo}:
            return "an answer is another call's"
        if len(answers) > 1:
            return f"members answered from {len(answers)} different states"
        return ""

    def heard(self, batch: Batch) -> None:
        """Note unicasts of one sender, which must be its next ones."""
        for payload in batch.payloads:
            number = int.from_bytes(payload[:8])
            expected = self._heard.get(batch.sender, 0) + 1
            if number != expected:
                tell(
                    "wrong",
                    sentence=f"{self._me} has unicast {number} of {batch.sender}, not {expected}",
                )
            self._heard[batch.sender] = number
            self.counts["unicasts"] += 1


def due(numbers: Iterable[int]) -> bool:
    """Whether it is time to speak, after messages of these numbers."""
    return any(number % EVERY == 0 for number in numbers)
