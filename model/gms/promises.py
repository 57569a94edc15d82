"""The promises of GMS: the twins of the invariants in `spec/Gms.tla`, in its order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from raincheck.model.machine.runs import Address

from .events import View
from .handlers import Local, running

if TYPE_CHECKING:
    from .state import State


def _number(view: View | None) -> int:
    return view.id.counter if view is not None else 0


def _members(state: State) -> Iterator[tuple[int, Local, View]]:
    for i, me in enumerate(state.locals):
        if me.view is not None and running(me):
            yield i, me, me.view


def single_sequence_of_views(state: State) -> bool:
    """No number belongs to two views, and none is left out."""
    by_number = {view.id.counter: view for _, view in state.steps}
    return all(by_number[view.id.counter] == view for _, view in state.steps) and all(
        before is None or _number(view) == _number(before) + 1 for before, view in state.steps
    )


def survivors_agree(state: State) -> bool:
    """The present members agree on the view of each number."""
    found: dict[int, View] = {}
    return all(found.setdefault(view.id.counter, view) == view for _, _, view in _members(state))


def one_history_per_side(state: State) -> bool:
    """A view's identifier names one membership, and all who install it come from the same view."""
    views: dict[object, View] = {}
    befores: dict[object, View] = {}
    return all(
        views.setdefault(view.id, view) == view
        and (before is None or befores.setdefault(view.id, before) == before)
        for before, view in state.steps
    )


def once_per_view(state: State) -> bool:
    """Nobody is in a view twice."""
    return all(named_once(view) for _, view in state.steps)


def monotone(state: State) -> bool:
    """The numbers of a member's views grow."""
    return all(is_later(before, view) for before, view in state.steps)


def joiners_are_new(state: State) -> bool:
    """The joiners of a view are not in the view before."""
    return all(names_joiners(before, view) for before, view in state.steps)


def well_formed(me: Local) -> bool:
    """A member's own part of TypeOK."""
    return (
        me.suspects.isdisjoint(me.gone)
        and me.phase in ("idle", "flushing", "installing", "finishing")
        and (me.phase != "installing" or me.proposal is not None)
        and (not me.waiting or me.phase in ("installing", "finishing"))
        and running(me) == (me.view is not None)
        and not (me.held and any(_number(held) <= _number(me.view) for held in me.held))
    )


def named_once(view: View) -> bool:
    """Nobody is in the view twice."""
    return len(set(view.members)) == len(view.members)


def is_later(before: View | None, view: View) -> bool:
    """A member's next view has a higher number."""
    return _number(before) < view.id.counter


def names_joiners(before: View | None, view: View) -> bool:
    """The joiners of a member's next view are not in the one before."""
    return before is None or set(view.joiners) == set(view.members) - set(before.members)


def _cut(state: State, c: int, view: View) -> int:
    stream = state.stream[c]
    news = [at for at, entry in enumerate(stream, 1) if entry.news == view.id.counter]
    return max(news) if news else sum(entry.view < view.id.counter for entry in stream)


def _starts(state: State, address: Callable[[Local], Address]) -> Iterator[tuple[int, int]]:
    """Return where each joiner began to read a member's stream, and where the cut is."""
    index = {me.node: i for i, me in enumerate(state.locals)}
    for i, me, _ in _members(state):
        start = state.start[i]
        view = getattr(start.content, "view", None) if start is not None else None
        if start is None or not isinstance(view, View):
            continue
        for a in view.members:
            them = state.locals[index[a.node]]
            if a != address(me) and running(them) and address(them) == a:
                yield start.digest[index[a.node]], _cut(state, index[a.node], view)


def same_before(state: State) -> bool:
    """Members of one view have consumed the same multicasts of the views before it."""
    index = {me.node: i for i, me in enumerate(state.locals)}
    for p, _, view in _members(state):
        for q, _, other in _members(state):
            if view != other:
                continue
            for s in {index[a.node] for a in view.members}:
                ends = state.position[p][s], state.position[q][s]
                between = state.stream[s][min(ends) : max(ends)]
                if any(entry.view < view.id.counter for entry in between):
                    return False
    return True


def invariants(address: Callable[[Local], Address]) -> Mapping[str, Callable[[State], bool]]:
    """Return the invariants by their names in the spec; `address` depends on the rules."""

    def self_inclusion(state: State) -> bool:
        return all(address(me) in view.members for _, me, view in _members(state))

    def nobody_is_lost(state: State) -> bool:
        return all(
            address(q) in view.members
            for _, _, view in _members(state)
            for _, q, other in _members(state)
            if view.id.counter >= other.id.counter
        )

    def acks_before_resume(state: State) -> bool:
        return not any(
            not state.latch[p]
            and address(me) not in view.joiners
            and address(them) in view.members
            and other.id.counter < view.id.counter
            for p, me, view in _members(state)
            for _, them, other in _members(state)
        )

    def nothing_skipped(state: State) -> bool:
        return all(at <= cut for at, cut in _starts(state, address))

    def nothing_awaited(state: State) -> bool:
        return all(at >= cut for at, cut in _starts(state, address))

    return {
        "SingleSequenceOfViews": single_sequence_of_views,
        "SurvivorsAgree": survivors_agree,
        "OneHistoryPerSide": one_history_per_side,
        "SelfInclusion": self_inclusion,
        "OncePerView": once_per_view,
        "Monotone": monotone,
        "NobodyIsLost": nobody_is_lost,
        "JoinersAreNew": joiners_are_new,
        "NothingSkipped": nothing_skipped,
        "NothingAwaited": nothing_awaited,
        "JoinerAtCut": lambda state: nothing_skipped(state) and nothing_awaited(state),
        "SameBefore": same_before,
        "AcksBeforeResume": acks_before_resume,
    }
