"""The verdicts of the audit: what each cell of its page says, and on which results it rests.

Law of this file: it adds nothing up that was not found. Evidence that is missing, or that speaks of
less than it should, becomes "inconclusive"; only what a step's own summary says counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from raincheck.conformance.cases.tables import HOLDS, NOT_FOUND, Assumption, Case
from raincheck.conformance.outcome import INCONCLUSIVE, VIOLATED
from raincheck.conformance.protocols.registry import protocols
from raincheck.conformance.report.pages import judged_over
from raincheck.conformance.tlc.spec import comment_above, spec_of

from .basis import (
    OPEN,
    AssumptionRow,
    Basis,
    Cell,
    Entry,
    FlawRow,
    PropertyRow,
    Step,
    agrees,
    excused,
)
from .links import actions_of, links_of, of_protocol, protocol_rows
from .needs import SEQUENCER, needs_of


def compile_basis(
    steps: Sequence[Step], cases: Iterable[Case], assumptions: Iterable[Assumption]
) -> Basis:
    """Put the steps' results together, in the order of the catalog."""
    cases = tuple(cases)
    by_name = {step.name: {str(entry["name"]): entry for entry in step.results} for step in steps}
    checked = by_name.get("check", {})
    ran = tuple(case for case in cases if case.name in checked)
    needs = needs_of(cases, assumptions := tuple(assumptions))
    gaps = frozenset((each.protocol, each.name) for each in assumptions if not each.evidence)
    properties = tuple(_property_rows(ran, by_name, needs, gaps))
    return Basis(
        steps=tuple(steps),
        properties=properties,
        assumptions=tuple(
            _assumption_row(each, needs, by_name, properties) for each in assumptions
        ),
        flaws=tuple(_flaw_rows(ran, checked)),
        links=tuple(links_of(by_name)),
        protocols=tuple(protocol_rows(cases, by_name)),
        actions=actions_of(by_name),
    )


# ---------------------------------------------------------------------- properties

STRUCTURE: Final = frozenset({"TypeOK"})
"""Invariants about the shape of the state: checked, but no promise to users."""


def _property_rows(
    cases: Sequence[Case],
    by_name: Mapping[str, Mapping[str, Entry]],
    needs: Mapping[tuple[str, str], tuple[str, ...]],
    gaps: frozenset[tuple[str, str]],
) -> Iterable[PropertyRow]:
    promised: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        if case.expected in (HOLDS, NOT_FOUND) and case.as_implemented:
            for name in case.properties:
                if name not in STRUCTURE:
                    promised.setdefault((case.protocol, name), []).append(case)
    for (protocol, name), holding in promised.items():
        proofs = of_protocol(by_name.get("prove"), protocol)
        of_mine = [case for case in cases if case.protocol == protocol]
        cells = {
            "TLC": _tlc_cell(holding, of_mine, name, by_name.get("check", {})),
            "Z3": _proof_cell(protocol, proofs, name),
            "mirror": _mirror_cell(holding, by_name.get("mirror", {})),
            "field": _field_cell(by_name, name, protocol),
        }
        words = comment_above(spec_of(holding[0].module), name)
        needed = needs.get((protocol, name), ())
        unmet = tuple(each for each in needed if (protocol, each) in gaps)
        yield PropertyRow(protocol, name, words, needed, cells, unmet)


def _tlc_cell(
    holding: Sequence[Case], cases: Sequence[Case], name: str, checked: Mapping[str, Entry]
) -> Cell:
    good = [case for case in holding if agrees(checked[case.name])]
    if len(good) < len(holding):
        bad = [case for case in holding if case not in good]
        undecided = all(checked[case.name]["verdict"] == INCONCLUSIVE for case in bad)
        verdict = INCONCLUSIVE if undecided else VIOLATED
        return Cell(verdict, ", ".join(case.name for case in bad))
    holding = [case for case in holding if name not in case.idle]
    simulated = [case.simulate for case in holding if case.simulate is not None]
    holding = [case for case in holding if case.simulate is None]
    if simulated and not holding:
        made = sum(each.behaviours for each in simulated)
        return Cell(INCONCLUSIVE, f"not found in {made:,} behaviours")
    if not holding:
        return Cell(INCONCLUSIVE, f"asked in {len(good)} instances, exercised in none")
    states = sum(int(checked[case.name].get("distinct_states", 0)) for case in holding)
    broken = sum(1 for case in cases if case.expected == name)
    return Cell(HOLDS, f"{len(holding)} instances, {states:,} states; broken in {broken} cases")


def _mirror_cell(holding: Sequence[Case], mirrored: Mapping[str, Entry]) -> Cell:
    holding = [case for case in holding if case.simulate is None]
    there = [mirrored[case.name] for case in holding if case.name in mirrored]
    if not there:
        return Cell(INCONCLUSIVE, "no graph was compared")
    if not all(map(agrees, there)):
        return Cell(VIOLATED, "a graph differs")
    edges = sum(int(entry.get("edges", 0)) for entry in there)
    verdict = HOLDS if len(there) == len(holding) else INCONCLUSIVE
    return Cell(verdict, f"{len(there)} of {len(holding)} graphs equal, {edges:,} edges")


def _proof_cell(protocol: str, proofs: Mapping[str, Entry] | None, name: str) -> Cell:
    record = protocols().get(protocol)
    if not proofs and record is not None and not record.offers("proof"):
        return Cell(INCONCLUSIVE, "no proof is offered: bounded evidence only")
    return _named_cell(proofs, name, "not proved: bounded evidence only")


