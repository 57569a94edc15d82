"""Evidence against the promises on the token and on multicasts, from what members did.

Each function yields the witnesses against one promise; `ringpromises.py` tells the earliest.
Clocks decide nothing; where the records have them, they say how soon it was.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeAlias

from .known import Run, Witness, later, message, number
from .seen import CRASHED, OPEN, Address, Delivered, Fence, Lock

IMPOSSIBLE = {("starving", "agreement"), ("starving", "reserve")}
"""Of the nine pairs of states those that no member is ever in."""

Epoch: TypeAlias = tuple[int, str, int]
Message: TypeAlias = tuple[Address, int]


# ---------------------------------------------------------------- the token


def fence_unique(run: Run) -> Iterator[Witness]:
    """No two members hold the token at the same number."""
    known: dict[Fence, tuple[Address, int, float | None]] = {}
    for who, seen in run.seen.items():
        for each in seen.eaten:
            other, index, at = known.setdefault(each.fence, (who, each.index, each.at))
            if other != who:
                facts = {
                    "fence": number(each.fence),
                    "members": [list(other), list(who)],
                    "events": [index, each.index],
                }
                yield Witness(later(at, each.at), facts)


def epochs(run: Run) -> dict[Epoch, list[tuple[Address, Lock]]]:
    """All locks of each epoch, in an order that what happened before what allows."""
    found: dict[Epoch, list[tuple[Address, Lock]]] = {}
    for who, seen in run.seen.items():
        for lock in seen.locks:
            found.setdefault(lock.first[:3], []).append((who, lock))
    for locks in found.values():
        locks.sort(key=lambda each: (run.causality.place(each[0], each[1].start), each[1].first))
    return found


def died(run: Run, who: Address, lock: Lock) -> bool:
    """Whether the holder died with the lock: of such a one nobody can tell how long it did what."""
    return lock.how == CRASHED or (lock.how == OPEN and who in run.crashed)


def one_lock(run: Run) -> Iterator[Witness]:
    """Within an epoch nobody has the lock until whoever had it before has let it go.

    Between epochs no order of events can be asked for, as nobody knows of a late holder what it
    still does: there the fences decide, and whoever guards the resource compares them.
    """
    if not run.ordered:
        return
    for locks in epochs(run).values():
        living = [each for each in locks if not died(run, *each)]
        # If each has ended before the next one began, so it is with all.
        for one, two in pairwise(living):
            if not _let_go(run, one, two):
                yield _two_locks(one, two)
        for dead in (each for each in locks if died(run, *each)):
            for other in locks:
                if other[0] != dead[0] and _both(run, dead, other):
                    yield _two_locks(*sorted((other, dead), key=lambda each: each[1].first))


def _let_go(run: Run, one: tuple[Address, Lock], two: tuple[Address, Lock]) -> bool:
    (who, lock), (other, following) = one, two
    return lock.how != OPEN and run.before(who, lock.end, other, following.start)


def _both(run: Run, dead: tuple[Address, Lock], other: tuple[Address, Lock]) -> bool:
    """Whether a holder that died had the lock, for all that is known of it, while another had it.

    The other had begun when the dead one did something for the last time; and it had not ended
    when that one began, or, if it died as well, knew of that one.
    """
    last = _last(run, *dead)
    if not run.before(other[0], other[1].start, dead[0], last):
        return False
    if died(run, *other):
        return run.before(dead[0], dead[1].start, other[0], _last(run, *other))
    return not _let_go(run, other, dead)


def _last(run: Run, who: Address, lock: Lock) -> int:
    """The last event of a member that died with the lock."""
    return lock.end - 1 if lock.how == CRASHED else run.seen[who].last


def _two_locks(one: tuple[Address, Lock], two: tuple[Address, Lock]) -> Witness:
    facts = {
        "fences": [number(one[1].first), number(two[1].first)],
        "members": [list(one[0]), list(two[0])],
        "events": [one[1].start, two[1].start],
    }
    return Witness(later(one[1].at, two[1].at), facts)


def seven_states(run: Run) -> Iterator[Witness]:
    """Of the nine pairs of states two are never reached."""
    for who, seen in run.seen.items():
        for state in seen.states:
            if (state.token, state.view) in IMPOSSIBLE:
                pair = f"{state.token}-{state.view}"
                facts = {"members": [list(who)], "events": [state.index], "state": pair}
                yield Witness(state.at, facts)


# ---------------------------------------------------------------- multicast


def logs(run: Run) -> dict[Address, dict[Message, Delivered]]:
    """What each member delivered, in order; what is delivered again has its first place."""
    found: dict[Address, dict[Message, Delivered]] = {}
    for who, seen in run.seen.items():
        mine = found.setdefault(who, {})
        for each in seen.delivered:
            mine.setdefault((each.origin, each.k), each)
    return found


def agreed_order(run: Run) -> Iterator[Witness]:
    """Two members deliver the messages that both deliver in the same order."""
    known = logs(run)
    for who, mine in known.items():
        place = {sent: at for at, sent in enumerate(mine)}
        for other, theirs in known.items():
            if other <= who:
                continue
            common = [sent for sent in theirs if sent in place]
            for one, two in pairwise(common):
                if place[one] > place[two]:
                    facts = {
                        "members": [list(other), list(who)],
                        "messages": [message(one), message(two)],
                        "order": f"{other[0]} delivered them in this order, {who[0]} in the other",
                    }
                    yield Witness(later(theirs[two].at, mine[one].at), facts)
                    break


def integrity(run: Run) -> Iterator[Witness]:
    """Nothing is delivered twice, or unless its sender has sent it before."""
    for who, seen in run.seen.items():
        known: set[Message] = set()
        for each in seen.delivered:
            sent = (each.origin, each.k)
            facts: dict[str, Any] = {"members": [list(who)], "messages": [message(sent)]}
            if sent in known:
                yield Witness(each.at, facts | {"twice": True})
            elif (wrong := _unsent(run, who, each)) is not None:
                yield Witness(each.at, facts | {wrong: True})
            known.add(sent)


def _unsent(run: Run, who: Address, each: Delivered) -> str | None:
    """What is wrong with its sending; nobody is blamed for a record that is missing."""
    sender = run.seen.get(each.origin)
    said = sender.said if sender is not None else []
    at = bisect_left(said, each.k, key=lambda step: step.count)
    if at == len(said):
        return "never_sent" if run.whole else None
    sent = run.before(each.origin, said[at].index, who, each.index)
    return "before_it_was_sent" if run.ordered and not sent else None


def fifo(run: Run) -> Iterator[Witness]:
    """Messages of one sender are delivered in the order in which it sent them."""
    for who, seen in run.seen.items():
        last: dict[Address, int] = {}
        for each in seen.delivered:
            before = last.get(each.origin, 0)
            if each.k <= before:
                pair = [message((each.origin, before)), message((each.origin, each.k))]
                yield Witness(each.at, {"members": [list(who)], "messages": pair})
            last[each.origin] = each.k
