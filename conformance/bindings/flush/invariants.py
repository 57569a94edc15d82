"""The points of a trace at which FLUSH's invariants are evaluated."""

from __future__ import annotations

from typing import Any, Final

from raincheck.conformance.trace.invariants.asked import (
    Invariants,
    OfMembers,
    OfState,
    OfStep,
    Unshown,
)
from raincheck.conformance.trace.invariants.moments import Asking, Moments, broken, name
from raincheck.conformance.trace.layers.speaks import Said
from raincheck.model.flush.events import Block, Unblock
from raincheck.model.flush.handlers import Local
from raincheck.model.flush.promises import well_formed

_CALLS: Final = {Block: 1, Unblock: -1}


def _suspended(_before: Local | None, after: Local) -> Said:
    there = after.suspended and after.asked is not None
    yield "suspended", (after.asked, after.participants) if there else None


def _still(_before: Local | None, after: Local) -> Said:
    yield "still", after.flush if after.latch and after.blocked == "yes" else None


def _in_turns(before: Local, _event: Any, after: Local, outputs: tuple[Any, ...]) -> bool | None:
    """The application is called just when it becomes blocked, and no longer is."""
    called = 0
    for output in outputs:
        called += _CALLS.get(type(output), 0)
    was, now = before.blocked != "no", after.blocked != "no"
    return called == now - was if called or was != now else None


def participants_still(moments: Moments) -> Asking:
    """While a requester has suspended the members, all participants are still, for its flush."""
    stills = list(moments.spans("still"))
    count = 0
    for one in moments.spans("suspended"):
        if one.value is None:
            continue
        fid, participants = one.value
        for other in stills:
            if list(other.who) not in participants:
                continue
            count += 1
            if other.value != fid and moments.at_once(one, other):
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
