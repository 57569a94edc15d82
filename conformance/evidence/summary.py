"""The summary of an audit as a published, versioned form: what `summary.json` says.

`docs/audit-summary.schema.json` is the JSON Schema of these classes. A field may be added within a
version; one that goes or changes its meaning makes a new version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from raincheck.conformance.outcome import INCONCLUSIVE, plain

from .basis import Basis
from .witnesses import kill_rates

SCHEMA: Final = "raincheck.audit/1"
CHANGES: Final = 12
"""The most changes that the terminal shows."""


class CellForm(msgspec.Struct, forbid_unknown_fields=True):
    """What one kind of evidence says."""

    verdict: str
    text: str


class RootForm(msgspec.Struct, forbid_unknown_fields=True):
    """An assumption that nothing discharges, and what it would cost if it broke."""

    protocol: str
    name: str
    layer: str
    words: str
    cost: str
    properties: list[str]


class PropertyForm(msgspec.Struct, forbid_unknown_fields=True):
    """A property: it holds, as long as these assumptions do."""

    protocol: str
    name: str
    words: str
    verdict: str
    as_long_as: list[str]
    rests_on: list[str]
    circles: list[list[str]]
    amber: list[str]
    witnesses: dict[str, str]
    cells: dict[str, CellForm]


class CaseForm(msgspec.Struct, forbid_unknown_fields=True):
    """A case, and TLC's answer."""

    protocol: str
    tier: str
    verdict: str
    expected: str
    as_implemented: bool
    distinct_states: int
    depth: int
    asks: list[str]
    idle: list[str]


class AssumptionForm(msgspec.Struct, forbid_unknown_fields=True):
    """An assumption of a protocol, and whether it is discharged."""

    layer: str
    words: str
    verdict: str
    discharged_by: list[str]


class KillForm(msgspec.Struct, forbid_unknown_fields=True):
    """Planted faults that a kind of evidence should have caught."""

    tried: int
    caught: int
    survivors: list[str]


class MachineForm(msgspec.Struct, forbid_unknown_fields=True):
    """The machine, without its name."""

    system: str
    processor: str
    processors: int


class IdentityForm(msgspec.Struct, forbid_unknown_fields=True):
    """Of what the audit speaks."""

    commit: str
    clean: bool
    changed: list[str]
    tools: dict[str, str]
    machine: MachineForm
    sources: dict[str, str]


class RunForm(msgspec.Struct, forbid_unknown_fields=True):
    """When it was made, from which sources, and how what it left can be told from other things."""

    started: str
    seconds: float
    sources: str
    files: dict[str, str] = {}
    checksum: str = ""


class AuditSummary(msgspec.Struct, forbid_unknown_fields=True):
    """All of `summary.json`."""

    verb: str
    verdict: str
    schema: str
    tier: str
    seed: int
    incomplete: list[str]
    not_offered: dict[str, list[str]]
    not_proved: list[str]
    rests_on: list[RootForm]
    reused: bool
    written_again_from: str
    against: str
    latest_full: dict[str, Any]
    results: list[dict[str, Any]]
    reproduce: str
    properties: list[PropertyForm]
    cases: dict[str, CaseForm]
    assumptions: dict[str, AssumptionForm]
    protocols: dict[str, dict[str, CellForm]]
    kill_rates: dict[str, KillForm]
    identity: IdentityForm
    run: RunForm
    changes: list[tuple[str, str]] = []
    resumed: bool = False


def schema_text() -> str:
    """Return the JSON Schema of a summary."""
    text = msgspec.json.encode(msgspec.json.schema(AuditSummary), order="deterministic")
    return msgspec.json.format(text, indent=2).decode() + "\n"


def summary_of(
    basis: Basis, said: Mapping[str, Any], identity: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parts of the summary before the results, and those after them."""
    head = {
        "schema": SCHEMA,
        **said,
        "incomplete": list(basis.incomplete),
        "not_offered": {
            row.protocol: list(row.not_offered) for row in basis.protocols if row.not_offered
        },
        "not_proved": [
            f"{row.protocol}.{row.name}"
            for row in basis.properties
            if row.cells["Z3"].verdict == INCONCLUSIVE
        ],
        "rests_on": _roots(basis),
    }
    more = {
        "properties": [
            {
                "protocol": row.protocol,
                "name": row.name,
                "words": row.words,
                "verdict": row.verdict,
                "as_long_as": [f"{p}.{n}" for p, n in row.closure.roots],
                "rests_on": [f"{p}.{n}" for p, n in row.closure.properties],
                "circles": row.closure.circles,
                "amber": row.amber,
                "witnesses": dict(row.witnesses),
                "cells": dict(row.cells),
            }
            for row in basis.properties
        ],
        "cases": {
            case.name: {
                "protocol": case.protocol,
                "tier": case.tier,
                "verdict": entry["verdict"],
                "expected": case.expected,
                "as_implemented": case.as_implemented,
                "distinct_states": int(entry.get("distinct_states", 0)),
                "depth": int(entry.get("depth", 0)),
                "asks": case.properties,
                "idle": case.idle,
            }
            for case, entry in basis.cases
        },
        "assumptions": {
            f"{row.assumption.protocol}.{row.assumption.name}": {
                "layer": row.assumption.layer,
                "words": row.assumption.words,
                "verdict": row.cell.verdict,
                "discharged_by": row.assumption.evidence,
            }
            for row in basis.assumptions
        },
        "protocols": {row.protocol: dict(row.links) for row in basis.protocols},
        "kill_rates": {
            kind: {
                "tried": tried,
                "caught": caught,
                "survivors": [
                    f"{fault.name} ({fault.words})" if fault.words else fault.name
                    for fault in basis.faults
                    if fault.kind == kind and not fault.caught
                ],
            }
            for kind, (caught, tried) in kill_rates(basis.faults).items()
        },
        "identity": dict(identity),
    }
    return plain(head), plain(more)


def _roots(basis: Basis) -> list[dict[str, object]]:
    """Return the assumptions on which the whole rests, those of most properties first."""
    known = {
        (row.assumption.protocol, row.assumption.name): row.assumption for row in basis.assumptions
    }
    roots = basis.roots.items()
    return [
        {
            "protocol": protocol,
            "name": name,
            "layer": known[protocol, name].layer,
            "words": known[protocol, name].words,
            "cost": known[protocol, name].cost,
            "properties": properties,
        }
        for (protocol, name), properties in sorted(roots, key=lambda each: -len(each[1]))
    ]


def headline(head: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the lines that stand before all results: what nobody may overlook."""
    lines = []
    if head["incomplete"]:
        lines.append(f"INCOMPLETE: {'; '.join(head['incomplete'])}")
    if head["reused"]:
        lines.append("REUSED: some evidence may be of earlier runs (--reuse)")
    if head["resumed"]:
        lines.append("RESUMED: the audit was interrupted, and went on with the same sources")
    if head["written_again_from"]:
        lines.append(f"WRITTEN AGAIN from the evidence in {head['written_again_from']}")
    for protocol, links in head["not_offered"].items():
        lines.append(f"not offered by {protocol}: {', '.join(links)}")
    found = head.get("changes", ())
    lines += [f"{kind}: {text}" for kind, text in found[:CHANGES]]
    if len(found) > CHANGES:
        lines.append(f"changed: {len(found) - CHANGES} things more, on the page")
    if "changes" in head and not found:
        lines.append("changed: nothing but times")
    return tuple(lines)
