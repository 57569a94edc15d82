"""MERGE2: the twin of `spec/Merge2.tla`, one function per handler of a member.

The law of this file: a handler sees one member's local state and one input. Its guard comes first
in the spec's words, followed by the effect of the spec's action on this member. Messages, and
requests to GMS and FLUSH, are outputs; `system.py` says what becomes of them. The spec has the
rules R1 to R7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from raincheck.model.machine.composed import handlers_of
from raincheck.model.machine.machine import Accepted, Refused, Value, refusal, state

from .events import (
    INPUTS,
    NO_MERGE,
    Answer,
    Decide,
    Digest,
    Finish,
    Flushed,
    Install,
    InstallView,
    Merge,
    MergeId,
    Nodes,
    Output,
    ReceiveCancel,
    ReceiveFound,
    ReceiveInstalled,
    ReceiveInstallMergeView,
    ReceiveKnown,
    ReceiveMergeReq,
    ReceiveMergeRsp,
    ReceiveResume,
    Resend,
    Resume,
    SendCancel,
    SendFound,
    SendInstalled,
    SendInstallMergeView,
    SendMergeReq,
    SendMergeRsp,
    SendResume,
    SideInstalled,
    Suspect,
    Suspend,
    Suspended,
    View,
    ViewId,
)

NONE: Nodes = frozenset()


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules, under the names of the spec's constants; the values are those of the repairs."""

    condition: str = "but own"
    one_merge: bool = True
    leader_begins: bool = True
    tells_leader: bool = True
    members_tell: bool = True
    until_suspected: bool = True
    stays_out: bool = True
    after_resume: bool = True
    cancels: bool = True
    flush: bool = True
    answered: bool = True
    frozen: bool = True
    id_of_leader: bool = True
    install_acks: bool = True
    promotes: bool = True
    resends: bool = True


@state
class Local(NamedTuple):
    """A member's local state; `stage` and what follows is of use to coordinators only."""

    node: str
    view: View
    coordinates: bool
    known: Nodes = NONE
    entered: frozenset[MergeId] = frozenset()
    stage: str = "idle"
    merge: MergeId = NO_MERGE
    waiting: Nodes = NONE
    answers: frozenset[Answer] = frozenset()


Answered: TypeAlias = Accepted[Local, Output] | Refused
Guard: TypeAlias = tuple[bool, str, Mapping[str, Value]]


def leads(me: Local) -> bool:
    """Tell whether the member leads the merge that it takes part in."""
    return me.merge.leader == me.node


def merged_digest(answers: frozenset[Answer]) -> Digest:
    """Return the maximum of the digests (R5)."""
    read: dict[str, int] = {}
    for answer in answers:
        read |= {node: max(count, read.get(node, 0)) for node, count in answer.digest}
    return tuple(sorted(read.items()))


def merged_view(rules: Rules, me: Local) -> View:
    """Return the view that the answers make together (R5)."""
    members = tuple(sorted(frozenset().union(*(answer.members for answer in me.answers))))
    number = max(answer.counter for answer in me.answers) + 1
    return View(ViewId(number, me.node if rules.id_of_leader else members[0]), members, me.merge)


# ------------------------------------------------------------------ discovery


def receive_known(rules: Rules, me: Local, event: ReceiveKnown) -> Answered:
    """A member tells whom it knows (R1)."""
    sender, known = event
    refused = refusal(
        (rules.members_tell, "MembersTell", {}),
        _coordinates(me),
        (sender in me.view.members, "m \\in Side(n)", {"m": sender}),
        (not known <= me.known, "~(known[m] \\subseteq known[n])", {"known[m]": known}),
    )
    return refused or Accepted(me._replace(known=me.known | known))


def merge(rules: Rules, me: Local, event: Merge) -> Answered:
    """MERGE: the leader asks the others; another one tells the leader (R1 to R3)."""
    others, number, is_known, stands = event
    refused = refusal(
        _coordinates(me),
        (me.stage == "idle", 'stage[n] = "idle"', {"stage[n]": me.stage}),
        (not (rules.after_resume and stands), "AfterResume => ~Stands(n)", {}),
        (bool(others), "Others(n) # {}", {}),
    )
    if refused:
        return refused
    leader = min(others | {me.node})
    if leader == me.node:
        merge = MergeId(me.node, number)
        me = me._replace(stage="flushing", merge=merge, waiting=others | {me.node})
        return Accepted(me, (*(SendMergeReq(to, merge) for to in sorted(others)), Suspend()))
    if not rules.leader_begins:
        return Accepted(me._replace(stage="waiting"))
    refused = refusal(
        (rules.tells_leader, "TellsLeader", {}),
        (not is_known, "n \\notin known[l]", {"l": leader}),
    )
    return refused or Accepted(me, (SendFound(leader),))


def receive_found(_rules: Rules, me: Local, event: ReceiveFound) -> Answered:
    """FOUND: another coordinator is known."""
    return Accepted(me._replace(known=me.known | {event.sender}))


