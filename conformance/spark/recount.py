"""The promises a second time, over a table of all messages that a run's members delivered.

The first evaluation (`trace/sequencer/promises.py`) goes by the members' logs, which it cuts where
a promise ends. This one has a row for each message, asks who delivered it, where and in which view,
and shares no rule with the first. Both must come to the same; where they do not, one of them is
wrong, and nothing holds.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from raincheck.conformance.trace.events import Address
from raincheck.conformance.trace.findings import INCONCLUSIVE, VIOLATED, Finding, Promise
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.sequencer.rows import SEQNO_BITS
from raincheck.conformance.trace.sequencer.summary import Summary

ASKED: Final = (
    "TotalOrder",
    "UniformTotalOrder",
    "Agreement",
    "UniformAgreement",
    "Integrity",
    "Fifo",
    "InView",
    "VirtualSynchrony",
)
NEVER: Final = np.iinfo(np.int64).max
SEQNO: Final = (1 << SEQNO_BITS) - 1
Numbers: TypeAlias = npt.NDArray[np.signedinteger[Any]]


def recounted(summaries: Mapping[Address, Summary], deliveries: Mapping[Address, Any]) -> list[str]:
    """The promises that are broken in a run, by what its members' files say was delivered."""
    table = Table(summaries, deliveries)
    broken = {*table.by_member(), *table.by_sender(), *table.by_view()}
    return [name for name in ASKED if name in broken]


class Heard:
    """The deliveries of one member, in their order: of each the message's row, and the view."""

    def __init__(self, of: Summary, words: Any, numbers: Mapping[Address, int]) -> None:
        self.of = of
        self.views = {place.view: place.members for place in of.views}
        """The last word on each view of the member's."""
        self.last = max(self.views, default=0)
        packed = np.frombuffer(words, dtype=np.int64)
        # Behind the first message of a run stands, negative, how many it has in all.
        counts = np.where(packed < 0, -packed - 1, 1)
        behind = np.append(0, np.cumsum(counts))
        codes = np.array([numbers[sender] for sender in of.addresses], dtype=np.int64)
        firsts = np.flatnonzero(packed >= 0)
        base = packed[firsts]
        base = (codes[base >> SEQNO_BITS] << SEQNO_BITS) + (base & SEQNO) - behind[firsts]
        sizes = np.diff(np.append(behind[firsts], behind[-1]))
        self.rows: Numbers = np.repeat(base, sizes) + np.arange(behind[-1])
        """Until there is a table: the sender's number, and in the last digits the seqno."""
        starts = {int(behind[word]): view for word, view in of.view_starts}
        self._starts = [(0, 0), *sorted(starts.items())]

    @cached_property
    def stretches(self) -> list[tuple[int, int, int]]:
        """The view, the first place, and the place behind the last one, of what is in one view."""
        ends = [*(place for place, _ in self._starts[1:]), len(self.rows)]
        found = zip(self._starts, ends, strict=True)
        return [(view, low, high) for (low, view), high in found if low < high]

    def at_view(self) -> Numbers:
        """Return the view of each delivery."""
        sizes = [high - low for _, low, high in self.stretches]
        return np.repeat(np.array([view for view, _, _ in self.stretches], dtype=np.int64), sizes)

    @cached_property
    def stayed(self) -> set[int]:
        """The views from which it went on to the next one."""
        mine = {view for view, members in self.views.items() if self.of.who in members}
        return {view for view in mine if view + 1 in mine}

    def counts_before(self, other: "Heard") -> int:
        """The view from which on its deliveries are not held against the other one's.

        It is the first that has lost that one, and the last of all if the member may not have been
        there to the end.
        """
        gone = other.of.who
        lost = (v for v, members in self.views.items() if v > other.last and gone not in members)
        ended = self.of.status != "crashed" and self.of.end != "open"
        return min(lost, default=NEVER) if ended else min(*lost, self.last, NEVER)


