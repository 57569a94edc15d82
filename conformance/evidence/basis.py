"""The content of the audit's page: each property, assumption and hole with its evidence.

Law of this file: nothing is added to what was found. Evidence that is missing, or that covers less
than it should, is shown as missing; only a step's own summary counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from raincheck.conformance.cases.tables import HOLDS, Assumption, Case
from raincheck.conformance.outcome import INCONCLUSIVE, VIOLATED, Result

OPEN: Final = "not discharged"
Entry = Mapping[str, Any]
"""One entry of a step's "results"."""


@dataclass(frozen=True, slots=True)
class Step:
    """A verb that the audit ran, and its results."""

    name: str
    verb: str
    command: str
    verdict: str
    seconds: float
    folder: str
    results: tuple[Entry, ...] = ()
    problem: str = ""
    """The reason why there are no results, in one sentence."""

    @property
    def as_expected(self) -> int:
        """The number of results that are as the catalog expects."""
        return sum(1 for entry in self.results if agrees(entry))

    @property
    def surprises(self) -> tuple[Entry, ...]:
        """The results that are not as expected, except those that only show a known gap."""
        return tuple(entry for entry in self.results if not agrees(entry) and not excused(entry))

    @property
    def complaint(self) -> str:
        """A line for each surprise."""
        return "\n".join(
            f"{entry['name']}: {entry['verdict']}, expected {entry.get('expected', HOLDS)}"
            for entry in self.surprises
        )

    @property
    def judgement(self) -> str:
        """The step's verdict, unless everything against it is a known gap."""
        if self.problem or self.verdict == HOLDS or self.surprises:
            return self.verdict
        return HOLDS if self.results else self.verdict


@dataclass(frozen=True, slots=True)
class Cell:
    """The answer of one kind of evidence about a property: a verdict and the figures behind it."""

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
    open_assumptions: tuple[str, ...] = ()
    """Those of its assumptions that nothing discharges."""

    @property
    def verdict(self) -> str:
        """Violated by any evidence; else inconclusive if a required kind of evidence is missing."""
        verdicts = {cell.verdict for cell in self.cells.values()}
        if VIOLATED in verdicts:
            return VIOLATED
        return INCONCLUSIVE if self.cells["TLC"].verdict != HOLDS else HOLDS


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two descriptions of a protocol, and the evidence for it."""

    between: str
    how: str
    cell: Cell


@dataclass(frozen=True, slots=True)
class ProtocolRow:
    """A protocol, and the result of each kind of check of it."""

    protocol: str
    cells: Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class FlawRow:
    """A hole of the original design: the cases that show it, and those that show it closed."""

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
    """An assumption, and the results that discharge it."""

    assumption: Assumption
    needed_by: tuple[str, ...]
    cell: Cell


@dataclass(frozen=True, slots=True)
class Basis:
    """The content of the page."""

    steps: tuple[Step, ...]
    properties: tuple[PropertyRow, ...]
    assumptions: tuple[AssumptionRow, ...]
    flaws: tuple[FlawRow, ...]
    links: tuple[Link, ...] = ()
    protocols: tuple[ProtocolRow, ...] = ()
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
                detail=step.problem or step.complaint,
            )
            for step in self.steps
        ]
        found += [
            Result(
                f"property {row.name}",
                row.protocol,
                row.verdict,
                figures={kind: f"{cell.verdict} ({cell.text})" for kind, cell in row.cells.items()}
                | {
                    "assumptions": list(row.assumptions),
                    "not_discharged": list(row.open_assumptions),
                },
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


def excused(entry: Entry) -> bool:
    """Tell whether the result was excused because an assumption is not discharged."""
    return entry["verdict"] == INCONCLUSIVE and bool(entry.get("assumption"))
