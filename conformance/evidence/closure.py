"""Assumptions followed to the end: what a property rests on, down to what nobody can promise.

A property rests on the assumptions of its protocol, except for those that a holding case takes back
without harm, or whose record names the properties that need them. What discharges an assumption is
followed in turn, until nothing is left but assumptions that nothing discharges: the roots. A circle
of protocols that assume something of each other is broken by results that a record names, and only
if they ask each assumption in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import networkx as nx

from raincheck.conformance.cases.tables import HOLDS, Assumption, Case
from raincheck.conformance.protocols.record import Circle

Name: TypeAlias = tuple[str, str]
"""A protocol, and the name of a property or of an assumption of it."""


@dataclass(frozen=True, slots=True)
class Closure:
    """Everything that one property rests on."""

    roots: tuple[Name, ...] = ()
    """The assumptions at the end, which nothing discharges."""
    assumptions: tuple[Name, ...] = ()
    """All assumptions on the way to them."""
    properties: tuple[Name, ...] = ()
    """The properties of other protocols on the way."""
    circles: tuple[tuple[str, ...], ...] = ()
    """The circles of protocols that it passes through and that no result has broken."""


@dataclass(frozen=True, slots=True)
class Broken:
    """What results say of several protocols together, where none assumes anything of another."""

    of: frozenset[str]
    asked: frozenset[str]
    """The assumptions that were asked, or proved, by `property_name`."""


def property_name(protocol: str, assumption: str) -> str:
    """Return the name that an assumption of the protocol has as a property of a composition."""
    return f"{protocol.title().replace('_', '')}{assumption}"


@dataclass(slots=True)
class Closures:
    """The assumptions of all protocols, and what follows from them."""

    cases: Sequence[Case]
    assumptions: Sequence[Assumption]
    broken: Sequence[Broken] = ()
    """What results say of several protocols together."""
    _graph: nx.DiGraph[tuple[str, ...]] = field(init=False)
    _parts: list[tuple[set[tuple[str, ...]], frozenset[tuple[str, str]]]] = field(init=False)
    """Each part that rests on itself, and the steps in it from one protocol to another."""
    _circles: dict[frozenset[tuple[str, str]], list[tuple[str, ...]]] = field(default_factory=dict)
    """The circles that these steps make; many properties pass through the same ones."""
    _is_broken: dict[tuple[str, ...], bool] = field(default_factory=dict)
    """Of each circle that was met."""

    def __post_init__(self) -> None:
        asked: dict[Name, list[Case]] = {}
        for case in self.cases:
            for name in case.properties:
                asked.setdefault((case.protocol, name), []).append(case)
        by_name = {(each.protocol, each.name): each for each in self.assumptions}
        graph: nx.DiGraph[tuple[str, ...]] = nx.DiGraph()
        self._graph = graph
        for (protocol, name), cases in asked.items():
            mine = [each for each in self.assumptions if each.protocol == protocol]
            graph.add_node(("property", protocol, name))
            for each in needed(name, cases, mine):
                graph.add_edge(("property", protocol, name), ("assumption", protocol, each.name))
        for each in self.assumptions:
            here = ("assumption", each.protocol, each.name)
            graph.add_node(here)
            for word in each.evidence:
                kind, _, rest = word.partition(" ")
                if kind == "assumption" and tuple(rest.split(".", 1)) in by_name:
                    graph.add_edge(here, ("assumption", *rest.split(".", 1)))
                elif not rest and "." in word:
                    graph.add_edge(here, ("property", *word.split(".", 1)))
        parts = list(nx.strongly_connected_components(graph))
        inside = {node: number for number, part in enumerate(parts) for node in part}
        steps: dict[int, set[tuple[str, str]]] = {}
        for a, b in graph.edges:
            if inside[a] == inside[b] and a[1] != b[1]:
                steps.setdefault(inside[a], set()).add((a[1], b[1]))
        self._parts = [(parts[number], frozenset(each)) for number, each in steps.items()]

    def of(self, protocol: str, name: str) -> Closure:
        """Return what the property rests on."""
        start = ("property", protocol, name)
        if start not in self._graph:
            return Closure()
        below = nx.descendants(self._graph, start)
        passed = [node for node in below if node[0] == "assumption"]
        roots = [node for node in passed if not self._graph.out_degree(node) and self._open(node)]
        return Closure(
            tuple(sorted(_names(roots))),
            tuple(sorted(_names(passed))),
            tuple(sorted(_names(node for node in below if node[0] == "property"))),
            tuple(each for each in self.circles({start, *below}) if not self._breaks(each)),
        )

    def circles(self, nodes: Collection[tuple[str, ...]] | None = None) -> list[tuple[str, ...]]:
        """Return each elementary circle of protocols among these nodes, or among all. The nodes
        have with each one all that it rests on.
        """
        within = [steps for part, steps in self._parts if nodes is None or part <= set(nodes)]
        steps = frozenset[tuple[str, str]]().union(*within)
        if steps not in self._circles:
            cycles = nx.simple_cycles(nx.DiGraph(list(steps)))
            self._circles[steps] = sorted({tuple(sorted(each)) for each in cycles})
        return self._circles[steps]

    def within(self, circle: Sequence[str]) -> frozenset[str]:
        """Return what these protocols assume of each other in circles, by `property_name`."""
        inside = self._graph.subgraph(node for node in self._graph if node[1] in circle)
        found = set()
        for part in nx.strongly_connected_components(inside):
            edges = inside.subgraph(part).edges
            found |= {(a[1], a[2]) for a, b in edges if a[0] == "assumption" and a[1] != b[1]}
        return frozenset(property_name(*each) for each in found)

    def _open(self, node: tuple[str, ...]) -> bool:
        return any(
            not each.evidence
            for each in self.assumptions
            if (each.protocol, each.name) == (node[1], node[2])
        )

    def _breaks(self, circle: tuple[str, ...]) -> bool:
        if circle not in self._is_broken:
            asked = self.within(circle)
            self._is_broken[circle] = any(
                each.of.issuperset(circle) and each.asked >= asked for each in self.broken
            )
        return self._is_broken[circle]


def _names(nodes: Iterable[tuple[str, ...]]) -> list[Name]:
    return [(node[1], node[2]) for node in nodes]


def needed(name: str, cases: Iterable[Case], assumptions: Iterable[Assumption]) -> list[Assumption]:
    """Return the assumptions of its protocol on which a property rests.

    Those are left out whose record names other properties, and those without which a case of the
    implemented protocol exercises the property and keeps it, if no case breaks it without them.
    """
    asking = [case for case in cases if case.as_implemented and name in case.properties]
    kept = {each for case in asking if _kept(case, name) for each in case.lacking}
    lost = {each for case in asking if case.expected == name for each in case.lacking}
    return [
        each
        for each in assumptions
        if (name in each.only if each.only else each.name not in kept - lost)
    ]


def _kept(case: Case, name: str) -> bool:
    return case.expected == HOLDS and name not in case.idle


def broken_by(
    circles: Iterable[Circle], cases: Iterable[Case], held: Mapping[str, Iterable[str]]
) -> list[Broken]:
    """Return what the named results ask of the protocols of each circle, if all are as expected.

    `held` has each result that is as expected, by "case NAME" or "proof NAME", and the assumptions
    that a proof proves. A case counts only if it holds, of the implemented rules, and composes all
    protocols of the circle; it asks the assumptions that are among its properties.
    """
    asked = {
        f"case {case.name}": (case.made_of, {*case.properties} - case.idle)
        for case in cases
        if case.expected == HOLDS and case.as_implemented
    }
    found = []
    for each in circles:
        names = set[str]()
        for by in each.by:
            made_of, properties = asked.get(by, ((), set[str]()))
            if by in held and (by.startswith("proof ") or {*made_of} >= {*each.of}):
                names |= {*held[by], *properties}
        found.append(Broken(frozenset(each.of), frozenset(names)))
    return found
