"""Each repair undone, one at a time: after how many runs is it found?

A run is a walk of the replay, or a run of lockstep with its seed; the first one that parts from the
model finds the repair's absence. The table says how many that took, and fails for one that is never
found. Cores with every repair make the same steps: where they part from the model as well, nothing
is found but that.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from raincheck.conformance.bindings.binding import Binding, MakeCore
from raincheck.conformance.outcome import HOLDS, VIOLATED, Result
from raincheck.impl.messages import Address
from raincheck.impl.sequencer.core import Repairs, Sequencer

from .core_lockstep import Instance
from .core_lockstep import lockstep as faces_lockstep
from .cores import Prepared
from .cores import replay as faces_replay
from .lockstep import lockstep
from .mutants import Mutant
from .replay import Prepared as SequencerPrepared
from .replay import replay

PART_STEPS: Final = 50_000
"""So many steps are replayed of a graph that is not whole."""

RUNS: Final = 400
"""So many runs of lockstep a repair's absence may take to be found."""


@dataclass(frozen=True, slots=True)
class Undone:
    """One repair undone, and how it was found."""

    protocol: str
    repair: str
    replayed: str = ""
    """The case and the walk that show it."""
    walks: int = 0
    """How many walks of that case it took."""
    runs: int = 0
    """How many runs of lockstep it took; 0: they did not find it, or were not tried."""
    tried: int = 0
    """How many runs there were."""
    seed: int = 1
    seconds: float = 0.0
    problem: str = ""

    @property
    def found(self) -> bool:
        """Whether anything found it."""
        return bool(self.replayed or self.runs)

    def result(self) -> Result:
        """Return it as a result of the verb."""
        killers = [f"replay {self.replayed}"] if self.replayed else []
        killers += [f"lockstep in {self.runs} runs of seed {self.seed}"] if self.runs else []
        figures: dict[str, object] = {
            "undone": self.repair,
            "killed_by": ", ".join(killers),
            "walks": self.walks,
            "runs": self.runs,
            "tried": self.tried,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
        }
        detail = self.problem or f"{self.repair} undone: nobody notices in {self.tried} runs"
        return Result(
            f"{self.protocol}-without-{self.repair.replace('_', '-').replace(' = ', '-')}",
            self.protocol,
            HOLDS if self.found else VIOLATED,
            figures=figures,
            detail="" if self.found else detail,
        )


def named(switches: Mapping[str, Any]) -> str:
    """Return what is undone: the switch, and its value where that is more than "off"."""
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
) -> Undone:
    """Look for the absence of these repairs; with `both` in lockstep too once replay found it.

    Without switches it is `binding` themselves that are damaged: there are no sound cores to ask.
    """
    started = time.monotonic()
    replayed, walks, problem = "", 0, ""
    for each in prepared:
        rules = each.system.rules
        if any(getattr(rules, name) == value for name, value in switches.items()):
            continue  # the model lacks it as well
        done = faces_replay(each, make=make, most_steps=None if each.complete else PART_STEPS)
        if done.mismatch is not None:
            same = range(1, done.walk + 1)
            if switches and faces_replay(each, walks=same).mismatch is not None:
                problem = f"cores with every repair part from the model too, in {each.name}"
                continue
            replayed, walks = f"{each.name} walk {done.walk} step {done.mismatch.step}", done.walk
            break
    found = tried = 0
    if instances and (both or not replayed):
        walked = faces_lockstep(binding, instances, seed=seed, runs=runs, make=make, shrink=False)
        found, tried = (walked.runs if walked.mismatch else 0), walked.runs
        if switches and found:
            sound = faces_lockstep(binding, instances, seed=seed, runs=found, shrink=False)
            if sound.mismatch is not None:
                problem = f"cores with every repair part from the model too, in run {sound.runs}"
                found = 0
    seconds = time.monotonic() - started
    name = named(switches)
    return Undone(binding.protocol, name, replayed, walks, found, tried, seed, seconds, problem)


def undo_sequencer(
    mutant: Mutant,
    prepared: Iterable[SequencerPrepared],
    played: Sequence[str],
    *,
    seed: int = 1,
    runs: int = 100,
) -> Undone:
    """The same for SEQUENCER, whose replay and lockstep are its own."""
    started = time.monotonic()
    repairs = Repairs(**(mutant.undo or {}))

    def make(who: Address) -> Sequencer:
        return Sequencer(who, repairs=repairs)

    replayed, walks, problem = "", 0, ""
    for each in prepared:
        done = replay(each, make=make)
        if done.mismatches and replay(each).mismatches:
            problem = f"cores with every repair part from the model too, in {each.name}"
        elif done.mismatches:
            first = done.mismatches[0]
            replayed = f"{each.name} walk {first.walk} step {first.step}"
            walks = first.walk
            break
    found = tried = 0
    for synchronous in (True, False):
        walked = lockstep(
            seed_=seed, examples=runs, virtual_synchrony=synchronous, make=make, shrink=False
        )
        tried += walked.examples
        if walked.mismatch is not None:
            if _sound(seed, runs, synchronous):
                found = tried
            else:
                problem = "cores with every repair part from the model too, in lockstep"
            break
    if not replayed and not found and played:
        replayed, walks = played[0], 1
    name = named(mutant.undo or {})
    seconds = time.monotonic() - started
    return Undone("sequencer", name, replayed, walks, found, tried, seed, seconds, problem)


@cache
def _sound(seed: int, runs: int, synchronous: bool) -> bool:
    """Tell whether SEQUENCER with every repair makes all these runs; asked once for all repairs."""
    made = lockstep(seed_=seed, examples=runs, virtual_synchrony=synchronous, shrink=False)
    return made.mismatch is None


def table(rows: Iterable[Undone]) -> str:
    """Return the table: protocol, repair undone, found by which walk, after how many runs."""
    head = ("protocol", "repair undone", "found by replay of", "walks", "lockstep runs", "seed")
    lines = [
        (
            each.protocol,
            each.repair,
            each.replayed or "-",
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
