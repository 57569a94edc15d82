"""GMS: the twin of `spec/Gms.tla`, one function per handler of a member.

The law of this file: a handler sees one member's local state and one input. Its guard comes first,
conjunct by conjunct in the spec's words, followed by the effect of the spec's action on this
member. Messages and requests to FLUSH are outputs; the network and FLUSH (`system.py`, or a
recorded trace) decide what becomes of them. The spec quotes the rules R1 to R8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from raincheck.model.machine.machine import Accepted, Refused, Value, refusal, state
from raincheck.model.machine.runs import Address

from .events import (
    Answer,
    BeginChange,
    Crash,
    Finish,
    Install,
    InstallView,
    Leave,
    Out,
    Output,
    Prepared,
    ReceiveAlive,
    ReceiveExcluded,
    ReceiveInstall,
    ReceiveJoin,
    ReceiveJoinRsp,
    ReceiveLeave,
    ReceiveNewView,
    ReceiveNotJoined,
    ReceivePrepare,
    ReceiveViewAck,
    RequestTransfer,
    Restart,
    Resume,
    SendExcluded,
    SendInstall,
    SendJoinRsp,
    SendLeave,
    SendNewView,
    SendNotJoined,
    SendViewAck,
    Suspect,
    Suspend,
    Suspended,
    Trust,
    View,
    ViewId,
)

Addresses: TypeAlias = frozenset[Address]
NONE: Addresses = frozenset()


@dataclass(frozen=True, slots=True)
class Rules:
    """The repairs that are switched on, under the names of the spec's constants."""

    flush: bool = True
    pending: str = "queue"
    install_when: str = "held"
    view_acks: bool = True
    takeover: bool = True
    readmit: bool = True
    idempotent_join: bool = True
    incarnations: bool = True


@state
class Local(NamedTuple):
    """A member's local state. `view`, `promised` and `proposal` are None where there is none."""

    node: str
    status: str
    incarnation: int = 0
    view: View | None = None
    held: tuple[View, ...] = ()
    promised: Address | None = None
    declined: int = 0
    suspects: Addresses = NONE
    gone: Addresses = NONE
    joining: Addresses = NONE
    transfer: bool = False
    phase: str = "idle"
    proposal: View | None = None
    waiting: Addresses = NONE


Answered: TypeAlias = Accepted[Local, Output] | Refused
Guard: TypeAlias = tuple[bool, str, Mapping[str, Value]]


def founder(node: str, view: View) -> Local:
    """Return the initial state of a member of the first view."""
    return Local(node, "member", view=view)


def joiner(node: str, incarnation: int = 0) -> Local:
    """Return the initial state of a process that asks to join."""
    return Local(node, "joining", incarnation)


def address(rules: Rules, me: Local) -> Address:
    """Return the member's address."""
    return Address(me.node, me.incarnation if rules.incarnations else 0)


def running(me: Local) -> bool:
    """Tell whether the process is a member."""
    return me.status == "member"


def members_of(me: Local) -> tuple[Address, ...]:
    """Return the members of its view."""
    return me.view.members if me.view is not None else ()


def leader(me: Local) -> Address | None:
    """Return the leader of the next change, as far as this member knows (R8)."""
    out = me.suspects | me.gone
    return next((m for m in members_of(me) if m not in out), None)


def decides(rules: Rules, me: Local) -> bool:
    """Tell whether this member leads a change of its view, not another one of a merged view."""
    first = next((m for m in members_of(me) if m not in me.gone), None)
    return me.phase != "idle" and first == address(rules, me)


def wanted(me: Local) -> bool:
    """Tell whether there is something to change."""
    out = me.suspects | me.gone
    return bool(me.joining) or me.transfer or any(m in out for m in members_of(me))


# ---------------------------------------------------------------------- requests


def receive_join(rules: Rules, me: Local, event: ReceiveJoin) -> Answered:
    """JOIN arrives at the leader."""
    first, mine = leader(me), address(rules, me)
    refused = refusal(
        _running(me), (first == mine, "Leader(n) = Address(n)", {"leader": _of(first)})
    )
    if refused:
        return refused
    a = event.joiner
    same = {m for m in members_of(me) if m.node == a.node}
    if any(m.incarnation > a.incarnation for m in same - me.gone):
        return Accepted(me)
    present = a in same - me.gone
    me = _without(me, {m for m in same if m.incarnation < a.incarnation})
    if present and rules.idempotent_join:
        return Accepted(me)
    return Accepted(me._replace(joining=_queued(me.joining, a)))


