"""The damage suite: good runs of every protocol, damaged in every way, before the checker.

A good run must not be called violated. A damaged one is noticed if it does not hold; what only
lacks records must be inconclusive, since it accuses nobody. Whether a run with other records is a
behaviour all the same is decided by a second judge (`second.py`).
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, VIOLATED
from raincheck.conformance.trace.generator import RecordedCores, record_walk
from raincheck.conformance.trace.run import check_paths
from raincheck.model.machine.composed import Composed

from .files import Files
from .lies import LIES, Liar
from .raw import KINDS
from .second import BEHAVIOUR, OUTSIDE, UNDECIDED, Second

STEPS: Final = 20
"""The steps of a walk; the second judge looks at all orders of its events."""
NOTICED: Final = "noticed"
PASSED: Final = "passed"
"""It holds, though it is no behaviour, or records are missing."""
ACCUSED: Final = "accused"
"""It is called violated, though it is a behaviour, or only lacks records."""
HARMLESS: Final = "harmless"
"""It is a behaviour, and not called violated."""


@dataclass(slots=True)
class Tally:
    """What the checker said of a protocol's runs."""

    protocol: str
    good: int = 0
    alarms: list[str] = field(default_factory=list)
    """The good runs that were called violated."""
    kinds: dict[str, Counter[str]] = field(default_factory=dict)
    """By kind of damage how often it was noticed, passed, …"""
    examples: list[str] = field(default_factory=list)
    """A run of each kind that was passed or accused: its kind, seed and verdict."""

    def count(self, what: str) -> int:
        """Return how many damaged runs of any kind have this outcome."""
        return sum(counted[what] for counted in self.kinds.values())

    @property
    def damaged(self) -> int:
        """The number of runs that were damaged."""
        return sum(counted.total() for counted in self.kinds.values())

    @property
    def recall(self) -> float:
        """The share that was noticed of what should be."""
        noticed, passed = self.count(NOTICED), self.count(PASSED)
        return noticed / (noticed + passed) if noticed + passed else 0.0


def tried(binding: Binding, systems: Sequence[Composed[Any, Any]], runs: int, seed: int) -> Tally:
    """Record so many good runs over these instances in turn, and damage each of them once."""
    tally = Tally(binding.protocol)
    judges = [(binding.recorded or RecordedCores)(binding).second(system) for system in systems]
    with tempfile.TemporaryDirectory(prefix="raincheck-damage-") as name:
        folder = Path(name)
        for number in range(runs):
            which = number % len(systems)
            run = f"{binding.protocol}-{seed}-{number}"
            files = _walk(binding, systems[which], folder / "good", run, seed + number)
            tally.good += 1
            verdict, broken = found_on(folder / "good")
            if verdict == VIOLATED:
                tally.alarms.append(run)
            if not any(files.events()):
                continue
            random = Random(f"{run}/damage")
            damaged, kind, lost = _damaged(random, files, Liar(binding, systems[which]), number)
            damaged.write(folder / "damaged")
            found, worse = found_on(folder / "damaged")
            outcome = _outcome(found, bool(worse - broken), lost, judges[which], damaged)
            tally.kinds.setdefault(kind, Counter())[outcome] += 1
            if outcome in (PASSED, ACCUSED):
                tally.examples.append(f"{kind}: {run} {outcome}, {found}")
    return tally


def verdict_on(folder: Path) -> str:
    """Return the checker's verdict on all that is in the folder."""
    return found_on(folder)[0]


def found_on(folder: Path) -> tuple[str, set[str]]:
    """Return the checker's verdict on all that is in the folder, and the promises that are broken.

    In an instance that lacks an assumption, promises are broken in good runs too.
    """
    verdicts = [*check_paths([folder])]
    found = {verdict.verdict for verdict in verdicts}
    worst = (each for each in (VIOLATED, INCONCLUSIVE, HOLDS) if each in found)
    broken = {it.name for each in verdicts for it in each.promises if it.verdict == VIOLATED}
    return next(worst, INCONCLUSIVE), broken


def _walk(binding: Binding, system: Composed[Any, Any], folder: Path, run: str, seed: int) -> Files:
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    record_walk(binding, system, folder, run=run, seed=seed, steps=STEPS)
    return Files.read(folder)


def _damaged(random: Random, files: Files, liar: Liar, number: int) -> tuple[Files, str, bool]:
    """Return the run with the kind of damage whose turn it is, or the next one that it can have."""
    for kind in _kinds_from(number):
        damaged = files.copy()
        if kind in LIES:
            done, lost = liar.tell(random, damaged, LIES[kind]), False
        else:
            done = KINDS[kind].damage(random, damaged)
            lost = KINDS[kind].lost
        if done:
            return damaged, kind, lost
    raise AssertionError("every run can lose a file or a line")


def _kinds_from(number: int) -> Iterator[str]:
    names = [*KINDS, *LIES]
    for step in range(len(names)):
        yield names[(number + step) % len(names)]


def _outcome(found: str, worse: bool, lost: bool, judge: Second, damaged: Files) -> str:
    """Return what becomes of a damaged run; `worse`: it breaks more promises than before."""
    truth = judge.verdict(damaged)
    if truth == BEHAVIOUR:  # of one who crashed the last records may be missing
        return ACCUSED if found == VIOLATED else HARMLESS
    if (found == VIOLATED or worse) and lost:
        return ACCUSED
    if truth in (UNDECIDED, OUTSIDE):
        return truth
    return PASSED if found == HOLDS and not worse else NOTICED
