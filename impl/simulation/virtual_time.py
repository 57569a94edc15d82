"""Virtual time: events in their order, and one timer for each node."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from itertools import count


class VirtualTime(ABC):
    """The clock of a simulation; events of the same time run in the order of scheduling."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._timers: dict[str, float] = {}

    @abstractmethod
    def _timer_fired(self, name: str) -> None:
        """Handle the timer of that node."""

    @abstractmethod
    def _missing(self) -> Mapping[str, object]:
        """Return whom each node waits for."""

    def at(self, time: float, what: Callable[[], None]) -> None:
        """Schedule an action at that time."""
        heapq.heappush(self._events, (time, next(self._order), what))

    def after(self, delay: float, what: Callable[[], None]) -> None:
        """Schedule an action after that delay."""
        self.at(self.now + delay, what)

    def run(self, duration: float) -> None:
        """Let that much time pass."""
        self._run(self.now + duration, lambda: False)

    def run_until(self, done: Callable[[], bool], timeout: float = 60.0) -> None:
        """Let time pass until something holds; raises TimeoutError naming what is missing."""
        self._run(self.now + timeout, done)
        if not done():
            raise TimeoutError(f"not within {timeout} s of virtual time; missing={self._missing()}")

    def _set_timer(self, name: str, due: float | None) -> None:
        if due is None:
            self._timers.pop(name, None)
        else:
            self._timers[name] = due

    def _run(self, end: float, done: Callable[[], bool]) -> None:
        timers = self._timers
        while not done():
            timer = min(timers.values(), default=end)
            event = self._events[0][0] if self._events else end
            soonest = min(timer, event)
            if soonest >= end:
                self.now = end
                return
            self.now = max(self.now, soonest)
            if event <= timer:
                heapq.heappop(self._events)[2]()
            else:
                self._timer_fired(min(name for name, due in timers.items() if due == timer))
