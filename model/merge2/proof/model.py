"""The states of MERGE2's model in the vocabulary of its proof, and runs beside the theory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from raincheck.model.machine.composed import Move
from raincheck.model.merge2.events import (
    NO_MERGE,
    Answer,
    MergeId,
    ReceiveMergeRsp,
    SendMergeRsp,
    View,
    ViewId,
)
from raincheck.model.merge2.handlers import Local
from raincheck.model.merge2.state import State
from raincheck.model.merge2.system import Merge2System
from raincheck.model.proof.admitting import Reading
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.induction import Theory, Transition
from raincheck.model.proof.logic import Function, World

from .theory import theory
from .words import GHOST, IDLE, SPEC, STAGES

Reply = tuple[MergeId, Answer]
"""An answer, and the merge that it is for."""

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
        target, event = _with_names(move.target, names), _with_names(move.event, names)
        outputs = _with_names(move.outputs, names)
        found.append(move._replace(target=target, event=event, outputs=outputs))
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

    views = [view for path in state.path for view in path]
    named = {view.id: view for view in views}

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
        for p in me.waiting:
            put("waiting", True, n, p)
        for answer in me.answers:
            put("has", True, n, (me.merge, answer))
        put("holds", held is not None, n)
        put("held", held and held.view, n)
        put("latched", bool(state.latch[i]), n)
        put("latch", state.latch[i] or None, n)
        if state.cut[i] != NO_MERGE:
            put("cut", True, n, state.cut[i])
        for x, read in zip(nodes, state.position[i], strict=True):
            put("position", read, n, x)
        put("count", len(state.path[i]), n)
        for k, view in enumerate(state.path[i]):
            put("path", view, n, k)
            put("been", True, n, view)
        put("heard", len(state.delivered[i]), n)
        for k, each in enumerate(state.delivered[i]):
            put("heard_from", each.sender, n, k)
            put("heard_number", each.number, n, k)
            put("heard_view", named.get(each.view, View(each.view, ("",))), n, k)
            put("did", True, n, each.sender, each.number)
            for view in views:
                if view.id == each.view:
                    put("hears", True, n, each.sender, each.number, view)
        put("spoken", len(state.stream[i]), n)
        for k, of in enumerate(state.stream[i], 1):
            put("said", named.get(of, View(of, ("",))), n, k)
    for merge, view, coordinators in state.decided:
        put("decided", True, merge)
        put("result", view, merge)
        for c in coordinators:
            put("into", True, merge, c)
    put("doubted", state.doubts > 0)
    return tables


def matters(name: str, at: tuple[Any, ...], s: World) -> bool:
    """Tell whether the values matter: values that no guard can see need not be equal."""
    match name, at:
        case "merge", (n,):
            return bool(s.stage(n) != IDLE)
        case (("waiting" | "has"), (n, _)):
            return bool(s.stage(n) != IDLE and s.leader(s.merge(n)) == n)
        case "held", (n,):
            return bool(s.holds(n))
        case "latch", (n,):
            return bool(s.latched(n))
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
    numbered = {(v.id.counter, n): v for s in found for n, v in _installed(machine, s)}
    domain: dict[str, Sequence[Any]] = {
        "process": machine.nodes,
        "bool": (False, True),
        "group": sorted(views),
        "union": sorted(merges - {NO_MERGE}),
        "reply": sorted(frozenset().union(*map(_replies, found)), key=repr),
        "index": range(max(len(each) for s in found for each in (*s.path, *s.delivered)) + 2),
        "number": range(max(view.id.counter for view in views) + 2),
        "place": range(max(len(each) for s in found for each in s.stream) + 2),
    }
    rigid: dict[str, Function] = {
        "rank": lambda n: machine.index.get(n, -1),
        "leader": lambda u: u.leader if isinstance(u, MergeId) else None,
        "start": lambda n: starts[n],
        "first": lambda v: _view(v).members[0],
        "number": lambda v: _view(v).id.counter,
        "maker": lambda v: _view(v).id.coordinator,
        "merged": lambda v: _view(v).merge != NO_MERGE,
        "union": lambda v: _view(v).merge,
        "inside": lambda v, p: p in _view(v).members,
        "digest": lambda v, x: digests.get((v, x), 0),
        "of": lambda r: r[0],
        "by": lambda r: r[1].sender,
        "at": lambda r: numbered[r[1].counter, r[1].sender],
        "there": lambda r, p: p in r[1].members,
        "upto": lambda r, x: dict(r[1].digest).get(x, 0),
    }
    return Frame(subject, domain, rigid, matters)


def _installed(machine: Merge2System, state: State) -> Iterator[tuple[str, View]]:
    for n, path in zip(machine.nodes, state.path, strict=True):
        yield from ((n, view) for view in path)


def _replies(state: State) -> Iterator[Reply]:
    """Yield the answers under way, and those that leaders have."""
    for message in state.net:
        if isinstance(message.content, SendMergeRsp) and message.content.answer is not None:
            yield message.content.merge, message.content.answer
    for me in state.locals:
        yield from ((me.merge, answer) for answer in me.answers)


def _view(value: Any) -> View:
    """Return the view, or for none one without anything."""
    return value if isinstance(value, View) else View(ViewId(0, ""), ("",))


def reading(
    machine: Merge2System, states: Iterable[State], subject: Theory | None = None
) -> Reading:
    """Return how these states of the machine read in the theory."""
    frame = frame_of(machine, states, subject or theory())

    def candidates(move: Move[State]) -> Iterable[tuple[Transition, Mapping[str, Any]]]:
        known = _known(machine, move)
        return ((each, known) for each in frame.theory.transitions if each.action == move.action)

    return Reading(frame, lambda state: tables_of(machine, state), tuple(GHOST), candidates)


def beginning(read: Reading, state: State) -> Tables:
    """Return a first state with its history: its views were decided."""
    views = {me.view for me in state.locals}
    by_id = {(view.id.coordinator, view.id.counter): view for view in views}
    return {**read.tables(state), "made": {(view,): True for view in views}, "by_id": by_id}


def _known(machine: Merge2System, move: Move[State]) -> Mapping[str, Sequence[Any]]:
    """Return what the step determines of the parameters."""
    node = move.node or (move.args[0] if move.args else None)
    if node is None:
        return {}
    i, known = machine.index[str(node)], dict[str, Sequence[Any]](n=[node])
    me, held, event = move.target.locals[i], move.target.held[i], move.event
    merge = getattr(event, "merge", me.merge)
    known["u"] = [] if merge == NO_MERGE else [merge]
    known["v"] = [] if held is None else [held.view]
    known["p"] = [*move.args[1:], *([event.sender] if hasattr(event, "sender") else [])]
    known["x"] = move.args[1:]
    known["asked"] = [me.waiting.__contains__]
    known["r"] = list(_spoken_of(move, me))
    return known


def _spoken_of(move: Move[State], me: Local) -> Iterator[Reply]:
    """Yield the answer that arrives, or that the member gives."""
    if isinstance(move.event, ReceiveMergeRsp):
        if move.event.answer is not None:
            yield move.event.merge, move.event.answer
        return
    for output in move.outputs:
        if isinstance(output, SendMergeRsp) and output.answer is not None:
            yield output.merge, output.answer
    yield from ((me.merge, answer) for answer in me.answers if answer.sender == me.node)
