"""Child processes that never outlive this one: each in its own group, and killed with it.

The law of this file: when `Processes.run` returns or raises, its child and all of the child's
children are gone. A check runs many of these in threads; `stop` ends them all from outside. A child
that starts such groups itself is first asked to end them, and given `grace`, because no kill from
here would reach them.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from raincheck.conformance.errors import UsageError

from .sidebyside import side_by_side


class Stopped(Exception):
    """The run was ended from outside; the caller of `stop` knows why."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The exit code of a process (a negative number: that signal), and all its output."""

    code: int
    output: str
    timed_out: bool = False


class Processes:
    """The processes that are running now. As a context manager it stops them at the end."""

    def __init__(self, grace: float = 0.0) -> None:
        self._grace = grace
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def run(
        self,
        command: Sequence[str],
        cwd: Path,
        *,
        environ: Mapping[str, str] | None = None,
        timeout: float | None = None,
        each_line: Callable[[str], None] | None = None,
    ) -> Finished:
        """Run a command to its end; stdout and stderr come together, in order.

        If Ctrl-C or an error of `each_line` ends it early in the main thread, the others are
        stopped.
        """
        run = partial(self._run, command, cwd, environ, timeout, each_line)
        if threading.current_thread() is not threading.main_thread():
            return run()
        # Ctrl-C reaches the main thread, and must not come between a start and its `try`.
        finished: list[Finished] = []
        side_by_side([run], 1, each=finished.append, stop=self.stop)
        return finished[0]

    def stop(self) -> None:
        """Kill the running processes, and let none start any more."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        _end(running, self._grace)

    def _run(
        self,
        command: Sequence[str],
        cwd: Path,
        environ: Mapping[str, str] | None,
        timeout: float | None,
        each_line: Callable[[str], None] | None,
    ) -> Finished:
        process = self._start(command, cwd, environ)
        late = threading.Event()

        def expire() -> None:
            late.set()
            _end([process], self._grace)

        clock = threading.Timer(timeout, expire) if timeout is not None else None
        lines: list[str] = []
        try:
            if clock is not None:
                clock.daemon = True
                clock.start()
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                if each_line is not None:
                    each_line(line)
            code = process.wait()
        finally:
            if clock is not None:
                clock.cancel()
            _end([process], self._grace)
            if process.stdout is not None:
                process.stdout.close()
            with self._lock:
                self._running.discard(process)
        if self._stopped:
            raise Stopped
        return Finished(code, "".join(lines), late.is_set())

    def _start(
        self, command: Sequence[str], cwd: Path, environ: Mapping[str, str] | None
    ) -> subprocess.Popen[str]:
        with self._lock:  # or a process could start unnoticed by `stop`
            if self._stopped:
                raise Stopped
            try:
                process = subprocess.Popen(
                    list(command),
                    cwd=cwd,
                    env=None if environ is None else dict(environ),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    encoding="utf-8",
                    errors="replace",
                    start_new_session=True,
                )
            except OSError as error:
                raise UsageError(
                    f"{command[0]} does not start ({error.strerror}): run raincheck doctor."
                ) from error
            self._running.add(process)
            return process


def _end(processes: Sequence[subprocess.Popen[str]], grace: float) -> None:
    """Ask each to end, give all of them so many seconds, kill the rest, and wait for it."""
    deadline = time.monotonic() + grace
    try:
        if grace > 0:
            for process in processes:
                _signal(process, signal.SIGTERM)
            for process in processes:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, deadline - time.monotonic()))
    finally:  # a second Ctrl-C does not wait
        for process in processes:
            _signal(process, signal.SIGKILL)
            process.wait()


def _signal(process: subprocess.Popen[str], number: int) -> None:
    """Signal the process's group, unless it was waited for: its number may be another's."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
