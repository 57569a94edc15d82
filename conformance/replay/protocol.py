"""What `raincheck generate` finds about a protocol by its `Binding`: replay, coverage, lockstep."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, Final

from raincheck.conformance.bindings.binding import Binding, MakeCore
from raincheck.conformance.cases.tables import HOLDS as CASE_HOLDS
from raincheck.conformance.cases.tables import Case
from raincheck.conformance.errors import UsageError
from raincheck.conformance.outcome import HOLDS, VIOLATED, Result
from raincheck.conformance.tlc.spec import actions_of, code_of, spec_of
from raincheck.conformance.verbs.mirror import machine_of
from raincheck.model.machine.composed import Composed
from raincheck.model.machine.explore import explore

from .core_lockstep import Instance, Walked, lockstep
from .cores import Cores, Mismatch, Prepared, Problem, Replay
from .offers import Offers, guards_of, untried

WHOLE: Final = 25_000
"""A graph of at most so many states is replayed whole ..."""

PART: Final = 5_000
"""... and of a larger one the part that breadth-first search finds first, so many states; at most
so many steps of walks in it as `undoing.PART_STEPS` says."""

INSTANCES: Final = 6
"""Lockstep runs over so many instances, the largest first ..."""

KNOWN: Final = 800
"""... of each of which so many states show which inputs there are."""


def system_for(case: Case) -> Composed[Any, Any]:
    """Return the case's model; raise UsageError if it does not say who handles what."""
    made: Any = machine_of(case.protocol, case.constants, case.name)
    for name in ("moves", "local", "nodes", "rules"):
        if not hasattr(made, name):
            raise UsageError(
                f"model/{case.protocol}/system.py has no {name}: derive it from "
                "model.machine.composed.Composed."
            )
    found: Composed[Any, Any] = made
    return found


def nothing_undone(binding: Binding, rules: Any) -> bool:
    """Tell whether no repair is off. Rules that are no yes or no are sizes and variants, which the
    core is given too: to compare it with its model any of them will do."""
    usual = binding.rules()
    names = asdict(usual)
    return all(
        getattr(rules, name) == value for name, value in names.items() if isinstance(value, bool)
    )


def cannot_be_made(binding: Binding, rules: Any) -> str:
    """Return which rules the implementation cannot be given, or "": it has no switch for them."""
    if not is_dataclass(rules) or isinstance(rules, type):
        return ""
    usual = asdict(binding.rules())
    other = [
        name
        for name, value in asdict(rules).items()
        if value != usual[name] and name not in {*binding.switches, *binding.around}
    ]
    return ", ".join(other)


class Replayable:
    """A protocol's cases that its implementation can be replayed in, each prepared once."""

    def __init__(self, binding: Binding, cases: Iterable[Case]) -> None:
        self.binding = binding
        self.left_out: dict[str, str] = {}
        """Cases that are about another design than the implemented one, and its rules."""
        self._systems: dict[str, Composed[Any, Any]] = {}
        self._cases: dict[str, Case] = {}
        for case in cases:
            system = system_for(case)
            if other := cannot_be_made(binding, system.rules):
                self.left_out[case.name] = other
            else:
                self._systems[case.name], self._cases[case.name] = system, case

    def prepared(self) -> Iterator[Prepared]:
        """Yield each case with its walks; of a graph that is too large only a part."""
        for name, system in self._systems.items():
            # Of what is violated, and may go on for ever, nobody knows the size.
            known = (self._cases[name].distinct or PART) <= WHOLE
            made = Prepared(
                name, self.binding, system, max(PART, self._size(name)) if known else PART
            )
            yield made

    def _size(self, name: str) -> int:
        return self._cases[name].distinct or 0

    def instances(self, most: int | None = INSTANCES) -> list[Instance]:
        """Return the largest instances with all repairs on, of whichever variant, for lockstep."""
        mine = [
            case
            for name, case in self._cases.items()
            if case.expected == CASE_HOLDS
            and nothing_undone(self.binding, self._systems[name].rules)
        ]
        mine.sort(key=lambda case: -(case.distinct or 0))
        return [
            Instance(case.name, system, offers_of(self.binding, system))
            for case in mine[:most]
            if (system := self._systems[case.name])
        ]


def offers_of(binding: Binding, system: Composed[Any, Any], states: int = KNOWN) -> Offers:
    """Return the inputs that the first so many states of the instance's graph show."""
    graph = explore(system, limit=states, invariants={}).graph
    # The last level was found but not looked at: all states are equally good here.
    moves = (move for state in graph.states[:states] for move in system.moves(state))
    return Offers(binding, system.rules, moves)


