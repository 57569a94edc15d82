"""Weighing the steps' results: which cell of the dossier says what, and why.

Law of this file: it adds nothing up that was not found. Evidence that is missing, or that speaks of
less than it should, becomes "inconclusive"; only what a step's own summary says counts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from raincheck.conformance.tlc.catalog import HOLDS, Assumption, Case
from raincheck.conformance.tlc.cfgfile import read_cfg
from raincheck.conformance.tlc.tlaspec import comment_above
from raincheck.model.values import Value

from .dossier import (
    OPEN,
    AssumptionRow,
    Cell,
    Dossier,
    Entry,
    FlawRow,
    Link,
    PropertyRow,
    Step,
    agrees,
    excused,
)
from .outcome import INCONCLUSIVE, VIOLATED


def compile_dossier(
    steps: Sequence[Step], cases: Iterable[Case], assumptions: Iterable[Assumption]
) -> Dossier:
    """Put the steps' results together, by the catalog."""
    cases = tuple(cases)
    by_name = {step.name: {str(entry["name"]): entry for entry in step.results} for step in steps}
    checked = by_name.get("check", {})
    ran = tuple(case for case in cases if case.name in checked)
    needs = _needs(cases, assumptions := tuple(assumptions))
    gaps = frozenset(each.name for each in assumptions if not each.evidence)
    return Dossier(
        steps=tuple(steps),
        properties=tuple(_property_rows(ran, by_name, needs, gaps)),
        assumptions=tuple(_assumption_row(each, needs, by_name) for each in assumptions),
        flaws=tuple(_flaw_rows(ran, checked)),
        links=tuple(_links(by_name)),
        actions=_actions(by_name),
    )


# ---------------------------------------------------------------------- properties

STRUCTURE: Final = frozenset({"TypeOK"})
"""Invariants about the shape of the state: checked, but no promise to anybody."""


def _property_rows(
    cases: Sequence[Case],
    by_name: Mapping[str, Mapping[str, Entry]],
    needs: Mapping[tuple[str, str], tuple[str, ...]],
    gaps: frozenset[str],
) -> Iterable[PropertyRow]:
    promised: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        if case.expected == HOLDS and _repaired(case):
            for name in case.properties:
                if name not in STRUCTURE:
                    promised.setdefault((case.protocol, name), []).append(case)
    for (protocol, name), holding in promised.items():
        cells = {
            "TLC": _tlc_cell(holding, cases, name, by_name.get("check", {})),
            "Z3": _named_cell(by_name.get("prove"), name, "not proved: bounded evidence only"),
            "mirror": _mirror_cell(holding, by_name.get("mirror", {})),
            "field": _field_cell(by_name, name),
        }
        words = comment_above(holding[0].module.with_name(_spec_of(holding[0])), name)
        needed = needs.get((protocol, name), ())
        unmet = tuple(each for each in needed if each in gaps)
        yield PropertyRow(protocol, name, words, needed, cells, unmet)


def _spec_of(case: Case) -> str:
    return case.module.name.removeprefix("MC")


def _tlc_cell(
    holding: Sequence[Case], cases: Sequence[Case], name: str, checked: Mapping[str, Entry]
) -> Cell:
    good = [case for case in holding if agrees(checked[case.name])]
    if len(good) < len(holding):
        return Cell(VIOLATED, ", ".join(c.name for c in holding if c not in good))
    states = sum(int(checked[case.name].get("distinct_states", 0)) for case in holding)
    broken = sum(1 for case in cases if case.expected == name)
    return Cell(HOLDS, f"{len(holding)} instances, {states:,} states; broken in {broken} cases")


def _mirror_cell(holding: Sequence[Case], mirrored: Mapping[str, Entry]) -> Cell:
    there = [mirrored[case.name] for case in holding if case.name in mirrored]
    if not there:
        return Cell(INCONCLUSIVE, "no graph was compared")
    if not all(map(agrees, there)):
        return Cell(VIOLATED, "a graph differs")
    edges = sum(int(entry.get("edges", 0)) for entry in there)
    verdict = HOLDS if len(there) == len(holding) else INCONCLUSIVE
    return Cell(verdict, f"{len(there)} of {len(holding)} graphs equal, {edges:,} edges")


