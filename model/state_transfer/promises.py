"""The promises of state transfer: the twin of the invariants of `spec/StateTransfer.tla`.

Each is a predicate on a state of the whole system.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from raincheck.model.machine.runs import Address

from .handlers import Local
from .state import Constants, State


def invariants(constants: Constants) -> Mapping[str, Callable[[State], bool]]:
    """Return the invariants of an instance, by the spec's names."""
    return {
        "TypeOK": lambda state: type_ok(constants, state),
        "SameCut": lambda state: same_cut(constants, state),
        "Bounded": lambda state: bounded(constants, state),
    }


def same_cut(constants: Constants, state: State) -> bool:
    """Each state is whole and of one reading; every message is in it or applied after it."""
    for i, parts in enumerate(state.state):
        if not parts:
            continue
        after = set(range(state.base[i] + 1, state.applied[i] + 1))
        known = set(range(1, state.applied[i] + 1))
        whole = len(parts) == constants.chunks and all(
            part.number == number and part.by is not None and part.by == parts[0].by
            for number, part in enumerate(parts, 1)
        )
        within = [set(range(1, part.at + 1)) for part in parts]
        if not whole or any(each & after or each | after != known for each in within):
            return False
    return True


def bounded(constants: Constants, state: State) -> bool:
    """The chunks under way and waiting for the application are at most as many as the window."""
    for i, me in enumerate(state.locals):
        if me.phase != "fetching":
            continue
        for p, provider in enumerate(constants.nodes):
            if me.provider is None or provider != me.provider.node:
                continue
            under_way = sum(
                m.kind == "Chunk" and m.fields[0] == me.attempt for m in state.net[p][i]
            )
            if under_way + me.next - 1 - me.taken > constants.window:
                return False
    return True


def well_formed(me: Local) -> bool:
    """A member's own part of `type_ok`."""
    return (
        me.phase in ("idle", "asking", "fetching", "setting", "set", "failed")
        and (me.phase not in ("fetching", "setting") or me.provider is not None)
        and all(each.next >= 1 for _, each in me.serving)
    )


def waits_within(window: int, me: Local) -> bool:
    """A requester's own part of `bounded`: the chunks that wait for the application."""
    return me.next - 1 - me.taken <= window


def type_ok(constants: Constants, state: State) -> bool:
    """Every variable has a value of its kind, and related variables fit together."""
    gone = {Address(n, 0) for n, up in zip(constants.nodes, state.up, strict=True) if not up}
    nodes = {Address(n, 0) for n in constants.nodes}
    return state.flush in ("open", "closed") and all(
        me.suspects <= gone
        and well_formed(me)
        and (me.phase not in ("fetching", "setting") or me.provider in nodes)
        and {to for to, _ in me.serving} <= nodes
        and all(each.next <= constants.chunks for _, each in me.serving)
        and set(me.queue) | me.waiting <= nodes
        and state.base[i] <= state.applied[i] <= state.position[i] <= state.sent
        for i, me in enumerate(state.locals)
    )
