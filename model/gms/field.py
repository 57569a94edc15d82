"""GMS in groups that merge, beyond the spec: a view with any number, and members that go on apart.

`spec/Gms.tla` has one group. A merged view is for each side a view with joiners, the members of the
other sides. Its number is above those of all sides, so it may skip some of this one's; and MERGE2
decides it, which has had GMS suspend the side (`spec/Merge2.tla`, R6).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from raincheck.model.machine.machine import Accepted, refusal
from raincheck.model.machine.runs import Address

from . import events, handlers
from .events import SendViewAck, View
from .handlers import Answered, Local, Rules, address, propose, running


class ReceiveNewView(NamedTuple):
    """NEW_VIEW arrives; `merged`: a merge has made the view."""

    sender: Address
    view: View
    merged: bool


class GoneOn(NamedTuple):
    """A member is heard to be in a later view, without this one."""

    member: Address


class ProposeMerged(NamedTuple):
    """MERGE2 has decided the view that the side is to install."""

    view: View


def receive_new_view(rules: Rules, me: Local, event: ReceiveNewView) -> Answered:
    """A merged view is held ready whatever its number, unless it is another side's."""
    sender, view, merged = event
    later = me.view is not None and view.id.counter > me.view.id.counter
    if not (merged and later and running(me) and sender == me.promised and sender not in me.gone):
        return handlers.receive_new_view(rules, me, events.ReceiveNewView(sender, view))
    if address(rules, me) not in view.members:
        return Accepted(me)
    return Accepted(me._replace(held=(view,)), (SendViewAck(sender, view.id.counter),))


def gone_on(rules: Rules, me: Local, event: GoneOn) -> Answered:
    """The member is gone for this one, as if it had left."""
    return handlers.receive_leave(rules, me, events.ReceiveLeave(event.member))


def propose_merged(rules: Rules, me: Local, event: ProposeMerged) -> Answered:
    """The side stands still at the end of a flush: NEW_VIEW goes to those of it that are there."""
    refused = refusal(
        (
            me.phase == "finishing" and not me.waiting,
            "a side is suspended",
            {"phase[n]": me.phase, "waiting[n]": me.waiting},
        ),
        (
            me.view is not None and event.view.id.counter > me.view.id.counter,
            "view[n].id.counter < v.id.counter",
            {"v": event.view},
        ),
    )
    left_out = {*event.view.joiners, *me.gone}
    side = (member for member in event.view.members if member not in left_out)
    return refused or propose(rules, me, event.view, side)


INPUTS: Final[Mapping[str, type[Any]]] = {"GoneOn": GoneOn, "ProposeMerged": ProposeMerged}
HANDLERS: Final[Mapping[str, Callable[[Rules, Local, Any], Answered]]] = {
    "GoneOn": gone_on,
    "ProposeMerged": propose_merged,
}
