"""The promises a second time, in SQL over what the files say was delivered.

The first evaluation (`traces/promises.py`) walks through each member's log in arrays; this one asks
sets of rows, and shares no rule with it. Both must come to the same; where they do not, one of them
is wrong, and nothing holds. It begins with the records as they are in the files.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from raincheck.conformance.traces.checker import RunVerdict
from raincheck.conformance.traces.events import Address, Event, Header
from raincheck.conformance.traces.findings import INCONCLUSIVE, VIOLATED, Finding, Promise, Summary
from raincheck.conformance.traces.runfiles import RunFiles
from raincheck.conformance.traces.tracefile import read_records

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

DELIVERED = "run string, who string, at long, view long, sender string, first long, count long"
LIVES = "run string, who string, ended boolean, complete boolean, sent long, last long, events long"
VIEWS = "run string, who string, view long, members array<string>"
PAIRED = frozenset({"m", "f", "pairs"})
"""What is asked several times, and so is made once."""

STEPS = {
    "m": """
        select d.run, d.who, d.view, d.sender, d.at,
               explode(sequence(d.first, d.first + d.count - 1)) as seqno
        from delivered d join lives l on l.run = d.run and l.who = d.who and d.at <= l.events""",
    "f": """
        select run, who, sender, seqno, min(at) as at, min_by(view, at) as view
        from m group by run, who, sender, seqno""",
    "firm": """
        select f.* from f join lives l on l.run = f.run and l.who = f.who
        where l.ended or f.view < l.last""",
    "stayed": """
        select a.run, a.who, a.view from views a
        join views b on b.run = a.run and b.who = a.who and b.view = a.view + 1
        where array_contains(a.members, a.who) and array_contains(b.members, b.who)""",
    "staying": """
        select run, view, count(*) as size from stayed group by run, view""",
    "lost": """
        select v.run, v.who, l.who as other, min(v.view) as since
        from views v join lives l on l.run = v.run and v.view > l.last
        where not array_contains(v.members, l.who) group by v.run, v.who, l.who""",
    "pairs": """
        select p.run, p.who as p, q.who as q, p.sender, p.seqno, p.view as here, q.view as there,
               p.at as mine, q.at as theirs
        from firm p join firm q
        on q.run = p.run and q.sender = p.sender and q.seqno = p.seqno and p.who < q.who
        left join lost a on a.run = p.run and a.who = p.who and a.other = q.who
        left join lost b on b.run = p.run and b.who = q.who and b.other = p.who
        where (a.since is null or p.view < a.since) and (b.since is null or q.view < b.since)""",
}
"""From what was delivered to what is asked. `m` has a row per delivery, `f` the first one of each
message; `firm` those while the member certainly took part; `pairs` what two members delivered
before either lost the other one."""

ASKED = {
    "TotalOrder": """
        select run from (select run, theirs, seqno,
                                lag(struct(theirs, seqno)) over w as before
                         from pairs window w as (partition by run, p, q order by mine, seqno))
        where struct(theirs, seqno) < before""",
    "UniformTotalOrder": """
        select run from (select p.run, q.at as theirs, q.seqno,
                                lag(struct(q.at, q.seqno)) over w as before
                         from f p join f q
                         on q.run = p.run and q.sender = p.sender and q.seqno = p.seqno
                         and p.who < q.who
                         window w as (partition by p.run, p.who, q.who order by p.at, p.seqno))
        where struct(theirs, seqno) < before""",
    "Agreement": """
        select m.run from m
        join stayed s on s.run = m.run and s.who = m.who and s.view = m.view
        join staying n on n.run = m.run and n.view = m.view
        group by m.run, m.view, m.sender, m.seqno, n.size having count(distinct m.who) < n.size""",
    "UniformAgreement": """
        select m.run from m
        join staying n on n.run = m.run and n.view = m.view
        left join stayed s on s.run = m.run and s.who = m.who and s.view = m.view
        group by m.run, m.view, m.sender, m.seqno, n.size having count(distinct s.who) < n.size""",
    "Integrity": """
        select run from m group by run, who, sender, seqno having count(*) > 1
        union all
        select m.run from m join lives l on l.run = m.run and l.who = m.sender
        where l.complete and m.seqno > l.sent""",
    "Fifo": """
        select run from (select run, seqno, lag(seqno) over w as before
                         from m window w as (partition by run, who, sender order by at, seqno))
        where seqno <= before""",
    "InView": """
        select m.run from m
        left join views v on v.run = m.run and v.who = m.who and v.view = m.view
        where v.members is null or not array_contains(v.members, m.who)""",
    "VirtualSynchrony": "select run from pairs where here <> there",
}
"""Each answers with the runs in which the promise is broken."""


def recounted(
    session: "SparkSession",
    runs: Mapping[str, RunFiles],
    summaries: Mapping[str, Mapping[Address, Summary]],
) -> set[tuple[str, str]]:
    """The promises that are broken, each as (run, name)."""
    paths = [path for run in runs.values() for path in run.files.values()]
    named = [
        (run, summary) for run, found in sorted(summaries.items()) for summary in found.values()
    ]
    frames = {
        "delivered": _delivered(session, paths),
        "lives": session.createDataFrame([_life(*each) for each in named], LIVES),
        "views": session.createDataFrame(
            [row for each in named for row in _views(*each)] or [("", "", 0, [""])], VIEWS
        ),
    }
    kept = []
    try:
        for name, frame in frames.items():
            frame.createOrReplaceTempView(name)
        for name, text in STEPS.items():
            step = session.sql(text)
            if name in PAIRED:
                kept.append(step.persist())
            step.createOrReplaceTempView(name)
        asked = [
            f"select distinct '{name}' as name, run from ({text})" for name, text in ASKED.items()
        ]
        return {(row.run, row.name) for row in session.sql(" union all ".join(asked)).collect()}
    finally:
        for step in kept:
            step.unpersist()


def compared(verdicts: Iterable[RunVerdict], broken: set[tuple[str, str]]) -> list[RunVerdict]:
    """The verdicts of the first evaluation, undecided where the second one has another answer."""
    return [_compared(verdict, broken) for verdict in verdicts]


def _compared(verdict: RunVerdict, broken: set[tuple[str, str]]) -> RunVerdict:
    promises: list[Promise] = []
    doubts: list[Finding] = []
    for promise in verdict.promises:
        again = (verdict.run, promise.name) in broken
        if again == (promise.verdict == VIOLATED):
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


def _who(address: Sequence[str | int]) -> str:
    node, incarnation = address
    return f"{node}.{incarnation}"


def _life(run: str, of: Summary) -> tuple[str, str, bool, bool, int, int, int]:
    ended = of.status != "crashed" and of.end != "open"
    last = max((place.view for place in of.views), default=0)
    return (run, _who(of.who), ended, of.complete, of.seqno, last, of.conforming)


def _views(run: str, of: Summary) -> Iterator[tuple[str, str, int, list[str]]]:
    """The last word on each view of the member's."""
    views = {place.view: [_who(member) for member in place.members] for place in of.views}
    yield from ((run, _who(of.who), view, members) for view, members in views.items())


