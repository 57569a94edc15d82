"""State transfer in real runs, beyond the spec: views come and go.

An instance of `spec/StateTransfer.tla` begins and ends in one view, with its joiners known: members
that are gone are suspected, and nobody else comes. In a real run one view follows the other, and
groups merge. A member hears of that by these inputs, so that its trace is checked from its first
event on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from raincheck.model.machine.machine import Accepted, refusal
from raincheck.model.machine.runs import Address

from .events import Output, ReceiveAsk, Suspect
from .handlers import Answer, Local, Rules, asked, receive_ask, suspect


class InstallView(NamedTuple):
    """The next view is installed."""

    members: tuple[Address, ...]


class Join(NamedTuple):
    """JOIN_RSP arrives: the process asked for the state together with its request to join."""

    leader: Address
    members: tuple[Address, ...]


class ReceiveJoin(NamedTuple):
    """A joiner is admitted that asked for the state together with its request to join."""

    joiner: Address


class Merge(NamedTuple):
    """The member's side has merged, and takes the state of the other one."""

    leader: Address


class AskAnew(NamedTuple):
    """The leader of the merged view is gone before it had the group flushed."""


class InstallNumbered(NamedTuple):
    """`InstallView` in groups that merge: with the view's number, by which channels are called."""

    members: tuple[Address, ...]
    view: int


class JoinNumbered(NamedTuple):
    """`Join`, likewise."""

    leader: Address
    members: tuple[Address, ...]
    view: int


def install_view(rules: Rules, me: Local, event: InstallView) -> Answer:
    """Members out of the view are gone; addresses are of one life and need not be remembered."""
    gone = [m for m in me.members if m not in event.members and m not in me.suspects]
    me = me._replace(members=event.members)
    outputs: tuple[Output, ...] = ()
    for member in gone:
        answer = suspect(rules, me, Suspect(member))
        assert isinstance(answer, Accepted)
        me, outputs = answer.local, outputs + answer.outputs
    return Accepted(me._replace(suspects=me.suspects & {*event.members}), outputs)


def join(_rules: Rules, me: Local, event: Join) -> Answer:
    """The process's JOIN was its ASK (S1)."""
    refused = refusal(
        (me.phase == "idle", 'requester[n].phase = "idle"', {"phase": me.phase}),
    )
    joined = me._replace(members=event.members, phase="asking", leader=event.leader)
    return refused or Accepted(joined)


def receive_join(rules: Rules, me: Local, event: ReceiveJoin) -> Answer:
    """Handle JOIN as ASK, although GMS brought it (S1)."""
    return receive_ask(rules, me, ReceiveAsk(event.joiner))


def merge(_rules: Rules, me: Local, event: Merge) -> Answer:
    """The merge was the side's ASK (S1): that leader has queued all members of it."""
    return Accepted(me._replace(phase="asking", leader=event.leader))


def ask_anew(_rules: Rules, me: Local, _event: AskAnew) -> Answer:
    """The next leader has queued nobody: it is asked."""
    refused = refusal(
        (me.phase == "asking", 'requester[n].phase = "asking"', {"phase": me.phase}),
    )
    return refused or Accepted(*asked(me))


INPUTS: Mapping[str, type[Any]] = {
    each.__name__: each for each in (InstallView, Join, ReceiveJoin, Merge, AskAnew)
}
HANDLERS: Mapping[str, Callable[[Rules, Local, Any], Answer]] = {
    "InstallView": install_view,
    "Join": join,
    "ReceiveJoin": receive_join,
    "Merge": merge,
    "AskAnew": ask_anew,
}
NUMBERED: Mapping[str, type[Any]] = {
    **INPUTS,
    "InstallView": InstallNumbered,
    "Join": JoinNumbered,
}
