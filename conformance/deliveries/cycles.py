"""Cycles of order: several members' logs that cannot be merged into one order.

Three members can contradict each other although no two of them do. Where nobody contradicts the
fullest log, only members that have messages which it lacks can be in a cycle, beside it, and there
must be two of them: two orders that agree on their common messages can be merged.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from .properties import Message, Witness


def cycle_in(orders: Mapping[str, Sequence[Message]]) -> Witness | None:
    """Return a cycle in these members' orders, or None if they can be merged into one.

    Each member of the witness delivered the message at its own place before the next message; the
    last member delivered its message before the first one. Takes time linear in the messages.
    """
    holders = Counter(key for order in orders.values() for key in order)
    # A message that one member alone delivered stands in nobody's way.
    common = {member: [k for k in order if holders[k] > 1] for member, order in orders.items()}
    heads = dict.fromkeys(common, 0)
    ready: Counter[Message] = Counter()
    waiting: dict[Message, list[str]] = {}
    moved = sorted(common)
    while moved:
        member = moved.pop()
        if heads[member] == len(common[member]):
            continue
        key = common[member][heads[member]]
        ready[key] += 1
        waiting.setdefault(key, []).append(member)
        if ready[key] == holders[key]:
            for each in waiting.pop(key):
                heads[each] += 1
                moved.append(each)
    stuck = {member: common[member][at] for member, at in heads.items() if at < len(common[member])}
    if not stuck:
        return None
    # The next message of each stuck member comes later at another one, which is stuck as well.
    blocker = {
        member: min(q for q, at in heads.items() if q != member and key in common[q][at + 1 :])
        for member, key in sorted(stuck.items())
    }
    path = [min(stuck)]
    while blocker[path[-1]] not in path:
        path.append(blocker[path[-1]])
    cycle = path[path.index(blocker[path[-1]]) :][::-1]
    first = cycle.index(min(cycle))
    cycle = cycle[first:] + cycle[:first]
    return {"members": cycle, "messages": [list(stuck[member]) for member in cycle]}
