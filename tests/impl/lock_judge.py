"""The judge of named locks: one writer of each name or readers, and fences that grow.

A member that is cut off cannot know that the others have given it up. The scenario names such
members in `apart`: they may hold on, and may be granted what was theirs; nobody else may.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from typing import Any

from raincheck.impl.locks.events import Mode


class LockJudge:
    """Hears who gets which lock, and when it ends."""

    def __init__(self) -> None:
        self.apart: set[str] = set()
        self.problems: list[str] = []
        self.granted = 0
        self.together = 0
        """How often somebody has read beside others."""
        self._open: dict[str, dict[Hashable, tuple[str, Mode]]] = defaultdict(dict)
        self._greatest: dict[tuple[str, Mode], Any] = {}

    def got(self, member: str, name: str, fence: Any, hold: Hashable, mode: Mode = "write") -> None:
        """Hear that a member has a lock, by this hold."""
        self.granted += 1
        late = member in self.apart
        self.together += mode == "read" and bool(self._open[name])
        for other, its in self._open[name].values():
            if "write" in (mode, its) and not late and other not in self.apart:
                self.problems.append(f"{member} gets {name!r} with {fence}, and {other} has it")
        self._open[name][hold] = member, mode
        modes: tuple[Mode, ...] = ("write", "read") if mode == "write" else ("write",)
        for before in [self._greatest.get((name, each)) for each in modes]:
            if before is not None and not before < fence and not late:
                self.problems.append(f"{member} gets {name!r} with {fence} after {before}")
        mine = self._greatest.get((name, mode))
        if mine is None or mine < fence:
            self._greatest[name, mode] = fence

    def ended(self, name: str, hold: Hashable) -> None:
        """Hear that it does not have it any more, or knows that it has lost it."""
        self._open[name].pop(hold, None)

    def died(self, member: str) -> None:
        """Hear that a member's process has ended."""
        for holds in self._open.values():
            for hold in [each for each, (who, _) in holds.items() if who == member]:
                del holds[hold]

    def check(self, least: int = 1) -> None:
        """Raise if a promise was broken, or so little was granted that nothing was shown."""
        assert self.problems == []
        assert self.granted >= least
