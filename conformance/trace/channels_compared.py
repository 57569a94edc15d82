"""Part (b) for any protocol with a binding: what was received against what was sent.

A FIFO channel's messages arrive as they were sent, each once and in order, but for the last ones;
a datagram that arrives was sent. Law of this file: it sees the rows of both ends of a channel
(`columns.py`), or those of a channel's block, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from .columns import DIGEST, INDEX, NUMBER, SPOILED, Channel, Columns, Stream, Table, ends_of

ABSENT: Final = "absent"
CONTENTS: Final = "contents"
EARLY: Final = "early"
FEW: Final = 256
"""Rows that are sooner looked up one by one than all at once."""
UNNUMBERED: Final = -1
"""In place of the number that a message has in a FIFO channel: a datagram has none."""
Numbers: TypeAlias = npt.NDArray[np.int64]


class Bad(msgspec.Struct, frozen=True, array_like=True):
    """A message that was received, and was not sent so."""

    kind: str
    """Absent: no such message is recorded; contents: another one is; early: it was sent later."""
    index: int
    number: int = UNNUMBERED
    clock: int = 0
    """By this, in a stream: what was received; `sent_clock` is of what was sent at its number."""
    sent_index: int = 0
    """The event that sent something else at its number, or later."""
    sent_clock: int = 0


@dataclass(frozen=True, slots=True)
class Compared:
    """What is known of a channel once both ends have met."""

    origins: Table
    """The events that received something, of each the event that sent it, and the message's number.

    Only those that tell more than the ones before: a later event of the sender.
    """
    bad: list[Bad] = field(default_factory=list)


def compare(sent: Table, received: Table, *, fifo: bool) -> Compared:
    """Compare both ends of a channel, or of a datagrams' channel's block."""
    key = NUMBER if fifo else DIGEST
    numbered = received[:, NUMBER] if fifo else np.full(len(received), UNNUMBERED)
    # Of a datagram that was sent several times the first sending counts.
    place = _places(sent[:, key], received[:, key] + (_lag(sent, received) if fifo else 0))
    found = place >= 0
    same = found.copy()
    same[found] = sent[place[found], DIGEST] == received[found, DIGEST]
    same |= found & (received[:, DIGEST] == SPOILED)
    bad: list[Bad] = []
    if not same.all():
        lost, other = np.flatnonzero(~found), np.flatnonzero(found & ~same)
        bad += [Bad(ABSENT, int(received[at, INDEX]), int(numbered[at])) for at in lost]
        bad += [
            Bad(
                CONTENTS,
                int(received[at, INDEX]),
                int(numbered[at]),
                sent_index=int(sent[place[at], INDEX]),
            )
            for at in other
        ]
    parts = (received[same, INDEX], sent[place[same], INDEX], numbered[same])
    origins = np.stack(parts, axis=1)
    return Compared(news(origins), bad)


def news(origins: Table) -> Table:
    """The origins, sorted, without those that tell nothing new of the sender."""
    if len(origins) < 2:
        return origins
    origins = origins[np.argsort(origins[:, 0], kind="stable")]
    furthest = np.maximum.accumulate(origins[:, 1])
    found: Table = origins[np.append(True, furthest[1:] > furthest[:-1])]
    return found


def _places(known: Numbers, wanted: Numbers) -> Numbers:
    """Of each that is wanted the first place where it is known, -1 if it is not."""
    if len(known) + len(wanted) < FEW:
        where: dict[int, int] = {}
        for place, each in enumerate(known.tolist()):
            where.setdefault(each, place)
        return np.array([where.get(each, -1) for each in wanted.tolist()], dtype=np.int64)
    if not len(known):
        return np.full(len(wanted), -1)
    distinct, first = np.unique(known, return_index=True)
    at = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
    return np.where(distinct[at] == wanted, first[at], -1)


def _lag(sent: Table, received: Table) -> int:
    """How many messages of a FIFO channel were sent before its receiver took any.

    A process takes nothing before it is a member, and counts from there; who sends may have taken
    it for one already. From then on nothing may be missing: one number fits a channel as a whole.
    """
    if not len(received) or not len(sent):
        return 0
    numbers = sent[:, NUMBER]
    # What it took first must be there, and be the same; the rest is not there, or the same.
    lags = np.unique(numbers[sent[:, DIGEST] == received[0, DIGEST]]) - received[0, NUMBER]
    for lag in lags[(lags >= 0) & (lags < numbers.max())]:
        place = _places(numbers, received[:, NUMBER] + lag)
        found = place >= 0
        same = sent[place[found], DIGEST] == received[found, DIGEST]
        if found[0] and same.all():
            return int(lag)
    return 0


def compare_all(columns: Iterable[Columns]) -> dict[str, Compared]:
    """Compare every channel, but for streams, at whose end something was received."""
    columns = list(columns)
    sent = {text: end for each in columns for text, end in each.sent.items()}
    return {
        text: _met(sent.get(end.sent_as), end)
        for each in columns
        for text, end in each.received.items()
        if not isinstance(end, Stream)
    }


def _met(sent: Channel | None, received: Channel) -> Compared:
    """Compare both ends; those that are short, or simply the same, need no tables."""
    if sent is not None:
        count = len(received.digests)
        if received.fifo:
            same = sent.numbers is None and received.numbers is None
            if same and received.digests == sent.digests[:count]:
                return Compared(_in_order(received, sent.indices))
        elif len(sent.digests) + count < FEW:
            where: dict[int, int] = {}
            for digest, index in zip(sent.digests, sent.indices, strict=True):
                where.setdefault(digest, index)
            if where.keys() >= set(received.digests):
                return Compared(_in_order(received, [where[each] for each in received.digests]))
    rows = received.table()
    return compare(rows[:0] if sent is None else sent.table(), rows, fifo=received.fifo)


def _in_order(received: Channel, sent: Sequence[int]) -> Table:
    """The origins of messages that are all there, each with the event that sent it, without those
    that tell nothing new."""
    events = received.indices
    if len(events) < FEW:
        rows, furthest = [], -1
        for number, (event, origin) in enumerate(zip(events, sent, strict=False), 1):
            if origin > furthest:
                furthest = origin
                rows.append((event, origin, number if received.fifo else UNNUMBERED))
        return np.array(rows, dtype=np.int64).reshape(-1, 3)
    origins = np.empty((len(events), 3), dtype=np.int64)
    origins[:, 0], origins[:, 1] = events, sent[: len(events)]
    origins[:, 2] = np.arange(1, len(events) + 1)
    return news(origins)


def joined(parts: Iterable[Compared]) -> Compared:
    """What the blocks of one channel say together."""
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    origins = np.concatenate([part.origins for part in parts])
    return Compared(news(origins), [bad for part in parts for bad in part.bad])


class Stuck(msgspec.Struct, frozen=True):
    """An event that received what was sent only after it."""

    who: tuple[str, int]
    index: int
    channel: str
    number: int


def circle(compared: Mapping[str, Compared]) -> list[Stuck]:
    """Let each process go on as far as what it receives was sent; who cannot end is in a circle."""
    texts = sorted(compared)
    parts: dict[tuple[str, int], list[int]] = {}
    senders: list[tuple[str, int]] = []
    for code, text in enumerate(texts):
        sender, receiver = ends_of(text)
        senders.append(sender)
        parts.setdefault(receiver, []).append(code)
    needs = {
        who: _Needs([compared[texts[code]].origins for code in codes], codes)
        for who, codes in parts.items()
    }
    waiting: dict[tuple[str, int], list[tuple[str, int]]] = {}
    ready = list(needs)
    while ready:
        who = ready.pop()
        mine = needs[who]
        before = mine.at
        while mine.at < mine.count:
            sender = senders[mine.channels[mine.at]]
            theirs = needs.get(sender)
            if theirs is not None and theirs.next <= mine.sent[mine.at]:
                waiting.setdefault(sender, []).append(who)
                break
            mine.at += 1
            mine.next = mine.events[mine.at]
        if mine.at > before:
            ready += waiting.pop(who, [])
    stuck = []
    for who, mine in needs.items():
        if mine.at < mine.count:
            channel = texts[mine.channels[mine.at]]
            stuck.append(Stuck(who, mine.next, channel, mine.numbers[mine.at]))
    return stuck


class _Needs:
    """The messages that a process receives, in the order of its events, and its place in them."""

    __slots__ = ("at", "channels", "count", "events", "next", "numbers", "sent")

    def __init__(self, origins: list[Table], codes: list[int]) -> None:
        rows = np.concatenate(origins)
        order = np.argsort(rows[:, 0], kind="stable")
        self.count = len(rows)
        # Views of memory, since these may be long: their items come as plain integers.
        self.events = np.append(rows[order, 0], np.iinfo(np.int64).max).data
        self.sent, self.numbers = rows[order, 1].data, rows[order, 2].data
        self.channels = np.repeat(codes, [len(each) for each in origins])[order].data
        self.at = 0
        self.next: int = self.events[0]