# ------------------------------------------------------------------ answers


def accepts(rules: Rules, me: Local, event: ReceiveMergeReq) -> bool:
    """Tell whether the member enters a merge that it is asked for (R4)."""
    _, merge, stands = event
    ready = "waiting" if rules.condition == "literal" else "idle"
    free = me.stage == ready
    free = free or (not rules.one_merge and me.stage == "answered" and not leads(me))
    been = any(x.leader == merge.leader and x.number >= merge.number for x in me.entered)
    out = (rules.stays_out and been) or (rules.after_resume and stands)
    return me.coordinates and free and not out


def receive_merge_req(rules: Rules, me: Local, event: ReceiveMergeReq) -> Answered:
    """MERGE_REQ: the side is flushed, or the request rejected (R4)."""
    sender, merge, _ = event
    if me.merge == merge:
        return Accepted(me)
    if accepts(rules, me, event):
        others = frozenset(each for each in me.entered if each.leader != merge.leader)
        me = me._replace(stage="flushing", merge=merge, entered=others | {merge})
        return Accepted(me, (Suspend(),))
    return Accepted(me, (SendMergeRsp(sender, merge, None),))


def flushed(rules: Rules, me: Local, event: Flushed) -> Answered:
    """The side is suspended: the answer is its view and digest (R4)."""
    refused = refusal((me.stage == "flushing", 'stage[n] = "flushing"', {"stage[n]": me.stage}))
    if refused:
        return refused
    answer = _answer(rules, me, event.members, event.digest)
    suspended = Suspended(me.merge)
    if not leads(me):
        sent = SendMergeRsp(me.merge.leader, me.merge, answer)
        return Accepted(me._replace(stage="answered"), (sent, suspended))
    answers = me.answers if rules.condition == "inverted" else me.answers | {answer}
    me = me._replace(stage="answered", answers=answers, waiting=me.waiting - {me.node})
    return Accepted(me, (suspended,))


def receive_merge_rsp(rules: Rules, me: Local, event: ReceiveMergeRsp) -> Answered:
    """MERGE_RSP: an answer, a rejection, or what comes too late (R5)."""
    sender, merge, answer = event
    same = me.merge == merge
    if same and sender in me.waiting and me.stage in ("flushing", "answered"):
        answers = me.answers if answer is None else me.answers | {answer}
        return Accepted(me._replace(waiting=me.waiting - {sender}, answers=answers))
    inside = same and any(each.sender == sender for each in me.answers)
    if rules.cancels and answer is not None and not inside:
        return Accepted(me, (SendCancel(sender, merge),))
    return Accepted(me)


# ------------------------------------------------------------------ decision and installation


def decide(rules: Rules, me: Local, _event: Decide) -> Answered:
    """No answer is missing: the merged view, or nothing (R5)."""
    refused = refusal(
        (me.stage == "answered", 'stage[n] = "answered"', {"stage[n]": me.stage}),
        (leads(me), "Leads(n)", {"merge[n]": me.merge}),
        (not me.waiting, "waiting[n] = {}", {"waiting[n]": me.waiting}),
    )
    if refused:
        return refused
    everybody = frozenset(answer.sender for answer in me.answers)
    others = sorted(everybody - {me.node})
    if not others or me.node not in everybody:
        told = tuple(SendCancel(to, me.merge) for to in others) if rules.cancels else ()
        return Accepted(_idle(me), (*told, Resume()))
    view, digest = merged_view(rules, me), merged_digest(me.answers)
    waiting = everybody if rules.install_acks else NONE
    sent = (SendInstallMergeView(to, me.merge, view, digest) for to in others)
    me = me._replace(stage="installing", waiting=waiting)
    return Accepted(me, (*sent, Install(view, digest)))


def receive_install_merge_view(rules: Rules, me: Local, event: ReceiveInstallMergeView) -> Answered:
    """INSTALL_MERGE_VIEW: the side installs it, or the leader learns that it is not in it (R6)."""
    sender, merge, view, digest = event
    if me.merge == merge:
        if me.stage == "answered":
            return Accepted(me._replace(stage="installing"), (Install(view, digest),))
        return Accepted(me)
    if not rules.install_acks:
        return Accepted(me)
    return Accepted(me, (SendInstalled(sender, merge, me.view.merge == merge),))


def install_view(rules: Rules, me: Local, event: InstallView) -> Answered:
    """A view is installed; one of another merge than the member has answered ends its part (R7)."""
    view = event.view
    own, first = view.merge == NO_MERGE, view.members[0] == me.node
    ends = view.merge != me.merge and (not own or (rules.frozen and me.stage != "flushing"))
    me = me._replace(
        view=view,
        coordinates=first and (own or rules.promotes or me.coordinates),
        known=me.known | frozenset(view.members),
    )
    return Accepted(_idle(me) if ends else me)