def _delivered(session: "SparkSession", paths: list[Path]) -> "DataFrame":
    """A row per run of messages that a member delivered."""
    names = [str(path.absolute()) for path in paths]

    def read(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _read(Path(names[number]))

    return session.range(0, len(names), 1, len(names)).mapInArrow(read, DELIVERED)


def _read(path: Path) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    kinds = [pa.string(), pa.string(), *[pa.int64()] * 2, pa.string(), *[pa.int64()] * 2]
    names = [column.split()[0] for column in DELIVERED.split(", ")]
    header: Header | None = None
    index = 0
    for batch in read_records(path, lambda _: None):
        rows: list[tuple[str, str, int, int, str, int, int]] = []
        for record in batch.records:
            if header is None:
                if not isinstance(record, Header):
                    return
                header = record
            if not isinstance(record, Event) or record.index != index + 1:
                continue
            if (record.node, record.incarnation) != (header.node, header.incarnation):
                continue
            index = record.index
            delivered = record.changed.delivered
            if delivered is msgspec.UNSET:
                continue
            node, life, first, count = delivered.messages
            who = _who((header.node, header.incarnation))
            rows.append((header.run, who, index, delivered.view, _who((node, life)), first, count))
        if rows:
            columns = zip(*rows, strict=True)
            arrays = [pa.array(c, type=kind) for c, kind in zip(columns, kinds, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=names)
