"""The alarms of a violation that was seen in a running system: a webhook, or a command.

They are given in a thread of their own: a slow one delays no reading. One that fails hides nothing,
since the violation was printed before; the failure is a sentence of its own, and is counted.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import msgspec

from raincheck.conformance.errors import UsageError

EXIT: Final = "exit"
WITHIN: Final = 10.0
"""Seconds that an alarm may take."""
WAITING: Final = 64
"""Alarms that wait for the ones before; of more than these only the first are given."""


class Action(NamedTuple):
    """What is to be done at each violation."""

    url: str = ""
    command: tuple[str, ...] = ()


def action_of(text: str) -> Action:
    """Return the webhook or the command that the text names; raise UsageError if it names none."""
    if text.startswith(("http://", "https://")):
        if not _has_host(text):
            raise UsageError(f"--on-violation {text!r} is no URL to which anything can be posted.")
        return Action(url=text)
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"--on-violation: {text!r} is no command ({error}).") from error
    if not words or "://" in words[0]:
        raise UsageError(
            f"--on-violation {text!r}: say {EXIT}, a URL with http:// or https://, or a command."
        )
    return Action(command=words)


def _has_host(url: str) -> bool:
    """Tell whether a URL names a host, and nothing in it is what no URL has."""
    try:
        return bool(urlsplit(url).hostname) and url.isprintable() and " " not in url
    except ValueError:
        return False


class Alarms:
    """Gives the alarms, one after the other."""

    def __init__(self, actions: list[Action], problem: Callable[[str], None]) -> None:
        """`problem` is told in a sentence what failed; it is called in another thread."""
        self.given = self.failed = self.left_out = 0
        self._actions, self._problem = actions, problem
        self._queue: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._thread = Thread(target=self._run, daemon=True)
        if actions:
            self._thread.start()

    def give(self, violation: dict[str, Any]) -> None:
        """Give the alarm of this violation soon."""
        if not self._actions:
            return
        if self._queue.qsize() >= WAITING:
            self.left_out += 1
        else:
            self._queue.put(violation)

    def close(self) -> None:
        """Wait until those that are due are given, but not for ever."""
        if self._actions:
            self._queue.put(None)
            self._thread.join(2 * WITHIN)
            if self._thread.is_alive():
                self.left_out += self._queue.qsize()
                self._problem("the last alarms were not given: those before them took too long")

    def _run(self) -> None:
        while (violation := self._queue.get()) is not None:
            text = msgspec.json.encode(violation)
            for action in self._actions:
                try:
                    _post(action.url, text) if action.url else _call(action.command, text)
                    self.given += 1
                except Exception as error:  # noqa: BLE001 (the next alarm has to be given)
                    self.failed += 1
                    what = action.url or shlex.join(action.command)
                    why = str(error) or type(error).__name__
                    self._problem(f"the alarm {what} has failed: {why}")


def _post(url: str, text: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(url, text, headers, method="POST"), timeout=WITHIN):
        pass


def _call(command: tuple[str, ...], text: bytes) -> None:
    # What it prints is no part of the verdict.
    subprocess.run(command, input=text + b"\n", stdout=sys.__stderr__, check=True, timeout=WITHIN)
