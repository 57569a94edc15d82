"""The points of a trace at which FLUSH's invariants are evaluated."""

from __future__ import annotations

from math import inf
from operator import itemgetter
from typing import Any, Final

from raincheck.conformance.trace.invariants.asked import (
    Invariants,
    OfMembers,
    OfState,
    OfStep,
    Unshown,
)
from raincheck.conformance.trace.invariants.moments import (
    Asking,
    Moments,
    Span,
    broken,
    event,
    name,
)
from raincheck.conformance.trace.layers.speaks import VIEW, Said
from raincheck.conformance.trace.layers.views import views_of
from raincheck.conformance.trace.records import Address
from raincheck.model.flush.events import Block, Unblock
from raincheck.model.flush.handlers import Local
from raincheck.model.flush.promises import well_formed

_CALLS: Final = {Block: 1, Unblock: -1}


def _suspended(_before: Local | None, after: Local) -> Said:
    there = after.suspended and after.asked is not None
    yield "suspended", (after.asked, after.participants) if there else None


def _still(_before: Local | None, after: Local) -> Said:
    # Whoever is flushed again before it goes on has its latch closed already.
    yield "still", after.flush if after.latch and after.blocked != "no" else None


def _in_turns(before: Local, _event: Any, after: Local, outputs: tuple[Any, ...]) -> bool | None:
    """The application is called just when it becomes blocked, and no longer is."""
    called = 0
    for output in outputs:
        called += _CALLS.get(type(output), 0)
    was, now = before.blocked != "no", after.blocked != "no"
    return called == now - was if called or was != now else None


def _gone(moments: Moments) -> set[Address]:
    """Return the members that have crashed, or that the last view lacks."""
    last = {
        who: mine[-1].value for who, report in moments.reports.items() if (mine := views_of(report))
    }
    latest, members, *_ = max(last.values(), key=itemgetter(0), default=(0, ()))
    left = {who for who, view in last.items() if view[0] < latest and list(who) not in members}
    return {*moments.crashed, *left}


def accurate(moments: Moments) -> str:
    """Return who was taken for gone and was still there; "" if nobody was."""
    for who, report in moments.reports.items():
        for said in report.said:
            if said.topic == "gone":
                node, life = said.value
                if (node, life) in moments.reports and moments.heard((node, life), who, said.index):
                    where = event(who, said.index)
                    return f"AccurateSuspicion: {where} suspects {node}.{life}, which is there"
    return ""


def _has_left(moments: Moments, span: Span, requester: Address) -> bool:
    """Whether the member of this span takes the requester for gone, by its next view at latest.

    It may begin a flush without the requester, and say so at the next event.
    """
    left = False
    for said in moments.reports[span.who].said:
        if said.topic == VIEW and said.index > span.start:
            break
        if said.topic == "gone" and said.value == list(requester):
            left = True
        elif said.topic == VIEW and list(requester) in said.value[1]:
            left = False
    return left


def _is_apart(moments: Moments, one: Span, other: Span) -> bool:
    """Whether the participant is still for somebody else, or has gone on without the requester."""
    end = inf if one.end is None else one.end
    later = _number_at(moments, other.who, other.start) > _number_at(moments, one.who, end)
    return later or other.value is not None or _has_left(moments, other, one.who)


def _number_at(moments: Moments, who: Address, index: float) -> int:
    views = views_of(moments.reports[who])
    return max((said.value[0] for said in views if said.index <= index), default=0)


def participants_still(moments: Moments) -> Asking:
    """While a requester has suspended the members, all participants are still, for its flush.

    One that has crashed, or was left out of a view, has suspended them as long as it has heard of
    the participant: afterwards no message says when others knew that it is gone. In groups that
    merge a participant that takes the requester for gone goes on without it, into later views; and
    who leads the merged view may flush it before the sides' requesters have ended their flushes.
    """
    gone = _gone(moments)
    merges = any(report.merges for report in moments.reports.values())
    count = 0
    for one in moments.spans("suspended"):
        if one.value is None:
            continue
        fid, participants = one.value
        for node, life in participants:
            for other in moments.beside(one, "still", (node, life)):
                if one.who in gone and not moments.heard(one.who, other.who, other.start):
                    continue
                if merges and other.value != fid and _is_apart(moments, one, other):
                    continue
                count += 1
                if other.value != fid:
                    but = f"{name(other.who)} is not still for it from its event {other.start}"
                    return Asking(count, broken(one, one.start, one.value, but))
    return Asking(count)


_BELOW: Final = "what was received is NAKACK's: "

INVARIANTS: Final = Invariants(
    of={
        "TypeOK": (
            OfState(
                reads=(
                    "blocked",
                    "flush",
                    "suspects",
                    "frozen",
                    "participants",
                    "completed",
                    "reconciled",
                ),
                alone=well_formed,
                how="the parts of a flush fit together; positions and calls are not in a record",
            ),
        ),
        "VirtualSynchrony": (
            Unshown(why=_BELOW + "nakack.Agreement asks it, and SEQUENCER's VirtualSynchrony"),
        ),
        "SameView": (Unshown(why=_BELOW + "nakack.SendingView asks it"),),
        "NothingLost": (
            Unshown(
                why=_BELOW + "nakack.Agreement asks that survivors delivered the same, of which "
                "the sender is one"
            ),
        ),
        "LatchedUntilInstalled": (
            OfState(
                reads=("view",),
                holds=lambda _rules, before, _after: before.latch,
                asked=lambda before, _: before is not None and before.view > 0,
                how="in the last state before a view is installed, which is decided by then; "
                "since when it is, GMS's messages say and not FLUSH's",
            ),
        ),
        "BlocksAlternate": (
            OfStep(
                actions=("ReceiveStart", "BlockOk", "ReceiveStop", "OpenLatch", "InstallView"),
                holds=_in_turns,
                how="block() and unblock() are called just when `blocked` begins and ends",
            ),
        ),
        "Still": (
            OfMembers(
                judge=participants_still,
                rests_on=accurate,
                how="over times that are in one consistent cut: participants are latched, blocked, "
                "and of that flush; what they have received is NAKACK's",
            ),
        ),
        "AnswersHold": (
            Unshown(
                why=_BELOW + "FlushedIsReceived compares the digests of answers with NAKACK; the "
                "rest of it speaks of answers under way"
            ),
        ),
        "StopsAreSafe": (
            Unshown(
                why="it speaks of messages under way, and of views that GMS's messages order; "
                "gms.AcksBeforeResume asks that all have installed the view before FLUSH resumes"
            ),
        ),
        "UnicastsInView": (Unshown(why="nobody promises it (R5), and it is of no layer traced"),),
        "OneRequester": (
            Unshown(
                why="a requester begins when GMS says so, and GMS's messages order that; by "
                "FLUSH's alone the flushes of two leaders in turn could have been at once"
            ),
        ),
    },
    changes=(
        (("suspended", "asked", "participants"), _suspended),
        (("latch", "blocked", "flush"), _still),
    ),
)
