"""Faults planted for the rules of `deliveries/logs.py`: lines of logs that are not rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from raincheck.conformance.deliveries import logs as deliveries
from raincheck.conformance.deliveries.judge import judge
from raincheck.conformance.trace.batches import Problem

from .planting import Complaints, Plant, Planted

_ROW: Final = '{"member":"a","sender":"a","message":"1","position":1}\n'
_GIVEN: Final = {"member": "a", "sender": "a", "message": 1, "position": 1}
_CSV: Final = "member,sender,message,position\na,a,1,1\n"
_EMPTY: Final = "no row: the file is empty or holds no record"
_NOTHING: Final = "what is left of the file has no row"
_COLUMNS: Final[dict[str, list[Any]]] = {
    "member": ["a", "a"],
    "sender": ["a", "a"],
    "message": ["1", "2"],
    "position": [1, 2],
}


def _complaints(path: Path) -> Complaints:
    problems: list[Problem] = []
    for _ in deliveries.read_rows(path, problems.append):
        pass
    return [f"line {problem.line}: {problem.reason}" for problem in problems]


def _text(name: str, text: str) -> Callable[[Path], Complaints]:
    def ask(folder: Path) -> Complaints:
        (folder / name).write_bytes(text.encode(errors="surrogateescape"))
        return _complaints(folder / name)

    return ask


_GOOD: Final = _text("a.jsonl", _ROW)
_GOOD_CSV: Final = _text("a.csv", _CSV)


def _json(words: str, line: str, **more: Any) -> Plant:
    """Plant a line behind a good one."""
    return Plant(good=_GOOD, bad=_text("a.jsonl", _ROW + line), words=words, **more)


def _given(row: dict[str, Any]) -> Callable[[Path], Complaints]:
    """Return the complaints about a row that is given in a call, from no file."""

    def ask(_: Path) -> Complaints:
        return [problem.reason for problem in judge([_GIVEN, row]).problems]

    return ask


def _csv(words: str, text: str, **more: Any) -> Plant:
    return Plant(good=_GOOD_CSV, bad=_text("a.csv", text), words=words, **more)


def _table(**columns: Any) -> Callable[[Path], Complaints]:
    """Return a Parquet file with other columns than the good one."""

    def ask(folder: Path) -> Complaints:
        pq.write_table(pa.table(_COLUMNS | columns), folder / "a.parquet")
        return _complaints(folder / "a.parquet")

    return ask


_GOOD_TABLE: Final = _table()


def _long_line(folder: Path) -> Complaints:
    with patch.object(deliveries, "MAX_LINE", 100):
        return _text("a.jsonl", _ROW + " " * 300 + "\n")(folder)


def _no_file(folder: Path) -> Complaints:
    (folder / "a.jsonl").mkdir()
    return _complaints(folder / "a.jsonl")


PLANTED: Final[dict[str, Planted]] = {
    "deliveries.logs": {
        "read_rows: report(Problem(str(path), line, str(error)))": _json(
            "line 2: unknown event 'fly'", '{"member":"a","event":"fly"}\n'
        ),
        "row_of: not a delivery record: …": Plant(
            good=_given(_GIVEN | {"position": 2}),
            bad=_given(_GIVEN | {"position": "x"}),
            words="not a delivery record: Expected `int`, got `str` - at `$.position`",
            breaks=AttributeError,
            why="the call has no row to go on with",
        ),
        "_row: only a send, a view or a state has `after`, no …": _json(
            "line 2: only a send, a view or a state has `after`, no end",
            '{"member":"a","event":"end","after":1}\n',
        ),
        "_row: only a view has `members`, no …": _json(
            "line 2: only a view has `members`, no end",
            '{"member":"a","event":"end","members":["a"]}\n',
        ),
        "read_rows: cannot be read any further (…)": Plant(
            good=_GOOD,
            bad=_no_file,
            words="cannot be read any further (Is a directory)",
            then=_EMPTY,
            why=_NOTHING,
        ),
        "read_rows: no row: the file is empty or holds no record": Plant(
            good=_GOOD, bad=_text("a.jsonl", ""), words=_EMPTY
        ),
        "_row: unknown event …": _json("unknown event 'fly'", '{"member":"a","event":"fly"}\n'),
        "_row: no member is named": _json("no member is named", '{"member":"","event":"end"}\n'),
        "_row: not found.sender": _json(
            "a delivery needs sender and message", '{"member":"a","message":"1","position":1}\n'
        ),
        "_row: not message": _json(
            "a delivery needs sender and message", '{"member":"a","sender":"a","position":1}\n'
        ),
        "_row: not found.sender #2": _json(
            "a state needs sender, who gave it, and after",
            '{"member":"a","event":"state","position":1,"after":2}\n',
        ),
        "_row: not found.after is not None": _json(
            "a state needs sender, who gave it, and after",
            '{"member":"a","event":"state","position":1,"sender":"b"}\n',
        ),
        "_row: a send needs message": _json(
            "a send needs message", '{"member":"a","event":"send","position":1}\n'
        ),
        "_row: positions count from 1": _json(
            "positions count from 1", '{"member":"a","sender":"a","message":"1"}\n'
        ),
        "_jsonl: the line is longer than … bytes": Plant(
            good=_GOOD, bad=_long_line, words="line 2: the line is longer than 100 bytes"
        ),
        "_jsonl: …not a delivery record: …": _json(
            "line 2: not a delivery record: JSON is malformed", "nonsense\n"
        ),
        "_csv: columns that stand twice: …": _csv(
            "line 1: columns that stand twice: member",
            "member,sender,message,position,member\na,a,1,1,b\n",
            then=_EMPTY,
            why=_NOTHING,
        ),
        "_csv: missing columns: …": _csv(
            "missing columns: message, sender",
            "member,position\na,1\n",
            then=_EMPTY,
            why=_NOTHING,
        ),
        "_csv: not a delivery record: …": _csv(
            "line 3: not a delivery record", f"{_CSV}a,a,2,second\n"
        ),
        "_as_written: the last line has no newline, so its last value may be cut off": _csv(
            "line 3: not a delivery record: the last line has no newline", f"{_CSV}a,a,2,2"
        ),
        "_as_written: it has more values than there are columns": _csv(
            "line 3: not a delivery record: it has more values than", f"{_CSV}a,a,2,2,3\n"
        ),
        "_as_written: it is not UTF-8": _csv(
            "line 3: not a delivery record: it is not UTF-8", f"{_CSV}a,a,\udce9,2\n"
        ),
        "_csv: not CSV: …": _csv(
            "not CSV: field larger than field limit", f"{_CSV}a,a,{'x' * 140_000},2\n"
        ),
        "_parquet: not a Parquet file: …": Plant(
            good=_GOOD_TABLE,
            bad=_text("a.parquet", "nonsense, and more of it"),
            words="not a Parquet file",
            then=_EMPTY,
            why=_NOTHING,
        ),
        "_parquet: raise OSError(str(error).splitlines()[0]) from error": Plant(
            good=_GOOD_TABLE,
            bad=_table(sender=pa.array([b"a", b"\xff"], pa.binary()).view(pa.string())),
            words="cannot be read any further ('utf-8' codec can't decode",
            breaks=UnboundLocalError,
            why="there are no rows to go on with",
        ),
        "_parquet: not a delivery record: …": Plant(
            good=_GOOD_TABLE,
            bad=_table(view=[1, -1]),
            words="line 2: not a delivery record",
        ),
    },
}
