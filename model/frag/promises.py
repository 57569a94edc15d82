"""The promises of FRAG: the twin of the invariants at the end of `spec/Frag.tla`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations_with_replacement
from typing import Final

from .handlers import Local, Rules, parts_of
from .state import Delivered, State


def type_ok(state: State) -> bool:
    """Every variable has a value of its kind."""
    return len(state.log) == len(state.views) and all(
        me.view <= len(state.views)
        and (state.status[i] == "member") == (me.view > 0)
        and well_formed(me)
        and (not me.view or _placed(state, i))
        and all(
            number <= len(state.sent[i]) and state.sent[i][number - 1] == sending.parts
            for number, sending in me.sending
        )
        and _pieces_of_kept(state, i)
        for i, me in enumerate(state.locals)
    )


def _placed(state: State, i: int) -> bool:
    me = state.locals[i]
    inside = me.me.node in state.views[me.view - 1].members
    return inside and state.at[i] <= len(state.log[me.view - 1])


def _pieces_of_kept(state: State, i: int) -> bool:
    pieces = {key: len(each) for key, each in state.pieces[i]}
    kept = {
        (sender.node, number): each.here
        for sender, mine in state.locals[i].kept
        for number, each in mine
    }
    return pieces == kept


def well_formed(me: Local) -> bool:
    """A member's own part of `type_ok`."""
    if me.epoch > me.view or (me.view and me.me not in me.members):
        return False
    for _, (parts, sent) in me.sending:
        if not 0 <= sent <= parts:
            return False
    return not me.kept or all(0 < here < parts for _, mine in me.kept for _, (here, parts) in mine)


def whole(state: State) -> bool:
    """What is delivered has all parts of its message, in order, each once, of one epoch (G2)."""
    sizes = {me.me.node: sent for me, sent in zip(state.locals, state.sent, strict=True)}
    return all(
        [part for _, part in each.pieces] == list(range(sizes[each.sender][each.number - 1]))
        and len({epoch for epoch, _ in each.pieces}) == 1
        and 1 <= each.pieces[0][0] <= len(state.views)
        for delivered in state.delivered
        for each in delivered
    )


def no_duplicates(state: State) -> bool:
    """No member delivers a message twice."""
    return all(
        len({(each.sender, each.number) for each in delivered}) == len(delivered)
        for delivered in state.delivered
    )


def one_view(state: State) -> bool:
    """No two members deliver a message in different views."""
    views: dict[tuple[str, int], int] = {}
    return all(
        views.setdefault((each.sender, each.number), each.view) == each.view
        for delivered in state.delivered
        for each in delivered
    )


def total_order(state: State) -> bool:
    """Members deliver the same messages in the same order in a view, as far as they have come."""
    for v, n, p in _pairs(state):
        mine, theirs = _in(state, n, v), _in(state, p, v)
        common = min(len(mine), len(theirs))
        if mine[:common] != theirs[:common]:
            return False
    return True


def same_messages(state: State) -> bool:
    """Members that go on from a view to the next have delivered the same messages in it."""
    return all(
        _in(state, n, v) == _in(state, p, v)
        for v, n, p in _pairs(state)
        if v < state.locals[n].view and v < state.locals[p].view
    )


def given_up_is_gone(state: State) -> bool:
    """Nobody delivers what its sender has given up."""
    return all(
        (each.sender, each.number) not in state.given_up
        for delivered in state.delivered
        for each in delivered
    )


def bounded(state: State, window: int) -> bool:
    """A member keeps fragments of members only, and of each of them no more than a window (G6)."""
    return all(
        sender.node in state.views[me.view - 1].members
        and parts_of(kept for _, kept in mine) <= window
        for me in state.locals
        if me.view
        for sender, mine in me.kept
    )


def _pairs(state: State) -> Iterator[tuple[int, int, int]]:
    """Yield each view and two running members of it."""
    running = [i for i, status in enumerate(state.status) if status == "member"]
    for v, view in enumerate(state.views, 1):
        inside = [i for i in running if state.locals[i].me.node in view.members]
        for n, p in combinations_with_replacement(inside, 2):
            yield v, n, p


def _in(state: State, n: int, view: int) -> tuple[Delivered, ...]:
    return tuple(each for each in state.delivered[n] if each.view == view)


def invariants(rules: Rules) -> Mapping[str, Callable[[State], bool]]:
    """Return the spec's invariants, by name."""
    return {**_INVARIANTS, "Bounded": lambda state: bounded(state, rules.window)}


_INVARIANTS: Final[Mapping[str, Callable[[State], bool]]] = {
    "TypeOK": type_ok,
    "Whole": whole,
    "NoDuplicates": no_duplicates,
    "OneView": one_view,
    "TotalOrder": total_order,
    "SameMessages": same_messages,
    "GivenUpIsGone": given_up_is_gone,
}
