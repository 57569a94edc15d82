"""Traces of real cores on random walks (`raincheck generate --traces`), and the verb's result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.evidence.folder import Result
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED
from raincheck.conformance.replay.cores import Problem
from raincheck.model.machine.composed import Composed

from .generator import record_walk

TRACED: Final = 20
"""The number of walks of each protocol that are recorded."""


def recorded(
    binding: Binding, systems: Sequence[Composed[Any, Any]], seed: int, folder: Path
) -> Result:
    """Record cores on random walks over these systems in turn; `conform` checks the traces."""
    started = time.monotonic()
    # A follower of its own reads a form of its own, which only cores of its own can write.
    foreign = binding.promised is not None and binding.promised.follow is not None
    readable = binding.recorded is not None or not foreign
    steps: list[int] = []
    verdict, detail = HOLDS, ""
    if systems and readable:
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(TRACED):
            system = systems[number % len(systems)]
            run = f"{binding.protocol}-{seed}-{number:02}"
            try:
                steps.append(record_walk(binding, system, folder, run=run, seed=seed + number))
            except Problem as problem:
                differs = map(str, problem.differences)
                verdict, detail = VIOLATED, "\n".join((f"{run}: {problem}", *differs))
                break
    figures: dict[str, object] = {
        "walks": len(steps),
        "steps": sum(steps),
        "folder": str(folder),
        "seconds": round(time.monotonic() - started, 2),
    }
    if not readable:
        verdict, detail = INCONCLUSIVE, "its records have a form of their own: set Binding.recorded"
    elif not detail and not any(steps):
        verdict, detail = INCONCLUSIVE, "no instance could be walked"
    name = recorded_name(binding.protocol)
    return Result(name, binding.protocol, verdict, HOLDS, figures, detail)


def recorded_name(protocol: str) -> str:
    """Return the name of that result."""
    return f"{protocol}-traces"
