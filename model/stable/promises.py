"""The promises of STABLE: the twin of the properties at the end of `spec/Stable.tla`.

Each is a predicate on a state of the whole system, or, for leads-to properties, a pair of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from raincheck.model.machine.runs import Address

from .handlers import Local
from .state import State


def type_ok(state: State) -> bool:
    """Every variable has a value of its kind."""
    count = range(len(state.locals))
    return all(
        0 <= me.view <= len(state.views)
        and (state.status[i] != "member" or me.view > 0)
        and well_formed(me)
        and all(state.purged[i][s] <= state.delivered[i][s] <= state.highest[i][s] for s in count)
        for i, me in enumerate(state.locals)
    )


def well_formed(me: Local) -> bool:
    """A member's own part of `type_ok`."""
    return (me.view == 0 or me.me in me.members) and me.heard_from <= me.electorate


def only_stable_purged(state: State) -> bool:
    """A message is purged only when every member of the view has delivered it.

    A process about to join counts as well, with the digest that it was promised.
    """
    nodes = range(len(state.locals))
    for n in nodes:
        if state.status[n] != "member":
            continue
        for p in nodes:
            if served_by(state, p, n) and any(
                state.purged[n][s] > state.delivered[p][s] for s in _senders(state, p)
            ):
                return False
        for rsp in state.join_rsp:
            if rsp is None or state.locals[n].me not in state.views[rsp.view - 1].members:
                continue
            inside = {a.node for a in state.views[rsp.view - 1].members}
            if any(
                state.purged[n][s] > rsp.digest[s]
                for s, them in enumerate(state.locals)
                if them.me.node in inside
            ):
                return False
    return True


def nothing_out_of_reach(state: State) -> bool:
    """If a member lacks a message that another of its view has had, some member still has it."""
    nodes = range(len(state.locals))
    return all(
        any(holds(state, o, n, s) for o in nodes)
        for n in nodes
        if state.status[n] == "member"
        for s in _senders(state, n)
        for h in nodes
        if had(state, h, n, s) and state.locals[h].view == state.locals[n].view
    )


def votes_are_true(state: State) -> bool:
    """A vote covers no more than its member has delivered (R1)."""
    index = {me.me: i for i, me in enumerate(state.locals) if state.status[i] == "member"}
    return all(
        at <= state.delivered[index[d.sender]][index[who]]
        for d in state.digests
        if d.sender in index
        for who, at in d.first
        if who in index and index[who] in _senders(state, index[d.sender])
    )


INVARIANTS: Final[Mapping[str, Callable[[State], bool]]] = {
    "TypeOK": type_ok,
    "OnlyStablePurged": only_stable_purged,
    "NothingOutOfReach": nothing_out_of_reach,
    "VotesAreTrue": votes_are_true,
}


def delivered_by_all(state: State, n: int, s: int, k: int) -> bool:
    """Tell whether all members of n's view are running in it and have delivered message k of s."""
    if state.status[n] != "member" or s not in _senders(state, n):
        return False
    me = state.locals[n]
    there = {
        them.me: i
        for i, them in enumerate(state.locals)
        if state.status[i] == "member" and them.view == me.view
    }
    return all(a in there and state.delivered[there[a]][s] >= k for a in me.members)


def purged(state: State, n: int, s: int, k: int) -> bool:
    """Tell whether that message is purged at n."""
    return state.purged[n][s] >= k


def lacks(state: State, n: int, s: int, k: int) -> bool:
    """Tell whether n lacks message k of s although somebody in its view has delivered it."""
    return (
        state.status[n] == "member"
        and s in _senders(state, n)
        and state.delivered[n][s] < k
        and any(
            state.status[h] == "member" and state.delivered[h][s] >= k for h in _senders(state, n)
        )
    )


def served_by(state: State, p: int, n: int) -> bool:
    """Tell whether n may have to send to p again: p is in n's view, or both are in the last one."""
    if state.status[n] != "member" or state.status[p] != "member":
        return False
    mine, theirs = state.locals[n].me, state.locals[p].me
    return theirs in state.locals[n].members or {mine, theirs} <= set(state.views[-1].members)


def had(state: State, h: int, i: int, j: int) -> bool:
    """Tell whether h has had the message that i lacks next of the stream of j."""
    name, at = state.locals[h].me.node, state.delivered[i][j]
    return (
        state.status[h] == "member"
        and any(a.node == name for a in state.locals[i].members)
        and state.began[h][j] <= at < state.delivered[h][j]
    )


def holds(state: State, h: int, i: int, j: int) -> bool:
    """Tell whether h still has that message."""
    return had(state, h, i, j) and state.purged[h][j] <= state.delivered[i][j]


def _senders(state: State, n: int) -> frozenset[int]:
    """Return the nodes of n's view."""
    return frozenset(_nodes_of(state, state.locals[n].members))


def _nodes_of(state: State, members: tuple[Address, ...]) -> Iterator[int]:
    inside = {a.node for a in members}
    return (i for i, them in enumerate(state.locals) if them.me.node in inside)