def replayed(protocol: str, prepared: Prepared, done: Replay, *, whole: bool = True) -> Result:
    """Return the verdict of a replay: no mismatch, and no edge left out that was to be taken."""
    figures: dict[str, object] = {
        name: getattr(done, name)
        for name in ("states", "edges", "covered", "walks", "steps", "refusals", "seconds")
    }
    if not prepared.complete:
        figures["part"] = True
    detail = done.mismatch.text() if done.mismatch else ""
    left_out = done.missing if whole and prepared.complete and not done.mismatch else []
    if left_out:
        detail = f"{len(left_out)} edges were not replayed:\n" + "\n".join(left_out[:20])
    elif not prepared.complete and not detail:
        detail = f"only the first {done.states} states of a larger graph"
    bad = bool(done.mismatch or left_out)
    return Result(done.case, protocol, VIOLATED if bad else HOLDS, figures=figures, detail=detail)


def coverage(
    binding: Binding,
    cases: Sequence[Case],
    reached: Counter[str],
    refused: Mapping[str, int],
    left_out: Iterable[str],
) -> Result:
    """Return whether every action was taken and every guard was seen false, over all cases."""
    every = spec_actions(cases)
    foreign = [a for a in every if a in binding.inputs and a not in binding.events]
    foreign = [action for action in foreign if action not in binding.unhandled]
    actions = [action for action in every if action not in foreign]
    absent = [action for action in actions if not reached[action]]
    guards, never = guards_of(binding), untried(binding, refused)
    figures: dict[str, object] = {
        "actions": len(actions),
        "reached": len(actions) - len(absent),
        "guards": len(guards),
        "seen_false": len(guards) - len(never),
        "left_out": sorted(left_out),
        "not_implemented": foreign,
        "edges_by_action": dict(sorted(reached.items())),
    }
    lines = [f"never taken: {action}" for action in absent]
    lines += [f"never false: {guard}" for guard in never]
    verdict = VIOLATED if lines else HOLDS
    name = f"{binding.protocol}-coverage"
    return Result(name, binding.protocol, verdict, figures=figures, detail="\n".join(lines))


def spec_actions(cases: Sequence[Case]) -> tuple[str, ...]:
    """Return the actions of the specification that the cases are about."""
    spec = spec_of(cases[0].module)
    try:
        of_node, of_nobody = actions_of(code_of(spec.read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f"Cannot read {spec} ({error.strerror}).") from error
    return (*sorted(of_node), *sorted(of_nobody))


def locked(binding: Binding, instances: Sequence[Instance], seed: int, runs: int) -> Result:
    """Return what so many runs in lockstep came to."""
    started = time.monotonic()
    walked = lockstep(binding, instances, seed=seed, runs=runs)
    return lock_result(binding, walked, time.monotonic() - started)


def lock_result(binding: Binding, walked: Walked, seconds: float) -> Result:
    """Return the result of a lockstep."""
    figures = walked.figures() | {"seconds": round(seconds, 2)}
    detail = "" if walked.mismatch is None else walked.mismatch.text()
    name = f"{binding.protocol}-lockstep"
    return Result(
        name, binding.protocol, VIOLATED if detail else HOLDS, figures=figures, detail=detail
    )


# ---------------------------------------------------------------------- schedules


def schedule_of(prepared: Prepared, number: int) -> dict[str, Any]:
    """Return a walk as one record of a file of schedules; walks count from 1."""
    steps = [
        {"action": move.action, "args": [str(arg) for arg in move.args]}
        for move in prepared.moves(prepared.walks[number - 1])
    ]
    return {
        "protocol": prepared.binding.protocol,
        "case": prepared.name,
        "walk": number,
        "steps": steps,
    }


def play(
    binding: Binding, case: Case, steps: Sequence[Mapping[str, Any]], make: MakeCore | None = None
) -> Mismatch | None:
    """Play a schedule on the model and on the real cores; raise UsageError if it does not fit."""
    system = system_for(case)
    cores = Cores(binding, system, make)
    (state, *_) = system.initial()
    moves = []
    try:
        cores.begin(state)
        for number, step in enumerate(steps, 1):
            wanted = (step["action"], list(step["args"]))
            move = next(
                (m for m in system.moves(state) if (m.action, [str(a) for a in m.args]) == wanted),
                None,
            )
            if move is None:
                raise UsageError(f"step {number}, {wanted[0]}, is not possible in {case.name}.")
            moves.append(move)
            cores.perform(move)
            state = move.target
    except Problem as problem:
        return Mismatch(case.name, tuple(moves), problem.problem, problem.differences)
    return None
