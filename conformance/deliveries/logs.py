"""Delivery logs of any group communication system: the input of black-box checking.

A log has one row per delivery, in JSON Lines, CSV or Parquet; any number of files, rows in any
order. Lines that are not rows are quarantined with their number and the reason, as with traces.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args

import msgspec

from raincheck.conformance.trace.batches import Problem, Report
from raincheck.conformance.trace.inputs import Opens, files_in, opened
from raincheck.conformance.trace.keys import twice

Natural = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
COLUMNS = ("member", "view", "sender", "message", "position", "event", "after", "members")
SUFFIXES = (".jsonl", ".ndjson", ".csv", ".parquet")
MAX_LINE = 1 << 20


Event = Literal["deliver", "send", "view", "state", "safe", "crash", "end"]


class Row(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One row; `event` names its kind."""

    member: str
    position: Natural = 0
    view: Natural | str = 0
    sender: str = ""
    message: str = ""
    event: Event = "deliver"
    after: Natural | None = None
    """Of a send or a view: the last position in its member's log before. Of a state: the last
    position in the log of its provider, the `sender`, of what is in it.
    """
    members: tuple[str, ...] = ()
    """Of a view: who is in it, sorted, if the log says so."""


class _Json(msgspec.Struct, gc=False):
    member: str
    position: Natural = 0
    view: Natural | str = 0
    sender: str | None = None
    message: str | int | None = None
    event: str | None = None
    after: Natural | None = None
    members: list[str] | str | None = None


_decoder = msgspec.json.Decoder(_Json)


def delivery_files(paths: Iterable[Path]) -> list[Path]:
    """Return each file given and each log in each folder given, sorted, once."""
    return files_in(paths, SUFFIXES, "delivery log", "name the folder with the logs")


def read_rows(
    path: Path, report: Report, opens: Opens = opened, *, part: bool = False
) -> Iterator[Row]:
    """Yield the file's rows; report each line that is not a row, and an empty file.

    `opens` opens it, unless it is a Parquet file. What it opens may be a `part` of the file, which
    may have no line.
    """
    empty = not part

    def note(problem: Problem) -> None:
        nonlocal empty
        empty = False
        report(problem)

    def read() -> Iterator[tuple[int, _Json]]:
        if path.suffix == ".parquet":
            return _parquet(path, note)
        return (_csv if path.suffix == ".csv" else _jsonl)(path, note, opens)

    line = 1
    try:
        for line, found in read():
            empty = False
            try:
                yield _row(found)
            except ValueError as error:
                report(Problem(str(path), line, str(error)))
    except OSError as error:
        note(Problem(str(path), line, f"cannot be read any further ({error.strerror or error})"))
    if empty:
        report(Problem(str(path), 1, "no row: the file is empty or holds no record"))


def row_of(given: Mapping[str, Any]) -> Row:
    """Return the row with these columns, others left out; raise ValueError for one that is none."""
    kept = {name: value for name, value in given.items() if name in COLUMNS and value is not None}
    try:
        return _row(msgspec.convert(kept, _Json))
    except msgspec.ValidationError as error:
        raise ValueError(f"not a delivery record: {error}") from error


def _row(found: _Json) -> Row:
    event = found.event or "deliver"
    if event not in get_args(Event):
        raise ValueError(f"unknown event {event!r}")
    if not found.member:
        raise ValueError("no member is named")
    message = "" if found.message is None else str(found.message)
    if event == "deliver" and not (found.sender and message):
        raise ValueError("a delivery needs sender and message")
    if event == "send" and not message:
        raise ValueError("a send needs message")
    if event == "state" and not (found.sender and found.after is not None):
        raise ValueError("a state needs sender, who gave it, and after, its position then")
    if event in ("deliver", "send", "state") and not found.position:
        raise ValueError("positions count from 1")
    sender = found.member if event == "send" else found.sender or ""
    if found.after is not None and event not in ("send", "view", "state"):
        raise ValueError(f"only a send, a view or a state has `after`, no {event}")
    if found.members is not None and event != "view":
        raise ValueError(f"only a view has `members`, no {event}")
    listed = found.members.split() if isinstance(found.members, str) else found.members or ()
    return Row(
        found.member,
        found.position,
        label_of(found.view),
        sender,
        message,
        cast("Event", event),
        found.after,
        tuple(sorted(listed)),
    )


