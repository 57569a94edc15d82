"""The frame of `raincheck run`: many runs of real processes under faults, each from a seed.

The seed determines the plan of the faults; the operating system's schedule differs from run to run.
So the same seed repeats the faults, not the schedule.
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
from raincheck.conformance.evidence.owed import UNKNOWN, Owes
from raincheck.conformance.outcome import HOLDS
from raincheck.conformance.report.pages import mark_of
from raincheck.conformance.ui import Steps
from raincheck.impl.recording.sending import reader_at

from .faults import AnyFault, Plan
from .lives import command_of
from .record import RunRecord, RunSettings, name_of
from .telling import SMALLEST

FASTEST = 1e9


class JudgedRun(Protocol):
    """A run and the findings about it."""

    @property
    def record(self) -> RunRecord[Any, Any]:
        """Return the record of the run."""

    def result(self, again: str) -> Result:
        """Return the run as one result; `again` is the command that repeats it."""


AnyJudged = TypeVar("AnyJudged", bound=JudgedRun)


class Campaign(ABC, Generic[AnyJudged]):
    """One call of `raincheck run`; raise UsageError if its arguments cannot be run."""

    def __init__(self, args: argparse.Namespace, ui: Ui) -> None:
        self.args = args
        self.ui = ui

    @abstractmethod
    def options(self, which: list[str]) -> list[str]:
        """Return the options that repeat the campaign, including those that select the runs."""

    @abstractmethod
    def dry(self) -> None:
        """Print what would be started and which faults it would meet; start nothing."""

    @abstractmethod
    def judged(self, seed: int) -> AnyJudged:
        """Do one run, and check it."""

    @abstractmethod
    def results(self, runs: list[AnyJudged], again: dict[int, str]) -> tuple[Result, ...]:
        """Return the results of all runs together; `again` has the command for each seed."""

    @abstractmethod
    def asked(self) -> object:
        """Return the settings of all runs, for `settings.json`."""

    def owed(self) -> Owes:
        """Return the results that the runs owe, as far as they are known before."""
        return UNKNOWN

    @property
    def again(self) -> str:
        """Return the command that does all runs again."""
        return self._command(self.args.seed, self.args.runs, self.args.soak)

    def seen(self, _judged: AnyJudged) -> str:
        """Return what the line about a run shows beside its verdict."""
        return ""

    def progress(self) -> AbstractContextManager[Steps | None]:
        """Return the display of the progress, if there is one."""
        return self.ui.progress(self.args.runs if self.args.soak is None else None, "runs")

    def run(self) -> Outcome:
        """Run as often as requested, check each run, and leave the evidence in `--out`."""
        args = self.args
        again = self.again
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
        for folder in sorted(path for path in evidence.folder.iterdir() if path.is_dir()):
            evidence.take_over(folder)
        outcome = Outcome("run", self.results(runs, single), again)
        evidence.finish(outcome)
        return outcome

    def _seeds(self) -> Iterator[int]:
        """Yield a seed for each run: as many as requested, or until the time of a soak is over."""
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
        """Print one line while the runs go on; the results contain the rest."""
        result = judged.result(again)
        sign, _ = mark_of(result)
        if result.verdict != HOLDS or self.ui.json:
            self.ui.say(f"{sign} {result.name}: {result.verdict}{self.seen(judged)}")

    def _write(self, evidence: Evidence, runs: list[AnyJudged]) -> None:
        """Write the harness's records beside the traces: the settings, and one line per act."""
        evidence.write_json("settings.json", self.asked())
        lines = [
            json.dumps({"run": judged.record.run, **act}) + "\n"
            for judged in runs
            for act in judged.record.done
        ]
        evidence.write_text("faults.jsonl", "".join(lines))
        with contextlib.suppress(OSError):
            (evidence.folder / "members").rmdir()


AnySettings = TypeVar("AnySettings", bound=RunSettings)


