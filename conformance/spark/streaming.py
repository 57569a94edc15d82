"""Traces that grow, on Spark: a run is followed by a worker, as `conform --follow` does it.

The stream's rows say how far files have grown. They are grouped by run. The state of a run, in
Spark's checkpoint, is how far each member's file was read; what follows from the files up to there
is in the workers' memory (`trace/live/live.py`), and is made from the files where a worker lacks
it.
The verdict at the end is that of the batch over the files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from raincheck.conformance.errors import UsageError
from raincheck.conformance.trace.findings import VIOLATED, Finding
from raincheck.conformance.trace.inputs import files_there
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.layers.judged import LAYERS
from raincheck.conformance.trace.live.live import Broken, Live
from raincheck.conformance.trace.tracefile import SUFFIXES

from .pipeline import check_paths
from .settings import embedded

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.state import GroupState

STATE: Final = "ends binary"
ANSWER: Final = "run string, answer binary"
ANSWERS: Final = "answers"
"""The folder in the checkpoint with the last answer of each run."""
PAUSE: Final = "200 milliseconds"
"""Between two looks at the files, where the batch takes less."""


class Answer(msgspec.Struct):
    """What a worker says of a run, after it has read what was new."""

    run: str
    events: int
    over: bool
    at: float
    """When it was looked how far the files had grown: what was written before was read."""
    findings: list[tuple[str, Finding]]
    verdicts: list[RunVerdict]


_followed: dict[tuple[str, str], Live] = {}
"""The runs that this worker has followed, by the stream and the run's name."""


def follow_run(
    key: tuple[str], frames: Iterable[Any], state: GroupState, stream: str
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
    answer = followed(stream, run, ends, looked)
    yield pd.DataFrame({"run": [run], "answer": [msgspec.json.encode(answer)]})


def followed(stream: str, run: str, ends: dict[str, int], looked: float) -> Answer:
    """Read the files of a run up to these bytes, from where this worker stands on, and judge."""
    live = _followed.setdefault((stream, run), Live(()))
    live.read_to({Path(path): end for path, end in ends.items()}, time.monotonic())
    broken = live.broken(whole=live.short)
    if live.over:  # what comes later all the same is read with the rest once more
        del _followed[stream, run]
    return Answer(run, live.events, live.over, looked, broken.findings, broken.verdicts)


class SparkStream:
    """What grows in some folders, judged by a streaming query; a source for `Follower`."""

    def __init__(
        self,
        session: SparkSession,
        paths: list[Path],
        checkpoint: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the query, or go on from its checkpoint.

        Raises UsageError on a cluster, whose workers would have to keep what they follow.
        """
        from .growing_source import GrowingFiles

        if not embedded(master := session.sparkContext.master):
            raise UsageError(f"--stream is for Spark in this process, local[N], not {master}.")
        self.looked_at = clock()
        self.batches = 0
        self._session, self._paths, self._clock = session, paths, clock
        self._answers: dict[str, Answer] = {}
        self._kept = checkpoint / ANSWERS
        self._kept.mkdir(parents=True, exist_ok=True)
        for path in self._kept.glob("*.json"):
            answer = msgspec.json.decode(path.read_bytes(), type=Answer)
            self._answers[answer.run] = answer
        # What is known from before is told as if it came now.
        self._seen = -1 if self._answers else 0
        session.dataSource.register(GrowingFiles)
        absolute = [str(path.absolute()) for path in paths]
        grown = (
            session.readStream.format(GrowingFiles.name())
            .option("paths", msgspec.json.encode(absolute).decode())
            .load()
        )
        follow = _by_name(follow_run, str(checkpoint.absolute()))
        answers = grown.groupBy("run").applyInPandasWithState(
            follow, ANSWER, STATE, "update", "NoTimeout"
        )
        self._query = (
            answers.writeStream.foreachBatch(self._take)
            .outputMode("update")
            .option("checkpointLocation", str((checkpoint / "spark").absolute()))
            .trigger(processingTime=PAUSE)
            .start()
        )

    def _take(self, answers: DataFrame, _batch: int) -> None:
        """Keep the runs' answers; a batch that is repeated says the same."""
        known = dict(self._answers)
        for row in answers.collect():
            text = bytes(row.answer)
            answer = msgspec.json.decode(text, type=Answer)
            path = self._kept / f"{sha256(answer.run.encode()).hexdigest()[:32]}.json"
            draft = path.with_suffix(".next")
            draft.write_bytes(text)
            draft.replace(path)
            known[answer.run] = answer
            self.looked_at = self._clock() - (time.time() - answer.at)
        # In one step, since another thread reads them.
        self._answers = known
        self.batches += 1

    @property
    def events(self) -> int:
        """How many events were read."""
        return sum(each.events for each in self._answers.values())

    @property
    def files(self) -> int:
        """How many files there are, also those of no run, which are judged at the end."""
        return len(files_there(self._paths, SUFFIXES))

    @property
    def over(self) -> bool:
        """Whether all is there that is to come, and was read."""
        answers = self._answers.values()
        ended = bool(answers) and all(each.over for each in answers)
        return ended and not self._query.status["isDataAvailable"]

    def miscounted(self, verdicts: Iterable[RunVerdict]) -> dict[str, tuple[int, int]]:
        """Return the runs of which other events were read than the verdicts count: how many, and
        how many there are. Of a run that is not over fewer may have been read.
        """
        there: dict[str, int] = {}
        for each in verdicts:
            if each.protocol and each.protocol != LAYERS:
                there[each.run] = there.get(each.run, 0) + each.events
        found: dict[str, tuple[int, int]] = {}
        for run in sorted(there.keys() | self._answers.keys()):
            answer, events = self._answers.get(run), there.get(run, 0)
            read, over = (0, False) if answer is None else (answer.events, answer.over)
            if read > events or (read < events and over):
                found[run] = read, events
        return found

    @property
    def short(self) -> bool:
        """Whether workers judge promises: each says so for itself."""
        return True

    @property
    def wrong(self) -> bool:
        """Nothing that the next look would not show."""
        return False

    def remarks(self) -> list[str]:
        """Nothing."""
        return []

    def turn(self, now: float) -> int:  # noqa: ARG002
        """Return how many batches have ended since; raise what has ended the query."""
        if not self._query.isActive and (problem := self._query.exception()) is not None:
            raise problem
        batches = self.batches
        new, self._seen = batches - self._seen, batches
        return new

    def broken(self, *, whole: bool) -> Broken[RunVerdict]:
        """Return what is violated so far."""
        answers = list(self._answers.values())
        findings = [finding for each in answers for finding in each.findings]
        verdicts = [verdict for each in answers for verdict in each.verdicts] if whole else []
        for verdict in verdicts:
            findings += (
                (verdict.protocol, each) for each in verdict.findings if each.verdict == VIOLATED
            )
        return Broken(findings, verdicts)

    def close(self, now: float) -> list[RunVerdict]:  # noqa: ARG002
        """End the query, and return the batch's verdict on the files as they are."""
        self._query.stop()
        return check_paths(self._session, self._paths) if self.files else []


def _by_name(named: Callable[..., Any], stream: str) -> Callable[..., Any]:
    """Return what calls the function on a worker, by its name."""
    module, name = named.__module__, named.__qualname__

    def run(key: Any, frames: Any, state: Any) -> Any:
        from importlib import import_module

        return getattr(import_module(module), name)(key, frames, state, stream)

    return run
