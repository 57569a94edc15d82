"""The damage suite as a verb shows it (`raincheck mutate --traces`)."""

from __future__ import annotations

import argparse
import time
from typing import Any, Final

from raincheck.conformance.bindings.binding import Binding, binding_of
from raincheck.conformance.cases.tables import load_cases, select
from raincheck.conformance.errors import Inconclusive
from raincheck.conformance.evidence.folder import Evidence, Outcome, Result, Ui
from raincheck.conformance.evidence.owed import Owed, Owes
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED
from raincheck.conformance.protocols.registry import offering, protocol
from raincheck.conformance.replay.replayable import Replayable

from .second import OUTSIDE, UNDECIDED
from .suite import ACCUSED, HARMLESS, NOTICED, PASSED, Tally, tried

ENOUGH: Final = 0.95
"""The share of what is no behaviour that must be noticed."""


def damaged_traces(args: argparse.Namespace, ui: Ui, again: str) -> Outcome:
    """Damage so many runs of each protocol, and say what the checker makes of them."""
    wanted = _wanted(args)
    if not wanted:
        raise Inconclusive("No protocol here has a binding that judges whole runs.")
    if args.dry_run:
        for name in wanted:
            ui.announce(f"{name}: {args.traces} good runs, each of them damaged once")
        return Outcome("mutate", (), again)
    evidence = Evidence("mutate", args.out)
    results, table = [], {}
    cases = load_cases()
    with ui.progress(len(wanted), "traces") as steps:
        for name in wanted:
            started = time.monotonic()
            binding = binding_of(name)
            found = Replayable(binding, select(cases, names=[name])).instances().values()
            systems = [each.system for group in found for each in group]
            tally = tried(binding, systems, args.traces, args.seed) if systems else Tally(name)
            results.append(result_of(tally, time.monotonic() - started))
            table[name] = {kind: dict(counted) for kind, counted in sorted(tally.kinds.items())}
            steps.advance(1, name)
    evidence.write_json("damage.json", {"schema": 1, "kinds": table})
    outcome = Outcome("mutate", tuple(results), again)
    evidence.finish(outcome)
    return outcome


def _wanted(args: argparse.Namespace) -> list[str]:
    there = {each.name for each in offering("binding") if judges_runs(binding_of(each.name))}
    wanted = [protocol(name).name for name in args.names] or sorted(there)
    return [name for name in wanted if name in there]


def owed(args: argparse.Namespace) -> Owes:
    """Return the results that damaging the runs of these protocols owes."""
    return Owes(tuple(Owed(_name(each), each) for each in _wanted(args)))


def _name(protocol: str) -> str:
    return f"{protocol}-damage"


def judges_runs(binding: Binding) -> bool:
    """Return whether the binding says anything of what several files of a run have in common.

    One that does not follows each file for itself, and promises no traces.
    """
    return bool(binding.channels or binding.invariants)


def result_of(tally: Tally, seconds: float) -> Result:
    """Return the verdict on the checker: it must notice enough, and accuse nobody."""
    figures: dict[str, Any] = {
        "good": tally.good,
        "false alarms": len(tally.alarms),
        "damaged": tally.damaged,
        "noticed": tally.count(NOTICED),
        "passed": tally.count(PASSED),
        "accused": tally.count(ACCUSED),
        "harmless": tally.count(HARMLESS),
        "outside": tally.count(OUTSIDE),
        "undecided": tally.count(UNDECIDED),
        "recall": round(tally.recall, 3),
        "seconds": round(seconds, 1),
    }
    lines = [f"false alarm: {run}" for run in tally.alarms]
    lines += tally.examples
    verdict = HOLDS
    asked = tally.count(NOTICED) + tally.count(PASSED)
    if tally.alarms or tally.count(ACCUSED) or (asked and tally.recall < ENOUGH):
        verdict = VIOLATED
    elif not asked:
        verdict, lines = INCONCLUSIVE, [*lines, "no damaged run that should be noticed"]
    name = _name(tally.protocol)
    return Result(name, tally.protocol, verdict, figures=figures, detail="\n".join(lines))
