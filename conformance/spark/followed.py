"""On a worker of Spark: files that grow are read up to where the stream says, and judged.

The state of each run is kept in the worker's memory, by the stream and the run. One that lacks it
reads the files from their beginning.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from raincheck.conformance.deliveries.live_logs import LiveLogs
from raincheck.conformance.deliveries.logs import SUFFIXES as LOG_SUFFIXES
from raincheck.conformance.deliveries.properties import Verdicts
from raincheck.conformance.importers.table import DELIVERIES, importer_of
from raincheck.conformance.trace.findings import Finding
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.layers.judged import LAYERS
from raincheck.conformance.trace.live.live import Live
from raincheck.conformance.trace.tracefile import SUFFIXES

from .pipeline import check_paths
from .properties import check_deliveries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.state import GroupState

V = TypeVar("V", RunVerdict, Verdicts)


class Answer(msgspec.Struct, Generic[V]):
    """The words of a worker on a run, after it has read what was new."""

    run: str
    events: int
    over: bool
    at: float
    """When it was looked how far the files had grown: what was written before was read."""
    findings: list[tuple[str, Finding]]
    verdicts: list[V]
    remarks: list[str] = []
    """The sentences that users have to read, since the worker has begun to follow."""


class Kind(Protocol[V]):
    """A source that grows, and its judges."""

    @property
    def answer(self) -> type[Answer[V]]:
        """The words of workers on it."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The ends of the names of all files that belong to it."""

    @property
    def options(self) -> Mapping[str, str]:
        """Those of the stream's source."""

    def __iter__(self) -> Iterator[Any]:
        """Yield what it was made of."""

    def followed(self, stream: str, run: str, ends: dict[str, int], looked: float) -> Answer[V]:
        """On a worker: read the files up to these bytes, from where it stands on, and judge."""

    def checked(self, session: SparkSession, paths: list[Path]) -> list[V]:
        """Return the verdict on the files as they are."""

    def counted(self, verdicts: Iterable[V]) -> dict[str, int]:
        """Return how many events each run has by the verdicts."""


LOGS: Final = "the logs"
"""In place of a run, of all delivery logs."""


class Traces(NamedTuple):
    """Traces, each run of which is judged by itself."""

    @property
    def answer(self) -> type[Answer[RunVerdict]]:
        return Answer[RunVerdict]

    @property
    def suffixes(self) -> tuple[str, ...]:
        return SUFFIXES

    @property
    def options(self) -> Mapping[str, str]:
        return {}

    def followed(
        self, stream: str, run: str, ends: dict[str, int], looked: float
    ) -> Answer[RunVerdict]:
        return followed(stream, run, ends, looked)

    def checked(self, session: SparkSession, paths: list[Path]) -> list[RunVerdict]:
        return check_paths(session, paths)

    def counted(self, verdicts: Iterable[RunVerdict]) -> dict[str, int]:
        there: dict[str, int] = {}
        for each in verdicts:
            if each.protocol and each.protocol != LAYERS:
                there[each.run] = there.get(each.run, 0) + each.events
        return there


class DeliveryLogs(NamedTuple):
    """Delivery logs, ours or another system's, which are judged together."""

    names: tuple[str, ...]
    complete: bool
    log_format: str
    folder: str
    """Where a format is looked for by its place."""

    @property
    def answer(self) -> type[Answer[Verdicts]]:
        return Answer[Verdicts]

    @property
    def suffixes(self) -> tuple[str, ...]:
        if self.log_format == DELIVERIES:
            return LOG_SUFFIXES
        return importer_of(self.log_format, self.folder).suffixes

    @property
    def options(self) -> Mapping[str, str]:
        growing = [each for each in self.suffixes if each != ".parquet"]
        return {"suffixes": msgspec.json.encode(growing).decode(), "run": LOGS}

    def followed(
        self, stream: str, run: str, ends: dict[str, int], looked: float
    ) -> Answer[Verdicts]:
        live = _logs.get(stream) or _logs.setdefault(
            stream, LiveLogs((), self.names, self.complete, self.log_format, self.folder)
        )
        live.read_to({Path(path): end for path, end in ends.items()}, time.monotonic())
        verdicts = [each for whole in (False, True) for each in live.broken(whole=whole).verdicts]
        return Answer(run, live.events, live.over, looked, [], verdicts, live.said_so_far)

    def checked(self, session: SparkSession, paths: list[Path]) -> list[Verdicts]:
        return [check_deliveries(session, paths, self.names, self.complete, self.log_format)]

    def counted(self, verdicts: Iterable[Verdicts]) -> dict[str, int]:
        return {LOGS: sum(each.facts.rows for each in verdicts)}


TRACES: Final = Traces()
_followed: dict[tuple[str, str], Live] = {}
"""The runs that this worker has followed, by the stream and the run's name."""
_logs: dict[str, LiveLogs] = {}
"""The delivery logs that it has followed, by the stream."""


def follow_run(
    key: tuple[str], frames: Iterable[Any], state: GroupState, stream: str, kind: Kind[Any]
) -> Iterator[Any]:
    """On a worker: read what is new of a run, and say what is violated so far.

    The frames are Pandas', with the rows of `growing_source.py`.
    """
    import pandas as pd  # type: ignore[import-untyped]

    (run,) = key
    ends: dict[str, int] = {}
    if state.exists:
        ends = msgspec.msgpack.decode(state.get[0], type=dict[str, int])
    looked = time.time()
    for frame in frames:
        looked = min(looked, float(frame["at"].min()))
        for path, end in zip(frame["path"], frame["end"], strict=True):
            ends[path] = max(int(end), ends.get(path, 0))
    state.update((msgspec.msgpack.encode(ends),))
    answer = kind.followed(stream, run, ends, looked)
    yield pd.DataFrame({"run": [run], "answer": [msgspec.json.encode(answer)]})


def followed(stream: str, run: str, ends: dict[str, int], looked: float) -> Answer[RunVerdict]:
    """Read the files of a run up to these bytes, from where this worker stands on, and judge."""
    live = _followed.setdefault((stream, run), Live(()))
    live.read_to({Path(path): end for path, end in ends.items()}, time.monotonic())
    broken = live.broken(whole=live.short)
    if live.over:  # what comes later all the same is read with the rest once more
        del _followed[stream, run]
    return Answer(run, live.events, live.over, looked, broken.findings, broken.verdicts)


def by_name(named: Callable[..., Any], stream: str, kind: Kind[Any]) -> Callable[..., Any]:
    """Return what calls the function on a worker, by its name."""
    module, name, what = named.__module__, named.__qualname__, type(kind).__name__
    fields = tuple(kind)

    def run(key: Any, frames: Any, state: Any) -> Any:
        from importlib import import_module

        there = import_module(module)
        judges = getattr(there, what)(*fields)
        return getattr(there, name)(key, frames, state, stream, judges)

    return run