class Table:
    """The messages, sorted by sender and seqno, and who has delivered them."""

    def __init__(
        self, summaries: Mapping[Address, Summary], deliveries: Mapping[Address, Any]
    ) -> None:
        everybody = {who for of in summaries.values() for who in (of.who, *of.addresses)}
        self.senders = sorted(everybody)
        """By their numbers: the lives of a node one after the other."""
        numbers = {who: number for number, who in enumerate(self.senders)}
        self.summaries = summaries
        self.heard = [Heard(of, deliveries[who], numbers) for who, of in summaries.items()]
        self.messages: Numbers = np.empty(0, dtype=np.int64)
        for each in self.heard:
            merged = np.sort(np.concatenate((self.messages, each.rows)))
            self.messages = merged[np.diff(merged, prepend=-1) != 0]
        most = max([len(self.messages), *(len(each.rows) for each in self.heard)])
        self.kind = np.result_type(np.int32, np.min_scalar_type(-most))
        """Of rows and places: half the memory of `int64`, where that is enough."""
        for each in self.heard:
            each.rows = np.searchsorted(self.messages, each.rows).astype(self.kind)

    def by_member(self) -> Iterator[str]:
        """Yield what a member's deliveries break, by themselves or against another's."""
        nodes = np.unique([node for node, _ in self.senders], return_inverse=True)[1]
        node_of = nodes[self.messages >> SEQNO_BITS] if len(nodes) else self.messages
        before: list[tuple[Heard, Numbers | slice]] = []
        for each in self.heard:
            count = len(each.rows)
            places: Numbers = np.full(len(self.messages), -1, dtype=self.kind)
            backwards = np.arange(count - 1, -1, -1, dtype=self.kind)
            places[each.rows[::-1]] = backwards  # of a message that is there twice, the first
            heard = places >= 0
            first: Numbers | slice = slice(None)
            if np.count_nonzero(heard) < count:
                yield from ("Integrity", "Fifo")
                first = np.sort(places[heard])
            nodes = node_of[heard]
            if ((np.diff(places[heard]) < 0) & (np.diff(nodes) == 0)).any():
                yield "Fifo"
            if any(each.of.who not in each.views.get(view, ()) for view, _, _ in each.stretches):
                yield "InView"
            for other, theirs in before:
                yield from _between(other, theirs, each, places)
            before.append((each, first))

    def by_sender(self) -> Iterator[str]:
        """Yield what is broken by messages that their senders have not sent."""
        sent = map(self.summaries.get, self.senders)
        most = [each.seqno if each is not None and each.complete else NEVER for each in sent]
        known = np.array(most, dtype=np.int64)
        if len(known) and (self.messages & SEQNO > known[self.messages >> SEQNO_BITS]).any():
            yield "Integrity"

    def by_view(self) -> Iterator[str]:
        """Yield what is broken by messages that not all delivered who went on from a view."""
        parts: dict[int, list[tuple[Heard, Numbers]]] = {}
        for each in self.heard:
            for view, low, high in each.stretches:
                parts.setdefault(view, []).append((each, each.rows[low:high]))
        times = np.zeros(len(self.messages), dtype=np.int32)
        for view, of_view in parts.items():
            staying = sum(view in each.stayed for each in self.heard)
            stayed: dict[int, list[Numbers]] = {}
            for each, rows in of_view:
                if view in each.stayed:
                    stayed.setdefault(id(each), []).append(rows)
            for pieces in stayed.values():
                times[np.concatenate(pieces)] += 1  # of one that is there twice, once
            for each, rows in of_view:
                if (times[rows] < staying).any():
                    yield "UniformAgreement"
                    if view in each.stayed:
                        yield "Agreement"
            for _, rows in of_view:
                times[rows] = 0


def _between(one: Heard, first: Numbers | slice, other: Heard, places: Numbers) -> Iterator[str]:
    """Yield what is broken between two members, by what both have delivered.

    `first` are the first one's deliveries, without those of a message again; `places` are the
    other's, by message.
    """
    theirs = places[one.rows[first]]
    both = theirs >= 0
    theirs = theirs[both]
    here, there = one.at_view()[first][both], other.at_view()[theirs]
    turned, apart = (theirs[1:] < theirs[:-1]).any(), here != there
    if turned:
        yield "UniformTotalOrder"
    elif not apart.any():
        return
    counts = (here < one.counts_before(other)) & (there < other.counts_before(one))
    if (np.diff(theirs[counts]) < 0).any():
        yield "TotalOrder"
    if apart[counts].any():
        yield "VirtualSynchrony"


def compared(verdict: RunVerdict, broken: Collection[str]) -> RunVerdict:
    """The verdict of the first evaluation, undecided where the second one has another answer."""
    promises: list[Promise] = []
    doubts: list[Finding] = []
    for promise in verdict.promises:
        again = promise.name in broken
        if promise.name not in ASKED or again == (promise.verdict == VIOLATED):
            promises.append(promise)
            continue
        answers = ("violated", "not violated")
        reason = (
            f"two evaluations of {promise.name} differ: {answers[again]} by the members' logs, "
            f"{answers[not again]} by the messages"
        )
        promises.append(msgspec.structs.replace(promise, verdict=INCONCLUSIVE, reason=reason))
        doubts.append(
            Finding(
                verdict=INCONCLUSIVE,
                part="promises",
                reason=reason,
                run=verdict.run,
                node="",
                incarnation=0,
            )
        )
    if not doubts:
        return verdict
    return msgspec.structs.replace(
        verdict,
        verdict=VIOLATED if verdict.verdict == VIOLATED else INCONCLUSIVE,
        findings=sorted([*verdict.findings, *doubts], key=Finding.place),
        promises=promises,
    )
