"""The promises of RING_START: the twin of the invariants at the end of `spec/RingStart.tla`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .events import Late
from .handlers import ASKS, Local, Rules, address_of, majority, names
from .state import Done, State

STAGES = (*ASKS, "attempting", "member")


def well_formed(rules: Rules, me: Local) -> bool:
    """A process's own part of `type_ok`."""
    heard = names(me.heard)
    return (
        me.stage in STAGES
        and (me.stage in ASKS) == (not me.ring)
        and (me.stage != "attempting" or address_of(rules, me) in me.ring)
        and (not me.heard or me.stage != "member")
        and (not me.once or (me.stage in ASKS and address_of(rules, me) in me.once))
        and heard <= rules.members - {me.me.node}
        and len(heard) == len(me.heard)
    )


def type_ok(rules: Rules, state: State) -> bool:
    """Every variable has a value of its kind."""
    return (
        all(well_formed(rules, me) for me in state.locals)
        and all(
            up or not (me.heard or me.once) for up, me in zip(state.up, state.locals, strict=True)
        )
        and all(_late_ok(rules, state, late) for late in state.late)
    )


def _late_ok(rules: Rules, state: State, late: Late) -> bool:
    """Tell whether an answer under way is a member's, to a process that asks."""
    asks = (
        up and me.stage != "member"
        for up, me in zip(state.up, state.locals, strict=True)
        if me.me.node == late.to
    )
    return all(asks) and late.info.sender.node in rules.members - {late.to}


def one_founding(state: State) -> bool:
    """At most one ring of this name is ever founded (S2, S3, S4)."""
    return len({done.ring for done in state.spoken}) <= 1


def one_ring(state: State) -> bool:
    """Processes that are in a ring of this name are in the same one (S2, S3, S6)."""
    return len({me.ring for me in state.locals if me.stage == "member"}) <= 1


def one_speaker(rules: Rules, state: State) -> bool:
    """Nobody speaks as a founder without the memory of what that one has said (S5)."""
    return not any(
        me.stage == "member" and Done(me.ring, address_of(rules, me)) in state.gone
        for me in state.locals
    )


def recorded(rules: Rules, state: State) -> bool:
    """Nobody speaks in a ring before a majority has recorded its founding (S4)."""
    return all(
        majority(rules, {done.founder.node for done in state.tried if done.ring == ring})
        for ring in {done.ring for done in state.spoken}
    )


def invariants(rules: Rules) -> Mapping[str, Callable[[State], bool]]:
    """Return the spec's invariants, by name."""
    return {
        "TypeOK": lambda state: type_ok(rules, state),
        "OneFounding": one_founding,
        "OneRing": one_ring,
        "OneSpeaker": lambda state: one_speaker(rules, state),
        "Recorded": lambda state: recorded(rules, state),
    }
