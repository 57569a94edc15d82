"""Trace records in Parquet: the same fields, one row per record.

The scalar fields are columns of their own, so that any engine can select on them. `args`,
`received`, `sent` and `changed` are JSON text, so that the schema is the same for every protocol;
`header` holds a header's whole record.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from .batches import Problem, Report
from .events import Event, Record, encode

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
    ]
)
_SCALARS = ("kind", "run", "protocol", "node", "incarnation", "index", "clock", "action")
_NESTED = ("args", "received", "sent", "changed")
ROWS = 4096


def write_parquet(path: Path, records: Iterable[Record]) -> int:
    """Write the records in order and return how many they are."""
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
        missing = [name for name in SCHEMA.names if name not in file.schema_arrow.names]
        if missing:
            report(Problem(str(path), 0, f"missing columns: {', '.join(missing)}"))
            return
        try:
            for batch in file.iter_batches(ROWS, columns=SCHEMA.names):
                yield line, batch.to_pylist()
                line += batch.num_rows
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = f"cannot be read any further ({str(error).splitlines()[0]})"
            report(Problem(str(path), line, reason))


def _row(record: Record) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(record)
    row = {name: plain.get(name) for name in _SCALARS}
    if isinstance(record, Event):
        nested = (record.args, record.received, record.sent, record.changed)
        row.update(
            {name: encode(part).decode() for name, part in zip(_NESTED, nested, strict=True)}
        )
    elif plain["kind"] == "header":
        row["header"] = encode(record).decode()
    return row


def _json(row: dict[str, Any]) -> bytes:
    """The row as the JSON line that it stands for, so that one decoder judges both formats."""
    if row["header"] is not None:
        return str(row["header"]).encode()
    fields = [encode(name) + b":" + encode(row[name]) for name in _SCALARS if row[name] is not None]
    fields += [
        encode(name) + b":" + str(row[name]).encode() for name in _NESTED if row[name] is not None
    ]
    return b"{" + b",".join(fields) + b"}"
