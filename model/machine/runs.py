"""Runs of messages and sets of seqnos, so that a batch costs as much as a single message.

Messages of one sender have consecutive seqnos; everything above NAKACK moves *runs* of them. A
single message, the subject of the specifications, is the run of size 1.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Address(NamedTuple):
    """A process: a node's name and how often the node has come back (`<<node, incarnation>>`)."""

    node: str
    incarnation: int


class Run(NamedTuple):
    """Messages `first` .. `first + size - 1` of one sender.

    `payload` numbers the first of them among all messages of its application, over all its lives.
    It distinguishes messages whose tags are equal.
    """

    sender: Address
    first: int
    size: int
    payload: int

    @property
    def last(self) -> int:
        """Return the seqno of the last message."""
        return self.first + self.size - 1

    def part(self, first: int, last: int) -> Run:
        """Return the messages `first` .. `last` of this run."""
        return Run(self.sender, first, last - first + 1, self.payload + first - self.first)

    def singles(self) -> tuple[Run, ...]:
        """Return the messages one by one."""
        if self.size == 1:
            return (self,)
        return tuple(self.part(seqno, seqno) for seqno in range(self.first, self.last + 1))


Intervals: TypeAlias = tuple[tuple[int, int], ...]
"""A set of seqnos: its maximal intervals (low, high), in increasing order."""


def with_interval(seqnos: Intervals, low: int, high: int) -> Intervals:
    """Return the set with `low` .. `high` added; they must lie above all its seqnos."""
    if seqnos:
        first, last = seqnos[-1]
        if last >= low:
            raise ValueError(f"{low} is not above {last}")
        if last == low - 1:
            return (*seqnos[:-1], (first, high))
    return (*seqnos, (low, high))


def without_interval(seqnos: Intervals, low: int, high: int) -> Intervals:
    """Return the set without those of `low` .. `high` that it holds."""
    if not seqnos:
        return seqnos
    first, last = seqnos[0]
    if low <= first and high < last and len(seqnos) == 1:  # the usual case: the oldest go
        return ((high + 1, last),) if high >= first else seqnos
    left: list[tuple[int, int]] = []
    for first, last in seqnos:
        if high < first or last < low:
            left.append((first, last))
            continue
        if first < low:
            left.append((first, low - 1))
        if high < last:
            left.append((high + 1, last))
    return tuple(left)


def members_of(seqnos: Intervals) -> list[int]:
    """Return the seqnos of the set in increasing order."""
    return [seqno for low, high in seqnos for seqno in range(low, high + 1)]
