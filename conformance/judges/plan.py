"""Spark's plan of `spark/pipeline.py` without Spark: its functions, mapped over tables in memory.

What runs in Spark's workers runs here, in this process, where it can be damaged: what is mapped
over files, and what is applied to groups. What Spark itself does between them is not here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CORES: Final = 2


class _Conf:
    """The settings, none of which is used."""

    def __init__(self) -> None:
        self.values = {
            "spark.sql.adaptive.enabled": "true",
            "spark.sql.shuffle.partitions": "200",
        }
        self.get, self.set = self.values.__getitem__, self.values.__setitem__


class _Frame:
    """A table in parts, as many as there are tasks."""

    def __init__(self, parts: Iterable[pa.Table]) -> None:
        self.parts = list(parts)

    def mapInArrow(
        self, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: str
    ) -> _Frame:
        return _Frame(_table(function(iter(part.to_batches())), schema) for part in self.parts)

    def groupBy(self, *names: str) -> _Groups:
        return _Groups(pa.concat_tables(self.parts), names)

    def collect(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(**row) for part in self.parts for row in part.to_pylist()]


class _Groups:
    """A table by the values of some of its columns."""

    def __init__(self, table: pa.Table, names: tuple[str, ...]) -> None:
        self.table, self.names = table, names

    def applyInArrow(self, function: Callable[[pa.Table], pa.Table], schema: str) -> _Frame:
        places: dict[tuple[Any, ...], list[int]] = {}
        for place, row in enumerate(self.table.select(self.names).to_pylist()):
            places.setdefault(tuple(row.values()), []).append(place)
        groups = (self.table.take(each) for each in places.values())
        return _Frame([_table(function(group).to_batches(), schema) for group in groups])


def _table(batches: Iterable[pa.RecordBatch], schema: str) -> pa.Table:
    """Return the batches as a table of these columns; Spark takes no others, nor other types."""
    kinds = {"string": pa.string(), "long": pa.int64(), "binary": pa.binary()}
    pairs = [each.strip().split(" ") for each in schema.split(",")]
    wanted = pa.schema([(name, kinds[kind]) for name, kind in pairs])
    return pa.Table.from_batches(batches, wanted)


class _Plan:
    """As much of a Spark session as the pipeline for traces uses."""

    def __init__(self) -> None:
        self.conf = _Conf()
        self.sparkContext = SimpleNamespace(defaultParallelism=_CORES, master="local[2]")

    def range(self, first: int, last: int, step: int, tasks: int) -> _Frame:
        numbers = list(range(first, last, step))
        bounds = [len(numbers) * task // tasks for task in range(tasks + 1)]
        return _Frame(
            pa.table({"id": pa.array(numbers[low:high], type=pa.int64())})
            for low, high in pairwise(bounds)
        )


def plan() -> SparkSession:
    """Return what stands for a session."""
    return cast("SparkSession", _Plan())