class GroupCampaign(Campaign[AnyJudged], Generic[AnyJudged, AnySettings, AnyFault]):
    """Runs of a group of processes that starts with its founders and meets planned faults."""

    module: str
    """The module that a member's process runs."""

    def __init__(self, args: argparse.Namespace, ui: Ui, settings: AnySettings) -> None:
        super().__init__(args, ui)
        self.settings = settings

    @abstractmethod
    def which_group(self) -> list[str]:
        """Return the words that say which group runs, and how many found it."""

    @abstractmethod
    def more_options(self) -> list[str]:
        """Return the options that only this kind of group has."""

    @abstractmethod
    def plan(self, seed: int) -> Plan[AnyFault]:
        """Return the faults of the run of that seed."""

    @abstractmethod
    def founders(self, seed: int) -> Iterator[dict[str, object]]:
        """Yield the options of each founder, but for its name."""

    def options(self, which: list[str]) -> list[str]:
        """Return the options that repeat the campaign, including those that select the runs."""
        args = self.args
        options = [*self.which_group(), "--faults", args.faults or "none"]
        if args.messages is not None:
            options += ["--messages", str(args.messages)]
        else:
            options += ["--seconds", f"{self.settings.seconds:g}"]
        options += ["--size", str(args.size), "--rate", f"{self.settings.rate:g}", *which]
        options += ["--undo", args.undo] if args.undo else []
        options += ["--no-check"] if args.no_check else []
        options += ["--trace-to", args.trace_to] if args.trace_to else []
        return options + self.more_options()

    def dry(self) -> None:
        """Print what would be started and which faults it would meet; start nothing."""
        for number, options in enumerate(self.founders(self.args.seed)):
            life = {"name": name_of(number), "incarnation": 0, **options}
            self.ui.announce(shlex.join(command_of(self.module, life)))
        for fault in self.plan(self.args.seed).faults:
            self.ui.announce(f"at {fault.at:.0%} of the load: {fault.words}")

    def asked(self) -> object:
        """Return the settings of all runs, for `settings.json`."""
        return self.settings


def check_counts(args: argparse.Namespace, rate: float, no_rate: str, largest: int) -> None:
    """Raise UsageError if messages have no possible size or rate, or if there would be no run.

    `no_rate` says what a rate of 0 means.
    """
    if not 0 <= rate < FASTEST:
        raise UsageError(f"--rate is {rate:g}: it must be 0 ({no_rate}) or above.")
    if not SMALLEST <= args.size <= largest:
        raise UsageError(f"--size is {args.size}: choose from {SMALLEST} to {largest} bytes.")
    if args.seconds is not None and not 0 < args.seconds < 1e6:
        raise UsageError(f"--seconds is {args.seconds:g}: it must be above 0.")
    if args.runs < 1:
        raise UsageError(f"--runs is {args.runs}: it must be at least 1.")
    if args.soak is not None and args.soak <= 0:
        raise UsageError(f"--soak is {args.soak:g}: it must be above 0.")


def reader_of(args: argparse.Namespace) -> str:
    """Return the socket of the reader beside the files, or ""; raise UsageError if it cannot be.

    Following ends with the first run.
    """
    reader = str(args.trace_to)
    if not reader:
        return ""
    try:
        place = reader_at(reader)
    except ValueError as problem:
        raise UsageError(f"--trace-to: {problem}.") from problem
    if place is None:
        raise UsageError(f"--trace-to is {reader}: give unix:PATH or tcp:ADDRESS:PORT.")
    if args.runs > 1 or args.soak is not None:
        raise UsageError("--trace-to is for one run: leave out --runs and --soak.")
    return reader


@contextlib.contextmanager
def keeping(folder: Path) -> Iterator[None]:
    """Turn an error of the file system during a run into a sentence."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise UsageError(
            f"The run cannot keep its records in {folder} ({reason}): make room, or name another "
            f"folder with --out."
        ) from problem
