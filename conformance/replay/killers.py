"""The checks that notice a mutant of an implementation, or a repair undone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from raincheck.conformance.bindings.binding import Binding, MakeCore, binding_of
from raincheck.conformance.cases.tables import HOLDS as CASE_HOLDS
from raincheck.conformance.cases.tables import TIERS, Case
from raincheck.conformance.errors import Inconclusive, UsageError

from .damage import damaged_binding, without
from .lockstep import Instance
from .mutants import Mutant
from .replayable import WHOLE, Replayable, instance_of
from .schedules import play
from .undoing import RUNS, Sound, Undone, named, undo, undone_name

FEW: Final = 10
"""The runs of lockstep that are tried before anything is replayed, if one check is enough."""

SMALL: Final = 2_000
"""The most states of a case that is replayed before the other runs of lockstep."""


def of_protocol(catalog: Iterable[Case], protocol: str) -> list[Case]:
    """Return the protocol's cases of the tier that every commit runs."""
    return [case for case in catalog if case.protocol == protocol and case.tier == TIERS[0]]


def cases_for(mutant: Mutant, catalog: Iterable[Case]) -> list[Case]:
    """Return the cases in which the mutant is replayed: those that it names, else its protocol's.

    None if lockstep has instances of its own and only batches can show the mutant.
    """
    catalog = list(catalog)
    if mutant.cases:
        known = {case.name: case for case in catalog}
        return [known[name] for name in mutant.cases]
    return [] if binding_of(mutant.protocol).worlds else of_protocol(catalog, mutant.protocol)


def try_mutant(
    mutant: Mutant,
    cases: Sequence[Case],
    *,
    seed: int = 1,
    runs: int = RUNS,
    both: bool = True,
) -> Undone:
    """Play the mutant's schedule, run the damaged cores in lockstep, and replay them.

    Unless `both` is set, stop at the first check that notices the mutant.
    """
    binding = binding_of(mutant.protocol)
    if mutant.undo:
        switches = dict(mutant.undo)
        make = without(binding, switches)
    else:
        binding = damaged_binding(mutant.protocol, mutant)
        switches, make = {}, binding.make_core
    row = Undone(mutant.protocol, mutant.name, played=_played(mutant, binding, make))
    mine = Replayable(binding, cases)
    if both or not row.found:
        found = undo(binding, switches, make, (), _all(mine), seed=seed, runs=runs)
        row = replace(found, played=row.played)
    if both or not row.found:
        # Replay needs the whole graph of a case.
        row = _also(row, undo(binding, switches, make, mine.prepared(), (), seed=seed))
    return row


def _played(mutant: Mutant, binding: Binding, make: MakeCore) -> int:
    """Return after how many moves the mutant's schedule shows it; undamaged cores must pass it."""
    if mutant.instance is None:
        return 0
    instance = mutant.name, instance_of(binding, mutant.instance, mutant.name).system
    try:
        if play(binding_of(mutant.protocol), instance, mutant.schedule) is not None:
            raise UsageError("the undamaged cores fail its schedule: correct the schedule.")
        found = play(binding, instance, mutant.schedule, make)
    except UsageError as error:
        raise UsageError(f"mutant {mutant.name}: {error}") from error
    return 0 if found is None else found.step


def undone_switches(
    protocols: Iterable[str],
    catalog: Sequence[Case],
    mutants: Iterable[Mutant] = (),
    *,
    seed: int = 1,
    runs: int = RUNS,
    quick: bool = False,
) -> list[Undone]:
    """Undo each switch of each protocol, except those that a mutant undoes.

    Lockstep runs over the cases of all tiers. With `quick`, one check that finds the absence is
    enough, and those that find it soonest come first. A repair whose absence neither finds is
    replayed in the larger cases too: some repairs matter only in one of them.
    """
    rows = []
    for binding, left in _left_to_undo(protocols, mutants):
        protocol = binding.protocol
        cases = [case for case in catalog if case.protocol == protocol]
        instances = _all(Replayable(binding, cases), most=None)
        mine = of_protocol(catalog, protocol)
        prepared = [] if quick else list(Replayable(binding, mine).prepared())
        sound = Sound(binding, instances, seed)
        for name, value in left.items():
            if quick:
                rows.append(_soonest(sound, name, cases, runs))
                continue
            switches = {name: value}
            make = without(binding, switches)
            row = undo(binding, switches, make, prepared, instances, seed=seed, runs=runs)
            if not row.replayed:
                # If lockstep finds it, what is left to see is a case that shows it.
                larger = twins(cases, name) if row.found else beyond(cases)
                walks = Replayable(binding, larger).prepared(switches)
                row = _also(row, undo(binding, switches, make, walks, (), seed=seed))
            rows.append(row)
    return rows