def _named_cell(entries: Mapping[str, Entry] | None, name: str, silent: str) -> Cell:
    """The results of a step that speak of this property by name."""
    found = [entry for entry in (entries or {}).values() if _speaks_of(entry, name)]
    if not found:
        return Cell(INCONCLUSIVE, silent if entries is not None else "was not run")
    if any(entry["verdict"] == VIOLATED for entry in found):
        return Cell(VIOLATED, str(found[0].get("detail", "")).partition("\n")[0])
    if not all(entry["verdict"] == HOLDS for entry in found):
        return Cell(INCONCLUSIVE, str(found[0].get("detail", "")).partition("\n")[0])
    if not all(agrees(entry) for entry in (entries or {}).values()):
        return Cell(INCONCLUSIVE, "the invariant it follows from is not proved")
    return Cell(HOLDS, "proved for any number of messages, views and members")


def _speaks_of(entry: Entry, name: str) -> bool:
    said = str(entry["name"])
    return said == name or said.endswith((f": {name}", f" {name}", f"-{name}", f"/{name}"))


def _field_cell(by_name: Mapping[str, Mapping[str, Entry]], name: str) -> Cell:
    """What the real processes' runs and their traces say of a property."""
    recorded = by_name.get("run", {})
    found = [
        entry
        for entries in (recorded, by_name.get("conform", {}), by_name.get("conform-spark", {}))
        for entry in entries.values()
        if _speaks_of(entry, name)
    ]
    if not found:
        return Cell(INCONCLUSIVE, "no trace speaks of it")
    runs = [entry for entry in recorded.values() if "events" in entry]
    events = sum(int(entry["events"]) for entry in runs)
    scope = f"{len(runs)} runs, {events:,} events"
    gaps = sorted({str(entry["assumption"]) for entry in found if excused(entry)})
    if gaps:
        return Cell(INCONCLUSIVE, f"broken where {', '.join(gaps)} was missing; {scope}")
    if any(not agrees(entry) and entry["verdict"] != INCONCLUSIVE for entry in found):
        return Cell(VIOLATED, scope)
    if any(entry["verdict"] == INCONCLUSIVE for entry in found):
        return Cell(INCONCLUSIVE, f"not decided in every run; {scope}")
    return Cell(HOLDS, scope)


# ---------------------------------------------------------------------- assumptions


def _repaired(case: Case) -> bool:
    """Tell whether the case speaks of the protocol as it is implemented."""
    return "undone" not in case.name and not case.name.endswith("-seed") and _all_on(case)


def _all_on(case: Case) -> bool:
    constants = read_cfg(case.cfg).constants
    return (
        all(value is not False for name, value in constants.items() if name not in _ENVIRONMENT)
        and constants.get("JoinPolicy", "table") == "table"
    )


_ENVIRONMENT: Final = frozenset({"VirtualSynchrony", "FifoForward"})


