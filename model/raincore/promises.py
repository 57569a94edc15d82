"""The promises of Raincore: the twin of the invariants at the end of `spec/Raincore.tla`.

Each is a predicate on a state of the whole ring.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import combinations, pairwise

from .events import NOBODY, ZERO, Call911, Nodelist, Token
from .lists import has_quorum, next_after, view_at
from .local import Local, Rules
from .state import State
from .waits import connected, taken


def _entries(state: State) -> set[tuple[int, Nodelist]]:
    """Return all committed views with their indices, in all lives."""
    here = {(at, view) for me in state.locals for at, view in enumerate(me.global_view, 1) if view}
    return here | state.past


def _running(state: State) -> list[Local]:
    return [me for me in state.locals if me.up == "up"]


def _eaters(state: State) -> list[Local]:
    return [me for me in _running(state) if me.token_state == "eating"]


def consistent_history(state: State) -> bool:
    """All members have the same view at the same index, in all their lives."""
    entries = _entries(state)
    return len({at for at, _ in entries}) == len(entries)


def one_eater(state: State) -> bool:
    """At most one member eats."""
    return len(_eaters(state)) <= 1


def one_lock(state: State) -> bool:
    """At most one member that trusts its list eats."""
    return sum(me.view_state != "chaos" for me in _eaters(state)) <= 1


def fence_unique(state: State) -> bool:
    """No two members eat at the same number."""
    return len({(epoch, seq) for epoch, seq, _ in state.eaten}) == len(state.eaten)


def granted(state: State) -> bool:
    """A member that made a token anew and still eats it has the promise of all on its list."""
    promised = {me.me: me.promised for me in state.locals}
    return all(
        promised[m] >= me.last_token.epoch
        for me in _eaters(state)
        if me.last_token.epoch != ZERO and me.last_token.seen == {me.me}
        for m in me.last_token.nodelist
    )


def one_live_token(rules: Rules, state: State) -> bool:
    """At most one token is held, or is under way to a member that takes it."""
    coming = sum(isinstance(t, Token) and taken(rules, state, t) for t in state.network)
    return len(_eaters(state)) + coming <= 1


def majority_asked(rules: Rules, state: State) -> bool:
    """A starving member's 911 goes round all members whose promises would do."""
    running = _running(state)
    starving = {me.me: me for me in running if me.token_state == "starving" and rules.majority}
    calls = (each for each in state.network | state.reports if isinstance(each, Call911))
    for call in calls:
        me = starving.get(call.orig)
        if me is None or call.attempt != me.attempt:
            continue
        reach = {other.me for other in running if connected(state, me.me, other.me)}
        asked = reach.intersection(call.nodelist)
        if has_quorum(me.last_token, reach) and not has_quorum(me.last_token, asked):
            return False
    return True


def seven_states(state: State) -> bool:
    """Nobody starves in agreement or in reserve."""
    return all(me.token_state != "starving" or me.view_state == "chaos" for me in state.locals)


def well_formed(me: Local) -> bool:
    """A member's own part of TypeOK."""
    return (
        (me.view_state == "reserve") == (me.reserved > 0)
        and (me.phase == "claim") == (me.wanted != ZERO)
        and (me.phase == "none" or me.token_state == "starving")
        and len(me.global_view) <= me.global_view_number
        and all(me.me in view for view in me.global_view if view)
    )


def places_kept(me: Local) -> bool:
    """All members of the last settled list have their place in the mail (RAI-F17)."""
    placed = {who for who, _ in me.last_token.acks}
    return placed.issuperset(me.last_token.settled.nodelist)


def held_by_all(state: State) -> bool:
    """Every running member of a committed view has held the token."""
    never = {me.me for me in _running(state) if me.last_token.seq == 0}
    return all(never.isdisjoint(view) for _, view in _entries(state))


