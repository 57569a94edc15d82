"""The verdicts of the audit: what each row of its page says, and on which results it rests.

Law of this file: it adds nothing up that was not found. Evidence that is missing, or that speaks of
less than it should, becomes "inconclusive"; only what a step's own summary says counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from raincheck.conformance.cases.tables import HOLDS, NOT_FOUND, Assumption, Case
from raincheck.conformance.outcome import INCONCLUSIVE, VIOLATED
from raincheck.conformance.protocols.record import Protocol
from raincheck.conformance.protocols.registry import protocols
from raincheck.conformance.replay.mutants import Mutant
from raincheck.conformance.tlc.spec import comment_above, spec_of

from .basis import (
    NOT_OFFERED,
    OPEN,
    AssumptionRow,
    Basis,
    Cell,
    Entry,
    Fault,
    FlawRow,
    PropertyRow,
    Step,
    agrees,
)
from .cells import (
    Found,
    code_cell,
    found_in,
    mirror_cell,
    proof_cell,
    tlc_cell,
)
from .closure import Broken, Closures, broken_by
from .links import actions_of, links_of, of_protocol, only_without_a_rule, protocol_rows
from .needs import needs_of
from .tracecells import field_cell, judged_alone, trace_cell, traces_cell
from .witnesses import faults_of, witness

LINK_OF: Final = {
    "TLC": "specification",
    "Z3": "proofs",
    "mirror": "model",
    "code": "code",
    "traces": "traces",
    "field": "field",
}
"""The kinds of evidence about a property, and the link of a protocol's record for each."""


def compile_basis(
    steps: Sequence[Step],
    cases: Iterable[Case],
    assumptions: Iterable[Assumption],
    mutants: Iterable[Mutant] = (),
) -> Basis:
    """Put the steps' results together, in the order of the catalog."""
    cases, assumptions = tuple(cases), tuple(assumptions)
    found = found_in(steps)
    by_name = found.by_name
    checked = by_name.get("check", {})
    ran = tuple(case for case in cases if case.name in checked)
    faults = faults_of(by_name, cases, tuple(mutants))
    properties = _followed(
        tuple(_property_rows(ran, found, needs_of(cases, assumptions), faults)),
        Closures(cases, assumptions, _broken(cases, by_name)),
    )
    needs = needs_of(cases, assumptions)
    return Basis(
        steps=tuple(steps),
        properties=properties,
        assumptions=tuple(_assumption_row(each, needs, found, properties) for each in assumptions),
        flaws=tuple(_flaw_rows(ran, checked)),
        links=tuple(links_of(by_name, field=found.field)),
        protocols=tuple(protocol_rows(cases, by_name, field=found.field)),
        actions=actions_of(by_name),
        without_a_rule=only_without_a_rule(by_name),
        faults=faults,
        cases=tuple((case, checked[case.name]) for case in ran),
    )


def _followed(rows: Sequence[PropertyRow], closures: Closures) -> tuple[PropertyRow, ...]:
    """Return the rows with what each rests on, and which of that does not hold."""
    bad = {(row.protocol, row.name) for row in rows if row.verdict != HOLDS}
    followed = []
    for row in rows:
        closure = closures.of(row.protocol, row.name)
        fallen = [f"{p}.{n}" for p, n in closure.properties if (p, n) in bad]
        own = f"{row.protocol}.{row.name}"
        followed.append(
            replace(row, closure=closure, fallen=tuple(each for each in fallen if each != own))
        )
    return tuple(followed)


def _broken(cases: Sequence[Case], by_name: Mapping[str, Mapping[str, Entry]]) -> list[Broken]:
    """Return what this audit's results ask of the protocols of each circle."""
    circles = [circle for record in protocols().values() for circle in record.circles]
    held = {
        f"{kind} {name}": entry.get("discharges", ())
        for kind, step in (("case", "check"), ("proof", "prove"))
        for name, entry in by_name.get(step, {}).items()
        if agrees(entry) and entry["verdict"] == HOLDS
    }
    return broken_by(circles, cases, held)


# ---------------------------------------------------------------------- properties

STRUCTURE: Final = frozenset({"TypeOK"})
"""Invariants about the shape of the state: checked, but no promise to users."""


def _property_rows(
    cases: Sequence[Case],
    found: Found,
    needs: Mapping[tuple[str, str], tuple[str, ...]],
    faults: Sequence[Fault],
) -> Iterable[PropertyRow]:
    promised: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        if case.expected in (HOLDS, NOT_FOUND) and case.as_implemented:
            for name in case.properties:
                if name not in STRUCTURE:
                    promised.setdefault((case.protocol, name), []).append(case)
    for (protocol, name), holding in promised.items():
        of_mine = [case for case in cases if case.protocol == protocol]
        cells = _cells(found, protocol, name, holding, of_mine)
        words = _words(holding[0].module, name)
        exact = judged_alone(found.by_name, protocol)
        witnesses = {}
        for kind in cells:
            caught = "traces" if kind == "field" else kind
            # Each step of the code is compared with the model, whatever the property.
            only = kind in ("TLC", "mirror", "Z3") or (caught == "traces" and exact)
            witnesses[kind] = witness(faults, protocol, name, caught, exact=only)
        needed = needs.get((protocol, name), ())
        beyond = holding[0].open.get(name, "")
        row = PropertyRow(protocol, name, words, needed, cells, witnesses=witnesses)
        yield replace(row, open=beyond)


