"""Delivery logs that are judged while they are written, ours and other systems'.

A broken promise is told as soon as it stands, whatever comes (`so_far.py`). The verdict at the end
is that on the files as they are then, read once more. In between the newest rows are kept, so that
the memory is bounded: what lies further apart is compared at the end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from raincheck.conformance.importers.found import Importer
from raincheck.conformance.importers.reading import read_imported
from raincheck.conformance.importers.said import Said, told
from raincheck.conformance.importers.table import DELIVERIES, importer_of
from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.collector import no_collector
from raincheck.conformance.trace.findings import VIOLATED
from raincheck.conformance.trace.inputs import files_there
from raincheck.conformance.trace.live.live import LOOK, MOST, Broken

from .growing_file import GrowingLog, ReadsRows
from .logs import SUFFIXES, Row, read_rows
from .properties import NEEDS_ALL, NEEDS_VIEWS, Verdicts, judged
from .properties_local import answer, check_deliveries
from .so_far import broken_so_far

SOON: Final = 20_000
"""The newest rows, which are judged again as soon as there are more."""
KEPT: Final = 200_000
"""The newest rows that are kept, and judged again now and then. Of views, states and ends each row
is kept, and they are not counted here.
"""
WHOLE: Final = NEEDS_ALL | NEEDS_VIEWS
_PLACED: Final = frozenset({"deliver", "state"})
_LIFE: Final = frozenset({"deliver", "state", "view", "end"})


class LiveLogs:
    """Whatever delivery logs there are and come at these places."""

    def __init__(
        self,
        paths: Iterable[Path],
        names: Iterable[str] = (),
        complete: bool = False,
        log_format: str = DELIVERIES,
        folder: str = "",
    ) -> None:
        """Raise UsageError for properties or a format that there are not; a format by its place is
        looked for in the folder.
        """
        self.paths, self._names, self._complete = list(paths), list(names), complete
        self._format = log_format
        self._importer = None if log_format == DELIVERIES else importer_of(log_format, folder)
        judged(answer(()), [], self._names, complete=False)
        self.events = 0
        """How many rows were read."""
        self.looked_at = -LOOK
        """When it was looked last for files that have come."""
        self._logs: dict[Path, GrowingLog] = {}
        self._problems: list[Problem] = []
        self._said = Said()
        self._newest: deque[Row] = deque(maxlen=KEPT)
        self._beside: list[Row] = []
        self._position: dict[str, int] = {}
        self._place: dict[str, Path] = {}
        self._members: set[str] = set()
        self._ended: set[str] = set()
        self._at_the_end: frozenset[str] = frozenset()
        """The properties of which this log says too little before its end."""
        self.said_so_far: list[str] = []
        """The sentences that users have to read."""
        self._told = 0
        """The number of these sentences that were told."""

    @property
    def files(self) -> int:
        """How many files there are."""
        return len(self._files())

    @property
    def over(self) -> bool:
        """Whether the log of each member has its end, or the member was killed."""
        return bool(self._members) and self._members <= self._ended

    @property
    def short(self) -> bool:
        """Whether what is kept may be judged again: it always is short enough."""
        return True

    @property
    def wrong(self) -> bool:
        """Whether something is known to be wrong before it is judged: it never is."""
        return False

    def remarks(self) -> list[str]:
        """Return what users have to know, each sentence once."""
        remarks = self.said_so_far[self._told :]
        self._told += len(remarks)
        return remarks

    def read_to(self, ends: Mapping[Path, int], now: float) -> None:
        """Read each of these files up to that byte, also those that were not there yet."""
        for path, end in ends.items():
            self._log(path).upto(end)
        while self.turn(now):
            pass
        for log in self._logs.values():
            log.rest()

    def turn(self, now: float, most: int = MOST) -> int:
        """Read what is new, in at most that many pieces; return how many there were."""
        if now - self.looked_at >= LOOK:
            self._look(now)
        pieces = 0
        ready = deque(self._logs.values())
        with no_collector():
            while ready and pieces < most:
                log = ready.popleft()
                rows = log.read()
                if rows is None:
                    continue
                pieces += 1
                ready.append(log)
                for row in rows:
                    self._take(row, log.path)
        return pieces

    def broken(self, *, whole: bool) -> Broken[Verdicts]:
        """Return what is violated so far; `whole`: in all rows that are kept."""
        first = 0 if whole else max(0, len(self._newest) - SOON)
        if whole and len(self._newest) <= SOON:
            return Broken([], [])  # that was judged just now
        rows = [*self._beside, *islice(self._newest, first, None)]
        answers = broken_so_far(rows, self._said)
        problems = self._problems + [each for log in self._logs.values() for each in log.problems]
        verdicts = judged(answers, problems, self._names, complete=False)
        if self._importer is not None:
            verdicts = told(verdicts, self._importer, self._said, self._names)
        broken = (each for each in verdicts.properties if each.verdict == VIOLATED)
        later = self._at_the_end | (NEEDS_ALL if first else frozenset())
        stands = [each for each in broken if each.name not in later]
        return Broken([], [msgspec.structs.replace(verdicts, properties=stands)])

    def close(self, now: float) -> list[Verdicts]:
        """Return the verdict on the files as they are now; none if there is no file."""
        self._look(now)
        for log in self._logs.values():
            log.close()
        files = self._files()
        if not files:
            return []
        return [check_deliveries(files, self._names, self._complete, self._format)]

    def _files(self) -> list[Path]:
        return files_there(self.paths, self._importer.suffixes if self._importer else SUFFIXES)

    def _look(self, now: float) -> None:
        """Look for files that have come."""
        self.looked_at = now
        for path in self._files():
            if path.suffix != ".parquet":
                self._log(path)

    def _log(self, path: Path) -> GrowingLog:
        if path not in self._logs:
            self._logs[path] = GrowingLog(path, self._reader())
        return self._logs[path]

    def _reader(self) -> ReadsRows:
        importer: Importer | None = self._importer
        if importer is None:
            return lambda path, opens: read_rows(path, self._problems.append, opens)
        note = partial(Said.note, self._said)
        return lambda path, opens: read_imported(path, importer, self._problems.append, note, opens)

    def _take(self, row: Row, path: Path) -> None:
        self.events += 1
        who = row.member
        if row.event in _LIFE:
            self._check_place(row, path)
            self._members.add(who)
        if row.event in ("crash", "end"):
            self._ended.add(who)
        if isinstance(row.view, str):
            why = "the views are known by names, whose order may become unclear"
            self._leave(NEEDS_VIEWS, f"{why}: what compares views is judged at the end")
        if row.event in ("deliver", "send"):
            self._keep(row)
        else:
            self._beside.append(row)

    def _keep(self, row: Row) -> None:
        if len(self._newest) == self._newest.maxlen:
            why = f"more than {KEPT} rows: the newest are judged at once"
            self._leave(NEEDS_ALL, f"{why}; what needs whole logs is judged at the end")
        self._newest.append(row)

    def _check_place(self, row: Row, path: Path) -> None:
        """Find out whether this row is where its member has written it."""
        who, why = row.member, ""
        if self._place.setdefault(who, path) != path:
            why = "in several files"
        elif row.event in _PLACED:
            if row.position <= self._position.get(who, 0):
                why = "not in their order"
            self._position[who] = row.position
        if why:
            why = f"the rows of {who} are {why}"
            self._leave(WHOLE, f"{why}: what needs whole logs, or views, is judged at the end")

    def _leave(self, names: frozenset[str], why: str) -> None:
        """Leave these properties to the end, and say so once."""
        if not names <= self._at_the_end:
            self._at_the_end |= names
            self.said_so_far.append(why)
