"""Unordered messages of a run's members, and what must hold of them.

Beside each run of its messages a member sends one without order. It logs what it delivers of them
in a log of their own, which is judged as any system's, but for the properties that speak of one
order: nothing twice, nothing made up, each sender's in its order and without gaps, the same ones in
one view at all that go on from it. They count in the state that joiners are given, by a sum, so
that a cut between them is noticed as well.
"""

from collections.abc import Iterable
from pathlib import Path

from raincheck.conformance.deliveries.properties import NO_STATES, NOBODY
from raincheck.conformance.deliveries.properties_local import check_deliveries
from raincheck.conformance.field.telling import SMALLEST, content, tell
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE
from raincheck.impl.aio.channel import Channel
from raincheck.impl.messages import Batch

from .log import Log
from .state import Everything, Given

FOLDER = "unordered"
"""The folder of their logs."""
PROPERTIES = (
    "agreement",
    "no_duplication",
    "no_creation",
    "sender_fifo",
    "virtual_synchrony",
    "gap_freeness",
    "state_cut",
)
"""What is promised of them; the last one where somebody took a state with some of them."""

_NO_STATES = (NO_STATES, NOBODY["state_cut"])


class Unordered:
    """The unordered messages of one member, sent and delivered."""

    def __init__(self, me: str, log: Log, everything: Everything) -> None:
        self.log = log
        self._me, self._everything = me, everything
        self.sent = 0
        self.highest: dict[str, int] = {}
        """The last one delivered from each member."""

    async def send(self, channel: Channel) -> None:
        """Send the next one."""
        number = self.sent + 1
        self.log.sends(channel.view.id.counter, number, 1)
        await channel.send(_content(self._me, number), order="none")
        self.sent = number

    def took_state(self, view: int, given: Given) -> None:
        """Log a state that was taken."""
        self.log.took_state(view, given.provider, given.unordered)
        self.highest.update(given.highest_unordered)

    def took(self, batch: Batch) -> None:
        """Log what was delivered, and compare it with what was sent."""
        sender = str(batch.sender)
        numbers = [int.from_bytes(payload[:8]) for payload in batch.payloads]
        self.log.delivered(sender, batch.view, numbers)
        self._everything.count_unordered(sender, numbers)
        self.highest[sender] = numbers[-1]
        if batch.payloads != [_content(sender, number) for number in numbers]:
            what = "other unordered contents"
            tell("wrong", sentence=f"{self._me} delivered {what} than {sender} sent")


def _content(sender: str, number: int) -> bytes:
    return content(f"{sender} without order", number, SMALLEST)


def judge_unordered(logs: Iterable[Path]) -> tuple[str, list[str]]:
    """Return the worst verdict on these logs, and why it is not that all hold."""
    found = sorted(logs)
    if not found:
        return INCONCLUSIVE, ["the logs of unordered messages: there are none"]
    judged = check_deliveries(found, PROPERTIES).properties
    bad = [each for each in judged if each.verdict != HOLDS and each.reason not in _NO_STATES]
    reasons = [
        f"the logs of unordered messages: {each.name} {each.verdict}: {each.reason or each.witness}"
        for each in bad
    ]
    return max((each.verdict for each in bad), default=HOLDS), reasons