def receive_leave(_rules: Rules, me: Local, event: ReceiveLeave) -> Answered:
    """LEAVE arrives."""
    refused = None if running(me) else refusal(_running(me))
    return refused or Accepted(_without(me, {event.sender} & set(members_of(me))))


def suspect(rules: Rules, me: Local, event: Suspect) -> Answered:
    """A member is suspected; while this member leads a change, for good; else it waits no more."""
    known = event.member in members_of(me) and event.member != address(rules, me)
    refused = refusal(
        _running(me), (known, "a \\in Members(view[n]) \\ {Address(n)}", {"a": event.member})
    )
    if refused:
        return refused
    suspected = {event.member}
    if decides(rules, me):
        return Accepted(_without(me, suspected))
    suspects, waiting = me.suspects | (suspected - me.gone), me.waiting - suspected
    return Accepted(me._replace(suspects=suspects, waiting=waiting))


def trust(_rules: Rules, me: Local, event: Trust) -> Answered:
    """A suspected member is heard again."""
    refused = None if running(me) else refusal(_running(me))
    return refused or Accepted(me._replace(suspects=me.suspects - {event.member}))


def request_transfer(_rules: Rules, me: Local, _event: RequestTransfer) -> Answered:
    """A state transfer asks for its turn in the leader's queue."""
    refused = None if running(me) else refusal(_running(me))
    return refused or Accepted(me._replace(transfer=True))


# ---------------------------------------------------------------------- the leader of a change


def begin_change(rules: Rules, me: Local, _event: BeginChange) -> Answered:
    """Begin a change, as the first member that is not gone (R6, R7, R8)."""
    first, mine = leader(me), address(rules, me)
    enabled = running(me) and me.phase == "idle" and first == mine and wanted(me)
    refused = (
        None
        if enabled
        else refusal(
            _running(me),
            _in_phase(me, "idle"),
            (first == mine, "Leader(n) = Address(n)", {"leader": _of(first)}),
            (wanted(me), "Wanted(n)", {"joining": me.joining, "gone": me.gone}),
        )
    )
    if refused:
        return refused
    gone = me.gone | me.suspects | _replaced(me)
    me = me._replace(gone=gone, suspects=NONE, phase="flushing")
    if not rules.flush:
        return Accepted(me)
    participants = tuple(m for m in members_of(me) if m not in gone)
    return Accepted(me._replace(promised=mine), (Suspend(participants),))


def suspended(rules: Rules, me: Local, event: Suspended) -> Answered:
    """FLUSH has suspended all survivors: propose again a view that not all have, or decide (R6)."""
    enabled = running(me) and me.phase == "flushing"
    refused = None if enabled else refusal(_running(me), _in_phase(me, "flushing"))
    if refused:
        return refused
    mine, view = address(rules, me), me.view
    assert view is not None
    answers = [a for a in event.answers if a.member != mine and a.member not in me.gone]
    known = [*me.held, *(v for a in answers for v in (a.view, *a.held))]
    if rules.flush and rules.takeover and any(v.id != view.id for v in known):
        latest = max([view, *known], key=lambda v: (v.id.counter, _seniority(view, v)))
        asked = [a.member for a in answers if a.member in latest.members]
        return propose(rules, me, latest, asked)
    new = _next_view(rules, me, view)
    if new is None:
        return Accepted(me._replace(phase="finishing"))
    return propose(rules, me, new, [m for m in new.members if m not in new.joiners])


def receive_view_ack(_rules: Rules, me: Local, event: ReceiveViewAck) -> Answered:
    """VIEW_ACK: a survivor holds the view ready."""
    refused = None if running(me) else refusal(_running(me))
    if refused:
        return refused
    if me.proposal is not None and me.proposal.id.counter == event.counter:
        me = me._replace(waiting=me.waiting - {event.sender})
    return Accepted(me)


