"""The cells of a property's row that traces fill: what the runs' checker says of the property.

Law of this file: a property that a trace cannot show has no evidence here, and the cell says why; a
property that is judged on traces one by one rests on those verdicts alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.cases.tables import HOLDS, load_cases
from raincheck.conformance.outcome import INCONCLUSIVE, VIOLATED
from raincheck.conformance.protocols.registry import protocols
from raincheck.conformance.report.pages import judged_over
from raincheck.conformance.trace.invariants.asked import Followed, Invariants, Unshown

from .basis import Cell, Entry, agrees, excused
from .cells import ENGINES, Named, speaks_of
from .links import of_protocol


def once(by_name: Named, protocol: str) -> list[Entry]:
    """Return one result for each trace of the protocol, although several engines judged it."""
    found: dict[str, Entry] = {}
    for step in ENGINES:
        for entry in (of_protocol(by_name.get(step), protocol) or {}).values():
            if "events" in entry:
                found.setdefault(str(entry["name"]), entry)
    return list(found.values())


def judged_alone(by_name: Named, protocol: str) -> bool:
    """Tell whether the traces of the protocol have their properties judged one by one.

    Its binding says so, or evidence of another project that has such verdicts.
    """
    record = protocols().get(protocol)
    if record is not None and record.offers("binding"):
        promised = binding_of(protocol).promised
        if promised is not None and promised.one_by_one:
            return True
    steps = (of_protocol(by_name.get(step), protocol) for step in (*ENGINES, "run"))
    return any("judged" in e and "events" not in e for mine in steps for e in (mine or {}).values())


def traces_cell(by_name: Named, name: str, protocol: str, *, field: bool) -> Cell:
    """Return what the checker says of the traces of the protocol, of whatever origin."""
    return _judged_cell(by_name, ENGINES, name, protocol, field=field)


def field_cell(by_name: Named, name: str, protocol: str) -> Cell:
    """Return what the runs of real processes and their traces say about a property.

    Where properties are not judged one by one, a trace is a behaviour of the model or it is not; if
    it is, all properties of the model are its properties.
    """
    return _judged_cell(by_name, ("run", *ENGINES), name, protocol, field=True)


def _judged_cell(
    by_name: Named, steps: Sequence[str], name: str, protocol: str, *, field: bool
) -> Cell:
    if not judged_alone(by_name, protocol):
        return trace_cell(by_name, protocol, field=field)
    found = [
        entry
        for step in steps
        for entry in (of_protocol(by_name.get(step), protocol) or {}).values()
        if speaks_of(entry, name)
    ]
    if not found:
        return _not_judged(by_name, name, protocol, field=field)
    traces = once(by_name, protocol)
    if others := _of_other_design(traces):
        traces = [entry for entry in traces if entry not in others]
        runs = {_run_of(entry) for entry in others}
        found = [e for e in found if e["verdict"] != HOLDS or _run_of(e) not in runs]
        if not found:
            return Cell(INCONCLUSIVE, _OTHER)
    events = sum(int(entry["events"]) for entry in traces)
    scope = f"{len(traces)} {'runs' if field else 'generated traces'}, {events:,} events"
    if over := _over(by_name, name, protocol):
        scope += f"; {judged_over(over)}"
    asking = [entry for entry in found if not entry.get("idle")]
    every, some = ({entry["name"] for entry in each} for each in (found, asking))
    if some != every:
        scope += f"; all of it asked in {len(some)} of {len(every)}"
    cell = _verdict([*asking, *_apart(by_name, protocol)], scope)
    if cell.verdict == HOLDS and (unasked := _unasked(found)):
        return Cell(INCONCLUSIVE, f"these runs ask nothing of: {'; '.join(unasked)}; {scope}")
    return cell


_REFINES: Final = "Refines"
"""The beginning of the name of a property that says which service a protocol refines."""
_OTHER: Final = "by their headers, no run is of the implemented design"


def _of_other_design(traces: Iterable[Entry]) -> list[Entry]:
    """Return the traces whose headers name another design: they show nothing of this one."""
    return [entry for entry in traces if entry.get("other_design")]


def _run_of(entry: Entry) -> str:
    return str(entry["name"]).rpartition(": ")[0]


def _unasked(found: Iterable[Entry]) -> list[str]:
    """Return the parts of a property that no run has asked."""
    counts: dict[str, int] = {}
    for entry in found:
        whole = {} if entry.get("idle") else {"": 1}
        for part, count in entry.get("parts", whole).items():
            counts[part] = counts.get(part, 0) + int(count)
    return [part for part, count in counts.items() if not count] or ([] if counts else ["it"])


def _not_judged(by_name: Named, name: str, protocol: str, *, field: bool) -> Cell:
    """Return what the traces say of a property that no result names."""
    asked = _asked(protocol)
    if name.startswith(_REFINES) and name in _temporal(protocol):
        return Cell(INCONCLUSIVE, "a refinement is about the steps of all members together")
    if name in _temporal(protocol):
        return Cell(INCONCLUSIVE, "it speaks of what comes about in the end, and a trace ends")
    if asked is None or name not in asked.of:
        return Cell(INCONCLUSIVE, "no trace speaks of it")
    if any(isinstance(part, Followed) for part in asked.of[name]):
        return trace_cell(by_name, protocol, field=field, alone=True)
    if reasons := [part.why for part in asked.of[name] if isinstance(part, Unshown)]:
        return Cell(INCONCLUSIVE, f"no trace shows it: {'; '.join(reasons)}")
    if not once(by_name, protocol):
        return Cell(INCONCLUSIVE, "no trace of it")
    return Cell(INCONCLUSIVE, "it asks nothing of these runs")


@cache
def _temporal(protocol: str) -> frozenset[str]:
    """Return the temporal properties that the protocol's cases ask."""
    asked = (each.configuration() for each in load_cases() if each.protocol == protocol)
    return frozenset(name for found in asked for name in found.names("PROPERTY"))