def switches_named(
    protocols: Iterable[str], mutants: Iterable[Mutant] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the protocol and the name of each result of `undone_switches`, and undo nothing."""
    for binding, left in _left_to_undo(protocols, mutants):
        for name, value in left.items():
            yield binding.protocol, undone_name(binding.protocol, named({name: value}))


def _left_to_undo(
    protocols: Iterable[str], mutants: Iterable[Mutant]
) -> Iterator[tuple[Binding, dict[str, Any]]]:
    """Yield each binding that has a switch which no mutant undoes, with these."""
    elsewhere = {(each.protocol, name) for each in mutants for name in each.undo or ()}
    for protocol in protocols:
        try:
            binding = binding_of(protocol)
        except (UsageError, Inconclusive):
            continue  # it has no core of its own, or none yet; generate says so
        left = {k: v for k, v in binding.switches.items() if (protocol, k) not in elsewhere}
        if left:
            yield binding, left


def _soonest(sound: Sound, switch: str, cases: Sequence[Case], runs: int) -> Undone:
    """Undo a switch of the protocol with these cases, until a check finds that.

    A few runs of lockstep come first, then small cases that are about the switch, then all runs:
    most switches are found by then. Replay of the other cases costs most.
    """
    binding = sound.binding
    switches = {switch: binding.switches[switch]}
    make = without(binding, switches)
    about = [case for case in twins(cases, switch) if (case.distinct or 0) <= WHOLE]
    small = [case for case in about if (case.distinct or 0) <= SMALL]
    quick = of_protocol(cases, binding.protocol)
    others = {case.name: case for case in (*about, *quick, *beyond(cases)) if case not in small}

    def look(most: int, replayed: Iterable[Case] = ()) -> Undone:
        walks = Replayable(binding, replayed).prepared(switches)
        instances = sound.instances if most else ()
        seed = sound.seed
        return undo(binding, switches, make, walks, instances, seed=seed, runs=most, sound=sound)

    row = look(min(FEW, runs))
    for most, replayed in ((0, small), (runs, ()), (0, others.values())):
        if row.found:
            break
        row = _also(row, look(most, replayed))
    return row


def _all(mine: Replayable, **how: int | None) -> list[Instance]:
    return [each for group in mine.instances(**how).values() for each in group]


def twins(cases: Sequence[Case], switch: str) -> list[Case]:
    """Return the cases that hold and that another one breaks by this rule alone, the smallest
    first.
    """
    rule = switch.title().replace("_", "")

    def but_for_it(case: Case) -> dict[str, Any]:
        return {name: value for name, value in case.constants.items() if name != rule}

    broken = [
        (case.constants.get(rule), but_for_it(case))
        for case in cases
        if case.expected != CASE_HOLDS
    ]

    def has_twin(case: Case) -> bool:
        mine, others = case.constants.get(rule), but_for_it(case)
        return any(mine != theirs and others == same for theirs, same in broken)

    found = [case for case in cases if case.expected == CASE_HOLDS and has_twin(case)]
    return sorted(found, key=lambda case: case.distinct or 0)


def beyond(cases: Iterable[Case]) -> list[Case]:
    """Return the cases that hold and are too large for every commit, the smallest first."""
    found = [
        case
        for case in cases
        if case.tier != TIERS[0] and case.expected == CASE_HOLDS and (case.distinct or 0) <= WHOLE
    ]
    return sorted(found, key=lambda case: case.distinct or 0)


def _also(row: Undone, more: Undone) -> Undone:
    """Return the row with what was found after it."""
    return replace(
        row,
        repair=more.repair,
        replayed=more.replayed or row.replayed,
        walks=more.walks or row.walks,
        runs=more.runs or row.runs,
        tried=more.tried or row.tried,
        seconds=row.seconds + more.seconds,
        problem=more.problem or row.problem,
    )
