"""Mutants of a protocol that has `Faces`, and each of its repairs undone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from raincheck.conformance.errors import UsageError
from raincheck.conformance.faces import faces_of
from raincheck.conformance.tlc.cases import HOLDS as CASE_HOLDS
from raincheck.conformance.tlc.cases import TIERS, Case

from .damage import damaged_faces, without
from .mutants import Mutant
from .undoing import RUNS, Undone, undo
from .verticals import WHOLE, Replayable


def of_protocol(catalog: Iterable[Case], protocol: str) -> list[Case]:
    """Return the protocol's cases for every commit."""
    return [case for case in catalog if case.protocol == protocol and case.tier == TIERS[0]]


def try_faces(
    mutant: Mutant,
    protocol: str,
    cases: Sequence[Case],
    *,
    seed: int = 1,
    runs: int = RUNS,
    both: bool = True,
) -> Undone:
    """Run the damaged cores in lockstep, and replay them if need be, or if `both`."""
    faces = faces_of(protocol)
    if mutant.undo:
        switches = dict(mutant.undo)
        make = without(faces, switches)
    else:
        faces = damaged_faces(protocol, mutant)
        switches, make = {}, faces.make_core
    mine = Replayable(faces, cases)
    row = undo(faces, switches, make, (), mine.instances(), seed=seed, runs=runs)
    if row.found and not both:
        return row
    # Replay needs the whole graph of a case.
    more = undo(faces, switches, make, mine.prepared(), (), seed=seed)
    return _also(row, more)


def undone_by_faces(
    protocols: Iterable[str],
    catalog: Sequence[Case],
    *,
    seed: int = 1,
    runs: int = RUNS,
    quick: bool = False,
) -> list[Undone]:
    """Undo each switch of each protocol that has faces.

    Lockstep runs over the cases of all tiers. `quick`: in replay only what it does not find. What
    neither finds is replayed in the larger cases too: some repairs matter in one of them only.
    """
    rows = []
    for protocol in protocols:
        if protocol == "sequencer":
            continue
        try:
            faces = faces_of(protocol)
        except UsageError:
            continue  # still being written; generate says so
        cases = [case for case in catalog if case.protocol == protocol]
        instances = Replayable(faces, cases).instances(most=None)
        graphs = Replayable(faces, of_protocol(catalog, protocol))
        prepared = [] if quick else list(graphs.prepared())
        for name, value in faces.switches.items():
            switches = {name: value}
            make = without(faces, switches)
            row = undo(faces, switches, make, prepared, instances, seed=seed, runs=runs)
            if not row.found and quick:
                # Lockstep alone is blind to what only some instances show.
                prepared = prepared or list(graphs.prepared())
                row = _also(row, undo(faces, switches, make, prepared, (), seed=seed))
            if not row.found:
                larger = Replayable(faces, beyond(cases)).prepared()
                row = _also(row, undo(faces, switches, make, larger, (), seed=seed))
            rows.append(row)
    return rows


def beyond(cases: Iterable[Case]) -> list[Case]:
    """Return the cases that hold but are too large for every commit, the smallest first."""
    found = [
        case
        for case in cases
        if case.tier != TIERS[0] and case.expected == CASE_HOLDS and (case.distinct or 0) <= WHOLE
    ]
    return sorted(found, key=lambda case: case.distinct or 0)


def _also(row: Undone, more: Undone) -> Undone:
    """Return the row with what a replay after it found."""
    return replace(
        row,
        replayed=more.replayed,
        walks=more.walks,
        seconds=row.seconds + more.seconds,
        problem=more.problem or row.problem,
    )
