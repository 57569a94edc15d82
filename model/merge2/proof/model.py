"""The states of MERGE2's model in the vocabulary of its proof, and runs beside the theory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from raincheck.model.machine.composed import Move
from raincheck.model.merge2.events import NO_MERGE, MergeId, View
from raincheck.model.merge2.state import State
from raincheck.model.merge2.system import Merge2System
from raincheck.model.proof.admitting import Reading
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.induction import Theory, Transition
from raincheck.model.proof.logic import Function, World

from .theory import theory
from .words import GHOST, IDLE, SPEC, STAGES

Run = tuple[State, list[Move[State]]]
"""A first state, and what follows."""


def renamed(run: Run) -> Run:
    """Return the run in which no merge has a name that another one had before it.

    The model uses a number again when nothing refers to it any more.
    """
    state, moves = run
    names, used, found = dict[MergeId, MergeId](), set[MergeId](), list[Move[State]]()
    for move in moves:
        if begins(move):
            merge = move.target.locals[
                [me.node for me in state.locals].index(str(move.args[0]))
            ].merge
            if merge in used:
                names[merge] = MergeId(merge.leader, 1_000 + len(used))
            used.add(names.get(merge, merge))
        found.append(move._replace(target=_with_names(move.target, names)))
    return state, found


def begins(move: Move[Any]) -> bool:
    """Tell whether a leader begins a merge with that step."""
    return move.action == "Merge" and any(type(each).__name__ == "Suspend" for each in move.outputs)


def _with_names(value: Any, names: Mapping[MergeId, MergeId]) -> Any:
    match value:
        case MergeId():
            return names.get(value, value)
        case frozenset():
            return frozenset(_with_names(each, names) for each in value)
        case tuple():
            parts = [_with_names(each, names) for each in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def tables_of(machine: Merge2System, state: State) -> Tables:
    """Return the spec's variables of a state."""
    tables: Tables = {name: {} for name in SPEC}
    nodes = machine.nodes

    def put(name: str, value: Any, *at: Any) -> None:
        if value not in (0, None):
            tables[name][at] = value

    for i, (n, me) in enumerate(zip(nodes, state.locals, strict=True)):
        put("running", state.status[i] == "member", n)
        put("view", me.view, n)
        put("coordinates", me.coordinates, n)
        put("stage", STAGES.index(me.stage), n)
        put("merge", me.merge, n)
        held = state.held[i]
        put("holds", held is not None, n)
        put("held", held and held.view, n)
        for x, read in zip(nodes, state.position[i], strict=True):
            put("position", read, n, x)
        put("count", len(state.path[i]), n)
        for k, view in enumerate(state.path[i]):
            put("path", view, n, k)
        put("heard", len(state.delivered[i]), n)
        for k, each in enumerate(state.delivered[i]):
            put("heard_from", each.sender, n, k)
            put("heard_number", each.number, n, k)
    for merge, view, _ in state.decided:
        put("decided", True, merge)
        put("result", view, merge)
    return tables


def matters(name: str, at: tuple[Any, ...], s: World) -> bool:
    """Tell whether the values matter: values that no guard can see need not be equal."""
    match name, at:
        case "merge", (n,):
            return bool(s.stage(n) != IDLE)
        case "held", (n,):
            return bool(s.holds(n))
        case "path", (n, i):
            return bool(i < s.count(n))
    return True


def frame_of(machine: Merge2System, states: Iterable[State], subject: Theory) -> Frame:
    """Return the frame for these states of an instance."""
    found = list(states)
    held = {each for s in found for each in s.held if each is not None}
    views = {view for s in found for path in s.path for view in path} | {h.view for h in held}
    views |= {decided.view for s in found for decided in s.decided}
    merges = {me.merge for s in found for me in s.locals} | {view.merge for view in views}
    starts = {me.node: me.view for me in found[0].locals}
    digests = {(h.view, x): read for h in held for x, read in h.digest}
    domain: dict[str, Sequence[Any]] = {
        "process": machine.nodes,
        "bool": (False, True),
        "group": sorted(views),
        "union": sorted(merges - {NO_MERGE}),
        "index": range(max(len(each) for s in found for each in (*s.path, *s.delivered)) + 2),
    }
    rigid: dict[str, Function] = {
        "leader": lambda u: u.leader if isinstance(u, MergeId) else None,
        "start": lambda n: starts[n],
        "first": lambda v: _view(v).members[0],
        "merged": lambda v: _view(v).merge != NO_MERGE,
        "union": lambda v: _view(v).merge,
        "inside": lambda v, p: p in _view(v).members,
        "digest": lambda v, x: digests.get((v, x), 0),
    }
    return Frame(subject, domain, rigid, matters)


def _view(value: Any) -> View:
    """Return the view, or for none one without anything."""
    return value if isinstance(value, View) else View((0, ""), ("",))  # type: ignore[arg-type]


def reading(
    machine: Merge2System, states: Iterable[State], subject: Theory | None = None
) -> Reading:
    """Return how these states of the machine read in the theory."""
    frame = frame_of(machine, states, subject or theory())

    def candidates(move: Move[State]) -> Iterable[tuple[Transition, Mapping[str, Any]]]:
        known = _known(machine, move)
        return ((each, known) for each in frame.theory.transitions if each.action == move.action)

    return Reading(frame, lambda state: tables_of(machine, state), tuple(GHOST), candidates)


def _known(machine: Merge2System, move: Move[State]) -> Mapping[str, Sequence[Any]]:
    """Return what the step determines of the parameters."""
    node = move.node or (move.args[0] if move.args else None)
    if node is None:
        return {}
    i, known = machine.index[str(node)], dict[str, Sequence[Any]](n=[node])
    merge, held = move.target.locals[i].merge, move.target.held[i]
    known["u"] = [] if merge == NO_MERGE else [merge]
    known["v"] = [] if held is None else [held.view]
    if move.action == "Deliver":
        known["x"] = move.args[1:]
    return known
