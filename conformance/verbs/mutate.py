"""`raincheck mutate`: damage specifications and implementations, and report which checks notice.

TLC must find the property violated that a mutant of a specification names; replay or lockstep must
notice a mutant of an implementation. A mutant that no check notices is a survivor, which is a
failure of the checks. The verb also asks whether each property of the catalog is broken by some
mutant or case, and whether each action is reached. With `--judges` it takes out the rules of the
checkers themselves, one by one, and damages what is around them (`judges/`).
"""

from __future__ import annotations

import argparse
import shlex
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from raincheck.conformance.cases.names import meant
from raincheck.conformance.cases.tables import HOLDS as CATALOG_HOLDS
from raincheck.conformance.cases.tables import TIERS, Case, load_cases, protocols_in, select
from raincheck.conformance.damage import outcome as damage
from raincheck.conformance.damage.outcome import damaged_traces
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Evidence, Outcome, Result, Ui
from raincheck.conformance.evidence.links import WITHOUT_A_RULE
from raincheck.conformance.evidence.owed import Owed, Owes
from raincheck.conformance.judges.damage import Trial, trials
from raincheck.conformance.judges.damage import chosen as chosen_damages
from raincheck.conformance.judges.muted_in_turn import all_rules, tried
from raincheck.conformance.judges.planted_invariants import steps_named, steps_tried
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED
from raincheck.conformance.replay.coverage import spec_actions
from raincheck.conformance.replay.killers import (
    cases_for,
    switches_named,
    try_mutant,
    undone_switches,
)
from raincheck.conformance.replay.mutants import Mutant, load_mutants, write_spec
from raincheck.conformance.replay.undoing import RUNS
from raincheck.conformance.replay.undoing import table as undo_table
from raincheck.conformance.tlc.tlc import ERROR, run_tlc
from raincheck.conformance.tools.java import find_java
from raincheck.model.machine.explore import explore

from .mirror import has_model, machine_of

OPEN: Final = "open: no planted input reaches it yet"
WANTED: Final = 0.95
"""The share of the damages of the checkers that must be noticed, whatever is said of the rest."""
JUDGES: Final = "judges"
"""In the place of a protocol, in the results about the checkers."""
DAMAGES: Final = "damages"
SMALL: Final = 3_000
"""The most states of a case that shows which actions are reached."""
LARGE: Final = 15_000
"""The most states that are looked at of one that shows what no such case does."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which mutants are tried."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="mutants, protocols or globs (default: all)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="only the few mutants that every commit checks"
    )
    parser.add_argument(
        "--undo",
        action="store_true",
        help="only undo each repair of the implementations, and print how many runs find it",
    )
    parser.add_argument(
        "--judges",
        action="store_true",
        help="only disable each rule of the trace and log checkers in turn, and print whether its "
        "planted input is missed",
    )
    parser.add_argument(
        "--traces",
        type=_count,
        metavar="N",
        help="damage N recorded runs of each protocol, and count what the trace checker notices",
    )
    parser.add_argument(
        "--damages",
        type=int,
        metavar="N",
        help="with --judges: also damage the statements around the rules in N ways, drawn by the "
        "seed (0: in every way)",
    )
    parser.add_argument(
        "--runs",
        type=int,
        default=RUNS,
        metavar="N",
        help=f"largest number of lockstep runs until an undone repair is found (default: {RUNS})",
    )


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of runs above 0")
    return int(text)


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Try each mutant and print which checks noticed it."""
    if args.traces is not None:
        return damaged_traces(args, ui, reproduce(args))
    if args.judges:
        return _judges(args, ui)
    if args.damages is not None:
        raise UsageError("--damages is for the checkers: give it with --judges.")
    catalog = load_cases()
    cases = {case.name: case for case in catalog}
    protocols = tuple(dict.fromkeys(case.protocol for case in catalog))
    whole = protocols_in(args.names, catalog)
    wanted = whole or protocols
    every = load_mutants()
    fits(every, cases)
    mutants = chosen(every, args.names, protocols, quick=args.quick)
    again = reproduce(args)
    if args.dry_run:
        for mutant in mutants:
            if not args.undo or mutant.undo:
                ui.announce(f"{mutant.name}: {mutant.shows}")
        return Outcome("mutate", (), again)
    if not args.undo and any(mutant.of_spec for mutant in mutants):
        find_java()  # a missing Java should not cost the minutes before it is needed
    evidence = Evidence("mutate", args.out)
    switches = (
        []
        if len(args.names) > len(whole)
        else undone_switches(
            wanted, catalog, every, seed=args.seed, runs=args.runs, quick=args.quick
        )
    )
    if args.undo:
        rows = [
            try_mutant(mutant, cases_for(mutant, catalog), seed=args.seed, runs=args.runs)
            for mutant in mutants
            if mutant.undo
        ]
        rows = sorted((*rows, *switches), key=lambda row: wanted.index(row.protocol))
        text = undo_table(rows)
        ui.say(text)
        outcome = Outcome("mutate", tuple(row.result() for row in rows), again)
        evidence.write_text("undone.txt", text + "\n")
        evidence.finish(outcome)
        return outcome
    results = []
    with ui.progress(len(mutants), "mutate") as steps:
        for mutant in mutants:
            if mutant.of_spec:
                result = try_spec(mutant, [cases[name] for name in mutant.cases])
            else:
                result = try_implementation(
                    mutant,
                    cases_for(mutant, catalog),
                    seed=args.seed,
                    runs=args.runs,
                    both=not args.quick,
                )
            results.append(result)
            if result.verdict != HOLDS:
                evidence.write_text(f"{mutant.name}.txt", f"{result.detail}\n")
                evidence.so_far(results)
            steps.advance(1, mutant.name)
    results += [row.result() for row in switches]
    if _of_whole(args, whole):
        for protocol in filter(has_model, wanted):
            found = properties_broken(catalog, mutants, results, protocol)
            results += [found, actions_reached(catalog, protocol)]
    outcome = Outcome("mutate", tuple(results), again)
    evidence.write_text("mutants.txt", table(mutants, results))
    evidence.finish(outcome)
    return outcome


