"""The points of a trace at which PBCAST's invariants are evaluated."""

from __future__ import annotations

from typing import Any, Final

from raincheck.conformance.trace.invariants.asked import Invariants, OfState, OfStep, Unshown
from raincheck.model.pbcast.events import Request
from raincheck.model.pbcast.handlers import Local
from raincheck.model.pbcast.promises import well_formed

_BETWEEN: Final = (
    "it compares members at one moment, and there are no runs of PBCAST in the field; TLC asks it"
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
        "OnlyStablePurged": (Unshown(why=_BETWEEN),),
        "NothingOutOfReach": (Unshown(why=_BETWEEN),),
        "AskedHas": (Unshown(why=_BETWEEN),),
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
        "RoundCollects": (Unshown(why=_BETWEEN),),
        "RoundDelivers": (Unshown(why=_BETWEEN),),
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
