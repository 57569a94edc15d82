"""Traces of protocols with `Binding` on Spark: each file checked where it is read, then each run.

The workers run the same code as the local engine. Files are checked one per task; the reports of
one protocol of one run meet in one group, which judges them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.checker import RunVerdict
from raincheck.conformance.trace.follower import FileReport, check_file
from raincheck.conformance.trace.run import Mixed, together

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

SCHEMA = "run string, protocol string, report binary, problems binary"
ANSWER = "run string, protocol string, verdict binary"
TASKS = 32
"""Most tasks per core."""


def check_others(session: SparkSession, mixed: Mixed) -> list[RunVerdict]:
    """Check the files that are not SEQUENCER's; the verdicts are the local engine's."""
    files = [
        (run, protocol, str(path.absolute()), str(path))
        for (run, protocol), paths in sorted(mixed.others.items())
        for path in paths
    ]
    if not files:
        return []
    crashed = {run: sorted(who) for run, who in mixed.crashed.items()}
    tasks = min(len(files), TASKS * session.sparkContext.defaultParallelism)

    def check(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _report(*files[number])

    def answer(rows: pa.Table) -> pa.Table:
        return _answer(rows, crashed)

    reports = session.range(0, len(files), 1, tasks).mapInArrow(check, SCHEMA)
    answers = reports.groupBy("run", "protocol").applyInArrow(answer, ANSWER).collect()
    verdicts = [msgspec.json.decode(bytes(row.verdict), type=RunVerdict) for row in answers]
    return sorted(verdicts, key=lambda each: (each.run, each.protocol))


def _report(run: str, protocol: str, path: str, name: str) -> pa.RecordBatch:
    """Check one file; it keeps the name by which the user knows it."""
    import pyarrow as pa

    problems: list[Problem] = []
    report = check_file(Path(path), problems.append)
    if report is not None:
        report.path = name
        report.findings = [
            msgspec.structs.replace(finding, path=name) for finding in report.findings
        ]
    told = [problem._replace(path=name) for problem in problems]
    row = [[run], [protocol], [msgspec.json.encode(report)], [msgspec.json.encode(told)]]
    kinds = [pa.string(), pa.string(), pa.binary(), pa.binary()]
    arrays = [pa.array(value, type=kind) for value, kind in zip(row, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=["run", "protocol", "report", "problems"])


def _answer(rows: pa.Table, crashed: dict[str, list[tuple[str, int]]]) -> pa.Table:
    """Judge one protocol of one run."""
    import pyarrow as pa

    reports: list[FileReport] = []
    problems: list[Problem] = []
    for row in rows.to_pylist():
        report = msgspec.json.decode(row["report"], type=FileReport | None)
        if report is not None:
            reports.append(report)
        problems += [Problem(*each) for each in msgspec.json.decode(row["problems"])]
    run, protocol = row["run"], row["protocol"]
    verdict = together(run, protocol, reports, crashed.get(run, ()), problems)
    packed = pa.array([msgspec.json.encode(verdict)], type=pa.binary())
    return pa.table({"run": [run], "protocol": [protocol], "verdict": packed})
