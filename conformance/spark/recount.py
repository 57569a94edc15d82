"""The promises a second time, in SQL, over what the members of a run delivered.

The first evaluation (`trace/sequencer/promises.py`) walks through each member's log in arrays; this
one asks sets of rows, and shares no rule with it. Both must come to the same; where they do not,
one of them is wrong, and nothing holds. A run's rows meet in one group on Spark, and are asked
there, in a database of their own.
"""

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from functools import cache
from typing import Any

import msgspec
import numpy as np

from raincheck.conformance.trace.events import Address
from raincheck.conformance.trace.findings import INCONCLUSIVE, VIOLATED, Finding, Promise
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.sequencer.rows import SEQNO_BITS
from raincheck.conformance.trace.sequencer.summary import Summary

WIDTH = 1 << SEQNO_BITS

TABLES = """
    create table m (who integer, at integer, view integer, message integer);
    create table named (number integer primary key, node text);
    create table lives (who integer primary key, ended integer, complete integer, sent integer,
                        last integer);
    create table views (who integer, view integer, member integer,
                        primary key (who, view, member)) without rowid;
"""
"""Members have numbers, the lives of a node in their order; a message is its sender's number, and
behind it, in the last digits, its seqno."""
STEPS = """
    create table f as
        select message, who, min(at) as at, view from m group by message, who;
    create view heard as select distinct message, who, view from m;
    create table stayed as
        select a.who, a.view from views a join views b on b.who = a.who and b.view = a.view + 1
        where a.member = a.who and b.member = b.who;
    create table staying as select view, count(*) as size from stayed group by view;
    create table lost as
        select v.who, l.who as other, min(v.view) as since
        from (select distinct who, view from views) v join lives l on v.view > l.last
        where not exists (select 1 from views w
                          where w.who = v.who and w.view = v.view and w.member = l.who)
        group by v.who, l.who;
    create view firm as
        select f.* from f join lives l on l.who = f.who where l.ended or f.view < l.last;
    create view pairs as
        select p.who as p, q.who as q, p.view as here, q.view as there, p.at as mine,
               q.at as theirs
        from firm p join firm q on q.message = p.message and p.who < q.who
        left join lost a on a.who = p.who and a.other = q.who
        left join lost b on b.who = q.who and b.other = p.who
        where (a.since is null or p.view < a.since) and (b.since is null or q.view < b.since);
"""
"""From what was delivered to what is asked. `m` has a row per delivery, `f` the first one of each
message; `firm` those while the member certainly took part; `pairs` what two members delivered
before either lost the other one; `heard` what each delivered in each view."""

ASKED = {
    "TotalOrder": """
        select 1 from (select theirs, lag(theirs) over (partition by p, q order by mine) as before
                       from pairs) where theirs < before""",
    "UniformTotalOrder": """
        select 1 from (select q.at as theirs,
                              lag(q.at) over (partition by p.who, q.who order by p.at) as before
                       from f p join f q on q.message = p.message and p.who < q.who)
        where theirs < before""",
    "Agreement": """
        select 1 from heard h join stayed s on s.who = h.who and s.view = h.view
        join staying n on n.view = h.view
        group by h.view, h.message having count(*) < max(n.size)""",
    "UniformAgreement": """
        select 1 from heard h join staying n on n.view = h.view
        left join stayed s on s.who = h.who and s.view = h.view
        group by h.view, h.message having count(s.who) < max(n.size)""",
    "Integrity": """
        select 1 where (select count(*) from m) > (select count(*) from f)
        union all
        select 1 from lives l join f on f.message > l.who * {width} + l.sent
        and f.message < (l.who + 1) * {width} where l.complete""",
    "Fifo": """
        select 1 from (select m.message, lag(m.message) over (partition by m.who, n.node
                                                              order by m.at) as before
                       from m join named n on n.number = m.message / {width})
        where message <= before""",
    "InView": """
        select 1 from m where not exists (select 1 from views v
                          where v.who = m.who and v.view = m.view and v.member = m.who)""",
    "VirtualSynchrony": "select 1 from pairs where here <> there",
}
"""Each answers with a row if the promise is broken."""
UNLESS = {
    "TotalOrder": ASKED["UniformTotalOrder"],
    "VirtualSynchrony": "select 1 from f group by message having min(view) < max(view)",
}
"""What must have an answer as well, and is found sooner: these need not be asked without."""


def recounted(summaries: Mapping[Address, Summary], deliveries: Mapping[Address, Any]) -> list[str]:
    """The promises that are broken in a run, by what its members' files say was delivered."""
    with closing(sqlite3.connect("")) as run:  # in memory, and on disk what is too large
        run.executescript(TABLES)
        numbers = _numbers(summaries)
        named = [(number, node) for (node, _), number in numbers.items()]
        run.executemany("insert into named values (?, ?)", named)
        for summary in summaries.values():
            run.execute("insert into lives values (?, ?, ?, ?, ?)", _life(summary, numbers))
            run.executemany(
                "insert or replace into views values (?, ?, ?)", _views(summary, numbers)
            )
            rows = _delivered(summary, deliveries[summary.who], numbers)
            run.executemany("insert into m values (?, ?, ?, ?)", rows)
        run.executescript(STEPS)

        @cache
        def found(text: str) -> bool:
            return run.execute(f"{text.format(width=WIDTH)} limit 1").fetchone() is not None

        return [
            name
            for name, text in ASKED.items()
            if (name not in UNLESS or found(UNLESS[name])) and found(text)
        ]


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
            f"{answers[not again]} in SQL"
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


def _numbers(summaries: Mapping[Address, Summary]) -> dict[Address, int]:
    """A number for everybody that is spoken of."""
    known = set(summaries)
    for summary in summaries.values():
        known |= set(summary.addresses)
        known |= {member for place in summary.views for member in place.members}
    return {who: number for number, who in enumerate(sorted(known), 1)}


def _life(of: Summary, numbers: Mapping[Address, int]) -> tuple[int, bool, bool, int, int]:
    ended = of.status != "crashed" and of.end != "open"
    last = max((place.view for place in of.views), default=0)
    return (numbers[of.who], ended, of.complete, of.seqno, last)


def _views(of: Summary, numbers: Mapping[Address, int]) -> Iterator[tuple[int, int, int]]:
    """The last word on each view of the member's."""
    views = {place.view: place.members for place in of.views}
    for view, members in views.items():
        yield from ((numbers[of.who], view, numbers[member]) for member in members)


def _delivered(
    of: Summary, words: Any, numbers: Mapping[Address, int]
) -> Iterator[tuple[int, int, int, int]]:
    """A row per message, as `trace/sequencer/rows.py` has packed them."""
    who, at, view, message = numbers[of.who], 0, 0, 0
    starts = dict(of.view_starts)
    senders = [numbers[sender] * WIDTH for sender in of.addresses]
    for place, word in enumerate(np.frombuffer(words, dtype=np.int64).tolist()):
        if word >= 0:
            view = starts.get(place, view)
            message = senders[word // WIDTH] + word % WIDTH
            yield who, at, view, message
            at += 1
        else:  # so many messages in all, of which the first stood before
            for more in range(1, -word):
                yield who, at, view, message + more
                at += 1
