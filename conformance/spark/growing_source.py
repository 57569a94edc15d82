"""A streaming source of Spark: how far each file of traces or logs in some folders has grown.

A row says of which run a file is, and up to which byte it may be read now; whoever judges the run
opens it. All delivery logs are of one run. The offsets in Spark's checkpoint are these bytes, so a
batch that is repeated has the same rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

from raincheck.conformance.trace.events import Absent, Crash
from raincheck.conformance.trace.inputs import files_there
from raincheck.conformance.trace.run import First, looked
from raincheck.conformance.trace.tracefile import MAX_LINE

SUFFIX: Final = ".jsonl"
"""What grows: a Parquet file is there when it is whole, and is read at the end."""

Grown: TypeAlias = tuple[str, str, int, float]
"""(run, path, bytes, when it was looked at)."""


class GrowingFiles(DataSource):
    """The files in the folders that the option `paths` lists in JSON: of traces, or if there is a
    `run`, all that end as `suffixes` lists, which are of this run.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "raincheck-growing"

    def schema(self) -> str:
        """Return the columns."""
        return "run string, path string, end long, at double"

    def simpleStreamReader(self, schema: Any) -> GrowingReader:  # noqa: ARG002
        """Return what reads it."""
        paths = msgspec.json.decode(self.options["paths"], type=list[str])
        suffixes = msgspec.json.decode(self.options.get("suffixes", "[]"), type=tuple[str, ...])
        return GrowingReader(
            [Path(each) for each in paths], suffixes or (SUFFIX,), self.options.get("run", "")
        )


class GrowingReader(SimpleDataSourceStreamReader):
    """Looks how far the files have grown."""

    def __init__(
        self, paths: list[Path], suffixes: tuple[str, ...] = (SUFFIX,), run: str = ""
    ) -> None:
        """`run` is that of all files; without it, their first lines say of which they are."""
        self._paths, self._suffixes, self._run = paths, suffixes, run
        self._runs: dict[str, tuple[str, ...]] = {}

    def initialOffset(self) -> dict[str, int]:
        """Nothing was read."""
        return {}

    def read(self, start: dict[str, int]) -> tuple[Iterator[Grown], dict[str, int]]:
        """Return what has grown since, and how far."""
        end = dict(start)
        for path in files_there(self._paths, self._suffixes):
            size = path.stat().st_size
            if size > start.get(str(path), 0) and self._runs_of(str(path)):
                end[str(path)] = size
        return self.readBetweenOffsets(start, end), end

    def readBetweenOffsets(self, start: dict[str, int], end: dict[str, int]) -> Iterator[Grown]:
        """Return what has grown between these offsets."""
        at = time.time()
        grown = [(path, size) for path, size in sorted(end.items()) if size > start.get(path, 0)]
        # Spark copies the iterator, which a generator cannot be.
        return iter([(run, path, size, at) for path, size in grown for run in self._runs_of(path)])

    def _runs_of(self, path: str) -> tuple[str, ...]:
        """Return the runs of which a file tells; none while its first line is not whole, or if it
        is of none, as the verdict at the end will say.
        """
        if self._run:
            return (self._run,)
        if path not in self._runs:
            with Path(path).open("rb") as file:
                if not file.readline(MAX_LINE + 1).endswith(b"\n"):
                    return ()
            look = looked(Path(path))
            if isinstance(look.record, Crash | Absent):
                return tuple(sorted({each.run for _, each in look.gone}))
            runs = (look.record.run,) if isinstance(look.record, First) else ()
            self._runs[path] = runs
        return self._runs[path]
