"""Instances of SEQUENCER for lockstep, without bounds but their nodes, and what holds in them."""

from __future__ import annotations

from typing import Final

from raincheck.conformance.bindings.binding import World
from raincheck.model.sequencer.handlers import Rules
from raincheck.model.sequencer.state import Constants
from raincheck.model.sequencer.system import SequencerSystem

PLENTY: Final = 1_000_000
"""A bound that nothing reaches."""

PROMISED: Final = {
    True: ("TotalOrder", "Agreement", "Integrity", "Fifo", "GapFree", "Fresh", "InView"),
    False: ("Integrity", "Fifo", "GapFree", "InView"),
}
"""The invariants of the repaired protocol, over virtually synchronous views and over others."""

WORLDS: Final = {
    name: tuple(
        {"nodes": "abcd", "founders": founders, "virtual_synchrony": synchronous}
        for founders in ("ab", "abc", "abcd")
    )
    for name, synchronous in (("synchronous", True), ("weak", False))
}


def world(
    nodes: str = "abcd",
    founders: str = "abc",
    virtual_synchrony: bool = True,
    rules: Rules | None = None,
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
    )
    promised = PROMISED[virtual_synchrony] if constants.rules == Rules() else ()
    return World(SequencerSystem(constants), promised)
