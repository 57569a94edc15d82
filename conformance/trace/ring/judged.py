"""Over how much each promise of the ring is judged: what could have come out otherwise.

Each function counts what was asked; where a count is 0 nothing was, and the promise says so.
"""

from __future__ import annotations

from itertools import combinations, pairwise

from .known import Run
from .seen import Address
from .views import by_place, last_agreed
from .witnesses import Message, died, epochs, logs


def consistent_history(run: Run) -> dict[str, int]:
    """Two members have committed a view at one index."""
    at = [{who for who, _ in commits} for commits in by_place(run).values()]
    common = [members for members in at if len(members) > 1]
    return {"members": len(set[Address]().union(*common)), "views": len(common)}


def fence_unique(run: Run) -> dict[str, int]:
    """Two members have held the token."""
    held = [{each.fence for each in seen.eaten} for seen in run.seen.values() if seen.eaten]
    if len(held) < 2:
        held = []
    return {"members": len(held), "tokens": len(set().union(*held))}


def one_lock(run: Run) -> dict[str, int]:
    """Two members have had the lock in one epoch, and lived to let it go."""
    members: set[Address] = set()
    count = 0
    for locks in epochs(run).values():
        living = [who for who, lock in locks if not died(run, who, lock)]
        if len(set(living)) > 1:
            members.update(living)
            count += len(living)
    return {"members": len(members), "locks": count}


def seven_states(run: Run) -> dict[str, int]:
    """Some member was up, and has gone from one pair of states to another."""
    pairs = [{(s.token, s.view) for s in seen.states if s.up} for seen in run.seen.values()]
    moved = [states for states in pairs if len(states) > 1]
    return {"members": len(moved), "states": len(set().union(*moved))}


def held_by_all(run: Run) -> dict[str, int]:
    """Some view was committed, not only there from the beginning."""
    views = {
        who: {(each.place, each.members) for each in seen.commits if each.index and each.members}
        for who, seen in run.seen.items()
    }
    return {
        "members": sum(bool(mine) for mine in views.values()),
        "views": len(set().union(*views.values())),
    }


def no_holes(run: Run) -> dict[str, int]:
    """Somebody is in a view and has the next one, or in the last one when all agree."""
    committed = by_place(run)
    asked = {(who, place, view) for who, place, view, _ in last_agreed(run, committed)}
    has = {(who, place) for place, commits in committed.items() for who, _ in commits}
    for place, following in pairwise(committed):
        for view in {commit.members for _, commit in committed[place]}:
            asked |= {(who, place, view) for who in view if (who, following) in has}
    return {
        "members": len({who for who, _, _ in asked}),
        "views": len({(place, view) for _, place, view in asked}),
    }


def agreed_order(run: Run) -> dict[str, int]:
    """Two members have delivered the same two messages."""
    members: set[Address] = set()
    messages: set[Message] = set()
    for (who, mine), (other, theirs) in combinations(logs(run).items(), 2):
        common = mine.keys() & theirs.keys()
        if len(common) > 1:
            members |= {who, other}
            messages |= common
    return {"members": len(members), "messages": len(messages)}


def integrity(run: Run) -> dict[str, int]:
    """Some member has delivered something."""
    delivered = [log.keys() for log in logs(run).values() if log]
    return {"members": len(delivered), "messages": len(set().union(*delivered))}


def fifo(run: Run) -> dict[str, int]:
    """Some member has delivered two messages of one sender."""
    members: set[Address] = set()
    messages: set[Message] = set()
    for who, seen in run.seen.items():
        of: dict[Address, list[Message]] = {}
        for each in seen.delivered:
            of.setdefault(each.origin, []).append((each.origin, each.k))
        for sent in of.values():
            if len(sent) > 1:
                members.add(who)
                messages.update(sent)
    return {"members": len(members), "messages": len(messages)}
