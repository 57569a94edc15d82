"""Traces and logs that grow, on Spark: a run is followed by a worker, as by `conform --follow`.

The stream's rows say how far files have grown. They are grouped by run; delivery logs, which are
judged together, are one group. The state of a run, in Spark's checkpoint, is how far each file was
read; what follows from the files up to there is in the workers' memory (`followed.py`), and is made
from the files where a worker lacks it. The verdict at the end is that of the batch over the files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic

import msgspec

from raincheck.conformance.errors import UsageError
from raincheck.conformance.trace.findings import VIOLATED
from raincheck.conformance.trace.inputs import files_there
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.live.live import Broken

from .followed import Answer, Kind, V, by_name, follow_run
from .settings import embedded

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STATE: Final = "ends binary"
ANSWER: Final = "run string, answer binary"
ANSWERS: Final = "answers"
"""The folder in the checkpoint with the last answer of each run."""
PAUSE: Final = "200 milliseconds"
"""Between two looks at the files, where the batch takes less."""


class SparkStream(Generic[V]):
    """What grows in some folders, judged by a streaming query; a source for `Follower`."""

    def __init__(
        self,
        session: SparkSession,
        paths: list[Path],
        checkpoint: Path,
        kind: Kind[V],
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
        self._kind: Kind[V] = kind
        self._answers: dict[str, Answer[V]] = {}
        self._remarked: set[str] = set()
        self._kept = checkpoint / ANSWERS
        self._kept.mkdir(parents=True, exist_ok=True)
        for path in self._kept.glob("*.json"):
            answer = msgspec.json.decode(path.read_bytes(), type=kind.answer)
            self._answers[answer.run] = answer
        # What is known from before is told as if it came now.
        self._seen = -1 if self._answers else 0
        session.dataSource.register(GrowingFiles)
        absolute = [str(path.absolute()) for path in paths]
        grown = (
            session.readStream.format(GrowingFiles.name())
            .option("paths", msgspec.json.encode(absolute).decode())
            .options(**kind.options)
            .load()
        )
        follow = by_name(follow_run, str(checkpoint.absolute()), kind)
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
            answer = msgspec.json.decode(text, type=self._kind.answer)
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
        return len(files_there(self._paths, self._kind.suffixes))

    @property
    def over(self) -> bool:
        """Whether all is there that is to come, and was read."""
        answers = self._answers.values()
        ended = bool(answers) and all(each.over for each in answers)
        return ended and not self._query.status["isDataAvailable"]

    def miscounted(self, verdicts: Iterable[V]) -> dict[str, tuple[int, int]]:
        """Return the runs of which other events were read than the verdicts count: how many, and
        how many there are. Of a run that is not over fewer may have been read.
        """
        there = self._kind.counted(verdicts)
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
        """Return what users have to know, each sentence once."""
        said = {each for answer in self._answers.values() for each in answer.remarks}
        new = sorted(said - self._remarked)
        self._remarked |= said
        return new

    def turn(self, now: float) -> int:  # noqa: ARG002
        """Return how many batches have ended since; raise what has ended the query."""
        if not self._query.isActive and (problem := self._query.exception()) is not None:
            raise problem
        batches = self.batches
        new, self._seen = batches - self._seen, batches
        return new

    def broken(self, *, whole: bool) -> Broken[V]:
        """Return what is violated so far."""
        answers = list(self._answers.values())
        findings = [finding for each in answers for finding in each.findings]
        verdicts = [verdict for each in answers for verdict in each.verdicts] if whole else []
        for verdict in verdicts:
            if isinstance(verdict, RunVerdict):
                broken = (each for each in verdict.findings if each.verdict == VIOLATED)
                findings += ((verdict.protocol, each) for each in broken)
        return Broken(findings, verdicts)

    def close(self, now: float) -> list[V]:  # noqa: ARG002
        """End the query, and return the batch's verdict on the files as they are."""
        self._query.stop()
        return self._kind.checked(self._session, self._paths) if self.files else []
