"""The display of a working verb: lines, and progress on stderr.

With `--json` stdout belongs to the JSON object alone, so every human line goes to stderr.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

REPORT_EVERY = 15.0
"""Seconds between two lines of progress where there is no terminal to draw on."""


class Steps:
    """Progress in short lines, for logs; `Bar` draws it instead."""

    def __init__(self, total: int | None, label: str, silent: bool) -> None:
        self.total = total
        self.label = label
        self.done = 0
        self.note = ""
        self._silent = silent
        self._started = self._reported = time.monotonic()

    def advance(self, n: int = 1, note: str = "") -> None:
        """Count n more as done; the note says what is being worked on."""
        self.done += n
        self.note = note or self.note
        if time.monotonic() - self._reported >= REPORT_EVERY:
            self._tell(self.note)

    def close(self) -> None:
        """Say how much was done, and how long it took."""
        self._tell(f"{time.monotonic() - self._started:.1f} s")

    def _tell(self, remark: str) -> None:
        self._reported = time.monotonic()
        if not self._silent:
            of = "" if self.total is None else f"/{self.total}"
            tail = f" ({remark})" if remark else ""
            print(f"{self.label}: {self.done}{of}{tail}", file=sys.stderr, flush=True)


class Bar(Steps):
    """Progress drawn on a terminal."""

    def __init__(self, total: int | None, label: str, progress: "Progress", task: "TaskID") -> None:
        super().__init__(total, label, silent=True)
        self._progress = progress
        self._task = task

    def advance(self, n: int = 1, note: str = "") -> None:
        """Count n more as done, and draw it."""
        super().advance(n, note)
        self._progress.update(self._task, advance=n, note=self.note)


@dataclass(slots=True)
class Ui:
    """Where a verb speaks. `quiet` leaves only the verdict, which `__main__` prints."""

    json: bool = False
    quiet: bool = False
    _drawing: bool = field(default=False, repr=False)

    def say(self, text: str) -> None:
        """One line for people: on stdout, or on stderr when stdout carries JSON."""
        if not self.quiet:
            self.announce(text)

    def announce(self, text: str) -> None:
        """A line that even `--quiet` shows: the verdict, or the command of a dry run."""
        print(text, file=sys.stderr if self.json else sys.stdout, flush=True)

    @contextmanager
    def progress(self, total: int | None, label: str) -> Iterator[Steps]:
        """Show progress on stderr: drawn on a terminal, short lines elsewhere, nothing if quiet."""
        if self.quiet or self._drawing or not sys.stderr.isatty():
            steps = Steps(total, label, silent=self.quiet or self._drawing)
            try:
                yield steps
            finally:
                steps.close()
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
        )
        # Lines said meanwhile go above the bar; nested bars would fight over the terminal.
        self._drawing = True
        console = Console(stderr=True, highlight=False)
        try:
            with Progress(*columns, console=console, transient=True) as progress:
                task = progress.add_task(label, total=total, note="")
                yield Bar(total, label, progress, task)
        finally:
            self._drawing = False

    @contextmanager
    def canvas(self, styles: Mapping[str, str]) -> Iterator[Callable[[str], None] | None]:
        """Hand out what draws a picture in the place of the last one, on the terminal of stderr.

        `styles` says how what matches a pattern is coloured. Where there is no terminal, or none
        that can do so, it hands out nothing, and the caller speaks in lines. The last one stays.
        """
        if self.quiet or self._drawing or not sys.stderr.isatty():
            yield None
            return
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        console = Console(stderr=True, highlight=False)
        if console.is_dumb_terminal:
            yield None
            return

        def draw(picture: str) -> None:
            text = Text(picture.rstrip("\n"), no_wrap=True, overflow="crop")
            for pattern, style in styles.items():
                text.highlight_regex(pattern, style)
            live.update(text, refresh=True)

        self._drawing = True
        try:
            # A picture taller than the terminal is cut while it changes, and whole at the end.
            with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
                yield draw
        finally:
            self._drawing = False
