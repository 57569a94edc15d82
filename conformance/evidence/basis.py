"""The content of the audit's page: each property, assumption and hole with its evidence.

Law of this file: nothing is added to what was found. Evidence that is missing, or that covers less
than it should, is shown as missing; only a step's own summary counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from raincheck.conformance.cases.tables import HOLDS, Assumption, Case
from raincheck.conformance.outcome import INCONCLUSIVE, VIOLATED, Result

from .closure import Closure

OPEN: Final = "not discharged"
NOT_OFFERED: Final = "not offered"
"""The verdict of a link that the protocol's record does not promise."""
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
    generated: bool = False
    """Whether its traces are those of generated walks, and not of real processes."""
    left_out: bool = False
    """Whether it was left out on demand."""

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

    @property
    def words(self) -> str:
        """The verdict, and the figures if there are any."""
        return f"{self.verdict} ({self.text})" if self.text else self.verdict


@dataclass(frozen=True, slots=True)
class PropertyRow:
    """A property of a protocol and the evidence for it, by kind."""

    protocol: str
    name: str
    words: str
    assumptions: tuple[str, ...]
    cells: Mapping[str, Cell]
    closure: Closure = field(default_factory=Closure)
    """All that it rests on, down to what nobody can promise."""
    witnesses: Mapping[str, str] = field(default_factory=dict)
    """By kind of evidence: a planted fault that this evidence has caught."""
    fallen: tuple[str, ...] = ()
    """The properties below that it rests on and that do not hold."""
    open: str = ""
    """What is known to break it in an instance larger than those that were checked."""

    @property
    def verdict(self) -> str:
        """Violated by any evidence; else inconclusive if a required kind of evidence is missing, or
        if something that it rests on does not hold.
        """
        verdicts = {cell.verdict for cell in self.cells.values()}
        if VIOLATED in verdicts:
            return VIOLATED
        return INCONCLUSIVE if self.fallen or self.cells["TLC"].verdict != HOLDS else HOLDS

    @property
    def as_long_as(self) -> tuple[str, ...]:
        """The names of the assumptions at the end, each once."""
        return tuple(dict.fromkeys(name for _, name in self.closure.roots))

    @property
    def amber(self) -> tuple[str, ...]:
        """Why the property is not to be believed without reserve, although it may hold."""
        lacking = [
            f"{kind}: {c.text}" for kind, c in self.cells.items() if c.verdict == INCONCLUSIVE
        ]
        unseen = [
            f"{kind}: no planted fault that this evidence has caught"
            for kind, cell in self.cells.items()
            if cell.verdict == HOLDS and not self.witnesses.get(kind)
        ]
        circles = [
            f"circle: {' and '.join(each)} assume of each other" for each in self.closure.circles
        ]
        below = [f"rests on {name}, which does not hold" for name in self.fallen]
        beyond = [f"open: {self.open}"] if self.open else []
        return (*beyond, *lacking, *unseen, *circles, *below)


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two descriptions of a protocol, and the evidence for it."""

    between: str
    how: str
    cell: Cell


@dataclass(frozen=True, slots=True)
class ProtocolRow:
    """A protocol, the result of each kind of check of it, and of each link of its evidence."""

    protocol: str
    cells: Mapping[str, Cell]
    links: Mapping[str, Cell] = field(default_factory=dict)

    @property
    def not_offered(self) -> tuple[str, ...]:
        """The links that its record does not promise."""
        return tuple(link for link, c in self.links.items() if c.verdict == NOT_OFFERED)

    @property
    def verdict(self) -> str:
        """The worst verdict of its links."""
        verdicts = {cell.verdict for cell in self.links.values()}
        return next((kind for kind in (VIOLATED, INCONCLUSIVE) if kind in verdicts), HOLDS)


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
class Fault:
    """A planted fault: what it is about, and the evidence that has caught it."""

    name: str
    protocol: str
    """The protocol, "" for a part that all share."""
    kind: str
    """The kind of evidence that should catch it, by the name of its cell."""
    about: str
    """The property, "" for all properties of the protocol."""
    caught: bool
    words: str = ""


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
    without_a_rule: tuple[str, ...] = ()
    """The actions that `mutate` has seen taken only where a rule is taken back."""
    faults: tuple[Fault, ...] = ()
    """The planted faults that were tried."""
    cases: tuple[tuple[Case, Entry], ...] = ()
    """The cases that TLC was asked, and its answers."""

    @property
    def incomplete(self) -> tuple[str, ...]:
        """The gaps: steps that were left out or failed, and links without evidence."""
        steps = [
            f"step {step.name} was left out"
            if step.left_out
            else f"step {step.name}: {step.problem}"
            for step in self.steps
            if step.problem or step.left_out
        ]
        links: dict[tuple[str, str], list[str]] = {}
        for row in self.protocols:
            for link, cell in row.links.items():
                if cell.verdict == INCONCLUSIVE:
                    links.setdefault((link, cell.text), []).append(row.protocol)
        return (
            *steps,
            *(
                f"link {link} of {', '.join(of)}: {text or 'no evidence'}"
                for (link, text), of in links.items()
            ),
        )

    @property
    def roots(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """The assumptions at the end of all closures, and the properties that rest on each."""
        found: dict[tuple[str, str], list[str]] = {}
        for row in self.properties:
            for root in row.closure.roots:
                found.setdefault(root, []).append(f"{row.protocol}.{row.name}")
        return {root: tuple(names) for root, names in found.items()}

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
                detail=step.problem or step.complaint or ("left out" if step.left_out else ""),
            )
            for step in self.steps
        ]
        found += [
            Result(
                f"property {row.name}",
                row.protocol,
                row.verdict,
                figures={kind: cell.words for kind, cell in row.cells.items()}
                | {
                    "assumptions": list(row.assumptions),
                    "as_long_as": list(row.as_long_as),
                    "witnesses": dict(row.witnesses),
                    "amber": list(row.amber),
                },
                detail="\n".join(
                    f"{kind}: {cell.text}"
                    for kind, cell in row.cells.items()
                    if cell.verdict == VIOLATED
                )
                or "; ".join(f"it rests on {name}, which does not hold" for name in row.fallen),
            )
            for row in self.properties
        ]
        found += [
            Result(f"link {link}", row.protocol, cell.verdict, detail=cell.text)
            for row in self.protocols
            for link, cell in row.links.items()
            if cell.verdict != NOT_OFFERED
        ]
        found += [
            Result(
                f"assumption {row.assumption.name}",
                row.assumption.protocol,
                row.cell.verdict,
                HOLDS if row.cell.verdict != OPEN else OPEN,
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
    return Result.from_json({"expected": HOLDS, **entry}).as_expected


def excused(entry: Entry) -> bool:
    """Tell whether the result was excused because an assumption is not discharged."""
    return entry["verdict"] == INCONCLUSIVE and bool(entry.get("assumption"))
