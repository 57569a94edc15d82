"""Gaps where the numbers of messages may have holes that are no loss, as in a broker's log.

A message is missing if another member has it or a send log names it, and a member has messages of
its sender with smaller and with greater numbers. The SQL twin is in `spark/queries.py`.
"""

from collections import defaultdict

from .properties import Message, Witness
from .sortedlog import SortedLog


def known_elsewhere(log: SortedLog) -> set[str]:
    """Return the senders of whose messages more is known than one member's log says."""
    holders: dict[str, set[str]] = defaultdict(set)
    for member in log.members:
        for sender, _ in log.first[member]:
            holders[sender].add(member)
    several = {sender for sender, members in holders.items() if len(members) > 1}
    return several | {sender for sender, _ in log.sent}


def missing_known(log: SortedLog, counted: dict[str, bool]) -> Witness | None:
    """Return the first message that somebody has or sent and that a member lacks between others."""
    messages: set[Message] = {key for member in log.members for key in log.first[member]}
    known: dict[str, set[int]] = defaultdict(set)
    for sender, message in messages | log.sent.keys():
        # A send log may name messages with other ids than numbers, which nobody delivered.
        if counted.get(sender) and message.isascii() and message.isdigit() and len(message) <= 18:
            known[sender].add(int(message))
    for member in log.members:
        mine: dict[str, set[int]] = defaultdict(set)
        for sender, message in log.first[member]:
            if counted[sender]:
                mine[sender].add(int(message))
        for sender in sorted(mine):
            ids = mine[sender]
            low, high = min(ids), max(ids)
            lacks = [number for number in known[sender] - ids if low < number < high]
            if lacks:
                missing = str(min(lacks))
                return {"members": [member], "messages": [[sender, missing]]}
    return None
