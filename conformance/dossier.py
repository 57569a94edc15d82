"""What the evidence amounts to: per property, per assumption and per hole, on what it rests.

Law of this file: it adds nothing up that was not found. Evidence that is missing, or that speaks of
less than it should, is shown as missing; only what a step's own summary says counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from raincheck.model.values import Value

from .catalog import HOLDS, Assumption, Case
from .cfgfile import read_cfg
from .outcome import INCONCLUSIVE, VIOLATED, Result
from .tlaspec import comment_above

OPEN: Final = "not discharged"
Entry = Mapping[str, Any]
"""One entry of a step's "results"."""


@dataclass(frozen=True, slots=True)
class Step:
    """A verb that the audit ran, and what it answered."""

    name: str
    verb: str
    command: str
    verdict: str
    seconds: float
    folder: str
    results: tuple[Entry, ...] = ()
    problem: str = ""
    """Why there are no results, in one sentence."""

    @property
    def as_expected(self) -> int:
        """How many of its results are what the catalog foresees."""
        return sum(1 for entry in self.results if agrees(entry))

    @property
    def surprises(self) -> tuple[Entry, ...]:
        """The results that are not; those that only show a known gap are no surprise."""
        return tuple(entry for entry in self.results if not agrees(entry) and not _excused(entry))

    @property
    def judgement(self) -> str:
        """The step's verdict, unless all that speaks against it is a known gap."""
        if self.problem or self.verdict == HOLDS or self.surprises:
            return self.verdict
        return HOLDS if self.results else self.verdict


@dataclass(frozen=True, slots=True)
class Cell:
    """What one kind of evidence says of one property: a verdict and the figures behind it."""

    verdict: str
    text: str


@dataclass(frozen=True, slots=True)
class PropertyRow:
    """A property of a protocol and the evidence for it, by kind."""

    protocol: str
    name: str
    words: str
    assumptions: tuple[str, ...]
    cells: Mapping[str, Cell]

    @property
    def verdict(self) -> str:
        """Violated by any evidence; else inconclusive if a kind that must speak is silent."""
        verdicts = {cell.verdict for cell in self.cells.values()}
        if VIOLATED in verdicts:
            return VIOLATED
        return INCONCLUSIVE if self.cells["TLC"].verdict != HOLDS else HOLDS


@dataclass(frozen=True, slots=True)
class FlawRow:
    """A hole of the seed: which cases show it, which show it closed."""

    protocol: str
    flaw: str
    exhibited: tuple[tuple[Case, bool], ...]
    closed: tuple[tuple[Case, bool], ...]

    @property
    def verdict(self) -> str:
        """Whether each of its cases came out as the catalog says."""
        return HOLDS if all(ok for _, ok in (*self.exhibited, *self.closed)) else VIOLATED


@dataclass(frozen=True, slots=True)
class AssumptionRow:
    """An assumption, and what discharges it."""

    assumption: Assumption
    needed_by: tuple[str, ...]
    cell: Cell


@dataclass(frozen=True, slots=True)
class Dossier:
    """Everything that the page shows."""

    steps: tuple[Step, ...]
    properties: tuple[PropertyRow, ...]
    assumptions: tuple[AssumptionRow, ...]
    flaws: tuple[FlawRow, ...]
    actions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def results(self) -> tuple[Result, ...]:
        """The audit's own results: the steps, the properties, the assumptions, the holes."""
        found = [
            Result(
                f"step {step.name}",
                "all",
                step.judgement,
                figures={
                    "results": len(step.results),
                    "as_expected": step.as_expected,
                    "seconds": step.seconds,
                },
                detail=step.problem or _surprises(step),
            )
            for step in self.steps
        ]
        found += [
            Result(
                f"property {row.name}",
                row.protocol,
                row.verdict,
                figures={kind: f"{cell.verdict} ({cell.text})" for kind, cell in row.cells.items()}
                | {"assumptions": list(row.assumptions)},
            )
            for row in self.properties
        ]
        found += [
            Result(
                f"assumption {row.assumption.name}",
                row.assumption.protocol,
                row.cell.verdict,
                HOLDS if row.assumption.evidence else OPEN,
                {"layer": row.assumption.layer, "needed_by": list(row.needed_by)},
                row.cell.text,
            )
            for row in self.assumptions
        ]
        found += [
            Result(
                f"hole {row.flaw}",
                row.protocol,
                row.verdict,
                figures={
                    "exhibited_by": [case.name for case, _ in row.exhibited],
                    "closed_by": [case.name for case, _ in row.closed],
                },
            )
            for row in self.flaws
        ]
        return tuple(found)


def agrees(entry: Entry) -> bool:
    """Tell whether a result is what was expected."""
    known = {"name", "protocol", "verdict", "expected", "detail"}
    figures = {key: value for key, value in entry.items() if key not in known}
    return Result(
        str(entry["name"]),
        str(entry["protocol"]),
        str(entry["verdict"]),
        str(entry.get("expected", HOLDS)),
        figures,
    ).as_expected


def _excused(entry: Entry) -> bool:
    """Tell whether the result was set apart because an assumption is not discharged."""
    return entry["verdict"] == INCONCLUSIVE and bool(entry.get("assumption"))


def compile_dossier(
    steps: Sequence[Step], cases: Iterable[Case], assumptions: Iterable[Assumption]
) -> Dossier:
    """Put the steps' results together, by the catalog."""
    cases = tuple(cases)
    by_name = {step.name: {str(entry["name"]): entry for entry in step.results} for step in steps}
    checked = by_name.get("check", {})
    ran = tuple(case for case in cases if case.name in checked)
    needs = _needs(cases, assumptions := tuple(assumptions))
    return Dossier(
        steps=tuple(steps),
        properties=tuple(_property_rows(ran, by_name, needs)),
        assumptions=tuple(_assumption_row(each, needs, by_name) for each in assumptions),
        flaws=tuple(_flaw_rows(ran, checked)),
        actions=_actions(by_name),
    )


# ---------------------------------------------------------------------- properties

STRUCTURE: Final = frozenset({"TypeOK"})
"""Invariants about the shape of the state: checked, but no promise to anybody."""


def _property_rows(
    cases: Sequence[Case],
    by_name: Mapping[str, Mapping[str, Entry]],
    needs: Mapping[tuple[str, str], tuple[str, ...]],
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
        yield PropertyRow(protocol, name, words, needs.get((protocol, name), ()), cells)


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
    gaps = sorted({str(entry["assumption"]) for entry in found if _excused(entry)})
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


def _actions(by_name: Mapping[str, Mapping[str, Entry]]) -> dict[str, dict[str, int]]:
    """How often each action was taken, by the kind of evidence that reached it."""
    found: dict[str, dict[str, int]] = {}
    for step, entries in by_name.items():
        for entry in entries.values():
            counts = entry.get("actions")
            if isinstance(counts, Mapping):
                for action, count in counts.items():
                    row = found.setdefault(str(action), {})
                    row[step] = row.get(step, 0) + int(count)
    return dict(sorted(found.items()))


def _surprises(step: Step) -> str:
    return "\n".join(
        f"{entry['name']}: {entry['verdict']}, expected {entry.get('expected', HOLDS)}"
        for entry in step.surprises
    )
