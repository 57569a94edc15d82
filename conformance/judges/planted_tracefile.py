"""Faults planted for the rules of `trace/tracefile.py`: lines and headers that cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from raincheck.conformance.errors import UsageError
from raincheck.conformance.trace import tracefile
from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.events import encode_lines
from raincheck.conformance.trace.traceparquet import write_parquet

from .planting import Complaints, Plant, Planted
from .sequencer_story import A, good, judged, trace_of, unsure

_LONGEST: Final = 100_000


def _nonsense(folder: Path) -> None:
    with (folder / "r1.a.0.jsonl").open("a") as file:
        file.write("nonsense\n")


def _twice(folder: Path) -> None:
    path = folder / "r1.a.0.jsonl"
    path.write_bytes(
        path.read_bytes().replace(b'{"kind":"event",', b'{"kind":"event","kind":"event",', 1)
    )


def _long_line(folder: Path) -> Complaints:
    """Add a line longer than any record at the end of a file."""
    longest = tracefile.MAX_LINE
    tracefile.MAX_LINE = _LONGEST

    def spoil(folder: Path) -> None:
        with (folder / "r1.a.0.jsonl").open("a") as file:
            file.write(" " * 3 * _LONGEST + "\n")

    try:
        return judged(folder, trace_of(1), spoil)
    finally:
        tracefile.MAX_LINE = longest


def _paths(words: str, of: Callable[[Path], Path]) -> Plant:
    """Plant a path without a trace."""

    def complaints(path: Path) -> Complaints:
        try:
            tracefile.trace_files([path])
        except UsageError as error:
            return [str(error)]
        return []

    def fine(folder: Path) -> Complaints:
        (folder / "a.jsonl").touch()
        return complaints(folder)

    return Plant(good=fine, bad=lambda folder: complaints(of(folder)), words=words)


def _read(of: Callable[[Path], Path]) -> Callable[[Path], Complaints]:
    """Return the reader's complaints about a file."""

    def complaints(folder: Path) -> Complaints:
        problems: list[Problem] = []
        for _ in tracefile.read_records(of(folder), problems.append):
            pass
        return [problem.reason for problem in problems]

    return complaints


def _good_file(folder: Path) -> Path:
    (folder / "a.jsonl").write_bytes(encode_lines(trace_of(1)[A]))
    return folder / "a.jsonl"


def _cut_line(folder: Path) -> None:
    path = folder / "r1.a.0.jsonl"
    path.write_bytes(path.read_bytes()[:-9])


def _parquet(words: str, spoil: Callable[[Path], Any]) -> Plant:
    """Plant a Parquet file, and damage it."""

    def written(folder: Path) -> Path:
        write_parquet(folder / "a.parquet", trace_of(1)[A])
        return folder / "a.parquet"

    def spoilt(folder: Path) -> Path:
        spoil(written(folder))
        return folder / "a.parquet"

    return Plant(good=_read(written), bad=_read(spoilt), words=words)


def _other_column(name: str, value: Any) -> Callable[[Path], Any]:
    """Give each row that value in that column."""

    def spoil(path: Path) -> None:
        rows = pq.read_table(path)
        column = pa.array([value] * len(rows))
        made = column.view(pa.string()) if isinstance(value, bytes) else column
        place = rows.column_names.index(name)
        pq.write_table(rows.set_column(place, name, made), path)

    return spoil


PLANTED: Final[dict[str, Planted]] = {
    "trace.inputs": {
        "files_in: … holds no … (…): …": _paths("holds no trace file (.jsonl", lambda path: path),
        "files_in: … …: name a … or a folder of them": _paths(
            "does not exist: name a trace file or a folder of them", lambda path: path / "x"
        ),
    },
    "trace.tracefile": {
        "read_blocks: cannot be read any further (…)": Plant(
            good=_read(_good_file),
            bad=_read(lambda folder: folder),
            words="cannot be read any further (Is a directory)",
        ),
        "Splitter.push: the line is longer than … bytes": Plant(
            good=good(1), bad=_long_line, words=f"the line is longer than {_LONGEST} bytes"
        ),
        "decode_block: not a trace record: …": unsure(
            "r1.a.0.jsonl line 2: not a trace record: the key 'kind' stands twice in one object",
            spoil=_twice,
        ),
        "decode_block: truncated last line: …": unsure(
            "r1.a.0.jsonl line 15: truncated last line: not JSON", spoil=_cut_line
        ),
        "decode_block: report(Problem(str(path), number, reason, _excerpt(text)))": unsure(
            "r1.a.0.jsonl line 16: not JSON", spoil=_nonsense
        ),
    },
    "trace.traceparquet": {
        "_rows: not a Parquet file: …": _parquet(
            "not a Parquet file", lambda path: path.write_text("nonsense, and more of it")
        ),
        "_rows: missing columns: …": _parquet(
            "missing columns: run, protocol",
            lambda path: pq.write_table(pa.table({"kind": ["header"]}), path),
        ),
        "_rows: cannot be read any further (…)": _parquet(
            "cannot be read any further ('utf-8' codec can't decode", _other_column("run", b"\xff")
        ),
    },
}
