"""The points of a trace at which PBCAST's invariants are evaluated."""

from __future__ import annotations

from typing import Any, Final

from raincheck.conformance.bindings.stable.invariants import purged_was_delivered
from raincheck.conformance.trace.invariants.asked import (
    Invariants,
    OfMembers,
    OfState,
    OfStep,
    Unshown,
)
from raincheck.model.pbcast.events import Request
from raincheck.model.pbcast.handlers import Local
from raincheck.model.pbcast.promises import well_formed

_LOST: Final = (
    "a trace does not have when a killed member, and what it kept, was lost; OnlyStablePurged asks "
    "that nothing is purged too soon"
)
_ROUNDS: Final = (
    "a trace does not show which datagrams were lost, which excuses a gossip; TLC asks it"
)


def _kept(_rules: Any, me: Local) -> bool:
    delivered = dict(me.delivered)
    return all(at + me.lag <= delivered.get(s, 0) for s, at in me.purged)


def _lacking(before: Local, _event: Any, _after: Local, outputs: tuple[Any, ...]) -> bool | None:
    asked = [output for output in outputs if isinstance(output, Request)]
    held = dict(before.held)
    if not asked:
        return None
    return not any(some & held.get(s, frozenset()) for each in asked for s, some in each.wanted)


def _to_asker(_before: Local, event: Any, _after: Local, outputs: tuple[Any, ...]) -> bool:
    return all(output.layer == event.layer for output in outputs)


INVARIANTS: Final = Invariants(
    of={
        "TypeOK": (
            OfState(
                reads=("view", "members", "cache", "delivered", "held", "purged"),
                alone=well_formed,
                asked=lambda _, me: me.view > 0,
                how="gossips are known by those who have seen them; what is purged was delivered",
            ),
        ),
        "OnlyStablePurged": (
            OfMembers(
                judge=purged_was_delivered,
                how="each purge, beside what all members had delivered at their gossips around the "
                "consistent cut that it could know of",
            ),
        ),
        "NothingOutOfReach": (Unshown(why=_LOST),),
        "AskedHas": (Unshown(why=_LOST),),
        "NoFutileAsk": (
            OfStep(
                actions=("ReceiveGossip",),
                holds=_lacking,
                how="a request names no message that its member holds",
            ),
        ),
        "LagKept": (
            OfState(
                reads=("delivered", "purged"),
                holds=lambda rules, _, me: _kept(rules, me),
                asked=lambda _, me: me.lag > 0 and bool(me.purged),
                how="a member keeps its lag of what it has delivered",
            ),
        ),
        "RoundCollects": (Unshown(why=_ROUNDS),),
        "RoundDelivers": (Unshown(why=_ROUNDS),),
        "AnswerToAsker": (
            OfStep(
                actions=("GetDigest",),
                holds=_to_asker,
                how="the digest goes to the layer that has asked",
            ),
        ),
        "FloodEnds": (
            Unshown(why="it counts how often a gossip was sent again, which no variable does"),
        ),
        "HeardAreMembers": (
            OfState(
                reads=("heard", "members"),
                alone=lambda me: me.heard <= me.members,
                asked=lambda _, me: bool(me.heard),
                how="only members of one's view are heard of",
            ),
        ),
    },
)