def install_view(rules: Rules, me: Local, _event: InstallView) -> Answered:
    """All survivors hold the view ready: install it, send INSTALL, and answer the joiners."""
    enabled = running(me) and me.phase == "installing" and not me.waiting
    refused = (
        None
        if enabled
        else refusal(_running(me), _in_phase(me, "installing"), _nobody_waited_for(me))
    )
    if refused:
        return refused
    mine, view = address(rules, me), me.proposal
    assert view is not None
    assert me.view is not None
    others = [m for m in view.members if m not in view.joiners and m != mine]
    stay = [m for m in others if m not in me.gone]
    outputs: list[Output] = []
    me = me._replace(phase="finishing")
    if rules.install_when in ("last", "held") and _view_of(me).id != view.id:
        me = _installed(rules, me, view)
        outputs.append(Install(view))
    if rules.install_when == "held":
        outputs += [SendInstall(m, view.id.counter) for m in stay]
        me = me._replace(waiting=frozenset(stay) if rules.view_acks else NONE)
    if view.id.coordinator == mine:
        outputs += [SendJoinRsp(j, view) for j in view.joiners]
    return Accepted(me, tuple(outputs))


def finish(rules: Rules, me: Local, _event: Finish) -> Answered:
    """All have installed the view and the state is transferred: let FLUSH resume (R6)."""
    enabled = running(me) and me.phase == "finishing" and not me.waiting
    refused = (
        None
        if enabled
        else refusal(_running(me), _in_phase(me, "finishing"), _nobody_waited_for(me))
    )
    if refused:
        return refused
    me = me._replace(phase="idle", proposal=None, transfer=False)
    return Accepted(me, (Resume(),) if rules.flush else ())


# ---------------------------------------------------------------------- those who follow it


def receive_prepare(rules: Rules, me: Local, event: ReceivePrepare) -> Answered:
    """PREPARE: accept views of this leader only from now on; members that are left out are gone."""
    sender, counter, participants = event
    if me.status == "joining":
        if not rules.readmit:
            return Accepted(me)
        declined = max(me.declined, counter)
        return Accepted(me._replace(declined=declined), (SendNotJoined(sender, counter),))
    refused = None if running(me) else refusal(_running(me))
    if refused:
        return refused
    mine, view = address(rules, me), _view_of(me)
    if sender in me.gone or mine not in participants or sender == mine:
        return Accepted(me)
    if not any(sender in v.members for v in (view, *me.held)):
        return Accepted(me, (SendExcluded(sender, view),))
    unknown = view.joiners if counter < view.id.counter else ()
    out = set(view.members) - set(participants) - set(unknown)
    me = _without(me._replace(promised=sender, suspects=me.suspects - {sender}), out)
    return Accepted(me, (Prepared(sender, view, me.held),))


def receive_new_view(rules: Rules, me: Local, event: ReceiveNewView) -> Answered:
    """NEW_VIEW: hold the view ready, or install it at once, as in the text."""
    refused = None if running(me) else refusal(_running(me))
    if refused:
        return refused
    sender, view = event
    mine = _view_of(me)
    if rules.flush and (sender != me.promised or sender in me.gone):
        return Accepted(me)
    ack = SendViewAck(sender, view.id.counter)
    if view.id.counter <= mine.id.counter:
        return Accepted(me, (ack,) if view.id == mine.id else ())
    if address(rules, me) not in view.members or view.id.counter > mine.id.counter + 1:
        return Accepted(_ended(me, "excluded"), (Out(sender, view),))
    if rules.install_when == "held":
        return Accepted(me._replace(held=(view,)), (ack,))
    return Accepted(_installed(rules, me, view), (Install(view), ack))


def receive_install(rules: Rules, me: Local, event: ReceiveInstall) -> Answered:
    """INSTALL: all survivors hold the view ready. Installing it is acknowledged too."""
    refused = None if running(me) else refusal(_running(me))
    if refused:
        return refused
    sender, number = event
    if sender != me.promised:
        return Accepted(me)
    ack = SendViewAck(sender, number)
    ready = [view for view in me.held if view.id.counter == number]
    if not ready:
        return Accepted(me, (ack,) if _view_of(me).id.counter == number else ())
    return Accepted(_installed(rules, me, ready[0]), (Install(ready[0]), ack))


