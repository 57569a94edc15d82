"""The links between a protocol's specification, model, implementation and field runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from raincheck.conformance.cases.tables import HOLDS, Case
from raincheck.conformance.outcome import INCONCLUSIVE, VIOLATED
from raincheck.conformance.protocols.record import LINKS
from raincheck.conformance.protocols.registry import protocols

from .basis import NOT_OFFERED, Cell, Entry, Link, ProtocolRow, agrees, excused


def links_of(by_name: Mapping[str, Mapping[str, Entry]], *, field: bool = True) -> Iterable[Link]:
    """Yield the links between specification, model, implementation and field."""
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
        "random groups and inputs beyond the bounded graphs",
        _entries(generated, locked),
        lambda found: f"{_sum(found, 'examples')} runs, {_sum(found, 'steps'):,} steps",
    )
    for engine in ("conform", "conform-spark"):
        yield _link(
            f"implementation = {'field' if field else 'generated traces'} ({engine})",
            f"every recorded event of {'real processes' if field else 'walks'}, against the model",
            by_name.get(engine),
            lambda found: f"{_sum(found, 'events'):,} events, {_sum(found, 'files')} processes",
        )
    yield _link(
        "the checks themselves",
        "damage done on purpose, each noticed by the check that should",
        by_name.get("mutate"),
        lambda found: f"{len(found)} mutants, none survived",
    )
    yield _link(
        "the trace checker, told lies",
        "recorded runs damaged in every way: what a second judge finds to be no behaviour",
        by_name.get("damage"),
        lambda found: (
            f"{_sum(found, 'noticed'):,} of {_sum(found, 'noticed') + _sum(found, 'passed'):,} "
            f"noticed, {_sum(found, 'accused')} accused, {_sum(found, 'false alarms')} false "
            f"alarms in {_sum(found, 'good'):,} good runs"
        ),
    )
    if "judges" in by_name:
        yield _judges(by_name["judges"])


def _judges(entries: Mapping[str, Entry]) -> Link:
    """Return how far the checkers' own checks notice that a checker is damaged."""
    rules = {name: entry for name, entry in entries.items() if "noticed" in entry}
    link = _link(
        "the judges themselves",
        "each rule of the checkers taken out, and what is around the rules damaged: noticed by the "
        "inputs that are planted for the rules",
        rules,
        lambda found: f"{len(found)} rules, each missed by its input",
    )
    tried = next((entry for entry in entries.values() if "damages" in entry), None)
    if tried is None:
        return link
    caught, wanted = int(tried["noticed"]), float(tried["wanted"])
    text = f"{link.cell.text}; {caught} of {tried['tried']} damages noticed, wanted {wanted:.0%}"
    short = link.cell.verdict == HOLDS and caught < wanted * int(tried["tried"])
    return replace(link, cell=Cell(INCONCLUSIVE if short else link.cell.verdict, text))


def protocol_rows(
    cases: Sequence[Case], by_name: Mapping[str, Mapping[str, Entry]], *, field: bool = True
) -> Iterable[ProtocolRow]:
    """Return a row per protocol with the result of each kind of check."""
    implemented = {case.name for case in cases if case.as_implemented}
    composed = {case.protocol for case in cases if case.made_of}
    known = {case.name for case in cases}
    kinds: tuple[tuple[str, str, Callable[[Entry], bool], str], ...] = (
        ("TLC", "check", lambda _: True, "cases"),
        ("mirror", "mirror", lambda _: True, "graphs"),
        ("Z3", "prove", lambda e: "property" in e and "seeds" in e, "properties"),
        ("replay", "generate", lambda e: "covered" in e, "edges"),
        ("lockstep", "generate", lambda e: "examples" in e, "steps"),
        ("guards", "generate", lambda e: "seen_false" in e, "guards"),
        ("mutants", "mutate", lambda _: True, "mutants"),
        ("lies", "damage", lambda _: True, "noticed"),
        ("traces", "conform", lambda e: "events" in e, "events"),
        ("traces, Spark", "conform-spark", lambda e: "events" in e, "events"),
    )
    for protocol in dict.fromkeys(case.protocol for case in cases):
        cells = {}
        for kind, step, wanted, what in kinds:
            ran = of_protocol(by_name.get(step), protocol)
            found = [entry for entry in (ran or {}).values() if wanted(entry)]
            others = [e for e in found if str(e["name"]) in known - implemented]
            cells[kind] = _protocol_cell(found, what, others, was_run=step in by_name)
        yield ProtocolRow(
            protocol,
            cells,
            _links(protocol, cells, by_name, field=field, composed=protocol in composed),
        )


