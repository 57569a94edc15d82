"""Are the checks able to fail (`raincheck mutate`)? Damage on purpose, and who noticed it.

A mutant of the specification must make TLC find the property violated that it names; a mutant of
the implementation must be noticed by replay or lockstep. One that nobody notices is a survivor,
and a survivor is a failure of the checks. Then: is each property of the catalog broken by
somebody, and is each action reached?
"""

from __future__ import annotations

import argparse
import shlex
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from raincheck.conformance.replaying.group import MakeCore
from raincheck.conformance.replaying.lockstep import lockstep
from raincheck.conformance.replaying.mutants import Mutant, core_maker, load_mutants, write_spec
from raincheck.conformance.replaying.pair import Differs, Pair, instance
from raincheck.conformance.replaying.replay import Prepared, replay
from raincheck.conformance.tlc.catalog import HOLDS as CATALOG_HOLDS
from raincheck.conformance.tlc.catalog import Case, load_catalog, select
from raincheck.conformance.tlc.cfgfile import read_cfg
from raincheck.conformance.tlc.tlc import ERROR, run_tlc
from raincheck.model.explore import explore

from .errors import UsageError
from .evidence import Evidence, Outcome, Result, Ui
from .generate import ACTIONS, prepare, system_for
from .outcome import HOLDS, INCONCLUSIVE, VIOLATED

EXAMPLES: Final = 100
"""How many examples lockstep may spend on a mutant, over each kind of views."""

SMALL: Final = 3_000
"""Cases of at most so many states show which actions are reached."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which mutants."""
    parser.add_argument("mutant", nargs="*", help="mutants of spec/mutants.toml (default: all)")
    parser.add_argument("--quick", action="store_true", help="only a few, for every commit")


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Try each mutant and print who noticed it."""
    mutants = chosen(load_mutants(), args.mutant, quick=args.quick)
    again = shlex.join(
        ["raincheck", "mutate", *args.mutant]
        + (["--quick"] if args.quick else [])
        + (["--seed", str(args.seed)] if args.seed != 1 else [])
    )
    if args.dry_run:
        for mutant in mutants:
            ui.announce(f"{mutant.name}: {mutant.shows}")
        return Outcome("mutate", (), again)
    evidence = Evidence("mutate", args.out)
    catalog = load_catalog()
    cases = {case.name: case for case in catalog}
    graphs: dict[str, Prepared] = {}
    results = []
    with ui.progress(len(mutants), "mutate") as steps:
        for mutant in mutants:
            for name in mutant.cases:
                if name not in cases:
                    raise UsageError(f"mutant {mutant.name}: the catalog has no case {name}.")
            mine = [cases[name] for name in mutant.cases]
            if mutant.of_spec:
                result = try_spec(mutant, mine)
            else:
                for case in mine:
                    if case.name not in graphs:
                        graphs[case.name] = prepare(case)
                part = [graphs[case.name] for case in mine]
                result = try_implementation(mutant, part, seed=args.seed, both=not args.quick)
            results.append(result)
            if result.verdict != HOLDS:
                evidence.write_text(f"{mutant.name}.txt", f"{result.detail}\n")
            steps.advance(1, mutant.name)
    if not args.mutant and not args.quick:
        results += [properties_broken(catalog, mutants, results), actions_reached(catalog)]
    outcome = Outcome("mutate", tuple(results), again)
    evidence.write_text("mutants.txt", table(mutants, results))
    evidence.finish(outcome)
    return outcome


def chosen(mutants: Iterable[Mutant], names: Iterable[str], *, quick: bool) -> list[Mutant]:
    """Return the named mutants, or all, or the quick ones."""
    known = {mutant.name: mutant for mutant in mutants}
    for name in names:
        if name not in known:
            raise UsageError(f"There is no mutant {name}: spec/mutants.toml lists them.")
    wanted = [known[name] for name in dict.fromkeys(names)] or list(known.values())
    return [mutant for mutant in wanted if mutant.quick or not quick]


def try_spec(mutant: Mutant, cases: Iterable[Case]) -> Result:
    """Ask TLC about the damaged specification, in each case, for the one property."""
    started = time.monotonic()
    killers: list[str] = []
    survived: list[str] = []
    for case in cases:
        asked = read_cfg(case.cfg)
        keyword = next(
            (k for k in ("INVARIANT", "PROPERTY") if mutant.breaks in asked.names(k)), None
        )
        if keyword is None:
            raise UsageError(
                f"mutant {mutant.name}: {case.cfg.name} does not ask for {mutant.breaks}."
            )
        with tempfile.TemporaryDirectory(prefix="raincheck-mutant-") as name:
            folder = Path(name)
            write_spec(mutant, folder)
            cfg = folder / case.cfg.name
            cfg.write_text(f"{asked.behaviour_only()}{keyword} {mutant.breaks}\n", encoding="utf-8")
            found = run_tlc(folder / case.module.name, cfg)
        if found.verdict == ERROR:
            detail = f"TLC cannot read the mutant: {found.error}"
            return _result(mutant, INCONCLUSIVE, started, [], detail)
        if found.violated == mutant.breaks:
            killers.append(f"TLC {case.name} {mutant.breaks} in {len(found.trace)} states")
        else:
            survived.append(f"{case.name} still holds {mutant.breaks}")
    verdict = VIOLATED if survived else HOLDS
    return _result(mutant, verdict, started, killers, "\n".join(survived))


def try_implementation(
    mutant: Mutant, cases: Iterable[Prepared], *, seed: int, both: bool = True
) -> Result:
    """Replay the damaged cores, and run them in lockstep: always if `both`, else if need be."""
    started = time.monotonic()
    make = core_maker(mutant)
    killers: list[str] = []
    for prepared in cases:
        done = replay(prepared, make=make)
        if done.mismatches:
            first = done.mismatches[0]
            killers.append(f"replay {prepared.name} walk {first.walk} step {first.step}")
            break
    if mutant.schedule:
        killers += _played(mutant, make)
    if both or not killers:
        for synchronous in (True, False):
            walked = lockstep(
                seed_=seed,
                examples=EXAMPLES,
                virtual_synchrony=synchronous,
                make=make,
                shrink=False,  # that it is noticed is all that counts here
            )
            if walked.mismatch is not None:
                over = "synchronous" if synchronous else "weak"
                killers.append(f"lockstep over {over} views in {walked.mismatch.step} moves")
                break
    detail = "" if killers else "survives: neither replay nor lockstep notices it"
    return _result(mutant, HOLDS if killers else VIOLATED, started, killers, detail)


def _played(mutant: Mutant, make: MakeCore) -> list[str]:
    """Play the mutant's own schedule; a sound core must pass it."""
    for maker in (None, make):
        pair = Pair(instance(founders="ab", virtual_synchrony=False), maker, name=mutant.name)
        try:
            for move in mutant.schedule:
                pair.play(move)
        except Differs as parted:
            if maker is None:
                raise UsageError(
                    f"mutant {mutant.name}: sound cores fail its schedule: {parted}"
                ) from parted
            return [f"schedule in {parted.mismatch.step} moves"]
        except ValueError as error:
            raise UsageError(f"mutant {mutant.name}: its schedule is wrong: {error}.") from error
    return []


