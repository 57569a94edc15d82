"""Mute each rule of each checker in turn, and see which planted input misses it.

This is `raincheck mutate --judges`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from raincheck.conformance.protocols.registry import installed_alone

from .planting import Ask, Complaints, Plant, planted_for, redundant_of, unshown
from .rules import Rule, rules_of
from .sources import SOURCES


class Tried(NamedTuple):
    """A rule, and the outcome of muting it."""

    rule: Rule
    plant: Plant | None
    """The input of which it alone complains; None if it is excused, or has none."""
    excuse: str
    """The reason why no input could miss it; empty if one could."""
    problem: str
    """Why the input does not show that the rule is there; empty if it does."""

    @property
    def noticed(self) -> str:
        """Return what noticed that the rule was muted."""
        if self.plant is None:
            return f"nobody: {self.excuse}" if self.excuse else "nobody"
        if self.plant.breaks is not None:
            return f"without it {self.plant.breaks.__name__}: {self.plant.why}"
        if self.plant.then:
            return f"without it only {self.plant.then!r} is said: {self.plant.why}"
        return "without it the input holds"


def all_rules() -> list[Rule]:
    """Return every rule of every checker."""
    return [rule for source in SOURCES for rule in rules_of(source)]


def tried() -> Iterator[Tried]:
    """Mute each rule in turn, and yield the outcome."""
    with tempfile.TemporaryDirectory(prefix="raincheck-judges-") as name, installed_alone():
        asking = _Asking(Path(name))
        for rule in all_rules():
            excuse = redundant_of(rule.source).get(rule.key, "")
            plant = planted_for(rule.source).get(rule.key)
            if plant is None:
                problem = "" if excuse else f"it has no planted input in {rule.source.planted}.py"
            else:
                problem = unshown(plant, rule, asking.of(plant))
            yield Tried(rule, plant, excuse, problem)


class _Asking:
    """Judges each input in a folder of its own; good inputs only once for all faults."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0
        self.good: Final[dict[Ask, Complaints]] = {}

    def of(self, plant: Plant) -> Callable[[Ask], Complaints]:
        def ask(question: Ask) -> Complaints:
            if question in self.good:
                return self.good[question]
            self.count += 1
            folder = self.folder / str(self.count)
            folder.mkdir()
            told = question(folder)
            if question is plant.good:
                self.good[question] = told
            return told

        return ask
