"""Instances of SEQUENCER for lockstep, bounded only by their nodes, and their invariants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from raincheck.conformance.bindings.binding import World
from raincheck.model.sequencer.handlers import Rules
from raincheck.model.sequencer.promises import INVARIANTS
from raincheck.model.sequencer.state import Constants, State
from raincheck.model.sequencer.system import SequencerSystem

PLENTY: Final = 1_000_000
"""A bound that no run reaches."""

WEAK: Final = ("Integrity", "Fifo", "GapFree")
"""The invariants over views that are not virtually synchronous, for senders that are still there.
"""


def promised(synchronous: bool) -> dict[str, Callable[[State], bool]]:
    """Return the invariants of the repaired protocol."""
    if synchronous:
        names = ("TotalOrder", "Agreement", *WEAK, "NoCreation", "Fresh", "InView")
        return {name: INVARIANTS[name] for name in names}
    return {"InView": INVARIANTS["InView"], **{name: _of_members(name) for name in WEAK}}


def _of_members(name: str) -> Callable[[State], bool]:
    """Return the invariant without the messages of members that are gone: R8 forgets them
    (SEQ-F18).
    """

    def holds(state: State) -> bool:
        members = state.views[-1].members
        kept = (
            tuple(each for each in heard if each[0].sender in members) for heard in state.delivered
        )
        return INVARIANTS[name](state._replace(delivered=tuple(kept)))

    return holds


WORLDS: Final = {
    name: tuple(
        {"nodes": "abcd", "founders": founders, "virtual_synchrony": synchronous}
        for founders in ("ab", "abc", "abcd")
    )
    for name, synchronous in (("synchronous", True), ("weak", False))
} | {"stranger": ({"nodes": "abcd", "founders": "abc", "strangers": "d"},)}


def world(
    nodes: str = "abcd",
    founders: str = "abc",
    virtual_synchrony: bool = True,
    rules: Rules | None = None,
    strangers: str = "",
) -> World:
    """Return an instance in which every node may do everything, as often as it likes."""
    everybody = frozenset(nodes)
    constants = Constants(
        nodes=tuple(sorted(nodes)),
        founders=frozenset(founders),
        senders=everybody,
        max_said=PLENTY,
        crashers=everybody,
        max_crashes=len(nodes) - 1,
        leavers=everybody,
        returners=everybody,
        last_demotion=PLENTY,
        fifo_forward=True,
        virtual_synchrony=virtual_synchrony,
        rules=rules or Rules(),
        strangers=frozenset(strangers),
        max_forged=PLENTY,
    )
    kept = promised(virtual_synchrony) if constants.rules == Rules() else {}
    return World(SequencerSystem(constants), kept)
