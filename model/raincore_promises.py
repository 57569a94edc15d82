"""What Raincore promises: the twin of the invariants at the end of `spec/Raincore.tla`.

Each is a predicate on a state of the whole system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

from .raincore_local import Local
from .raincore_state import State


def _eaters(state: State) -> list[Local]:
    return [me for me in state.locals if me.up == "up" and me.token_state == "eating"]


def consistent_history(state: State) -> bool:
    """Entries that are not NULL are equal, at all members."""
    for views in zip(*(_padded(state, me) for me in state.locals), strict=True):
        if len({view for view in views if view}) > 1:
            return False
    return True


def _padded(state: State, me: Local) -> Iterator[tuple[object, ...]]:
    longest = max(len(each.global_view) for each in state.locals)
    yield from me.global_view
    yield from ((),) * (longest - len(me.global_view))


def one_eater(state: State) -> bool:
    """At most one member that runs eats."""
    return len(_eaters(state)) <= 1


def one_lock(state: State) -> bool:
    """At most one member that runs eats while its view is not in chaos."""
    return sum(me.view_state != "chaos" for me in _eaters(state)) <= 1


def seven_states(state: State) -> bool:
    """Nobody starves in agreement or in reserve."""
    return all(
        me.token_state != "starving" or me.view_state == "chaos"
        for me in state.locals
        if me.up == "up"
    )


def no_holes(state: State) -> bool:
    """Who is in a view that anybody committed, and is in the next it commits, has committed it."""
    for me in state.locals:
        if me.last_token.nodelist and me.view_state == "agreement":
            for other in state.locals:
                for at, view in enumerate(other.global_view[: len(me.global_view)], 1):
                    if me.me in view and me.global_view[at - 1] != view and _stayed(me, at):
                        return False
    return True


def _stayed(me: Local, at: int) -> bool:
    return any(me.global_view[:at])


def agreed_order(state: State) -> bool:
    """What two members both deliver they deliver in the same order."""
    for one, other in combinations(state.locals, 2):
        both = set(one.delivered) & set(other.delivered)
        if [m for m in one.delivered if m in both] != [m for m in other.delivered if m in both]:
            return False
    return True


def integrity(state: State) -> bool:
    """No multicast is delivered twice, and none that was not sent."""
    said = {me.me: me.said for me in state.locals}
    return all(
        len(set(me.delivered)) == len(me.delivered)
        and all(k <= said[origin] for origin, k in me.delivered)
        for me in state.locals
    )


def fifo(state: State) -> bool:
    """Of one sender the multicasts are delivered in its order."""
    for me in state.locals:
        for origin in {origin for origin, _ in me.delivered}:
            ks = [k for o, k in me.delivered if o == origin]
            if ks != sorted(ks):
                return False
    return True


INVARIANTS: Mapping[str, Callable[[State], bool]] = {
    "ConsistentHistory": consistent_history,
    "OneEater": one_eater,
    "OneLock": one_lock,
    "SevenStates": seven_states,
    "NoHoles": no_holes,
    "AgreedOrder": agreed_order,
    "Integrity": integrity,
    "Fifo": fifo,
}
