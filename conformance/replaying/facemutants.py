"""Mutants of a protocol that has `Faces`, and each of its repairs undone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from raincheck.conformance.errors import UsageError
from raincheck.conformance.faces import faces_of
from raincheck.conformance.tlc.catalog import TIERS, Case

from .damage import damaged_faces, without
from .mutants import Mutant
from .undoing import RUNS, Undone, undo
from .verticals import Replayable


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
    return replace(
        row, replayed=more.replayed, walks=more.walks, seconds=row.seconds + more.seconds
    )


def undone_by_faces(
    protocols: Iterable[str],
    catalog: Sequence[Case],
    *,
    seed: int = 1,
    runs: int = RUNS,
    quick: bool = False,
) -> list[Undone]:
    """Undo each switch of each protocol that has faces.

    Lockstep runs over the cases of all tiers. `quick`: in replay only what it does not find.
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
                row = undo(faces, switches, make, prepared, (), seed=seed)
            rows.append(row)
    return rows