def lemma_31(state: State) -> bool:
    """After a token has come to B from A, B follows A on the list until A has the token again."""
    running = _running(state)
    locals_ = {me.me: me for me in state.locals}
    tokens = {me.last_token for me in running}
    tokens |= {m for m in state.network if isinstance(m, Token)}
    for a in running:
        t = a.last_token
        if t.current != a.me or t.to in (a.me, NOBODY):
            continue
        if t.number > locals_[t.to].last_token.number:
            continue
        for u in tokens:
            later = a.me in u.nodelist and t.number <= u.number
            if later and next_after(u.nodelist, a.me) != t.to:
                return False
    return True


def _same_list(state: State, view_state: str) -> bool:
    lists = {me.me: me.last_token.nodelist for me in _running(state)}
    return all(
        lists.get(m, me.last_token.nodelist) == me.last_token.nodelist
        for me in _eaters(state)
        if me.view_state == view_state
        for m in me.last_token.nodelist
    )


def lemma_32(state: State) -> bool:
    """If a member that has gone to RESERVE still eats, all on its list have that list."""
    return _same_list(state, "reserve")


def lemma_33(state: State) -> bool:
    """If a member that has gone to AGREEMENT still eats, all on its list have that list."""
    return _same_list(state, "agreement")


def agreed(state: State) -> bool:
    """All running members have agreed on the list of all running members."""
    running = _running(state)
    lists = {me.last_token.nodelist for me in running}
    return len(lists) <= 1 and all(
        me.view_state == "agreement" and set(me.last_token.nodelist) == {r.me for r in running}
        for me in running
    )


def no_holes(state: State) -> bool:
    """A member of two successive views that has committed the second has committed both.

    When all agree, every member of the last view has committed it.
    """
    entries = _entries(state)
    places = sorted({at for at, _ in entries})
    following = dict(pairwise(places))
    views = {me.me: me.global_view for me in state.locals}
    running = {me.me for me in _running(state)}
    for at, view in entries:
        if at not in following:
            due = running.intersection(view) if agreed(state) else ()
        else:
            due = {n for n in view if view_at(views[n], following[at])}
        if any(view_at(views[n], at) != view for n in due):
            return False
    return True


def agreed_order(state: State) -> bool:
    """Two members that deliver the same two multicasts deliver them in the same order."""
    for one, other in combinations(state.locals, 2):
        both = set(one.delivered) & set(other.delivered)
        firsts = [list(dict.fromkeys(m for m in p.delivered if m in both)) for p in (one, other)]
        if firsts[0] != firsts[1]:
            return False
    return True


def integrity(state: State) -> bool:
    """Nothing is delivered twice, and only multicasts are delivered."""
    said = {me.me: me.said for me in state.locals}
    return all(
        len(set(me.delivered)) == len(me.delivered)
        and all(k <= said[origin] for origin, k in me.delivered)
        for me in state.locals
    )


def fifo(state: State) -> bool:
    """The multicasts of one origin are delivered in its order."""
    for me in state.locals:
        last: dict[object, int] = {}
        for origin, k in me.delivered:
            if k <= last.get(origin, 0):
                return False
            last[origin] = k
    return True


def rounds_3(state: State) -> bool:
    """Three rounds after the last disturbance all agree."""
    return state.calm < 3 * len(_running(state)) or agreed(state)


INVARIANTS: Mapping[str, Callable[[State], bool]] = {
    "ConsistentHistory": consistent_history,
    "OneEater": one_eater,
    "OneLock": one_lock,
    "FenceUnique": fence_unique,
    "Granted": granted,
    "SevenStates": seven_states,
    "HeldByAll": held_by_all,
    "Lemma31": lemma_31,
    "Lemma32": lemma_32,
    "Lemma33": lemma_33,
    "NoHoles": no_holes,
    "AgreedOrder": agreed_order,
    "Integrity": integrity,
    "Fifo": fifo,
    "Rounds3": rounds_3,
}


def invariants(rules: Rules) -> Mapping[str, Callable[[State], bool]]:
    """Return all invariants by name; two depend on the rules."""
    by_rules = {"OneLiveToken": one_live_token, "MajorityAsked": majority_asked}
    return {**INVARIANTS, **{name: partial(each, rules) for name, each in by_rules.items()}}