def receive_join_rsp(rules: Rules, me: Local, event: ReceiveJoinRsp) -> Answered:
    """JOIN_RSP: the joiner becomes a member."""
    view = event.view
    waits = me.status == "joining" and view.id.counter > me.declined
    if not waits or address(rules, me) not in view.joiners:
        return Accepted(me)
    me = _installed(rules, me._replace(status="member"), view)
    return Accepted(me, (Install(view),))


def receive_not_joined(_rules: Rules, me: Local, event: ReceiveNotJoined) -> Answered:
    """NOT_JOINED: take a member out of the view, and admit it again."""
    refused = None if running(me) else refusal(_running(me))
    if refused:
        return refused
    if event.sender in members_of(me) and _view_of(me).id.counter == event.counter:
        me = _without(me, {event.sender})
        me = me._replace(joining=_queued(me.joining, event.sender))
    return Accepted(me)


# ---------------------------------------------------------------------- getting out


def leave(rules: Rules, me: Local, _event: Leave) -> Answered:
    """The member has stopped and announces that it leaves."""
    refused = refusal(_running(me), _in_phase(me, "idle"))
    if refused:
        return refused
    others = tuple(SendLeave(m) for m in members_of(me) if m != address(rules, me))
    return Accepted(_ended(me, "left"), others)


def receive_alive(_rules: Rules, me: Local, event: ReceiveAlive) -> Answered:
    """A process outside the view is alive."""
    refused = None if running(me) else refusal(_running(me))
    if refused:
        return refused
    if event.sender in members_of(me):
        return Accepted(me)
    return Accepted(me, (SendExcluded(event.sender, _view_of(me)),))


def receive_excluded(rules: Rules, me: Local, event: ReceiveExcluded) -> Answered:
    """EXCLUDED: the member is out if that view prevails over its own."""
    refused = None if running(me) else refusal(_running(me))
    if refused:
        return refused
    sender, theirs = event
    if address(rules, me) in theirs.members or not _prevails(sender, theirs, _view_of(me)):
        return Accepted(me)
    return Accepted(_ended(me, "excluded"), (Out(sender, theirs),))


def crash(_rules: Rules, me: Local, _event: Crash) -> Answered:
    """The process crashes."""
    refused = refusal(
        (
            me.status in ("joining", "member"),
            'status[n] \\in {"joining", "member"}',
            {"status": me.status},
        )
    )
    return refused or Accepted(_ended(me, "crashed"))


def restart(_rules: Rules, me: Local, _event: Restart) -> Answered:
    """The process comes back, with nothing but its name."""
    refused = refusal(
        (
            me.status not in ("joining", "member"),
            'status[n] \\in {"crashed", "left", "excluded"}',
            {"status": me.status},
        )
    )
    return refused or Accepted(joiner(me.node, me.incarnation + 1))


# ---------------------------------------------------------------------- their parts


def _view_of(me: Local) -> View:
    assert me.view is not None
    return me.view


def _queued(queue: Addresses, a: Address) -> Addresses:
    """Return the queue with the address; of each node it keeps only the latest life."""
    if any(x.node == a.node and x.incarnation > a.incarnation for x in queue):
        return queue
    return frozenset(x for x in queue if x.node != a.node) | {a}


def _replaced(me: Local) -> Addresses:
    """Return the members whose node asks to be admitted with a later life."""
    return frozenset(
        m
        for m in members_of(me)
        if any(a.node == m.node and a.incarnation > m.incarnation for a in me.joining)
    )


def _without(me: Local, members: Iterable[Address]) -> Local:
    """Return the state in which these members are gone for good and nobody waits for them."""
    out = frozenset(members)
    return me._replace(gone=me.gone | out, suspects=me.suspects - out, waiting=me.waiting - out)


def _installed(rules: Rules, me: Local, view: View) -> Local:
    stay = frozenset(view.members) - frozenset(view.joiners)
    held = tuple(v for v in me.held if v.id.counter > view.id.counter)
    return me._replace(
        view=view,
        held=() if rules.pending == "updated" else held,
        gone=me.gone & stay,
        suspects=me.suspects & stay,
        joining=me.joining - frozenset(view.members),
    )


