"""Each repair undone, one at a time: the number of runs until its absence is found.

A run is a walk of the replay, or a run of lockstep with its seed. The first run that differs from
the model finds the repair's absence. The table gives that number, and fails for a repair whose
absence is never found. Cores with every repair make the same steps; where they differ from the
model as well, the run does not count.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from raincheck.conformance.bindings.binding import Binding, MakeCore
from raincheck.conformance.outcome import HOLDS, VIOLATED, Result

from .lockstep import Instance, lockstep
from .replay import PART_STEPS, Prepared, replay
from .replayable import lacks

RUNS: Final = 400
"""The most runs of lockstep until a repair's absence must be found."""


@dataclass(frozen=True, slots=True)
class Undone:
    """One repair undone, and how its absence was found."""

    protocol: str
    repair: str
    replayed: str = ""
    """The case and the walk that show its absence."""
    walks: int = 0
    """The number of walks of that case that were needed."""
    runs: int = 0
    """The runs of lockstep that were needed; 0: lockstep did not find it, or was not tried."""
    tried: int = 0
    """How many runs there were."""
    seed: int = 1
    seconds: float = 0.0
    problem: str = ""
    played: int = 0
    """The number of moves of its own schedule that were needed."""

    @property
    def found(self) -> bool:
        """Whether any check found it."""
        return bool(self.replayed or self.played or self.runs)

    @property
    def killers(self) -> str:
        """Which check found it."""
        found = [f"replay {self.replayed}"] if self.replayed else []
        found += [f"schedule in {self.played} moves"] if self.played else []
        found += [f"lockstep in {self.runs} runs of seed {self.seed}"] if self.runs else []
        return ", ".join(found)

    def result(self) -> Result:
        """Return the row as a result of the verb."""
        figures: dict[str, object] = {
            "undone": self.repair,
            "killed_by": self.killers,
            "walks": self.walks,
            "runs": self.runs,
            "tried": self.tried,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
        }
        detail = self.problem or f"{self.repair} undone: nobody notices in {self.tried} runs"
        return Result(
            undone_name(self.protocol, self.repair),
            self.protocol,
            HOLDS if self.found else VIOLATED,
            figures=figures,
            detail="" if self.found else detail,
        )


def undone_name(protocol: str, repair: str) -> str:
    """Return the name of the result about a repair that is undone."""
    return f"{protocol}-without-{repair.replace('_', '-').replace(' = ', '-')}"


@dataclass(slots=True)
class Sound:
    """The runs of lockstep that cores with every repair pass, each made once."""

    binding: Binding
    instances: Sequence[Instance]
    seed: int
    passed: int = 0

    def differs(self, runs: int) -> int:
        """Return the first of so many runs in which the model and those cores differ, or 0."""
        if runs <= self.passed:
            return 0
        first, seed = self.passed + 1, self.seed
        found = lockstep(
            self.binding, self.instances, seed=seed, runs=runs, first=first, shrink=False
        )
        if found.mismatch is not None:
            return self.passed + found.runs
        self.passed = runs
        return 0


def named(switches: Mapping[str, Any]) -> str:
    """Return what is undone: the switch, and its value if that is more than "off"."""
    return ", ".join(
        name if value is False else f"{name} = {value}" for name, value in switches.items()
    )


def undo(
    binding: Binding,
    switches: Mapping[str, Any],
    make: MakeCore,
    prepared: Iterable[Prepared],
    instances: Sequence[Instance],
    *,
    seed: int = 1,
    runs: int = RUNS,
    both: bool = True,
    sound: Sound | None = None,
) -> Undone:
    """Look for the absence of these repairs; with `both`, in lockstep even if replay has found it.

    Without switches, `binding` itself is damaged and there are no undamaged cores to compare with.
    `sound` remembers what those have passed.
    """
    started = time.monotonic()
    replayed, walks, problem = "", 0, ""
    for each in prepared:
        if lacks(each.system.rules, switches):
            continue
        done = replay(each, make=make, most_steps=None if each.complete else PART_STEPS)
        if done.mismatch is not None:
            same = range(1, done.walk + 1)
            if switches and replay(each, walks=same).mismatch is not None:
                problem = f"cores with every repair also differ from the model, in {each.name}"
                continue
            replayed, walks = f"{each.name} walk {done.walk} step {done.mismatch.step}", done.walk
            break
    found = tried = 0
    if instances and (both or not replayed):
        walked = lockstep(binding, instances, seed=seed, runs=runs, make=make, shrink=False)
        found, tried = (walked.runs if walked.mismatch else 0), walked.runs
        if switches and found:
            differs = (sound or Sound(binding, instances, seed)).differs(found)
            if differs:
                problem = f"cores with every repair also differ from the model, in run {differs}"
                found = 0
    seconds = time.monotonic() - started
    name = named(switches)
    return Undone(binding.protocol, name, replayed, walks, found, tried, seed, seconds, problem)


def table(rows: Iterable[Undone]) -> str:
    """Return the table: protocol, repair undone, the walk that finds it, number of runs."""
    head = ("protocol", "repair undone", "found by replay of", "walks", "lockstep runs", "seed")
    lines = [
        (
            each.protocol,
            each.repair,
            each.replayed or (f"schedule in {each.played} moves" if each.played else "-"),
            str(each.walks or "-"),
            str(each.runs) if each.runs else (f"not in {each.tried}" if each.tried else "-"),
            str(each.seed),
        )
        for each in rows
    ]
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    return "\n".join(
        "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
        for line in (head, *lines)
    )
