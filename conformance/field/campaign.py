"""The frame of `raincheck run`: many runs of real processes under faults, each from a seed.

The plan of the faults comes from the seed; what the operating system makes of it differs from run
to run, so the same seed meets the same faults, not the same schedule.
"""

import argparse
import contextlib
import json
import shlex
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import count, takewhile
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Evidence, Outcome, Result, Ui
from raincheck.conformance.outcome import HOLDS
from raincheck.conformance.report.pages import mark_of
from raincheck.conformance.ui import Steps

from .record import RunRecord
from .telling import SMALLEST


class JudgedRun(Protocol):
    """A run and what was found out about it."""

    @property
    def record(self) -> RunRecord[Any, Any]:
        """What happened in it."""

    def result(self, again: str) -> Result:
        """The run as one result; `again` is the command that repeats it."""


AnyJudged = TypeVar("AnyJudged", bound=JudgedRun)


class Campaign(ABC, Generic[AnyJudged]):
    """One call of `raincheck run`; UsageError if its arguments cannot be run."""

    def __init__(self, args: argparse.Namespace, ui: Ui) -> None:
        self.args = args
        self.ui = ui

    @abstractmethod
    def options(self, which: list[str]) -> list[str]:
        """The options that ask for the same again, among them those that say which runs."""

    @abstractmethod
    def dry(self) -> None:
        """Say what would be started and what would be done to it; make nothing."""

    @abstractmethod
    def judged(self, seed: int) -> AnyJudged:
        """Do one run, and check what it did."""

    @abstractmethod
    def results(self, runs: list[AnyJudged], again: dict[int, str]) -> tuple[Result, ...]:
        """What all runs say together; `again` has the command for each seed."""

    @abstractmethod
    def asked(self) -> object:
        """The settings of all runs, for `settings.json`."""

    def seen(self, _judged: AnyJudged) -> str:
        """What the line on a run says beside its verdict."""
        return ""

    def progress(self) -> AbstractContextManager[Steps | None]:
        """What shows how far it has come, if anything does."""
        return self.ui.progress(self.args.runs if self.args.soak is None else None, "runs")

    def run(self) -> Outcome:
        """Run as often as asked, check what was done, and leave the evidence in `--out`."""
        args = self.args
        again = self._command(args.seed, args.runs, args.soak)
        if args.dry_run:
            self.dry()
            return Outcome("run", (), again)
        evidence = Evidence("run", args.out)
        if (args.out / "traces").exists():
            raise UsageError(
                f"{args.out} holds traces of another run: name another folder with --out."
            )
        runs: list[AnyJudged] = []
        single: dict[int, str] = {}
        with self.progress() as steps:
            for seed in self._seeds():
                single[seed] = self._command(seed)
                judged = self.judged(seed)
                runs.append(judged)
                self._tell(judged, single[seed])
                if steps is not None:
                    steps.advance(1, judged.record.run)
        self._write(evidence, runs)
        outcome = Outcome("run", self.results(runs, single), again)
        evidence.finish(outcome)
        return outcome

    def _seeds(self) -> Iterator[int]:
        """One for each run: so many as were asked for, or until the time of a soak is over."""
        args = self.args
        if args.soak is None:
            return iter(range(args.seed, args.seed + args.runs))
        began = time.monotonic()
        return takewhile(lambda _: time.monotonic() - began < args.soak, count(args.seed))

    def _command(self, seed: int, runs: int = 1, soak: float | None = None) -> str:
        which = ["--seed", str(seed)]
        which += ["--runs", str(runs)] if runs > 1 else []
        which += ["--soak", f"{soak:g}"] if soak is not None else []
        return shlex.join(["raincheck", "run", *self.options(which)])

    def _tell(self, judged: AnyJudged, again: str) -> None:
        """One line while the runs go on; the results tell the rest."""
        result = judged.result(again)
        sign, _ = mark_of(result)
        if result.verdict != HOLDS or self.ui.json:
            self.ui.say(f"{sign} {result.name}: {result.verdict}{self.seen(judged)}")

    def _write(self, evidence: Evidence, runs: list[AnyJudged]) -> None:
        """What the harness did, beside the traces: the settings, and one line for each act."""
        evidence.write_json("settings.json", self.asked())
        lines = [
            json.dumps({"run": judged.record.run, **act}) + "\n"
            for judged in runs
            for act in judged.record.done
        ]
        evidence.write_text("faults.jsonl", "".join(lines))
        with contextlib.suppress(OSError):
            (evidence.folder / "members").rmdir()


def check_counts(args: argparse.Namespace, largest: int) -> None:
    """UsageError if messages have no possible size, or if there would be no run."""
    if not SMALLEST <= args.size <= largest:
        raise UsageError(f"--size is {args.size}: choose from {SMALLEST} to {largest} bytes.")
    if args.seconds is not None and not 0 < args.seconds < 1e6:
        raise UsageError(f"--seconds is {args.seconds:g}: it must be above 0.")
    if args.runs < 1:
        raise UsageError(f"--runs is {args.runs}: it must be at least 1.")
    if args.soak is not None and args.soak <= 0:
        raise UsageError(f"--soak is {args.soak:g}: it must be above 0.")


@contextlib.contextmanager
def keeping(folder: Path) -> Iterator[None]:
    """Turn what the file system refuses to a run into a sentence."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise UsageError(
            f"The run cannot keep its records in {folder} ({reason}): make room, or name another "
            f"folder with --out."
        ) from problem
