"""`raincheck conform --follow` and `--stream`: a running system, judged while it writes.

A violation is told at once: of a file, of a stream or between members as soon as its records are
read; of a promise while the run is short enough to be judged whole again and again, else at the
end. The end is when all files have ended, at Ctrl-C, or at the first violation if that is wanted.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from raincheck.conformance.errors import Inconclusive, UsageError
from raincheck.conformance.outcome import INCONCLUSIVE, Result
from raincheck.conformance.spark.settings import embedded
from raincheck.conformance.trace.explaintrace import describe
from raincheck.conformance.trace.findings import Finding
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.live.alarms import EXIT, Alarms, action_of
from raincheck.conformance.trace.live.live import MOST, Broken
from raincheck.conformance.trace.live.receiver import Receiver
from raincheck.conformance.ui import Ui
from raincheck.impl.recording.sending import Place, place_of

TRACE: Final = "trace"
"""The log format of traces."""
POLL: Final = 0.05
"""Seconds between two looks at files that have nothing new."""
OVER: Final = 1.0
"""Seconds of silence after which a run of which all files have ended is over."""
SHARE: Final = 0.2
"""How much of the time judging again may take: the rest is for reading."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of following."""
    parser.add_argument(
        "--follow",
        action="store_true",
        help="go on reading files that grow and come, and tell each violation at once, until all "
        "of them have ended or Ctrl-C",
    )
    parser.add_argument(
        "--stream",
        action="store_true",
        help="the same with --engine spark: each run, or all delivery logs together, is followed "
        "by one of Spark's workers",
    )
    parser.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FOLDER",
        help="with --stream: where it keeps how far it has come; with the same folder it goes on "
        "from there (default: in the evidence folder)",
    )
    parser.add_argument(
        "--on-violation",
        action="append",
        default=[],
        metavar="ACT",
        help=f"with --follow or --stream: '{EXIT}' to end at the first violation, a URL to which "
        "it is posted, or a command that has it as JSON on its stdin; may be given several times",
    )


V = TypeVar("V")


class Source(Protocol[V]):
    """What is followed: files that grow, and the judges of what they say."""

    looked_at: float
    """When it was looked last for files that have come."""

    @property
    def events(self) -> int:
        """How many events or rows were read."""

    @property
    def files(self) -> int:
        """How many files there are."""

    @property
    def over(self) -> bool:
        """Whether all is there that is to come."""

    @property
    def short(self) -> bool:
        """Whether all of it may be judged again and again."""

    @property
    def wrong(self) -> bool:
        """Whether something new was found wrong since this was asked last."""

    def remarks(self) -> list[str]:
        """Return what users have to know, each sentence once."""

    def turn(self, now: float) -> int:
        """Read what is new; return in how many pieces: with MOST of them there may be more."""

    def broken(self, *, whole: bool) -> Broken[V]:
        """Return what is violated so far; `whole`: by judging all of it again."""

    def close(self, now: float) -> list[V]:
        """Return the verdict on all that was written."""


