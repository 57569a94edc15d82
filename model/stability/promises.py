"""The promises of the service, by their names in `spec/Stability.tla`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from .handlers import serves
from .state import Process, State, members, nodes_of


def only_stable_purged(state: State) -> bool:
    """What a member has forgotten all have delivered whom it may have to serve, and those who are
    about to join will not need it.
    """
    nodes = [process.node for process in state.processes]
    for me in state.processes:
        for other in state.processes:
            known = nodes_of(members(state, other))
            if serves(state, me, other) and any(
                gone > has
                for node, gone, has in zip(nodes, me.purged, other.delivered, strict=True)
                if node in known
            ):
                return False
            for told in other.entering:
                there = state.views[told.view - 1].members
                if me.present and me.address in there:
                    rows = zip(nodes, me.purged, told.digest, strict=True)
                    if any(gone > has for node, gone, has in rows if node in nodes_of(there)):
                        return False
    return True


def _had(state: State, other: Process, me: Process, sender: int) -> bool:
    """Whether the other one has had the message that it lacks next of the sender's."""
    return (
        other.present
        and other.node in nodes_of(members(state, me))
        and other.began[sender] <= me.delivered[sender] < other.delivered[sender]
    )


def nothing_out_of_reach(state: State) -> bool:
    """If a member lacks a message that another one of its view has had, some member has it."""
    for me in state.processes:
        if not me.present:
            continue
        known = nodes_of(members(state, me))
        for sender, source in enumerate(state.processes):
            had = [p for p in state.processes if _had(state, p, me, sender)]
            if source.node not in known or not any(p.view == me.view for p in had):
                continue
            if all(p.purged[sender] > me.delivered[sender] for p in had):
                return False
    return True


def only_delivered_purged(state: State) -> bool:
    """Nothing is forgotten that was not delivered, and nothing delivered that was not sent."""
    sent = [process.sent for process in state.processes]
    return all(
        gone <= has <= most
        for process in state.processes
        for gone, has, most in zip(process.purged, process.delivered, sent, strict=True)
    )


def type_ok(state: State) -> bool:
    """Every variable has its kind of value, and those of a process fit each other."""
    return all(_well_formed(state, process) for process in state.processes) and all(
        view.joiners <= view.members for view in state.views
    )


def _well_formed(state: State, process: Process) -> bool:
    return (
        process.view <= len(state.views)
        and process.present == (process.view > 0)
        and len(process.entering) <= 1
        and (process.status == "outside" or not process.entering)
        and all(a <= b for a, b in zip(process.began, process.delivered, strict=True))
    )


INVARIANTS: Final[Mapping[str, Callable[[State], bool]]] = {
    "TypeOK": type_ok,
    "OnlyStablePurged": only_stable_purged,
    "NothingOutOfReach": nothing_out_of_reach,
    "OnlyDeliveredPurged": only_delivered_purged,
}
