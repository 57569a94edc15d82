"""The states of `model/state_transfer/system.py` in the vocabulary of the proof.

The mapping is a function of the state, except for the chunks ever sent, which accumulate along a
path: a chunk under way was sent on every path to its state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from raincheck.model.machine.composed import Move
from raincheck.model.machine.explore import explore
from raincheck.model.proof.concrete import Concrete, Frame, Table, Tables
from raincheck.model.proof.induction import Theory, Transition
from raincheck.model.proof.logic import Function, World
from raincheck.model.state_transfer.state import Constants, State
from raincheck.model.state_transfer.system import StateTransferSystem

from .theory import Basis, theory
from .words import GHOST, PHASES, SPEC, active

SPEC_NAMES = tuple(SPEC)
_EMPTY: Table = {}


class Step(NamedTuple):
    """An edge of the model, and the transition of the theory that takes it, or None."""

    move: Move[State]
    transition: Transition | None
    values: tuple[Any, ...]
    """Its parameters."""
    stutters: bool
    """Nothing changes that the theory is about."""
    before: Concrete
    after: Tables


def basis_of(constants: Constants) -> Basis:
    """Return the basis of a proof about this instance."""
    rules = constants.rules
    return Basis(
        rules.check_cut,
        rules.check_chunk,
        rules.transfer_ids,
        rules.one_reading,
        rules.hold_messages,
        constants.applied_first,
    )


def frame(constants: Constants, states: Sequence[State], subject: Theory | None = None) -> Frame:
    """Return the frame for these states of an instance."""
    attempts = max(me.attempt for s in states for me in s.locals)
    domain: dict[str, Sequence[Any]] = {
        "process": constants.nodes,
        "bool": (False, True),
        "number": range(attempts + 2),
        "index": range(1, 2 * constants.chunks + 2),
        "place": range(constants.max_sent + 2),
    }
    rigid: dict[str, Function] = {
        "founder": lambda p: p in constants.founders,
        "total": lambda: constants.chunks,
    }
    return Frame(subject or theory(basis_of(constants)), domain, rigid, matters)


def matters(name: str, values: tuple[Any, ...], s: World) -> bool:
    """Tell whether the values matter: values that no guard can see need not be equal."""
    match name, values:
        case "provider", (n,):
            return bool(active(s, n))
        case (("handed_by" | "handed_number" | "handed_at" | "handed_sound"), (n, i)):
            return bool(active(s, n) and i <= s.handed(n))
        case "handed", (n,):
            return bool(active(s, n))
        case (("state_by" | "state_number" | "state_at" | "state_sound"), (n, i)):
            return bool(i <= s.state(n))
    return True


def tables_of(constants: Constants, state: State) -> Tables:
    """Return the spec's variables of a state."""
    tables: Tables = {name: {} for name in SPEC}

    def put(name: str, value: Any, *values: Any) -> None:
        if value not in (0, None):
            tables[name][values] = value

    put("sent", state.sent)
    for i, n in enumerate(constants.nodes):
        me = state.locals[i]
        put("phase", PHASES.index(me.phase), n)
        put("provider", me.provider and me.provider.node, n)
        for name in ("attempt", "cut", "next"):
            put(name, getattr(me, name), n)
        for name in ("joined", "position", "applied", "base"):
            put(name, getattr(state, name)[i], n)
        for name, parts in (("handed", state.chunks[i]), ("state", state.state[i])):
            put(name, len(parts), n)
            for k, part in enumerate(parts, 1):
                put(f"{name}_by", part.by, n, k)
                put(f"{name}_number", part.number, n, k)
                put(f"{name}_at", part.at, n, k)
                put(f"{name}_sound", part.by is not None, n, k)
    return tables


def steps(system: StateTransferSystem, basis: Constants | None = None) -> Iterator[Step]:
    """Yield every edge of the instance, with the transition that takes it.

    The theory is that of the instance, unless another instance is given as its basis.
    """
    constants = system.constants
    graph = explore(system, limit=50_000, invariants={}).graph
    found = frame(basis or constants, graph.states)
    by_action = _by_action(found)
    histories: dict[State, Tables] = {}
    empty: Tables = {name: {} for name in GHOST}
    waiting = list(graph.states[: len(graph.initial)])
    histories.update(dict.fromkeys(waiting, empty))
    for state in waiting:
        before = {**tables_of(constants, state), **histories[state]}
        for move in system.moves(state):
            step = _edge(system, found, by_action, before, move)
            yield step
            if move.target not in histories:
                histories[move.target] = {name: step.after[name] for name in GHOST}
                waiting.append(move.target)


def followed(
    system: StateTransferSystem, first: State, moves: Sequence[Move[State]], subject: Theory
) -> Iterator[Step]:
    """Yield the steps of a run; the first that the theory refuses is the last."""
    found = frame(system.constants, [first, *(move.target for move in moves)], subject)
    by_action = _by_action(found)
    shown, history = tables_of(system.constants, first), dict.fromkeys(GHOST, _EMPTY)
    for move in moves:
        step = _edge(system, found, by_action, {**shown, **history}, move)
        yield step
        if step.transition is None and not step.stutters:
            return
        history = {name: step.after[name] for name in GHOST}
        shown = tables_of(system.constants, move.target)


def _by_action(found: Frame) -> dict[str, list[Transition]]:
    by_action: dict[str, list[Transition]] = {}
    for transition in found.theory.transitions:
        by_action.setdefault(transition.action, []).append(transition)
    return by_action


def _edge(
    system: StateTransferSystem,
    found: Frame,
    by_action: Mapping[str, Sequence[Transition]],
    before: Tables,
    move: Move[State],
) -> Step:
    wanted = tables_of(system.constants, move.target)
    s = found.world(before)
    for transition in by_action.get(move.action, ()):
        for values in found.possible(transition, s, _known(transition, move)):
            after = found.after(transition, s, values)
            if move.action == "Deliver" and not system.constants.inbox:
                # The bounded instance delivers and applies in one step.
                (apply,) = by_action["Apply"]
                after = found.after(apply, found.world(after), values)
            if found.differs(after, wanted, SPEC_NAMES) is None:
                return Step(move, transition, values, False, s, after)
    stutters = found.differs(before, wanted, SPEC_NAMES) is None
    return Step(move, None, (), stutters, s, before)


def _known(transition: Transition, move: Move[State]) -> Mapping[str, Sequence[Any]]:
    """Return what the label and the input determine of the parameters."""
    names = [name for name, _ in transition.parameters]
    known: dict[str, Sequence[Any]] = {"n": move.args[:1]} if "n" in names and move.args else {}
    event = move.event
    if move.action == "Read":
        known |= {"r": [event.requester.node], "k": [event.number]}
        chunk = next(each for each in move.outputs if hasattr(each, "transfer"))
        known["t"] = [chunk.transfer]
    if move.action == "ReceiveChunk" and "k" in names:
        known |= {
            "s": [event.sender.node],
            "t": [event.transfer],
            "k": [event.number],
            "c": [event.cut],
            "a": [event.payload.at],
            "b": [event.payload.by],
            "j": [event.payload.number],
        }
    return known