class Follower(Generic[V]):
    """Follows what grows, and tells what is violated."""

    def __init__(
        self,
        live: Source[V],
        on_violation: list[str],
        ui: Ui,
        failing: Callable[[V], list[Result]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`failing` returns the results that are not as expected of a verdict's promises."""
        self.live = live
        self.receiver: Receiver | None = None
        """Writes to files what comes by sockets, until the end."""
        self.told: dict[tuple[Any, ...], str] = {}
        """What was told, by what it is about."""
        actions = [action_of(each) for each in on_violation if each != EXIT]
        self.alarms = Alarms(actions, ui.say)
        self.stop = False
        self._exits = EXIT in on_violation
        self._ui, self._failing, self._clock = ui, failing, clock
        self._news = {False: False, True: False}
        """Whether there are records that were not judged yet: whole, or without promises."""
        self._due = {False: 0.0, True: 0.0}
        """When it may be judged again."""
        self._fresh = dict.fromkeys((False, True), clock())
        """Up to when all that had been written was judged."""

    def run(self) -> list[V]:
        """Follow to the end, and return the verdict on each run."""
        last = caught_up = self._clock()
        with _interrupted(self._interrupt):
            while not self.stop:
                began = self._clock()
                pieces = self.live.turn(began)
                if pieces < MOST:  # of the files that were there at the last look
                    caught_up = self.live.looked_at
                if pieces:
                    last = self._clock()
                    self._news = {False: True, True: True}
                self._look(caught_up)
                if not pieces:
                    if began - last > OVER and self.live.over:
                        break
                    time.sleep(POLL)
            self.close()
            self._ui.say(f"judging all that was read: {self.live.events} events")
            verdicts = self.live.close(self._clock())
            if not self.live.files:
                raise Inconclusive("No trace has come where it was looked for.")
        self.alarms.close()
        return verdicts

    def close(self) -> None:
        """Listen no more."""
        if self.receiver is not None:
            self.receiver.close()
            self.receiver = None

    def _interrupt(self) -> None:
        self.stop = True

    def _look(self, caught_up: float) -> None:
        """Judge again what may be by now; what was written by `caught_up` was read."""
        for remark in self.live.remarks():
            self._ui.say(remark)
        if self.live.wrong:
            self._due[False] = 0.0
        for whole in (False, True):
            now = self._clock()
            if not self._news[whole]:
                self._fresh[whole] = caught_up
            elif now >= self._due[whole] and (not whole or self.live.short):
                self._tell(self.live.broken(whole=whole), self._fresh[whole])
                self._news[whole], self._fresh[whole] = False, caught_up
                ended = self._clock()
                self._due[whole] = ended + (ended - now) / SHARE

    def _tell(self, broken: Broken[V], fresh: float) -> None:
        for protocol, finding in broken.findings:
            self._found(protocol, finding, fresh)
        for verdict in broken.verdicts:
            for result in self._failing(verdict):
                facts = result.as_json()
                self._say((result.name,), f"violates: {result.name}: {result.detail}", facts, fresh)

    def _found(self, protocol: str, finding: Finding, fresh: float) -> None:
        facts = {"protocol": protocol, **msgspec.to_builtins(finding)}
        self._say(about(protocol, finding), describe(finding), facts, fresh)

    def _say(self, key: tuple[Any, ...], text: str, facts: dict[str, Any], fresh: float) -> None:
        if key in self.told:
            return
        self.told[key] = text
        seconds = max(0.0, self._clock() - fresh)
        # The quiet ones are told as well: it is the verdict, as far as it is known.
        self._ui.announce(f"{text}\n  told at most {seconds:.2f} s after it was written")
        self.alarms.give({**facts, "text": text, "within": round(seconds, 3)})
        self.stop = self.stop or self._exits


def refuse_following(args: argparse.Namespace) -> None:
    """Raise UsageError where what is told of following has no meaning."""
    if args.on_violation and not (args.follow or args.stream):
        raise UsageError("--on-violation is for --follow and --stream.")
    if args.checkpoint and not args.stream:
        raise UsageError("--checkpoint is for --stream.")
    if args.follow and args.engine != "local":
        raise UsageError("--follow judges in one process: leave out the engine, or use --stream.")
    if not args.stream:
        return
    if args.follow:
        raise UsageError("--stream takes the place of --follow: give one of them.")
    if args.engine != "spark":
        raise UsageError("--stream is for --engine spark; in one process there is --follow.")
    if args.remote or (args.master and not embedded(args.master)):
        raise UsageError("--stream is for Spark in this process, --master local[N], so far.")


def listening(places: list[Place], folder: Path, ui: Ui, *, anew: bool = True) -> Receiver | None:
    """Listen at the sockets, if there are any; what comes is written to the folder.

    `anew`: what an earlier reader has left there is no part of it.
    """
    if not places:
        return None
    if anew and folder.exists():
        shutil.rmtree(folder)
    receiver = Receiver(places, folder, ui.say)
    for place in receiver.places:
        ui.say(f"listening at {place}; what comes is kept in {folder}")
    return receiver


def sources(paths: Iterable[Path]) -> tuple[list[Path], list[Place]]:
    """Return the files and folders, and the sockets; raise UsageError for what is neither."""
    there: list[Path] = []
    places: list[Place] = []
    for path in paths:
        try:
            place = place_of(str(path))
        except ValueError as error:
            raise UsageError(f"{error}.") from error
        if place is not None:
            places.append(place)
        elif path.exists():
            there.append(path)
        else:
            raise UsageError(f"{path} does not exist: make the folder, then follow it.")
    return there, places


def about(protocol: str, finding: Finding) -> tuple[Any, ...]:
    """Return what tells one finding from another, however much was known when it was made."""
    return (
        protocol,
        finding.run,
        finding.node,
        finding.incarnation,
        finding.index,
        finding.part,
        finding.reason,
    )


def unconfirmed(
    told: Mapping[tuple[Any, ...], str], verdicts: Iterable[RunVerdict], results: list[Result]
) -> Iterator[Result]:
    """Yield what was told and is not in the verdict: it should not be, and nobody may miss it."""
    known = {about(v.protocol, finding) for v in verdicts for finding in v.findings}
    known |= {(result.name,) for result in results if not result.as_expected}
    for key, text in told.items():
        if key not in known:
            detail = f"it was told while the files grew, and is not in the verdict: {text}"
            yield Result(f"follow: {key[0]}", "", INCONCLUSIVE, detail=detail)


def miscounted(runs: Mapping[str, tuple[int, int]]) -> Iterator[Result]:
    """Yield the runs of which a stream has read other events than there are in the files."""
    for run, (read, there) in runs.items():
        detail = (
            f"{read} events were read while the files grew, and they have {there}: what was told "
            "of this run is not all, or too much"
        )
        yield Result(f"stream: {run}", "", INCONCLUSIVE, detail=detail)


@contextmanager
def _interrupted(stop: Callable[[], None]) -> Iterator[None]:
    """Have the first Ctrl-C, or polite kill, end the following, and a second one the verb."""
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for each, handler in before.items():
            signal.signal(each, handler)

    def asked(_number: int, _frame: FrameType | None) -> None:
        restore()
        stop()

    for each in before:
        signal.signal(each, asked)
    try:
        yield
    finally:
        restore()
