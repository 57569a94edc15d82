"""Logs of those who read append-only logs: a topic's partition, a stream.

Order is promised in each of them by itself, so a member here is one consumer of one partition, the
sender is the partition, and a message's number is its place in it, as the broker says. Those
numbers may have holes that are no loss: what is compacted, a transaction's marks, what a consumer's
filter leaves out. A message is lost if somebody has it, or it is known to be stored, and a consumer
has messages before and after it.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from .found import Found, Read, Sparse, Unsaid

NOT_ALL: Final = (
    "a consumer need not have read all of a partition: ask gap_freeness, which finds what it lacks "
    "between two messages that it has"
)
ADVICE: Final = {
    "total_order": "log two consumers of a partition that each get all of it",
    "gap_freeness": "numbers may have holes, so log two consumers of a partition, or its producers",
    "no_creation": "log what the producers' acknowledgements say",
    "virtual_synchrony": "consumers have no views that all share",
}


class Consumers:
    """The deliveries of the consumers in one file, which count as they stand in it."""

    def __init__(self) -> None:
        self._delivered: Counter[str] = Counter()

    def delivered(self, line: int, consumer: str, partition: str, place: int) -> Read:
        """Return the row of a message that a consumer has got."""
        member = f"{consumer}@{partition}"
        self._delivered[member] += 1
        position = self._delivered[member]
        columns = {"member": member, "sender": partition, "message": place, "position": position}
        return Read(line, columns)


def stored(line: int, partition: str, place: int) -> Read:
    """Return the row of a message that the broker has acknowledged to its producer."""
    columns = {"member": partition, "event": "send", "message": place, "position": place + 1}
    return Read(line, columns)


def unsaid() -> Iterator[Found]:
    """Yield what no such log says."""
    yield Sparse()
    yield Unsaid("agreement", NOT_ALL, idle=True)
