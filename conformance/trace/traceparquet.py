"""Trace records in Parquet: the same fields, one row per record.

The scalar fields are columns of their own, so that any engine can select on them. Fields that are
lists or objects are JSON text, so that the schema is the same for every protocol; `header` holds a
header's whole record. Files without the columns of optional fields are read as well.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from .batches import Problem, Report
from .events import Record, encode

SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("run", pa.string()),
        ("protocol", pa.string()),
        ("node", pa.string()),
        ("incarnation", pa.int64()),
        ("index", pa.int64()),
        ("clock", pa.int64()),
        ("action", pa.string()),
        ("args", pa.string()),
        ("received", pa.string()),
        ("sent", pa.string()),
        ("changed", pa.string()),
        ("header", pa.string()),
        ("told", pa.string()),
        ("given", pa.string()),
        ("at", pa.float64()),
    ]
)
_SCALARS = ("kind", "run", "protocol", "node", "incarnation", "index", "clock", "action", "at")
_NESTED = ("args", "received", "sent", "changed", "told", "given")
_OPTIONAL = frozenset({"told", "given", "at"})
ROWS = 4096


def write_parquet(path: Path, records: Iterable[Record | Mapping[str, Any]]) -> int:
    """Write the records of any protocol in order and return how many they are."""
    total = 0
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        rows: list[dict[str, Any]] = []
        for record in records:
            rows.append(_row(record))
            if len(rows) == ROWS:
                writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))
                total, rows = total + len(rows), []
        writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))
    return total + len(rows)


def parquet_lines(path: Path, report: Report) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first row, rows as the lines that they stand for)."""
    for line, rows in _rows(path, report):
        yield line, b"".join(_json(row).replace(b"\n", b" ") + b"\n" for row in rows)


def _rows(path: Path, report: Report) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        report(Problem(str(path), 0, f"not a Parquet file: {str(error).splitlines()[0]}"))
        return
    line = 1
    with file:
        there = [name for name in SCHEMA.names if name in file.schema_arrow.names]
        missing = [name for name in SCHEMA.names if name not in {*there, *_OPTIONAL}]
        if missing:
            report(Problem(str(path), 0, f"missing columns: {', '.join(missing)}"))
            return
        try:
            for batch in file.iter_batches(ROWS, columns=there):
                yield line, batch.to_pylist()
                line += batch.num_rows
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = f"cannot be read any further ({str(error).splitlines()[0]})"
            report(Problem(str(path), line, reason))


def _row(record: Record | Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(record)
    row = {name: plain.get(name) for name in _SCALARS}
    if plain["kind"] == "event":
        row |= {name: encode(plain[name]).decode() for name in _NESTED if name in plain}
    elif plain["kind"] == "header":
        row["header"] = encode(plain).decode()
    return row


def _json(row: dict[str, Any]) -> bytes:
    """The row as the JSON line that it stands for, so that one decoder judges both formats."""
    if row["header"] is not None:
        return str(row["header"]).encode()
    found = {name: row[name] for name in (*_SCALARS, *_NESTED) if row.get(name) is not None}
    fields = [
        encode(name) + b":" + (encode(value) if name in _SCALARS else str(value).encode())
        for name, value in found.items()
    ]
    return b"{" + b",".join(fields) + b"}"