def _asked(protocol: str) -> Invariants | None:
    """Return where a trace's check asks the protocol's invariants, if its binding says so."""
    record = protocols().get(protocol)
    return binding_of(protocol).invariants if record is not None and record.binding else None


def trace_cell(by_name: Named, protocol: str, *, field: bool = True, alone: bool = False) -> Cell:
    """Return what the traces of a protocol's real cores say: whether each event is one of the
    model's.

    With `alone`, the properties that are judged one by one do not count.
    """
    found = once(by_name, protocol)
    if not found:
        return Cell(INCONCLUSIVE, "no trace of it")
    found = [entry for entry in found if entry not in _of_other_design(found)]
    if not found:
        return Cell(INCONCLUSIVE, _OTHER)
    events = sum(int(entry["events"]) for entry in found)
    if not events:
        return Cell(INCONCLUSIVE, f"{len(found)} traces without an event")
    kind = "traces" if field else "generated traces"
    judged = [
        entry
        for step in ENGINES
        for entry in (of_protocol(by_name.get(step), protocol) or {}).values()
        if "events" in entry or not (alone or entry.get("idle"))
    ]
    scope = f"{len(found)} {kind}, {events:,} events, each one the model's"
    return _verdict([*judged, *_apart(by_name, protocol)], scope)


def _apart(by_name: Named, protocol: str) -> Iterator[Entry]:
    """Yield a result that is undecided for each trace of which the engines say different things."""
    first, *others = ({**(of_protocol(by_name.get(step), protocol) or {})} for step in ENGINES)
    for other in others:
        for name in first.keys() & other.keys():
            one, two = first[name], other[name]
            if any(one.get(key) != two.get(key) for key in ("verdict", "events")):
                yield {**one, "verdict": INCONCLUSIVE, "assumption": ""}


def _over(by_name: Named, name: str, protocol: str) -> dict[str, int]:
    """Return over how many members, views, messages or states the runs have judged a property.

    Runs of real processes say it themselves; else one of the engines does.
    """
    for step in ("run", *ENGINES):
        found: dict[str, int] = {}
        for entry in (of_protocol(by_name.get(step), protocol) or {}).values():
            judged = entry.get("judged")
            # A run's own result has all its properties in its figure "judged".
            if "events" not in entry and isinstance(judged, dict) and speaks_of(entry, name):
                for kind, count in judged.items():
                    found[kind] = found.get(kind, 0) + int(count)
        if found:
            return {kind: count for kind, count in found.items() if count}
    return {}


def _verdict(found: Iterable[Entry], scope: str) -> Cell:
    found = list(found)
    gaps = sorted({str(entry["assumption"]) for entry in found if excused(entry)})
    if gaps:
        return Cell(INCONCLUSIVE, f"broken where {', '.join(gaps)} was missing; {scope}")
    if any(not agrees(entry) and entry["verdict"] != INCONCLUSIVE for entry in found):
        return Cell(VIOLATED, scope)
    if any(entry["verdict"] == INCONCLUSIVE for entry in found):
        return Cell(INCONCLUSIVE, f"not decided in every run; {scope}")
    return Cell(HOLDS, scope)