def label_of(view: int | str) -> int | str:
    """Return a view's number as a number, if it is one; no view is 0."""
    number = isinstance(view, str) and view.isascii() and view.isdigit() and len(view) <= 18
    return int(view) if number else view or 0


def _jsonl(path: Path, report: Report, opens: Opens) -> Iterator[tuple[int, _Json]]:
    with opens(path) as file:
        number = 0
        while text := file.readline(MAX_LINE):
            number += 1
            if not text.endswith(b"\n") and len(text) == MAX_LINE:
                report(Problem(str(path), number, f"the line is longer than {MAX_LINE} bytes"))
                while rest := file.readline(MAX_LINE):
                    if rest.endswith(b"\n"):
                        break
                continue
            try:
                found = _decoder.decode(text)
                if ambiguous := twice(text):
                    raise msgspec.ValidationError(ambiguous)
                yield number, found
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                cut = "" if text.endswith(b"\n") else "truncated last line: "
                report(Problem(str(path), number, f"{cut}not a delivery record: {error}"))


def _csv(path: Path, report: Report, opens: Opens) -> Iterator[tuple[int, _Json]]:
    with io.TextIOWrapper(
        opens(path), encoding="utf-8", errors="surrogateescape", newline=""
    ) as file:
        last = ""

        def noted(line: str) -> str:
            nonlocal last
            last = line
            return line

        rows = csv.DictReader(map(noted, file), strict=True)
        named = [name for name in rows.fieldnames or () if name in COLUMNS]
        if doubled := sorted(name for name, times in Counter(named).items() if times > 1):
            report(Problem(str(path), 1, f"columns that stand twice: {', '.join(doubled)}"))
            return
        missing = {"member", "sender", "message", "position"} - set(named)
        if missing:
            report(Problem(str(path), 1, f"missing columns: {', '.join(sorted(missing))}"))
            return
        try:
            for row in rows:
                try:
                    kept = {k: v for k, v in row.items() if k in COLUMNS and v not in ("", None)}
                    _as_written(row, kept, last)
                    yield rows.line_num, msgspec.convert(kept, _Json, strict=False)
                except (msgspec.ValidationError, ValueError) as error:
                    report(Problem(str(path), rows.line_num, f"not a delivery record: {error}"))
        except csv.Error as error:
            report(Problem(str(path), rows.line_num + 1, f"not CSV: {error}"))


def _as_written(row: Mapping[str | None, Any], kept: Mapping[str, str], line: str) -> None:
    """Raise ValueError if the writer of a row of CSV may have meant other values."""
    if not line.endswith(("\n", "\r")):
        raise ValueError("the last line has no newline, so its last value may be cut off")
    if None in row:
        raise ValueError("it has more values than there are columns")
    if not all(map(_is_utf8, kept.values())):
        raise ValueError("it is not UTF-8")


def _is_utf8(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _parquet(path: Path, report: Report) -> Iterator[tuple[int, _Json]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        report(Problem(str(path), 0, f"not a Parquet file: {str(error).splitlines()[0]}"))
        return
    with file:
        number = 0
        columns = [name for name in COLUMNS if name in file.schema_arrow.names]
        batches = file.iter_batches(8192, columns=columns)
        while True:
            try:
                rows = next(batches).to_pylist()
            except StopIteration:
                return
            except (pa.ArrowException, UnicodeDecodeError) as error:
                raise OSError(str(error).splitlines()[0]) from error
            for row in rows:
                number += 1
                kept = {name: value for name, value in row.items() if value is not None}
                try:
                    yield number, msgspec.convert(kept, _Json)
                except msgspec.ValidationError as error:
                    report(Problem(str(path), number, f"not a delivery record: {error}"))