def _result(
    mutant: Mutant, verdict: str, started: float, killers: list[str], detail: str
) -> Result:
    figures: dict[str, object] = {
        "killed_by": ", ".join(killers),
        "seconds": round(time.monotonic() - started, 1),
    }
    text = f"{mutant.shows}\n{detail}".rstrip()
    return Result(mutant.name, "sequencer", verdict, figures=figures, detail=text)


def properties_broken(
    catalog: Iterable[Case], mutants: Iterable[Mutant], results: Iterable[Result]
) -> Result:
    """Return whether each property of the catalog can be broken: by a mutant, or by a case."""
    killed = {result.name for result in results if result.verdict == HOLDS}
    by_mutant = {mutant.breaks: mutant.name for mutant in mutants if mutant.name in killed}
    # A case whose expected answer is a violation breaks its property without further damage.
    by_case = {case.expected: case.name for case in catalog if case.expected != CATALOG_HOLDS}
    asked = sorted({name for case in catalog for name in case.properties})
    held = {name for case in catalog if case.expected == CATALOG_HOLDS for name in case.properties}
    # One that never holds anywhere has no instance that a mutant could break.
    lacking = [
        name for name in asked if name not in by_mutant and (name in held or name not in by_case)
    ]
    figures: dict[str, object] = {
        "properties": len(asked),
        "broken_by_mutants": sum(name in by_mutant for name in asked),
        "broken_by": {name: by_mutant.get(name) or by_case.get(name, "") for name in asked},
    }
    detail = "\n".join(f"no mutant breaks {name}" for name in lacking)
    verdict = VIOLATED if lacking else HOLDS
    return Result("sequencer-properties", "sequencer", verdict, figures=figures, detail=detail)


def actions_reached(catalog: Iterable[Case]) -> Result:
    """Return whether each action is taken somewhere in the graphs of the small repaired cases."""
    reached: Counter[str] = Counter()
    for case in select(catalog, protocol="sequencer"):
        if case.expected == CATALOG_HOLDS and (case.distinct or SMALL + 1) <= SMALL:
            reached.update(explore(system_for(case), invariants={}).graph.action_counts())
    absent = [action for action in ACTIONS if not reached[action]]
    figures: dict[str, object] = {
        "actions": len(ACTIONS),
        "reached": len(ACTIONS) - len(absent),
        "edges_by_action": dict(sorted(reached.items())),
    }
    detail = "\n".join(f"no small case reaches {action}" for action in absent)
    verdict = VIOLATED if absent else HOLDS
    return Result("sequencer-actions", "sequencer", verdict, figures=figures, detail=detail)


def table(mutants: Iterable[Mutant], results: Iterable[Result]) -> str:
    """Return who noticed which mutant, as lines of text."""
    by_name = {result.name: result for result in results}
    lines = []
    for mutant in mutants:
        killers = by_name[mutant.name].figures["killed_by"]
        lines.append(f"{mutant.name:40} {killers or 'SURVIVES'}\n{'':40} {mutant.shows}")
    return "\n".join(lines) + "\n"
