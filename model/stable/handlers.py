"""STABLE: the twin of `spec/Stable.tla`, one function per handler of a member.

The law of this file: a handler sees one member's local state and one input. Its guard comes first
in the spec's words, followed by the effect of the spec's action on this member. Calls of NAKACK
(`Purge`, `Heard`) and multicasts are outputs: the network of `system.py`, or a recorded trace,
decides what becomes of them. The spec quotes the rules R1 to R7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from raincheck.model.machine.machine import Accepted, Refused, Value, refusal, state
from raincheck.model.machine.runs import Address

from .events import (
    INPUTS,
    Heard,
    InstallView,
    Members,
    Output,
    Purge,
    ReceiveDigest,
    ReceiveStability,
    Resume,
    SendDigest,
    SendStability,
    Stability,
    StableDigest,
    Suspend,
    Vector,
    Vote,
)

__all__ = [
    "HANDLERS",
    "INPUTS",
    "Heard",
    "InstallView",
    "Local",
    "Members",
    "Output",
    "Purge",
    "ReceiveDigest",
    "ReceiveStability",
    "Resume",
    "Rules",
    "SendDigest",
    "SendStability",
    "Stability",
    "StableDigest",
    "Suspend",
    "Vector",
    "Vote",
]


@dataclass(frozen=True, slots=True)
class Rules:
    """The repairs that are switched on; the names are the spec's constants."""

    vote_check: str = "view"
    foreign: str = "ignore"
    reset_on_view: bool = True
    atomic_vote: bool = True
    clear_votes: bool = True
    drop_late: bool = True
    cancel_covered: bool = True
    suspend_on_join: bool = True
    last_message: str = "digest"


@state
class Local(NamedTuple):
    """A member's local state. `members` are those of its view (the spec's `views[view[n]]`)."""

    me: Address
    view: int = 0
    members: Members = ()
    electorate: frozenset[Address] = frozenset()
    heard_from: frozenset[Address] = frozenset()
    vector: Vector = ()
    heard: Vector = ()
    latest: Vector = ()
    in_hand: tuple[tuple[Address, Vector], ...] = ()
    pending: Vector | None = None
    suspended: bool = False


Answer: TypeAlias = Accepted[Local, Output] | Refused


# ------------------------------------------------------------------ the handlers


def send_digest(rules: Rules, me: Local, event: SendDigest) -> Answer:
    """The member multicasts its digest, which is also its own vote (R1, R2)."""
    enabled = me.view > 0 and not me.suspended
    refused = None if enabled else refusal(_in_view(me), _not_suspended(me))
    if refused:
        return refused
    delivered, received = event
    others = tuple(member for member in me.members if member != me.me)
    output = StableDigest(others, me.view, delivered, received)
    return Accepted(count(rules, me, me.me, me.view, delivered, received), (output,))


def receive_digest(rules: Rules, me: Local, event: ReceiveDigest) -> Answer:
    """A digest arrives (R3, R6, R7)."""
    refused = None if me.view > 0 else refusal(_in_view(me))
    if refused:
        return refused
    if me.suspended:
        return Accepted(me)
    sender, view, delivered, received = event
    outputs: tuple[Output, ...] = ()
    ours = is_ours(rules, me, view, delivered, me.electorate)
    if rules.last_message == "digest" and ours:
        outputs = (Heard(sender, received),)
    return Accepted(count(rules, me, sender, view, delivered, received), outputs)


def vote(rules: Rules, me: Local, event: Vote) -> Answer:
    """Count a vote apart from its digest, where the two are not one step (STB-F2)."""
    del rules
    in_hand = dict(me.in_hand)
    refused = refusal(
        (event.sender in in_hand, "s \\in DOMAIN inHand[n]", {"s": event.sender}),
    )
    if refused:
        return refused
    lowest = in_hand.pop(event.sender)
    me = me._replace(in_hand=tuple(sorted(in_hand.items())))
    return Accepted(_tick_off(me, event.sender, lowest, {}))


def send_stability(rules: Rules, me: Local, _event: SendStability) -> Answer:
    """All have voted, the random delay is over, and nobody else was faster: send STABILITY (R4)."""
    pending = me.pending
    refused = refusal(
        (pending is not None, "pending[n] # <<>>", {"pending": pending or ()}), _not_suspended(me)
    )
    if refused or pending is None:
        return refused or Refused(())
    if not rules.clear_votes:
        output = Stability(me.members, me.view, pending, me.heard)
        return Accepted(me._replace(pending=None), (output,))
    others = tuple(member for member in me.members if member != me.me)
    outputs: tuple[Output, ...] = (Stability(others, me.view, pending, me.heard), Purge(pending))
    if rules.last_message == "stability":
        outputs = (*outputs, Heard(me.me, me.heard))
    return Accepted(reset(me), outputs)


def receive_stability(rules: Rules, me: Local, event: ReceiveStability) -> Answer:
    """STABILITY arrives (R4, R5, R7)."""
    refused = None if me.view > 0 else refusal(_in_view(me))
    if refused:
        return refused
    sender, view, digest, received = event
    if me.suspended or not is_ours(rules, me, view, digest, frozenset(me.members)):
        return Accepted(me)
    outputs: tuple[Output, ...] = (Purge(digest),)
    if rules.last_message == "stability":
        outputs = (*outputs, Heard(sender, received))
    if rules.cancel_covered and not covers(digest, me.vector):
        return Accepted(me, outputs)
    return Accepted(reset(me), outputs)


