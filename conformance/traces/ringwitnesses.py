"""What speaks against each promise of the token ring, in what the members of a run were seen to do.

Each function yields the witnesses against one promise; `ringpromises.py` tells the earliest.
Clocks decide nothing; where the records have them, they say how soon it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from .happened import Happened
from .ringseen import CRASHED, OPEN, Address, Commit, Fence, Lock, RingSeen

IMPOSSIBLE = {("starving", "agreement"), ("starving", "reserve")}
"""Of the nine pairs of states those that no member is ever in."""

Seen: TypeAlias = Mapping[Address, RingSeen]


class Witness(NamedTuple):
    """Something against a promise, and when it had come true."""

    at: float | None
    facts: dict[str, Any]


class Run(NamedTuple):
    """What is known of a run."""

    seen: Seen
    happened: Happened[Address]
    crashed: frozenset[Address]


def _later(*times: float | None) -> float | None:
    """When both were true."""
    known = [each for each in times if each is not None]
    return max(known) if len(known) == len(times) else None


# ---------------------------------------------------------------- views


def consistent_history(run: Run) -> Iterator[Witness]:
    """Entries that are not NULL are the same at all members, in all lives."""
    by_place: dict[int, list[tuple[Address, Commit]]] = {}
    for who, seen in run.seen.items():
        for commit in seen.commits:
            by_place.setdefault(commit.place, []).append((who, commit))
    for place, commits in sorted(by_place.items()):
        commits.sort(key=lambda each: (each[1].at is None, each[1].at or 0.0))
        first, one = commits[0]
        for who, other in commits:
            if other.members != one.members:
                facts = {
                    "index": place,
                    "members": [list(first), list(who)],
                    "events": [one.index, other.index],
                    "views": [_names(one.members), _names(other.members)],
                }
                yield Witness(_later(one.at, other.at), facts)
                break


def held_by_all(run: Run) -> Iterator[Witness]:
    """No view is committed with a member that has never held the token before."""
    first = {who: seen.eaten[0].index for who, seen in run.seen.items() if seen.eaten}
    for who, seen in run.seen.items():
        for commit in seen.commits:
            if not commit.index:
                continue  # the view that the trace begins in
            for member in commit.members:
                held = first.get(member)
                if held is None or not run.happened.before(member, held, who, commit.index):
                    facts = {
                        "index": commit.place,
                        "members": [list(who)],
                        "events": [commit.index],
                        "view": _names(commit.members),
                        "lacking": f"{_name(member)} had not held the token",
                    }
                    yield Witness(commit.at, facts)


def no_holes(run: Run) -> Iterator[Witness]:
    """Who is in a view, and has the next one that anybody has committed, has both."""
    committed: dict[int, set[tuple[Address, ...]]] = {}
    for seen in run.seen.values():
        for commit in seen.commits:
            committed.setdefault(commit.place, set()).add(commit.members)
    for place, following in pairwise(sorted(committed)):
        for who, seen in run.seen.items():
            own = {entry.place: entry.members for entry in seen.history}
            for members in sorted(committed[place]):
                if who in members and own.get(following) and own.get(place) != members:
                    facts = {
                        "index": place,
                        "members": [list(who)],
                        "view": _names(members),
                        "lacking": f"{_name(who)} has the one at {following}, and not this one",
                    }
                    yield Witness(seen.last_at, facts)


# ---------------------------------------------------------------- the token


def fence_unique(run: Run) -> Iterator[Witness]:
    """No two members hold the token at the same number."""
    known: dict[Fence, tuple[Address, int, float | None]] = {}
    for who, seen in run.seen.items():
        for each in seen.eaten:
            other, index, at = known.setdefault(each.fence, (who, each.index, each.at))
            if other != who:
                facts = {
                    "fence": _number(each.fence),
                    "members": [list(other), list(who)],
                    "events": [index, each.index],
                }
                yield Witness(_later(at, each.at), facts)


def one_lock(run: Run) -> Iterator[Witness]:
    """Within an epoch nobody has the lock until whoever had it before has let it go.

    Between epochs no order of events can be asked for, as nobody knows of a late holder what it
    still does: there the fences decide, and whoever guards the resource compares them.
    """
    epochs: dict[tuple[int, str, int], list[tuple[Address, Lock]]] = {}
    for who, seen in run.seen.items():
        for lock in seen.locks:
            # Of a holder that died nobody can tell how long it did what.
            if lock.how == CRASHED or (lock.how == OPEN and who in run.crashed):
                continue
            epochs.setdefault(lock.first[:3], []).append((who, lock))
    for locks in epochs.values():
        locks.sort(key=lambda each: (each[1].first, each[0], each[1].start))
        for (who, one), (other, two) in pairwise(locks):
            if who == other or _apart(run, who, one, other, two):
                continue
            facts = {
                "fences": [_number(one.first), _number(two.first)],
                "members": [list(who), list(other)],
                "events": [one.start, two.start],
            }
            yield Witness(_later(one.at, two.at), facts)


def _apart(run: Run, who: Address, one: Lock, other: Address, two: Lock) -> bool:
    """Whether one of them ended before the other began."""
    before = run.happened.before
    return (one.how != OPEN and before(who, one.end, other, two.start)) or (
        two.how != OPEN and before(other, two.end, who, one.start)
    )


def seven_states(run: Run) -> Iterator[Witness]:
    """Of the nine pairs of states two are never reached."""
    for who, seen in run.seen.items():
        for state in seen.states:
            if (state.token, state.view) in IMPOSSIBLE:
                pair = f"{state.token}-{state.view}"
                facts = {"members": [list(who)], "events": [state.index], "state": pair}
                yield Witness(state.at, facts)


# ---------------------------------------------------------------- multicast


def agreed_order(run: Run) -> Iterator[Witness]:
    """Two members deliver the messages that both deliver in the same order."""
    logs = {
        who: {(each.origin, each.k): each for each in reversed(seen.delivered)}
        for who, seen in run.seen.items()
    }
    for who, mine in logs.items():
        place = {message: at for at, message in enumerate(reversed(mine))}
        for other, theirs in logs.items():
            if other <= who:
                continue
            common = [message for message in reversed(theirs) if message in place]
            for one, two in pairwise(common):
                if place[one] > place[two]:
                    facts = {
                        "members": [list(other), list(who)],
                        "messages": [_message(one), _message(two)],
                        "order": f"{other[0]} delivered them in this order, {who[0]} in the other",
                    }
                    yield Witness(_later(theirs[two].at, mine[one].at), facts)
                    break


def integrity(run: Run) -> Iterator[Witness]:
    """Nothing is delivered twice, and nothing that its sender did not send."""
    for who, seen in run.seen.items():
        known: set[tuple[Address, int]] = set()
        for each in seen.delivered:
            message = (each.origin, each.k)
            sender = run.seen.get(each.origin)
            facts: dict[str, Any] = {"members": [list(who)], "messages": [_message(message)]}
            if message in known:
                yield Witness(each.at, facts | {"twice": True})
            elif sender is not None and each.k > sender.said:
                yield Witness(each.at, facts | {"never_sent": True})
            known.add(message)


def fifo(run: Run) -> Iterator[Witness]:
    """Messages of one sender are delivered in the order in which it sent them."""
    for who, seen in run.seen.items():
        last: dict[Address, int] = {}
        for each in seen.delivered:
            before = last.get(each.origin, 0)
            if each.k < before:
                pair = [_message((each.origin, before)), _message((each.origin, each.k))]
                yield Witness(each.at, {"members": [list(who)], "messages": pair})
            last[each.origin] = each.k


# ---------------------------------------------------------------- in words


def _name(who: Address) -> str:
    node, incarnation = who
    return f"{node}.{incarnation}"


def _names(members: Iterable[Address]) -> list[str]:
    return [_name(each) for each in members]


def _number(fence: Fence) -> list[Any]:
    return list(fence)


def _message(message: tuple[Address, int]) -> list[Any]:
    (node, incarnation), k = message
    return [node, incarnation, k]
