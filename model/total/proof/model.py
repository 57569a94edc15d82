"""The states of TOTAL's model in the vocabulary of its proof, and runs beside the theory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from raincheck.model.machine.composed import Move
from raincheck.model.proof.admitting import Reading
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.induction import Theory, Transition
from raincheck.model.proof.logic import Function, World
from raincheck.model.total.events import ReceiveBcast, ReceiveCumSeqAck, ReceiveRequest
from raincheck.model.total.state import State
from raincheck.model.total.system import TotalSystem

from .theory import theory
from .words import GHOST, SPEC, STATUSES


def tables_of(machine: TotalSystem, state: State) -> Tables:
    """Return the spec's variables of a state."""
    tables: Tables = {name: {} for name in SPEC}

    def put(name: str, value: Any, *at: Any) -> None:
        if value:
            tables[name][at] = value

    for n, me, delivered in zip(machine.nodes, state.locals, state.delivered, strict=True):
        put("status", STATUSES.index(me.status), n)
        for name in ("view", "seqno", "next_id", "expected"):
            put(name, getattr(me, name), n)
        for who, number in me.taken:
            put("taken", number, n, who.node)
        for who, number in me.acks:
            put("acks", number, n, who.node)
        for name, broadcasts in (("queued", me.queue), ("kept", me.history)):
            for each in broadcasts:
                put(name, True, n, each.id)
                put(f"{name}_from", each.message.sender.node, n, each.id)
                put(f"{name}_number", each.message.seqno, n, each.id)
        put("heard", len(delivered), n)
        for j, heard in enumerate(delivered):
            put("heard_from", heard.message.sender.node, n, j)
            put("heard_number", heard.message.seqno, n, j)
            put("heard_view", heard.view, n, j)
            put("heard_id", heard.id, n, j)
    return tables


def began(machine: TotalSystem, state: State) -> Tables:
    """Return the tables of a first state, with the history that its members have."""
    tables = tables_of(machine, state)
    views = {(n,): me.view for n, me in zip(machine.nodes, state.locals, strict=True) if me.view}
    reached = dict(tables["expected"])
    return {**tables, "first": views, "latest": dict(views), "reached": reached}


def matters(name: str, at: tuple[Any, ...], s: World) -> bool:
    """Tell whether the values matter: those of broadcasts where there is one."""
    if name in ("queued_from", "queued_number"):
        return bool(s.queued(*at))
    if name in ("kept_from", "kept_number"):
        return bool(s.kept(*at))
    return True


def frame_of(machine: TotalSystem, states: Iterable[State], subject: Theory) -> Frame:
    """Return the frame for these states of an instance."""
    found = list(states)
    views = max((each.views for each in found), key=len)
    ids = [each.id for s in found for heard in s.delivered for each in heard]
    ids += [me.next_id for s in found for me in s.locals]
    ids += [each.id for s in found for me in s.locals for each in me.queue]
    seqnos = [me.seqno for s in found for me in s.locals]
    domain: dict[str, Sequence[Any]] = {
        "process": machine.nodes,
        "bool": (False, True),
        "view": range(len(views) + 2),
        "place": range(max(ids) + 2),
        "seqno": range(max(seqnos) + 2),
        "index": range(max(len(heard) for s in found for heard in s.delivered) + 2),
    }

    def members(v: int) -> tuple[str, ...]:
        """Return who is in the view; somebody, if there is no such view."""
        if 1 <= v <= len(views):
            return tuple(each.node for each in views[v - 1].members)
        return machine.nodes[:1]

    rigid: dict[str, Function] = {
        "sequencer": lambda v: members(v)[0],
        "member": lambda v, p: 1 <= v <= len(views) and p in members(v),
    }
    return Frame(subject, domain, rigid, matters)


def reading(
    machine: TotalSystem, states: Iterable[State], subject: Theory | None = None
) -> Reading:
    """Return how these states of the machine read in the theory."""
    frame = frame_of(machine, states, subject or theory())

    def candidates(move: Move[State]) -> Iterable[tuple[Transition, Mapping[str, Any]]]:
        known = _known(machine, move)
        return ((each, known) for each in frame.theory.transitions if each.action == move.action)

    return Reading(frame, lambda state: tables_of(machine, state), tuple(GHOST), candidates)


def _known(machine: TotalSystem, move: Move[State]) -> Mapping[str, Sequence[Any]]:
    """Return what the step determines of the parameters."""
    if not move.args:
        return {}
    n = str(move.args[0])
    after = move.target.locals[machine.index[n]]
    known: dict[str, Sequence[Any]] = {"n": [n], "w": [after.view]}
    match move.event:
        case ReceiveRequest(sender, message):
            known |= {"p": [sender.node], "m": [message.seqno]}
        case ReceiveBcast(id_):
            known |= {"i": [id_], "e": [after.expected]}
        case ReceiveCumSeqAck(sender, id_):
            known |= {"p": [sender.node], "i": [id_]}
    return known
