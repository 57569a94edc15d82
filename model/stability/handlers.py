"""The steps of the service: whether `spec/Stability.tla` has a step from a state to another one.

The law of this file: each function is the spec's action of that name as a predicate on two states,
and nothing here proposes a step. What only changes as the action says is left to those who propose.
"""

from __future__ import annotations

from .state import Constants, Process, State, members, nodes_of


def serves(state: State, process: Process, other: Process) -> bool:
    """Whether it may have to send to the other one again."""
    if not (process.present and other.present):
        return False
    both = {process.address, other.address}
    return other.address in members(state, process) or both <= state.views[-1].members


def _delivers(old: State, new: State, node: int) -> bool:
    before, after = old.processes[node], new.processes[node]
    rows = zip(before.delivered, after.delivered, new.processes, strict=True)
    return all(had == has or had < has <= sender.sent for had, has, sender in rows)


# ------------------------------------------------------------------ steps of a member


def multicast(constants: Constants, old: State, new: State, node: int) -> bool:  # noqa: ARG001
    """The process multicasts a message, which it may have at once."""
    return old.processes[node].present and _delivers(old, new, node)


def deliver(constants: Constants, old: State, new: State, node: int) -> bool:  # noqa: ARG001
    """The process delivers something."""
    return old.processes[node].present and _delivers(old, new, node)


def may_purge(constants: Constants, state: State, node: int, sender: int, upto: int) -> bool:
    """Whether it may forget so many messages of the sender."""
    me, rules = state.processes[node], constants.rules
    if upto > me.delivered[sender]:
        return False
    if rules.waits_for_all:
        for other in state.processes:
            known = constants.node[sender] in nodes_of(members(state, other))
            if serves(state, me, other) and known and upto > other.delivered[sender]:
                return False
    return not rules.keeps_for_joiners or all(
        upto <= told.digest[sender]
        for joiner in state.processes
        for told in joiner.entering
        if me.address in state.views[told.view - 1].members
    )


def purge(constants: Constants, old: State, new: State, node: int) -> bool:
    """The process forgets something."""
    before, after = old.processes[node], new.processes[node]
    return before.present and all(
        had == has or (had < has and may_purge(constants, old, node, sender, has))
        for sender, (had, has) in enumerate(zip(before.purged, after.purged, strict=True))
    )


# ------------------------------------------------------------------ views


def view_change(constants: Constants, old: State, new: State) -> bool:  # noqa: ARG001
    """The next view is decided when all that can have installed the last one."""
    last = old.views[-1].members
    return all(
        not process.entering
        and not (process.present and process.address in last and process.view < len(old.views))
        for process in old.processes
    )


def _tells_joiners(constants: Constants, old: State, new: State, node: int) -> bool:
    """Whether the joiners of the view may be told to begin there."""
    me, view = old.processes[node], new.processes[node].view
    told = [p.entering[0] for p in new.processes if p.entering and p.entering[0].view == view]
    if not told:
        return False
    digest = told[0].digest
    if any(one > had for one, had in zip(digest, me.delivered, strict=True)):
        return False
    there = new.views[view - 1].members
    return not constants.rules.joiners_at_cut or all(
        gone <= one
        for other in old.processes
        if other.present and other.address in there
        for gone, one in zip(other.purged, digest, strict=True)
    )


def install_view(constants: Constants, old: State, new: State, node: int) -> bool:
    """The process installs the next view, and may tell its joiners; or a joiner its first."""
    me = old.processes[node]
    if not me.present:
        return me.status == "outside" and me.entering != ()
    if me.view >= len(old.views) or me.address not in old.views[me.view].members:
        return False
    same = all(a.entering == b.entering for a, b in zip(old.processes, new.processes, strict=True))
    return same or _tells_joiners(constants, old, new, node)


# ------------------------------------------------------------------ processes end and come back


def end(constants: Constants, old: State, new: State, node: int) -> bool:  # noqa: ARG001
    """The process crashes."""
    return old.processes[node].present


def restart(constants: Constants, old: State, new: State, node: int) -> bool:  # noqa: ARG001
    """The process comes back, when it is in nobody's view any more; its stream begins anew."""
    me = old.processes[node]
    return me.status == "gone" and all(
        not other.entering and not (other.present and me.node in nodes_of(members(old, other)))
        for other in old.processes
    )
