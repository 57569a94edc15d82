"""All traces in some folders and files while they grow.

`turn` reads what is new, always of the file whose clock is lowest, and `close` returns the verdict,
which is that of `check_paths` over the same files. In between `broken` says what is violated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heapify, heappop, heapreplace
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.collector import no_collector
from raincheck.conformance.trace.events import Absent, Crash
from raincheck.conformance.trace.findings import VIOLATED, FileReport, Finding
from raincheck.conformance.trace.inputs import files_there
from raincheck.conformance.trace.judged import RunVerdict, layers_of
from raincheck.conformance.trace.records import Address
from raincheck.conformance.trace.run import (
    FIRST,
    SETTLE,
    First,
    Found,
    Keep,
    Look,
    Processes,
    check_all,
    check_paths,
    gone_in,
    several,
    sort,
)
from raincheck.conformance.trace.tracefile import SUFFIXES, decode_block, read_blocks

from .growing import GrowingFile, Lines
from .run import LiveRun

MOST: Final = 256
"""Pieces of files that are read in one turn, so that what is found is told soon."""

LOOK: Final = 0.2
"""Seconds between two looks for new files."""

WHOLE_BELOW: Final = 200_000
"""Events up to which the promises are judged again and again: each time of the whole run."""

V = TypeVar("V")


class Broken(NamedTuple, Generic[V]):
    """What is violated so far."""

    findings: list[tuple[str, Finding]]
    """With the protocol of each."""
    verdicts: list[V]
    """The verdicts as if all files ended here, where they were asked for."""


class _File:
    """One file, and where it belongs once its first line is whole."""

    def __init__(self, path: Path) -> None:
        self.look: Look | None = None
        self.problems: list[Problem] = []
        self.growing = GrowingFile(path, self.problems.append)
        self.run: LiveRun | None = None
        self.who = ""
        self.clock = 0


class Live:
    """Whatever trace files there are and come at these places."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.paths = list(paths)
        self.runs: dict[tuple[str, str], LiveRun] = {}
        self._files: dict[Path, _File] = {}
        self._owners: dict[tuple[str, str, str], _File] = {}
        self.looked_at = -LOOK
        """When it was looked last for files that have come."""
        self._twice = False
        """Whether a process has two files: which is read is decided by their names, at the end."""
        self._short = True
        self._wrong = False
        self._crashed: dict[str, set[Address]] = {}
        """Of whom it is known, by run, that they were killed, and whose files were read since."""

    @property
    def events(self) -> int:
        """How many events were read."""
        return sum(run.events for run in self.runs.values())

    @property
    def short(self) -> bool:
        """Whether the run is short enough for its promises to be judged again and again."""
        return self.events <= WHOLE_BELOW

    def remarks(self) -> list[str]:
        """Return what users have to know, each sentence once."""
        if self._short == self.short:
            return []
        self._short = False
        return [
            f"more than {WHOLE_BELOW} events: what events and messages must be is judged at "
            "once, what was promised at the end"
        ]

    @property
    def files(self) -> int:
        """How many files there are."""
        return len(self._files)

    @property
    def over(self) -> bool:
        """Whether all is there: every node that a header lists has a file, of each protocol that
        is said to be recorded, or is gone; and each file has its end, or its process is gone.
        """
        found = self._found()
        if not self.runs or found.problems:
            return False
        for (run, _), live in self.runs.items():
            gone = found.crashed.get(run, set())
            there = {node for node, _ in gone}
            for file in live.followers:
                there.add(file.who[0])
                if file.who not in gone and file.so_far(whole=False).end == "open":
                    return False
            if any(set(file.nodes) - there for file in live.followers):
                return False
        return True

    def read_to(self, ends: Mapping[Path, int], now: float) -> None:
        """Read each of these files up to that byte, also those that were not there yet."""
        for path, end in ends.items():
            file = self._files.get(path) or self._files.setdefault(path, _File(path))
            file.growing.limit = end
        while self.turn(now):
            pass
        for file in self._files.values():
            file.growing.rest()

    def turn(self, now: float, most: int = MOST) -> int:
        """Read what is new, in at most that many pieces; return how many there were."""
        if now - self.looked_at >= LOOK:
            self._look(now)
        said = any(file.look is not None and file.look.gone for file in self._files.values())
        crashed = self._found().crashed if said else {}
        ready = [
            (file.clock, place, file)
            for place, (path, file) in enumerate(self._files.items())
            if path.suffix != ".parquet"
        ]
        heapify(ready)
        pieces = 0
        with no_collector():
            while ready and pieces < most:
                _, place, file = ready[0]
                lines = file.growing.read()
                if lines is None:
                    heappop(ready)
                    continue
                pieces += 1
                for each in lines:
                    self._take(file, each, now)
                heapreplace(ready, (file.clock, place, file))
                if pieces % (SETTLE + len(ready)) == 0:
                    self._settle(now)
            if pieces:
                self._settle(now)
        if not ready:
            self._crashed = crashed
        return pieces

    def _look(self, now: float) -> None:
        """Look for files that have come."""
        self.looked_at = now
        for path in files_there(self.paths, SUFFIXES):
            if path not in self._files:
                self._files[path] = _File(path)

    @property
    def wrong(self) -> bool:
        """Whether something new was found wrong since this was asked last."""
        wrong, self._wrong = self._wrong, False
        return wrong

    def broken(self, *, whole: bool) -> Broken[RunVerdict]:
        """Return what is violated so far; `whole`: promises and layers are asked as well."""
        findings = [
            (protocol, finding)
            for (run, protocol), live in self.runs.items()
            for finding in live.broken(self._crashed.get(run, set()))
        ]
        verdicts = [*self._verdicts()] if whole else []
        for verdict in verdicts:
            broken = (each for each in verdict.findings if each.verdict == VIOLATED)
            findings += ((verdict.protocol, each) for each in broken)
        return Broken(findings, verdicts)

    def close(self, now: float) -> list[RunVerdict]:
        """Read the rest of all files, and return the verdict on each run."""
        self._look(now)
        while self.turn(now):
            pass
        for path, file in self._files.items():
            rest = file.growing.end()
            if path.suffix == ".parquet":
                rest = [*read_blocks(path, file.problems.append)]
            for lines in rest:
                self._take(file, lines, now)
        if self._twice or any(run.streams.late for run in self.runs.values()):
            return check_paths(self._files)

        def check(
            of: tuple[str, str], processes: Processes, crashed: set[Address], keep: Keep | None
        ) -> RunVerdict:
            run = self.runs[of]
            for paths in processes.values():
                run.problems += self._files[paths[0]].problems
            return run.closed(crashed, keep)

        return check_all(self._found(), check)

    def _verdicts(self) -> Iterator[RunVerdict]:
        layered = several(run for run, _ in self.runs)
        reports: dict[str, list[FileReport]] = {run: [] for run, _ in self.runs}
        for (run, _), live in sorted(self.runs.items()):
            yield live.judged(self._crashed.get(run, set()), reports[run].append)
        for run in sorted(layered):
            yield from layers_of(run, reports[run], self._crashed.get(run, set()))

    def _found(self) -> Found:
        """Sort the files by what is known of them."""
        return sort(
            file.look or Look(path, None, file.problems, [])
            for path, file in sorted(self._files.items(), key=lambda each: str(each[0]))
        )

    def _settle(self, now: float) -> None:
        for run in self.runs.values():
            self._wrong |= run.settle(now)

    def _take(self, file: _File, lines: Lines, now: float) -> None:
        """Take the next lines of a file: they are its process's, or say who is gone."""
        if file.look is None:
            file.look = self._looked(file, lines)
        if file.run is not None:
            follower = file.run.take(file.who, file.growing.path, lines, now)
            if follower is not None:
                file.clock = follower.clock
                if follower.ended:
                    file.growing.rest()
        elif isinstance(file.look.record, Crash | Absent):
            number, block = lines
            batches = decode_block(file.look.path, number, block, file.problems.append, FIRST)
            file.look.gone.extend(gone_in(batches, file.look))

    def _looked(self, file: _File, lines: Lines) -> Look:
        """Return what the first record says, and note whose file it is."""
        line, block = lines
        head, newline, _ = block.partition(b"\n")
        path, record = file.growing.path, None
        problems: list[Problem] = []
        if line == 1:
            batches = decode_block(path, line, head + newline, problems.append, FIRST)
            record = next((batch.records[0] for batch in batches), None)
        if isinstance(record, First):
            of = (record.run, record.protocol)
            file.who = f"{record.node}.{record.incarnation}"
            owner = self._owners.setdefault((*of, file.who), file)
            if owner is file:
                file.run = self.runs.setdefault(of, LiveRun(*of))
            else:
                self._twice = True
        elif record is None:
            file.problems += problems
        return Look(path, record, file.problems, [])
