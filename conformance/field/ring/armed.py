"""A process's act on itself when it has the token: nobody else could be in time."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any


class Armed:
    """A process's act on itself when it has the token; nobody else could be in time."""

    def __init__(self, core: Any, later: Callable[[Callable[[], None]], object]) -> None:
        """`later` calls a function once the pending messages have left."""
        self._core = core
        self._later = later
        self.act = self.moment = ""
        self._passing = False
        self.tell: Callable[[], None] = lambda: None
        handle = core.handle

        def watched(event: Any) -> Any:
            before = core.token_state
            effects = handle(event)
            self._look(before, core.token_state)
            return effects

        core.handle = watched

    def arm(self, act: str, moment: str) -> None:
        """From now on it is to "kill" or "stop" itself at that moment, once."""
        self.act, self.moment = act, moment

    def locked(self) -> None:
        """The application has the lock."""
        if self.moment == "locked":
            self._strike()

    def sends(self) -> None:
        """Something is about to be sent; the state on which it depends has been kept."""
        if self._passing:
            self._passing = False
            self._strike()

    def _look(self, before: str, now: str) -> None:
        if not self.act or before == now:
            return
        if (now if self.moment == "holding" else before) != "eating":
            return
        if self.moment == "holding":
            self._strike()
        elif self.moment == "passing":
            self._passing = True
        elif self.moment == "passed":
            self._later(self._strike)

    def _strike(self) -> None:
        act, self.act, self.moment = self.act, "", ""
        if act:
            self.tell()
            os.kill(os.getpid(), signal.SIGKILL if act == "kill" else signal.SIGSTOP)