def _needs(
    cases: Sequence[Case], assumptions: Sequence[Assumption]
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Which property needs which assumption: a case that lacks just that one breaks it."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for case in cases:
        if case.expected == HOLDS:
            continue
        constants: Mapping[str, Value] = read_cfg(case.cfg).constants
        off = [name for name, value in constants.items() if value is False]
        if len(off) != 1 or constants.get("JoinPolicy", "table") != "table":
            continue
        for each in assumptions:
            if each.name == off[0] and each.protocol == case.protocol:
                found.setdefault((case.protocol, case.expected), {})[each.name] = None
    return {key: tuple(names) for key, names in found.items()}


def _assumption_row(
    assumption: Assumption,
    needs: Mapping[tuple[str, str], tuple[str, ...]],
    by_name: Mapping[str, Mapping[str, Entry]],
) -> AssumptionRow:
    needed_by = tuple(
        name
        for (protocol, name), names in needs.items()
        if protocol == assumption.protocol and assumption.name in names
    )
    if not assumption.evidence:
        return AssumptionRow(assumption, needed_by, Cell(OPEN, assumption.note))
    cells = [_field_cell(by_name, name) for name in assumption.evidence]
    worst = next(
        (cell for kind in (VIOLATED, INCONCLUSIVE) for cell in cells if cell.verdict == kind),
        cells[0],
    )
    return AssumptionRow(assumption, needed_by, Cell(worst.verdict, f"field: {worst.text}"))


# ---------------------------------------------------------------------- holes, actions


def _flaw_rows(cases: Sequence[Case], checked: Mapping[str, Entry]) -> Iterable[FlawRow]:
    flaws: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        if case.flaw:
            flaws.setdefault((case.protocol, case.flaw), []).append(case)
    for (protocol, flaw), theirs in flaws.items():
        outcomes = [(case, agrees(checked[case.name])) for case in theirs]
        yield FlawRow(
            protocol,
            flaw,
            tuple(pair for pair in outcomes if pair[0].expected != HOLDS),
            tuple(pair for pair in outcomes if pair[0].expected == HOLDS),
        )


def _links(by_name: Mapping[str, Mapping[str, Entry]]) -> Iterable[Link]:
    """What holds specification, model, implementation and field together."""
    yield _link(
        "specification = model",
        "the same labelled graph, state by state and edge by edge",
        by_name.get("mirror"),
        lambda found: f"{len(found)} graphs, {_sum(found, 'edges'):,} edges",
    )
    generated = by_name.get("generate")
    walked: list[Entry] = []
    rest: list[Entry] = []
    locked: list[Entry] = []
    for entry in (generated or {}).values():
        (locked if "examples" in entry else walked if "covered" in entry else rest).append(entry)
    yield _link(
        "model = implementation, replayed",
        "every edge of the bounded graphs, taken by the real code",
        _entries(generated, walked),
        lambda found: (
            f"{_sum(found, 'covered'):,} of {_sum(found, 'edges'):,} edges, "
            f"{_sum(found, 'steps'):,} steps"
        ),
    )
    yield _link(
        "guards",
        "each conjunct of each guard seen false, each action taken",
        _entries(generated, rest),
        lambda found: (
            f"{_sum(found, 'seen_false')} of {_sum(found, 'guards')} conjuncts, "
            f"{_sum(found, 'reached')} of {_sum(found, 'actions')} actions"
        ),
    )
    yield _link(
        "model = implementation, in lockstep",
        "random groups with runs of messages, by Hypothesis",
        _entries(generated, locked),
        lambda found: f"{_sum(found, 'examples')} groups, {_sum(found, 'steps'):,} steps",
    )
    for engine in ("conform", "conform-spark"):
        yield _link(
            f"implementation = field ({engine})",
            "every recorded event of real processes, against the model",
            by_name.get(engine),
            lambda found: f"{_sum(found, 'events'):,} events, {_sum(found, 'files')} processes",
        )
    yield _link(
        "the checks themselves",
        "damage done on purpose, each noticed by the check that should",
        by_name.get("mutate"),
        lambda found: f"{len(found)} mutants, none survived",
    )


def _link(
    between: str,
    how: str,
    entries: Mapping[str, Entry] | None,
    text: Callable[[Sequence[Entry]], str],
) -> Link:
    found = list((entries or {}).values())
    if not found:
        return Link(between, how, Cell(INCONCLUSIVE, "was not run"))
    bad = [entry for entry in found if not agrees(entry) and not excused(entry)]
    if bad:
        names = ", ".join(str(entry["name"]) for entry in bad[:3])
        undecided = all(entry["verdict"] == INCONCLUSIVE for entry in bad)
        return Link(between, how, Cell(INCONCLUSIVE if undecided else VIOLATED, names))
    return Link(between, how, Cell(HOLDS, text(found)))


def _entries(ran: Mapping[str, Entry] | None, found: Sequence[Entry]) -> Mapping[str, Entry] | None:
    return None if ran is None else {str(entry["name"]): entry for entry in found}


def _sum(entries: Sequence[Entry], figure: str) -> int:
    return sum(int(entry.get(figure, 0)) for entry in entries)


_COUNTS: Final = ("actions", "edges_by_action", "steps_by_action")
"""The figures that count by action, in the words of the several verbs."""


def _actions(by_name: Mapping[str, Mapping[str, Entry]]) -> dict[str, dict[str, int]]:
    """How often each action was taken, by the kind of evidence that reached it."""
    found: dict[str, dict[str, int]] = {}
    for step, entries in by_name.items():
        for entry in entries.values():
            kind = "lockstep" if "examples" in entry else step
            for figure in _COUNTS:
                counts = entry.get(figure)
                for action, count in counts.items() if isinstance(counts, Mapping) else ():
                    row = found.setdefault(str(action), {})
                    row[kind] = row.get(kind, 0) + int(count)
    return dict(sorted(found.items()))
