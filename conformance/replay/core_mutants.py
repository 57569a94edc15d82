"""Mutants of a protocol that has `Binding`, and each of its repairs undone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.cases.tables import HOLDS as CASE_HOLDS
from raincheck.conformance.cases.tables import TIERS, Case
from raincheck.conformance.errors import UsageError

from .damage import damaged_faces, without
from .mutants import Mutant
from .protocol import WHOLE, Replayable
from .undoing import RUNS, Undone, undo


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
    binding = binding_of(protocol)
    if mutant.undo:
        switches = dict(mutant.undo)
        make = without(binding, switches)
    else:
        binding = damaged_faces(protocol, mutant)
        switches, make = {}, binding.make_core
    mine = Replayable(binding, cases)
    row = undo(binding, switches, make, (), mine.instances(), seed=seed, runs=runs)
    if row.found and not both:
        return row
    # Replay needs the whole graph of a case.
    more = undo(binding, switches, make, mine.prepared(), (), seed=seed)
    return _also(row, more)


def undone_by_faces(
    protocols: Iterable[str],
    catalog: Sequence[Case],
    *,
    seed: int = 1,
    runs: int = RUNS,
    quick: bool = False,
) -> list[Undone]:
    """Undo each switch of each protocol that has binding.

    Lockstep runs over the cases of all tiers. `quick`: in replay only what it does not find. What
    neither finds is replayed in the larger cases too: some repairs matter in one of them only.
    """
    rows = []
    for protocol in protocols:
        if protocol == "sequencer":
            continue
        try:
            binding = binding_of(protocol)
        except UsageError:
            continue  # still being written; generate says so
        cases = [case for case in catalog if case.protocol == protocol]
        instances = Replayable(binding, cases).instances(most=None)
        graphs = Replayable(binding, of_protocol(catalog, protocol))
        prepared = [] if quick else list(graphs.prepared())
        for name, value in binding.switches.items():
            switches = {name: value}
            make = without(binding, switches)
            row = undo(binding, switches, make, prepared, instances, seed=seed, runs=runs)
            if not row.found and quick:
                # Lockstep alone is blind to what only some instances show.
                prepared = prepared or list(graphs.prepared())
                row = _also(row, undo(binding, switches, make, prepared, (), seed=seed))
            if not row.found:
                larger = Replayable(binding, beyond(cases)).prepared()
                row = _also(row, undo(binding, switches, make, larger, (), seed=seed))
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