def _named_cell(entries: Mapping[str, Entry] | None, name: str, silent: str) -> Cell:
    """Return the results of a step that name this property."""
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


FIELD: Final = ("run", "conform", "conform-spark")
"""The steps whose results come from real processes."""


def _field_cell(by_name: Mapping[str, Mapping[str, Entry]], name: str, protocol: str) -> Cell:
    """Return what the runs of real processes and their traces say about a property.

    Only SEQUENCER's properties are judged one by one. The trace of another protocol is a behaviour
    of its model or it is not; if it is, all properties of the model are its properties.
    """
    if protocol != SEQUENCER:
        return trace_cell(by_name, protocol)
    found = [
        entry
        for step in FIELD
        for entry in by_name.get(step, {}).values()
        if _speaks_of(entry, name)
    ]
    if not found:
        return Cell(INCONCLUSIVE, "no trace speaks of it")
    runs = [entry for entry in by_name.get("run", {}).values() if "events" in entry]
    events = sum(int(entry["events"]) for entry in runs)
    scope = f"{len(runs)} runs, {events:,} events"
    over = _over(by_name.get("run", {}), name)
    return _judged(found, f"{scope}; {over}" if over else scope)


def _over(entries: Mapping[str, Entry], name: str) -> str:
    """Return over how many members, views and messages the field runs have judged a property."""
    entry = entries.get(name, {})
    judged = entry.get("judged")
    return judged_over(judged) if isinstance(judged, dict) else ""


def trace_cell(by_name: Mapping[str, Mapping[str, Entry]], protocol: str) -> Cell:
    """Return what the traces of a protocol's real cores say: whether each event is one of the
    model's.
    """
    found = [
        entry
        for step in FIELD[1:]
        for entry in (of_protocol(by_name.get(step), protocol) or {}).values()
        if "events" in entry
    ]
    if not found:
        return Cell(INCONCLUSIVE, "no trace of it")
    events = sum(int(entry["events"]) for entry in found)
    return _judged(found, f"{len(found)} traces, {events:,} events, each one the model's")


def _judged(found: Sequence[Entry], scope: str) -> Cell:
    gaps = sorted({str(entry["assumption"]) for entry in found if excused(entry)})
    if gaps:
        return Cell(INCONCLUSIVE, f"broken where {', '.join(gaps)} was missing; {scope}")
    if any(not agrees(entry) and entry["verdict"] != INCONCLUSIVE for entry in found):
        return Cell(VIOLATED, scope)
    if any(entry["verdict"] == INCONCLUSIVE for entry in found):
        return Cell(INCONCLUSIVE, f"not decided in every run; {scope}")
    return Cell(HOLDS, scope)


# ---------------------------------------------------------------------- assumptions


def _assumption_row(
    assumption: Assumption,
    needs: Mapping[tuple[str, str], tuple[str, ...]],
    by_name: Mapping[str, Mapping[str, Entry]],
    properties: Sequence[PropertyRow],
) -> AssumptionRow:
    needed_by = tuple(
        name
        for (protocol, name), names in needs.items()
        if protocol == assumption.protocol and assumption.name in names
    )
    if not assumption.evidence:
        return AssumptionRow(assumption, needed_by, Cell(OPEN, assumption.note))
    cells = [_evidence(name, by_name, properties) for name in assumption.evidence]
    verdicts = {cell.verdict for cell in cells}
    worst = next((kind for kind in (VIOLATED, INCONCLUSIVE) if kind in verdicts), HOLDS)
    return AssumptionRow(assumption, needed_by, Cell(worst, "; ".join(c.text for c in cells)))


def _evidence(
    name: str, by_name: Mapping[str, Mapping[str, Entry]], properties: Sequence[PropertyRow]
) -> Cell:
    """Return the results that discharge an assumption, by the catalog's word for them.

    "Agreement" is a property of SEQUENCER judged in the field, "nakack.GapFree" a property of
    another protocol on all its evidence, "trace nakack" that protocol's traces, and "case
    stack-views" one question to TLC.
    """
    kind, _, rest = name.partition(" ")
    if kind == "trace" and rest:
        cell = trace_cell(by_name, rest)
        return Cell(cell.verdict, f"field, {rest}: {cell.text}")
    if kind == "case" and rest:
        entry = by_name.get("check", {}).get(rest)
        if entry is None:
            return Cell(INCONCLUSIVE, f"{rest}: was not checked")
        figures = f"{int(entry.get('distinct_states', 0)):,} states"
        return Cell(HOLDS if agrees(entry) else VIOLATED, f"TLC, {rest}: {figures}")
    protocol, dot, wanted = name.partition(".")
    if dot:
        row = next((r for r in properties if (r.protocol, r.name) == (protocol, wanted)), None)
        if row is None:
            return Cell(INCONCLUSIVE, f"{name}: no case promises it")
        rests = ", ".join(f"{k} {c.verdict}" for k, c in row.cells.items() if c.verdict == HOLDS)
        return Cell(row.verdict, f"{name} ({rests or 'no evidence'})")
    cell = _field_cell(by_name, name, SEQUENCER)
    return Cell(cell.verdict, f"field: {cell.text}")


# ---------------------------------------------------------------------- holes


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
            tuple(pair for pair in outcomes if pair[0].expected not in (HOLDS, NOT_FOUND)),
            tuple(pair for pair in outcomes if pair[0].expected == HOLDS),
        )