def suspend(rules: Rules, me: Local, _event: Suspend) -> Answer:
    """A digest is promised to joiners: vote for nothing beyond it until they vote too."""
    refused = None if me.view > 0 else refusal(_in_view(me))
    if refused:
        return refused
    return Accepted(reset(me)._replace(suspended=True) if rules.suspend_on_join else me)


def resume(rules: Rules, me: Local, _event: Resume) -> Answer:
    """The view change is given up."""
    del rules
    return refusal(_in_view(me)) or Accepted(me._replace(suspended=False))


def install_view(rules: Rules, me: Local, event: InstallView) -> Answer:
    """The next view is installed: other members and other votes count."""
    view, members = event
    refused = refusal(
        (view > me.view, "view[n] < v", {"v": view, "view": me.view}),
        (me.me in members, "Address(n) \\in Members(new)", {"new": members}),
    )
    if refused:
        return refused
    joining = me.view == 0
    me = me._replace(view=view, members=members, suspended=False, latest=())
    return Accepted(reset(me) if joining or rules.reset_on_view else me)


# ------------------------------------------------------------------ their parts


def reset(me: Local) -> Local:
    """Start counting again, among the members of the view."""
    members = me.electorate
    if len(members) != len(me.members) or not members.issuperset(me.members):
        members = frozenset(me.members)
    return me._replace(
        electorate=members, heard_from=members, vector=(), heard=(), in_hand=(), pending=None
    )


def is_ours(
    rules: Rules, me: Local, view: int, vector: Vector, members: frozenset[Address]
) -> bool:
    """Tell whether a message is about this member's view, as far as the rules look."""
    if rules.vote_check == "view":
        return view == me.view
    return rules.vote_check == "any" or frozenset(who for who, _ in vector) == members


def count(
    rules: Rules, me: Local, sender: Address, view: int, vector: Vector, received: Vector
) -> Local:
    """Take a digest in (R3, R6)."""
    if not is_ours(rules, me, view, vector, me.electorate):
        if rules.foreign == "reset":
            return reset(me)
        if rules.foreign in ("list", "counted"):
            members = frozenset(me.members)
            me = me._replace(electorate=members, heard_from=members)
        if rules.foreign != "counted":
            return me
    taken: dict[str, Any] = {}
    if rules.drop_late and sender != me.me:
        total = sum([at for _, at in vector])
        latest = dict(me.latest)
        if total < latest.get(sender, 0):
            return me
        if latest.get(sender) != total:
            latest[sender] = total
            taken["latest"] = tuple(sorted(latest.items()))
    lowest = taken["vector"] = merged(me.vector, vector, min)
    if rules.last_message == "stability":
        taken["heard"] = merged(me.heard, received, max)
    if rules.atomic_vote:
        return _tick_off(me, sender, lowest, taken)
    me = me._replace(**taken)
    in_hand = dict(me.in_hand)
    in_hand[sender] = lowest
    return me._replace(in_hand=tuple(sorted(in_hand.items())))


def merged(vector: Vector, other: Vector, better: Callable[[int, int], int]) -> Vector:
    """Return the element-wise `min` or `max`; entries of only one of them stay as they are."""
    if len(vector) == len(other):
        pairs: list[tuple[Address, int]] = []
        for (who, at), (peer, theirs) in zip(vector, other, strict=True):
            if who != peer:
                break
            pairs.append((who, better(at, theirs)))
        else:
            return tuple(pairs)
    found = dict(vector)
    for who, at in other:
        found[who] = better(found.get(who, at), at)
    return tuple(sorted(found.items()))


def covers(vector: Vector, other: Vector) -> bool:
    """Tell whether the vector is nowhere below the other."""
    found = dict(vector)
    return all(found.get(who, 0) >= at for who, at in other)


def _tick_off(me: Local, sender: Address, lowest: Vector, taken: Mapping[str, Any]) -> Local:
    """The member with what it has taken, which waits for the sender no longer."""
    waited = me.heard_from
    if sender not in waited:
        return me._replace(**taken)
    left = waited - {sender}
    return me._replace(heard_from=left, pending=me.pending if left else lowest, **taken)


def _in_view(me: Local) -> tuple[bool, str, Mapping[str, Value]]:
    return me.view > 0, "view[n] > 0", {"view": me.view}


def _not_suspended(me: Local) -> tuple[bool, str, Mapping[str, Value]]:
    return not me.suspended, "~suspended[n]", {"suspended": me.suspended}


HANDLERS: Mapping[str, Callable[[Rules, Local, Any], Answer]] = {
    "SendDigest": send_digest,
    "ReceiveDigest": receive_digest,
    "Vote": vote,
    "SendStability": send_stability,
    "ReceiveStability": receive_stability,
    "Suspend": suspend,
    "Resume": resume,
    "InstallView": install_view,
}
