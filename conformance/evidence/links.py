"""The links between a protocol's specification, model, implementation and field runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from raincheck.conformance.cases.tables import HOLDS, Case
from raincheck.conformance.outcome import INCONCLUSIVE, VIOLATED

from .basis import Cell, Entry, Link, ProtocolRow, agrees, excused
from .needs import SEQUENCER


def links_of(by_name: Mapping[str, Mapping[str, Entry]]) -> Iterable[Link]:
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


def protocol_rows(
    cases: Sequence[Case], by_name: Mapping[str, Mapping[str, Entry]]
) -> Iterable[ProtocolRow]:
    """Return a row per protocol with the result of each kind of check."""
    kinds: tuple[tuple[str, str, Callable[[Entry], bool], str], ...] = (
        ("TLC", "check", lambda _: True, "cases"),
        ("mirror", "mirror", lambda _: True, "graphs"),
        ("Z3", "prove", lambda e: "property" in e and "seeds" in e, "properties"),
        ("replay", "generate", lambda e: "covered" in e, "edges"),
        ("lockstep", "generate", lambda e: "examples" in e, "steps"),
        ("guards", "generate", lambda e: "seen_false" in e, "guards"),
        ("mutants", "mutate", lambda _: True, "mutants"),
        ("traces", "conform", lambda e: "events" in e, "events"),
        ("traces, Spark", "conform-spark", lambda e: "events" in e, "events"),
    )
    for protocol in dict.fromkeys(case.protocol for case in cases):
        cells = {}
        for kind, step, wanted, what in kinds:
            ran = of_protocol(by_name.get(step), protocol)
            found = [entry for entry in (ran or {}).values() if wanted(entry)]
            cells[kind] = _protocol_cell(found, what, was_run=step in by_name)
        yield ProtocolRow(protocol, cells)


def _protocol_cell(found: Sequence[Entry], what: str, *, was_run: bool) -> Cell:
    if not found:
        return Cell(INCONCLUSIVE, "nothing" if was_run else "was not run")
    bad = [entry for entry in found if not agrees(entry) and not excused(entry)]
    if bad:
        undecided = all(entry["verdict"] == INCONCLUSIVE for entry in bad)
        names = ", ".join(str(entry["name"]) for entry in bad[:3])
        return Cell(INCONCLUSIVE if undecided else VIOLATED, names)
    total = _sum(found, what) if any(what in entry for entry in found) else len(found)
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


_COUNTS: Final = ("actions", "edges_by_action", "steps_by_action")
"""The names of the figures that count by action, in the results of the several verbs."""


def actions_of(by_name: Mapping[str, Mapping[str, Entry]]) -> dict[str, dict[str, int]]:
    """Return how often each action was taken, by the kind of evidence that reached it."""
    found: dict[str, dict[str, int]] = {}
    for step, entries in by_name.items():
        for entry in entries.values():
            kind = "lockstep" if "examples" in entry else step
            for figure in _COUNTS:
                counts = entry.get(figure)
                for action, count in counts.items() if isinstance(counts, Mapping) else ():
                    of = "" if entry["protocol"] == SEQUENCER else f"{entry['protocol']}!"
                    row = found.setdefault(f"{of}{action}", {})
                    row[kind] = row.get(kind, 0) + int(count)
    return dict(sorted(found.items()))
