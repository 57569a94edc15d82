"""Read trace files, JSON Lines or Parquet, in a stream: memory does not grow with the file.

Law of this file: nothing is dropped in silence. A line that cannot be read becomes a `Problem` with
its number and the reason; what is read comes in order, in batches of consecutive lines.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np

from .batches import Batch, Problem, Report
from .events import DECODER, Record
from .inputs import files_in
from .keys import any_twice, twice
from .traceparquet import parquet_lines

CHUNK = 64 * 1024
"""Small enough for the processor's cache: larger chunks decode more slowly."""
MAX_LINE = 16 * 1024 * 1024
"""A longer line is no trace record: it is skipped without being held in memory."""
NEWLINE = 10
SUFFIXES = (".jsonl", ".ndjson", ".parquet")
Blocks: TypeAlias = Iterator[tuple[int, bytes]]
"""The number of the first line, and whole lines."""


def trace_files(paths: Iterable[Path]) -> list[Path]:
    """Each file given and each trace file in each folder given, sorted, once."""
    return files_in(paths, SUFFIXES, "trace file", "name the folder that a run wrote its traces to")


def read_records(
    path: Path, report: Report, decoder: msgspec.json.Decoder[Any] = DECODER
) -> Iterator[Batch]:
    """Yield the file's records in order; report each line that is not one."""
    for line, block in read_blocks(path, report):
        yield from decode_block(path, line, block, report, decoder)


def read_blocks(path: Path, report: Report) -> Iterator[tuple[int, bytes]]:
    """Yield (number of its first line, whole lines), as they stand in the file."""
    if path.suffix == ".parquet":
        yield from parquet_lines(path, report)
        return
    line = 1
    try:
        for line, block in _blocks(path, report):
            yield line, block
    except OSError as error:
        reason = f"cannot be read any further ({error.strerror or error})"
        report(Problem(str(path), line, reason))


def _blocks(path: Path, report: Report) -> Iterator[tuple[int, bytes]]:
    """Yield (number of its first line, whole lines); the last one may lack its newline."""
    splitter = Splitter(path, report)
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(CHUNK):
            if found := splitter.push(chunk):
                yield found
    if found := splitter.end():
        yield found


class Splitter:
    """Puts the pieces in which a file is read together to whole lines."""

    def __init__(self, path: Path, report: Report) -> None:
        self.path = path
        self._report = report
        self.line = 1
        """The number of the next line."""
        self._carry, self._skipping = b"", False

    def push(self, chunk: bytes) -> tuple[int, bytes] | None:
        """Take the next piece; return (number of the first line, the lines that are whole)."""
        if self._skipping:
            start = chunk.find(b"\n")
            if start < 0:
                return None
            chunk, self._skipping = chunk[start + 1 :], False
            self.line += 1
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            self._carry += chunk
            if len(self._carry) > MAX_LINE:
                reason = f"the line is longer than {MAX_LINE} bytes"
                self._report(Problem(str(self.path), self.line, reason, _excerpt(self._carry)))
                self._carry, self._skipping = b"", True
            return None
        line, block = self.line, self._carry + chunk[:cut]
        self.line += count_lines(block)
        self._carry = chunk[cut:]
        return line, block

    def end(self) -> tuple[int, bytes] | None:
        """Return what stands behind the last newline, if anything does: nothing comes any more."""
        carry, self._carry = self._carry, b""
        return (self.line, carry) if carry else None


def count_lines(block: bytes) -> int:
    """How many lines end in the block; `bytes.count` looks at one byte after the other."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == NEWLINE))


def split_lines(block: bytes) -> list[bytes]:
    """The block's lines, each with its newline; the last one may lack it."""
    lines = [line + b"\n" for line in block.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def decode_block(
    path: Path, line: int, block: bytes, report: Report, decoder: msgspec.json.Decoder[Any]
) -> Iterator[Batch]:
    """Decode all lines at once; only if one of them is bad, line by line."""
    if block.endswith(b"\n"):
        try:
            records: list[Record] = decoder.decode_lines(block)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            pass
        else:
            if len(records) == count_lines(block) and not any_twice(block):
                yield Batch(line, records)
                return
    good: list[Record] = []
    first = line
    lines = block.split(b"\n")
    ended = not lines[-1]
    for number, text in enumerate(lines[:-1] if ended else lines, start=line):
        reason = ""
        try:
            record = decoder.decode(text)
            if ambiguous := twice(text):
                reason = f"not a trace record: {ambiguous}"
            if not reason:
                good.append(record)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            reason = _reason(text, error)
            if not ended and number == line + len(lines) - 1:
                reason = f"truncated last line: {reason}"
        if reason:
            if good:
                yield Batch(first, good)
            good, first = [], number + 1
            report(Problem(str(path), number, reason, _excerpt(text)))
    if good:
        yield Batch(first, good)


def _reason(text: bytes, error: Exception) -> str:
    if not text.strip():
        return "empty line"
    if isinstance(error, msgspec.ValidationError):
        return f"not a trace record: {error}"
    return f"not JSON: {error}"


def _excerpt(text: bytes) -> str:
    """The line's beginning, safe to print anywhere."""
    shown = text[:80].decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "�" for c in shown)