def _ended(me: Local, status: str) -> Local:
    return Local(me.node, status, me.incarnation)


def _seniority(view: View, proposed: View) -> int:
    leads = proposed.id.coordinator
    return view.members.index(leads) if leads in view.members else len(view.members)


def _next_view(rules: Rules, me: Local, view: View) -> View | None:
    """Return V2 = M - S - L + J, or None if it has the same members."""
    base = me.held[-1] if rules.pending in ("updated", "list") and me.held else view
    new = sorted(me.joining - frozenset(base.members) if rules.idempotent_join else me.joining)
    joiners = tuple(new) if rules.pending == "queue" else tuple(new[:1])
    members = (*(m for m in base.members if m not in me.gone), *joiners)
    if members == base.members:
        return None
    return View(ViewId(base.id.counter + 1, address(rules, me)), members, joiners)


def propose(rules: Rules, me: Local, view: View, survivors: Iterable[Address]) -> Answered:
    """Propose the view: NEW_VIEW goes to the survivors."""
    mine = address(rules, me)
    others = [m for m in survivors if m != mine]
    outputs: list[Output] = [SendNewView(m, view) for m in others]
    waiting = frozenset(others) if rules.view_acks else NONE
    me = me._replace(proposal=view, waiting=waiting, phase="installing")
    if rules.install_when == "cast":
        outputs.append(SendNewView(mine, view))
        me = me._replace(held=(*me.held, view), joining=me.joining - frozenset(view.joiners))
    elif rules.install_when == "first":
        outputs.insert(0, Install(view))
        me = _installed(rules, me, view)
    return Accepted(me, tuple(outputs))


def _prevails(sender: Address, theirs: View, mine: View) -> bool:
    """Tell whether a view without this member is the one that goes on."""
    if sender in mine.members and theirs.id.counter != mine.id.counter:
        return theirs.id.counter > mine.id.counter
    if len(theirs.members) != len(mine.members):
        return len(theirs.members) > len(mine.members)
    if theirs.id.counter != mine.id.counter:
        return theirs.id.counter > mine.id.counter
    return theirs.id.coordinator < mine.id.coordinator


def _running(me: Local) -> Guard:
    return running(me), "Running(n)", {"status": me.status}


def _in_phase(me: Local, phase: str) -> Guard:
    return me.phase == phase, f'phase[n] = "{phase}"', {"phase": me.phase}


def _nobody_waited_for(me: Local) -> Guard:
    return not me.waiting, "waiting[n] = {}", {"waiting": me.waiting}


def _of(who: Address | None) -> Value:
    return who if who is not None else ()


INPUTS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        ReceiveJoin,
        ReceiveLeave,
        Suspect,
        Trust,
        RequestTransfer,
        BeginChange,
        ReceivePrepare,
        Suspended,
        ReceiveNewView,
        ReceiveViewAck,
        InstallView,
        ReceiveInstall,
        ReceiveJoinRsp,
        ReceiveNotJoined,
        Finish,
        Leave,
        ReceiveAlive,
        ReceiveExcluded,
        Crash,
        Restart,
    )
}
HANDLERS: Mapping[str, Callable[[Rules, Local, Any], Answered]] = {
    "ReceiveJoin": receive_join,
    "ReceiveLeave": receive_leave,
    "Suspect": suspect,
    "Trust": trust,
    "RequestTransfer": request_transfer,
    "BeginChange": begin_change,
    "ReceivePrepare": receive_prepare,
    "Suspended": suspended,
    "ReceiveNewView": receive_new_view,
    "ReceiveViewAck": receive_view_ack,
    "InstallView": install_view,
    "ReceiveInstall": receive_install,
    "ReceiveJoinRsp": receive_join_rsp,
    "ReceiveNotJoined": receive_not_joined,
    "Finish": finish,
    "Leave": leave,
    "ReceiveAlive": receive_alive,
    "ReceiveExcluded": receive_excluded,
    "Crash": crash,
    "Restart": restart,
}
__all__ = ["HANDLERS", "INPUTS", "Answer", "Local", "Rules", "View", "ViewId"]
