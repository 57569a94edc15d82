"""What real runs do to state transfer beyond the spec: views come and go.

An instance of `spec/StateTransfer.tla` begins in a view, with its joiners known, and ends in it:
who is gone is suspected, and nobody else comes. In a real run one view follows the other. These are
the inputs by which a member hears of that, so that its trace is checked from its first event on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from raincheck.model.machine.machine import Accepted, refusal
from raincheck.model.machine.runs import Address

from .events import Output, ReceiveAsk, Suspect
from .handlers import Answer, Local, Rules, receive_ask, suspect


class InstallView(NamedTuple):
    """The next view."""

    members: tuple[Address, ...]


class Join(NamedTuple):
    """JOIN_RSP: this process asked for the state as it asked to join."""

    leader: Address
    members: tuple[Address, ...]


class ReceiveJoin(NamedTuple):
    """A joiner is admitted that asked for the state as it asked to join."""

    joiner: Address


def install_view(rules: Rules, me: Local, event: InstallView) -> Answer:
    """Who is out of the view is gone; addresses are of one life, so it need not be remembered."""
    gone = [m for m in me.members if m not in event.members and m not in me.suspects]
    me = me._replace(members=event.members)
    outputs: tuple[Output, ...] = ()
    for member in gone:
        answer = suspect(rules, me, Suspect(member))
        assert isinstance(answer, Accepted)
        me, outputs = answer.local, outputs + answer.outputs
    return Accepted(me._replace(suspects=me.suspects & {*event.members}), outputs)


def join(_rules: Rules, me: Local, event: Join) -> Answer:
    """Its JOIN was its ASK (S1)."""
    refused = refusal(
        (me.phase == "idle", 'requester[n].phase = "idle"', {"phase": me.phase}),
    )
    joined = me._replace(members=event.members, phase="asking", leader=event.leader)
    return refused or Accepted(joined)


def receive_join(rules: Rules, me: Local, event: ReceiveJoin) -> Answer:
    """As ASK, but that GMS brought it (S1)."""
    return receive_ask(rules, me, ReceiveAsk(event.joiner))


INPUTS: Mapping[str, type[Any]] = {each.__name__: each for each in (InstallView, Join, ReceiveJoin)}
HANDLERS: Mapping[str, Callable[[Rules, Local, Any], Answer]] = {
    "InstallView": install_view,
    "Join": join,
    "ReceiveJoin": receive_join,
}