def side_installed(rules: Rules, me: Local, _event: SideInstalled) -> Answered:
    """All of the side have the merged view, and wait to go on (R7)."""
    refused = refusal(
        (
            me.stage in ("installing", "cancelled"),
            'stage[n] \\in {"installing", "cancelled"}',
            {"stage[n]": me.stage},
        ),
        (me.view.merge == me.merge, "view[n].merge = merge[n]", {"merge[n]": me.merge}),
    )
    if refused:
        return refused
    if not rules.install_acks:
        return Accepted(_idle(me), (Resume(),))
    if me.stage == "cancelled":
        return Accepted(_idle(me))
    done = () if leads(me) else (SendInstalled(me.merge.leader, me.merge, True),)
    return Accepted(me._replace(stage="installed", waiting=me.waiting - {me.node}), done)


def receive_installed(rules: Rules, me: Local, event: ReceiveInstalled) -> Answered:
    """INSTALLED: a side has the view, or is not in the merge."""
    sender, merge, done = event
    if me.merge == merge:
        if me.stage in ("installing", "installed"):
            me = me._replace(waiting=me.waiting - {sender})
        return Accepted(me)
    if done and me.view.merge == merge:
        return Accepted(me, (SendResume(sender, merge),))
    if done and rules.cancels:
        return Accepted(me, (SendCancel(sender, merge),))
    return Accepted(me)


def finish(_rules: Rules, me: Local, _event: Finish) -> Answered:
    """All have installed the merged view: everybody goes on."""
    refused = refusal(
        (me.stage == "installed", 'stage[n] = "installed"', {"stage[n]": me.stage}),
        (leads(me), "Leads(n)", {"merge[n]": me.merge}),
        (not me.waiting, "waiting[n] = {}", {"waiting[n]": me.waiting}),
    )
    if refused:
        return refused
    others = sorted(answer.sender for answer in me.answers if answer.sender != me.node)
    return Accepted(_idle(me), (*(SendResume(to, me.merge) for to in others), Resume()))


def receive_resume(_rules: Rules, me: Local, event: ReceiveResume) -> Answered:
    """RESUME: the side goes on."""
    if me.view.merge != event.merge:
        return Accepted(me)
    return Accepted(_idle(me) if me.merge == event.merge else me, (Resume(),))


# ------------------------------------------------------------------ those that do not answer


def suspect(rules: Rules, me: Local, event: Suspect) -> Answered:
    """A process is waited for no longer: a leader goes on, another one gives the merge up."""
    member = event.member
    if leads(me) and member in me.waiting:
        told = (SendCancel(member, me.merge),) if rules.cancels else ()
        return Accepted(me._replace(waiting=me.waiting - {member}), told)
    refused = refusal(
        (me.merge.leader == member, "merge[n][1] = p", {"p": member, "merge[n]": me.merge}),
        (
            me.stage in ("flushing", "answered"),
            'stage[n] \\in {"flushing", "answered"}',
            {"stage[n]": me.stage},
        ),
    )
    if refused:
        return refused
    sent = SendMergeRsp(member, me.merge, None)
    return Accepted(_idle(me), (sent, Resume()))


def receive_cancel(_rules: Rules, me: Local, event: ReceiveCancel) -> Answered:
    """CANCEL: the member is not in that merge."""
    if me.merge != event.merge:
        return Accepted(me)
    if me.stage in ("installing", "cancelled"):
        return Accepted(me._replace(stage="cancelled"))
    return Accepted(_idle(me), (Resume(),) if me.stage != "installed" else ())


def resend(rules: Rules, me: Local, event: Resend) -> Answered:
    """Requests without an answer are sent again."""
    sent: tuple[Output, ...] = ()
    missing = sorted(me.waiting - {me.node})
    if leads(me) and me.stage in ("flushing", "answered"):
        sent = tuple(SendMergeReq(to, me.merge) for to in missing)
    elif leads(me) and me.stage in ("installing", "installed"):
        view, digest = merged_view(rules, me), merged_digest(me.answers)
        sent = tuple(SendInstallMergeView(to, me.merge, view, digest) for to in missing)
    elif me.stage == "answered":
        answer = _answer(rules, me, event.members, event.digest)
        sent = (SendMergeRsp(me.merge.leader, me.merge, answer),)
    elif me.stage == "installed":
        sent = (SendInstalled(me.merge.leader, me.merge, True),)
    refused = refusal(
        (rules.resends, "Resends", {}),
        (bool(sent), "Unanswered(n) # {}", {"stage[n]": me.stage}),
    )
    return refused or Accepted(me, sent)


# ------------------------------------------------------------------ their parts


def _coordinates(me: Local) -> Guard:
    return me.coordinates, "coordinates[n]", {"coordinates[n]": me.coordinates}


def _answer(rules: Rules, me: Local, members: Nodes, digest: Digest) -> Answer:
    there = members if rules.answered else frozenset(me.view.members)
    return Answer(me.node, me.view.id.counter, there, digest)


def _idle(me: Local) -> Local:
    return me._replace(stage="idle", merge=NO_MERGE, waiting=NONE, answers=frozenset())


HANDLERS = handlers_of(INPUTS, globals())