@cache
def _words(module: Path, name: str) -> str:
    """Return what the specification says of the property."""
    return comment_above(spec_of(module), name)


def _cells(
    found: Found, protocol: str, name: str, holding: Sequence[Case], cases: Sequence[Case]
) -> dict[str, Cell]:
    """Return what each kind of evidence says; a kind that is not promised says so."""
    by_name = found.by_name
    record = protocols().get(protocol)
    cells = {
        "TLC": tlc_cell(holding, cases, name, by_name.get("check", {})),
        "Z3": proof_cell(of_protocol(by_name.get("prove"), protocol), name),
        "mirror": mirror_cell(holding, by_name.get("mirror", {})),
        "code": code_cell(holding, cases, name, of_protocol(by_name.get("generate"), protocol)),
        "traces": traces_cell(by_name, name, protocol, field=found.field),
        "field": (
            field_cell(by_name, name, protocol)
            if found.field
            else Cell(INCONCLUSIVE, "no real process was run")
        ),
    }
    return {kind: _offered(cell, record, LINK_OF[kind]) for kind, cell in cells.items()}


def _offered(cell: Cell, record: Protocol | None, link: str) -> Cell:
    """Return the cell, or that its link is not promised and has nothing against it."""
    if record is None or link in record.links or cell.verdict == VIOLATED:
        return cell
    return Cell(NOT_OFFERED, "")


# ---------------------------------------------------------------------- assumptions


def _assumption_row(
    assumption: Assumption,
    needs: Mapping[tuple[str, str], tuple[str, ...]],
    found: Found,
    properties: Sequence[PropertyRow],
) -> AssumptionRow:
    needed_by = tuple(
        name
        for (protocol, name), names in needs.items()
        if protocol == assumption.protocol and assumption.name in names
    )
    if not assumption.evidence:
        return AssumptionRow(assumption, needed_by, Cell(OPEN, assumption.note))
    cells = [_evidence(name, found, properties) for name in assumption.evidence]
    verdicts = {cell.verdict for cell in cells}
    worst = next((kind for kind in (VIOLATED, INCONCLUSIVE, OPEN) if kind in verdicts), HOLDS)
    return AssumptionRow(assumption, needed_by, Cell(worst, "; ".join(c.text for c in cells)))


def _evidence(name: str, found: Found, properties: Sequence[PropertyRow]) -> Cell:
    """Return the results that discharge an assumption, by the catalog's word for them.

    "nakack.GapFree" is a property of a protocol on all its evidence, "field sequencer.Agreement"
    one judged in the field, "trace nakack" that protocol's traces, "case layers-crash" one
    question to TLC, and "assumption gms.AccurateSuspicion" that another one assumes it too.
    """
    by_name = found.by_name
    kind, _, rest = name.partition(" ")
    if kind == "assumption" and rest:
        return Cell(OPEN, f"as {rest} is assumed")
    if kind == "trace" and rest:
        cell = trace_cell(by_name, rest, field=found.field)
        return Cell(cell.verdict, f"field, {rest}: {cell.text}")
    if kind == "case" and rest:
        entry = by_name.get("check", {}).get(rest)
        if entry is None:
            return Cell(INCONCLUSIVE, f"{rest}: was not checked")
        figures = f"{int(entry.get('distinct_states', 0)):,} states"
        return Cell(HOLDS if agrees(entry) else VIOLATED, f"TLC, {rest}: {figures}")
    protocol, _, wanted = (rest or name).partition(".")
    if kind == "field":
        cell = field_cell(by_name, wanted, protocol)
        return Cell(cell.verdict, f"field, {rest}: {cell.text}")
    row = next((r for r in properties if (r.protocol, r.name) == (protocol, wanted)), None)
    if row is None:
        return Cell(INCONCLUSIVE, f"{name}: no case promises it")
    rests = ", ".join(f"{k} {c.verdict}" for k, c in row.cells.items() if c.verdict == HOLDS)
    return Cell(row.verdict, f"{name} ({rests or 'no evidence'})")


# ---------------------------------------------------------------------- holes


def _flaw_rows(cases: Sequence[Case], checked: Mapping[str, Entry]) -> Iterable[FlawRow]:
    flaws: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        if case.flaw:
            flaws.setdefault((case.protocol, case.flaw), []).append(case)
    for (protocol, flaw), theirs in flaws.items():
        outcomes = [(case, agrees(checked[case.name])) for case in theirs]
        exhibited = [pair for pair in outcomes if pair[0].expected not in (HOLDS, NOT_FOUND)]
        closed = [pair for pair in outcomes if pair[0].expected == HOLDS]
        if exhibited:  # else nothing here says that what is closed had been open
            yield FlawRow(protocol, flaw, tuple(exhibited), tuple(closed))