def _links(
    protocol: str,
    cells: Mapping[str, Cell],
    by_name: Mapping[str, Mapping[str, Entry]],
    *,
    field: bool,
    composed: bool,
) -> dict[str, Cell]:
    """Return the verdict of each link that the protocol's record promises."""
    record = protocols().get(protocol)
    promised = record.links if record is not None else ("specification",)
    found = {}
    for link in LINKS:
        if link not in promised:
            if not composed:
                found[link] = Cell(NOT_OFFERED, "")
            continue
        mine = [cells[kind] for kind in OF_LINK.get(link, ())]
        if link == "field":
            mine = [_field(protocol, by_name, field=field)]
        verdicts = {cell.verdict for cell in mine}
        worst = next((kind for kind in (VIOLATED, INCONCLUSIVE) if kind in verdicts), HOLDS)
        texts = [cell.text for cell in mine if cell.verdict == worst]
        found[link] = Cell(worst, "; ".join(dict.fromkeys(texts)))
    return found


def _field(protocol: str, by_name: Mapping[str, Mapping[str, Entry]], *, field: bool) -> Cell:
    """Return what real processes came to; only recorded events of the protocol itself count."""
    if not field or "run" not in by_name:
        return Cell(INCONCLUSIVE, "no real process was run")
    ran = list((of_protocol(by_name["run"], protocol) or {}).values())
    seen: dict[str, Entry] = {}
    for engine in ("conform", "conform-spark"):
        for name, entry in (of_protocol(by_name.get(engine), protocol) or {}).items():
            if "events" in entry:
                seen.setdefault(name, entry)
    if not _sum(list(seen.values()), "events"):
        return Cell(INCONCLUSIVE, "no event of real processes was judged")
    return _protocol_cell(
        [*ran, *seen.values()], "events", (), was_run=True, counted=[*seen.values()]
    )


def _protocol_cell(
    found: Sequence[Entry],
    what: str,
    others: Sequence[Entry] = (),
    *,
    was_run: bool,
    counted: Sequence[Entry] | None = None,
) -> Cell:
    """Return the verdict of all results, and a count of those of the implemented protocol."""
    if not found:
        return Cell(INCONCLUSIVE, "nothing" if was_run else "was not run")
    bad = [entry for entry in found if not agrees(entry) and not excused(entry)]
    if bad:
        undecided = all(entry["verdict"] == INCONCLUSIVE for entry in bad)
        names = ", ".join(str(entry["name"]) for entry in bad[:3])
        return Cell(INCONCLUSIVE if undecided else VIOLATED, names)
    everything = len(found)
    found = counted if counted is not None else [each for each in found if each not in others]
    total = _sum(found, what) if any(what in entry for entry in found) else len(found)
    if others and what in ("cases", "graphs"):
        return Cell(HOLDS, f"{total:,} {what}, and {everything - total:,} of other rules")
    if what == "guards":
        return Cell(HOLDS, f"{_sum(found, 'seen_false')} of {total} conjuncts seen false")
    if what == "edges":
        return Cell(HOLDS, f"{_sum(found, 'covered'):,} of {total:,} edges")
    return Cell(HOLDS, f"{total:,} {what}")


def of_protocol(entries: Mapping[str, Entry] | None, protocol: str) -> Mapping[str, Entry] | None:
    """Return the results of a step about the protocol; None if the step was not run."""
    if entries is None:
        return None
    return {name: entry for name, entry in entries.items() if entry["protocol"] == protocol}


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


OF_LINK: Final = {
    "specification": ("TLC",),
    "model": ("mirror",),
    "code": ("replay", "lockstep", "guards"),
    "traces": ("traces", "traces, Spark"),
    "proofs": ("Z3",),
}
"""The kinds of checks that make up each link."""
WITHOUT_A_RULE: Final = "taken_without_a_rule_alone"
"""The figure of `mutate` that names what the implemented protocol was not seen to take.
"""
_COUNTS: Final = ("actions", "edges_by_action", "steps_by_action")
"""The names of the figures that count by action, in the results of the several verbs."""


def only_without_a_rule(by_name: Mapping[str, Mapping[str, Entry]]) -> tuple[str, ...]:
    """Return the actions that `mutate` has seen taken only where a rule is taken back."""
    return tuple(
        f"{entry['protocol']}!{action}"
        for entry in by_name.get("mutate", {}).values()
        for action in entry.get(WITHOUT_A_RULE, ())
    )


def actions_of(by_name: Mapping[str, Mapping[str, Entry]]) -> dict[str, dict[str, int]]:
    """Return how often each action was taken, by the kind of evidence that reached it."""
    found: dict[str, dict[str, int]] = {}
    for step, entries in by_name.items():
        for entry in entries.values():
            kind = "lockstep" if "examples" in entry else step
            for figure in _COUNTS:
                counts = entry.get(figure)
                for action, count in counts.items() if isinstance(counts, Mapping) else ():
                    row = found.setdefault(f"{entry['protocol']}!{action}", {})
                    row[kind] = row.get(kind, 0) + int(count)
    return dict(sorted(found.items()))