def _judges(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Take out each rule of the checkers in turn, and damage what is around the rules."""
    if args.names or args.undo or args.quick:
        raise UsageError("--judges tries all rules of the checkers: give it alone.")
    if args.damages is not None and args.damages < 0:
        raise UsageError(f"--damages is {args.damages}: it must be at least 0.")
    again = reproduce(args)
    rules = all_rules()
    around = [] if args.damages is None else chosen_damages(args.seed, args.damages or None)
    if args.dry_run:
        for each in (*rules, *around):
            ui.announce(str(each))
        return Outcome("mutate", (), again)
    evidence = Evidence("mutate", args.out)
    results, lines = [], []
    with ui.progress(len(rules), "rules") as steps:
        for each in tried():
            words = each.plant.words if each.plant is not None else ""
            lines.append(f"{each.rule}\n    planted: {words!r}\n    {each.problem or each.noticed}")
            results.append(
                Result(
                    str(each.rule),
                    JUDGES,
                    VIOLATED if each.problem else HOLDS,
                    figures={"planted": words, "noticed": each.noticed},
                    detail=each.problem,
                )
            )
            steps.advance(1, each.rule.source.module)
    results += map(step_result, steps_tried())
    tries = []
    with ui.progress(len(around), "damages") as steps:
        for trial in trials(around, excused=not args.damages):
            tries.append(trial)
            said = trial.noticed or f"SURVIVES: {trial.excuse or OPEN}"
            lines.append(f"{trial.damage}\n    {said}")
            steps.advance(1, trial.damage.source.module)
    results += [damaged_judges(tries)] if tries else []
    outcome = Outcome("mutate", tuple(results), again)
    evidence.write_text("judges.txt", "\n".join(lines) + "\n")
    evidence.finish(outcome)
    return outcome


def owed(args: argparse.Namespace) -> Owes:
    """Return the results that a run with these options owes."""
    if args.traces is not None:
        return damage.owed(args)
    if args.judges:
        names = [*map(str, all_rules()), *(_step_name(*each) for each in steps_named())]
        names += [] if args.damages is None else [DAMAGES]
        return Owes(tuple(Owed(name, JUDGES) for name in names))
    catalog, every = load_cases(), load_mutants()
    protocols = tuple(dict.fromkeys(case.protocol for case in catalog))
    whole = protocols_in(args.names, catalog)
    wanted = whole or protocols
    mutants = chosen(every, args.names, protocols, quick=args.quick)
    found = [Owed(each.name, each.protocol) for each in mutants if each.undo or not args.undo]
    if len(args.names) <= len(whole):
        found += [Owed(name, protocol) for protocol, name in switches_named(wanted, every)]
    if _of_whole(args, whole):
        found += [
            Owed(name, protocol)
            for protocol in filter(has_model, wanted)
            for name in (_properties_name(protocol), _actions_name(protocol))
        ]
    return Owes(tuple(found))


def _of_whole(args: argparse.Namespace, whole: Sequence[str]) -> bool:
    """Tell whether each property and action of whole protocols is asked about, too."""
    return len(args.names) == len(whole) and not args.quick and not args.undo


def _properties_name(protocol: str) -> str:
    return f"{protocol}-properties"


def _actions_name(protocol: str) -> str:
    return f"{protocol}-actions"


def _step_name(protocol: str, part: str) -> str:
    return f"step {protocol}.{part}"


def step_result(tried: tuple[str, str, bool]) -> Result:
    """Return whether a step that no handler makes breaks the part of an invariant that it should,
    and a good one does not.
    """
    protocol, part, noticed = tried
    name = f"{protocol}.{part.partition(' ')[0]}"
    detail = "" if noticed else f"{name} does not tell the planted step from a good one"
    return Result(
        _step_name(protocol, part),
        JUDGES,
        HOLDS if noticed else VIOLATED,
        figures={"planted": f"{name} is violated by a step that no handler makes"},
        detail=detail,
    )


def damaged_judges(tries: Sequence[Trial]) -> Result:
    """Return how many damages of the checkers the planted inputs notice; too few are a failure."""
    survivors = {str(each.damage): each.excuse or OPEN for each in tries if not each.noticed}
    caught = len(tries) - len(survivors)
    figures: dict[str, object] = {
        "tried": len(tries),
        "noticed": caught,
        "rate": round(caught / len(tries), 3),
        "wanted": WANTED,
        "unexplained": sum(reason == OPEN for reason in survivors.values()),
        "damages": [str(each.damage) for each in tries],
        "survivors": survivors,
    }
    bad = caught < WANTED * len(tries)
    detail = f"{caught} of {len(tries)} damages are noticed, fewer than {WANTED:.0%}" if bad else ""
    return Result(DAMAGES, JUDGES, VIOLATED if bad else HOLDS, HOLDS, figures, detail)


def fits(mutants: Iterable[Mutant], cases: Mapping[str, Case]) -> None:
    """Raise UsageError if a mutant's table belongs to no protocol, or its case to another one."""
    protocols = {case.protocol for case in cases.values()}
    for mutant in mutants:
        if mutant.protocol not in protocols:
            raise UsageError(
                f"mutant {mutant.name}: the catalog has no protocol {mutant.protocol}."
            )
        for name in mutant.cases:
            if name not in cases:
                raise UsageError(f"mutant {mutant.name}: the catalog has no case {name}.")
            if cases[name].protocol != mutant.protocol:
                raise UsageError(f"mutant {mutant.name}: {name} is no case of {mutant.protocol}.")


def chosen(
    mutants: Iterable[Mutant], names: Iterable[str], protocols: Iterable[str], *, quick: bool
) -> list[Mutant]:
    """Return the mutants that the names mean, or all of them; with `quick`, only the quick ones.

    A protocol may have none.
    """
    known = {mutant.name: mutant for mutant in mutants}
    groups = {each: [m.name for m in known.values() if m.protocol == each] for each in protocols}
    words = [name for name in names if groups.get(name.replace("-", "_")) != []]
    wanted = meant(words, known, groups, what="mutant") if names else known.values()
    return [mutant for mutant in wanted if mutant.quick or not quick]


def try_spec(mutant: Mutant, cases: Iterable[Case]) -> Result:
    """Ask TLC about the one property of the damaged specification, in each case."""
    started = time.monotonic()
    killers: list[str] = []
    survived: list[str] = []
    for case in cases:
        asked = case.configuration()
        keyword = next(
            (k for k in ("INVARIANT", "PROPERTY") if mutant.breaks in asked.names(k)), None
        )
        if keyword is None:
            raise UsageError(f"mutant {mutant.name}: {case.name} does not ask for {mutant.breaks}.")
        with tempfile.TemporaryDirectory(prefix="raincheck-mutant-") as name:
            folder = Path(name)
            write_spec(mutant, case.module.parent, folder)
            alone = asked.instead(f"{asked.behaviour_only()}{keyword} {mutant.breaks}\n")
            found = run_tlc(folder / case.module.name, alone)
        if found.verdict == ERROR:
            detail = f"TLC cannot read the mutant: {found.error}"
            return _result(mutant, INCONCLUSIVE, started, [], detail, mutant.protocol)
        if found.violated == mutant.breaks:
            killers.append(f"TLC {case.name} {mutant.breaks} in {len(found.trace)} states")
        else:
            survived.append(f"{case.name} still holds {mutant.breaks}")
    verdict = VIOLATED if survived else HOLDS
    return _result(mutant, verdict, started, killers, "\n".join(survived), mutant.protocol)


def try_implementation(
    mutant: Mutant, cases: Sequence[Case], *, seed: int, runs: int = RUNS, both: bool = True
) -> Result:
    """Try replay and lockstep on the damaged cores: both of them, or until one notices."""
    row = try_mutant(mutant, cases, seed=seed, runs=runs, both=both)
    killers = [row.killers] if row.found else []
    detail = "" if killers else row.problem or "survives: neither replay nor lockstep notices it"
    verdict = HOLDS if killers else VIOLATED
    started = time.monotonic() - row.seconds
    return _result(mutant, verdict, started, killers, detail, mutant.protocol)


def _result(
    mutant: Mutant,
    verdict: str,
    started: float,
    killers: list[str],
    detail: str,
    protocol: str,
) -> Result:
    figures: dict[str, object] = {
        "killed_by": ", ".join(killers),
        "seconds": round(time.monotonic() - started, 1),
    }
    text = f"{mutant.shows}\n{detail}".rstrip()
    return Result(mutant.name, protocol, verdict, figures=figures, detail=text)


def properties_broken(
    catalog: Iterable[Case],
    mutants: Iterable[Mutant],
    results: Iterable[Result],
    protocol: str,
) -> Result:
    """Return whether each property of the protocol can be broken, by a mutant or by a case."""
    cases = {case.name: case for case in catalog}
    mutants = [mutant for mutant in mutants if mutant.protocol == protocol]
    catalog = [case for case in cases.values() if case.protocol == protocol]
    killed = {result.name for result in results if result.verdict == HOLDS}
    by_mutant = {mutant.breaks: mutant.name for mutant in mutants if mutant.name in killed}
    # A case whose expected answer is a violation breaks its property without further damage.
    by_case = {case.expected: case.name for case in catalog if case.expected != CATALOG_HOLDS}
    asked = sorted({name for case in catalog for name in case.properties})
    held = {name for case in catalog if case.expected == CATALOG_HOLDS for name in case.properties}
    # A property that holds in no case has no instance that a mutant could break.
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
    return Result(_properties_name(protocol), protocol, verdict, figures=figures, detail=detail)


def actions_reached(catalog: Iterable[Case], protocol: str) -> Result:
    """Return whether each action is taken somewhere in the graphs of the small repaired cases.

    What only the lack of an assumption lets happen is taken where the case lacks it. An action that
    these do not take is looked for in the first states of larger ones, and then of those that take
    rules back: without a rule the protocol may have steps of its own, which the figures name.
    """
    reached: Counter[str] = Counter()
    without: set[str] = set()
    cases = select(catalog, names=[protocol], tier=TIERS[1])
    asked = [case for case in cases if case.expected == CATALOG_HOLDS or case.lacking]
    small = [case for case in asked if (case.distinct or SMALL) <= SMALL]
    others = sorted(
        (case for case in cases if case not in small), key=lambda case: len(case.unlike)
    )
    actions = spec_actions(cases)
    for case in (*small, *others):
        if case not in small and all(reached[action] for action in actions):
            break
        model = machine_of(protocol, case.constants, case.name)
        limit = SMALL if case in small or case.unlike else LARGE
        counts = explore(model, limit=limit, invariants={}).graph.action_counts()
        if case.unlike and case not in small:
            without |= {action for action in actions if counts.get(action) and not reached[action]}
        reached.update(counts)
    absent = [action for action in actions if not reached[action]]
    figures: dict[str, object] = {
        "actions": len(actions),
        "reached": len(actions) - len(absent),
        "edges_by_action": dict(sorted(reached.items())),
        WITHOUT_A_RULE: sorted(without),
    }
    detail = "\n".join(f"no small case reaches {action}" for action in absent)
    verdict = VIOLATED if absent else HOLDS
    return Result(_actions_name(protocol), protocol, verdict, figures=figures, detail=detail)


def reproduce(args: argparse.Namespace) -> str:
    """Return the command that damages the same again."""
    words = ["raincheck", "mutate", *args.names]
    words += ["--quick"] if args.quick else []
    words += ["--undo"] if args.undo else []
    words += ["--judges"] if args.judges else []
    words += ["--traces", str(args.traces)] if args.traces is not None else []
    words += ["--damages", str(args.damages)] if args.damages is not None else []
    words += ["--runs", str(args.runs)] if args.runs != RUNS else []
    words += ["--seed", str(args.seed)] if args.seed != 1 else []
    return shlex.join(words)


def table(mutants: Iterable[Mutant], results: Iterable[Result]) -> str:
    """Return which checks noticed which mutant, as lines of text."""
    by_name = {result.name: result for result in results}
    lines = []
    for mutant in mutants:
        killers = by_name[mutant.name].figures["killed_by"]
        lines.append(f"{mutant.name:40} {killers or 'SURVIVES'}\n{'':40} {mutant.shows}")
    return "\n".join(lines) + "\n"
