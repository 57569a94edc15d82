"""The promises of FLUSH: the twin of the invariants at the end of `spec/Flush.tla`.

Each is a predicate on a state of the whole system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from .handlers import Local
from .state import State


def _survivors(state: State, view: int) -> list[int]:
    """Return the members of that view that have gone on to the next one."""
    return [i for i, me in enumerate(state.locals) if state.up[i] and view < me.view]


def _members(state: State, view: int) -> list[int]:
    return [i for i, me in enumerate(state.locals) if me.me in state.views[view - 1]]


def virtual_synchrony(state: State) -> bool:
    """The survivors of a view have received the same multicasts before they install the next."""
    for view in range(1, len(state.views) + 1):
        survivors = _survivors(state, view)
        for c in _members(state, view):
            if len({state.cuts[p][view - 1][c] for p in survivors}) > 1:
                return False
    return True


def _received(state: State) -> Iterator[tuple[int, int]]:
    """Yield the view of sending and of receipt of each multicast that a running member received."""
    for n, me in enumerate(state.locals):
        if not state.up[n]:
            continue
        for c, stream in enumerate(state.stream):
            for i in range(1, state.position[n][c] + 1):
                ended = (v for v, cut in enumerate(state.cuts[n], 1) if i <= cut[c])
                yield stream[i - 1], next(ended, me.view)


def same_view(state: State) -> bool:
    """A multicast is received in the view in which it was sent."""
    return all(sent == received for sent, received in _received(state))


def nothing_lost(state: State) -> bool:
    """No multicast of a member that survives its view is lost."""
    for view in range(1, len(state.views) + 1):
        survivors = _survivors(state, view)
        for p in survivors:
            last = max((i for i, v in enumerate(state.stream[p], 1) if v <= view), default=0)
            if any(state.cuts[q][view - 1][p] < last for q in survivors):
                return False
    return True


def latched_until_installed(state: State) -> bool:
    """Nobody multicasts between the decision of a view and its installation."""
    return all(
        me.latch or me.view == len(state.views)
        for me, up in zip(state.locals, state.up, strict=True)
        if up
    )


def blocks_alternate(state: State) -> bool:
    """The application sees block() and unblock() in turns."""
    return all(
        calls == (0 if me.blocked == "no" else 1)
        for me, calls in zip(state.locals, state.calls, strict=True)
    )


def well_formed(me: Local) -> bool:
    """A member's own part of TypeOK."""
    return (
        (me.blocked == "no") == (me.flush is None)
        and me.me not in me.suspects
        and me.frozen <= me.suspects
        and me.reconciled.issubset(me.participants)
        and all(who in me.participants for who, _ in me.completed)
    )


def still(state: State) -> bool:
    """During a view change all participants are still and have received the same multicasts."""
    index = {me.me: i for i, me in enumerate(state.locals)}
    for r, requester in enumerate(state.locals):
        if not state.up[r] or not requester.suspended:
            continue
        here = [index[p] for p in requester.participants if state.up[index[p]]]
        for p in here:
            me = state.locals[p]
            if not me.latch or me.flush != requester.asked or me.blocked != "yes":
                return False
            for q in here:
                both = [index[c] for c in me.members if c in state.locals[q].members]
                if any(state.position[p][c] != state.position[q][c] for c in both):
                    return False
    return True


def one_requester(state: State) -> bool:
    """At most one running member has a flush under way."""
    return sum(me.asked is not None for me in state.locals) <= 1


INVARIANTS: Mapping[str, Callable[[State], bool]] = {
    "VirtualSynchrony": virtual_synchrony,
    "SameView": same_view,
    "NothingLost": nothing_lost,
    "LatchedUntilInstalled": latched_until_installed,
    "BlocksAlternate": blocks_alternate,
    "Still": still,
    "OneRequester": one_requester,
}
