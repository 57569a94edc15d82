"""The states of FRAG's model in the vocabulary of its proof, and runs beside the theory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from raincheck.model.frag.handlers import parts_of
from raincheck.model.frag.state import State
from raincheck.model.frag.system import FragSystem
from raincheck.model.machine.composed import Move
from raincheck.model.proof.admitting import Reading
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.induction import Theory, Transition
from raincheck.model.proof.logic import Function, World

from .theory import theory
from .words import GHOST, SPEC, STATUSES


def tables_of(machine: FragSystem, state: State) -> Tables:
    """Return the spec's variables of a state."""
    tables: Tables = {name: {} for name in SPEC}

    def put(name: str, value: Any, *at: Any) -> None:
        if value not in (0, None):
            tables[name][at] = value

    for i, n in enumerate(machine.nodes):
        me = state.locals[i]
        put("status", STATUSES.index(state.status[i]), n)
        put("view", me.view, n)
        put("epoch", me.epoch, n)
        put("at", state.at[i], n)
        put("count", len(state.sent[i]), n)
        for m, parts in enumerate(state.sent[i], 1):
            put("size", parts, n, m)
        for m, sending in me.sending:
            put("sending", True, n, m)
            put("out", sending.sent, n, m)
        for sender, mine in me.kept:
            put("load", parts_of(kept for _, kept in mine), n, sender.node)
            for m, kept in mine:
                put("here", kept.here, n, sender.node, m)
        for (x, m), pieces in state.pieces[i]:
            for q, (epoch, part) in enumerate(pieces):
                put("piece_epoch", epoch, n, x, m, q)
                put("piece_part", part, n, x, m, q)
        for sender_, m, e, p, parts in state.below[i]:
            put("waits", parts > 0, sender_, m, e, p)
        _put_heard(put, n, state.delivered[i])
    for n, m in state.given_up:
        put("given_up", True, n, m)
    _put_views(put, state)
    return tables


def _put_heard(put: Any, n: str, delivered: Sequence[Any]) -> None:
    put("heard", len(delivered), n)
    amount: Counter[int] = Counter()
    for j, (sender, number, view, pieces) in enumerate(delivered):
        put("heard_from", sender, n, j)
        put("heard_number", number, n, j)
        put("heard_view", view, n, j)
        put("heard_parts", len(pieces), n, j)
        for q, (epoch, part) in enumerate(pieces):
            put("heard_epoch", epoch, n, j, q)
            put("heard_part", part, n, j, q)
        put("rank", amount[view], n, j)
        amount[view] += 1
    for view, many in amount.items():
        put("amount", many, n, view)


def _put_views(put: Any, state: State) -> None:
    put("last", len(state.views))
    for v, (view, log) in enumerate(zip(state.views, state.log, strict=True), 1):
        for n in view.members:
            put("member", True, v, n)
        for n in view.joiners:
            put("joiner", True, v, n)
        put("anew", bool(view.joiners), v)
        put("len", len(log), v)
        for i, (sender, number, epoch, part, parts) in enumerate(log):
            put("giving", not parts, v, i)
            put("source", sender, v, i)
            put("number", number, v, i)
            put("of_epoch", epoch, v, i)
            put("part", part, v, i)


def matters(name: str, at: tuple[Any, ...], s: World) -> bool:
    """Tell whether the values matter: values that no guard can see need not be equal."""
    match name, at:
        case "out", (n, m):
            return bool(s.sending(n, m))
        case (("giving" | "source" | "number" | "of_epoch" | "part"), (v, i)):
            return bool(i < s.len(v))
        case (("piece_epoch" | "piece_part"), (n, x, m, q)):
            return bool(q < s.here(n, x, m))
        case (("heard_epoch" | "heard_part"), (n, j, q)):
            return bool(j < s.heard(n) and q < s.heard_parts(n, j))
        case (("heard_from" | "heard_number" | "heard_view" | "heard_parts" | "rank"), (n, j)):
            return bool(j < s.heard(n))
    return True


def frame_of(machine: FragSystem, states: Iterable[State], subject: Theory) -> Frame:
    """Return the frame for these states of an instance."""
    found, constants = list(states), machine.constants
    domain: dict[str, Sequence[Any]] = {
        "process": machine.nodes,
        "bool": (False, True),
        "view": range(max(len(s.views) for s in found) + 2),
        "seqno": range(constants.max_sent + 2),
        "part": range(max(constants.sizes) + 2),
        "place": range(max(len(log) for s in found for log in s.log) + 2),
        "index": range(max(len(each) for s in found for each in s.delivered) + 2),
    }
    rigid: dict[str, Function] = {
        "founder": constants.founders.__contains__,
        "window": lambda: machine.rules.window,
    }
    return Frame(subject, domain, rigid, matters)


def reading(machine: FragSystem, states: Iterable[State], subject: Theory | None = None) -> Reading:
    """Return how these states of the machine read in the theory."""
    frame = frame_of(machine, states, subject or theory())

    def candidates(move: Move[State]) -> Iterable[tuple[Transition, Mapping[str, Any]]]:
        known = _known(machine, move)
        return ((each, known) for each in frame.theory.transitions if each.action == move.action)

    return Reading(frame, lambda state: tables_of(machine, state), tuple(GHOST), candidates, ())


def _known(machine: FragSystem, move: Move[State]) -> Mapping[str, Sequence[Any]]:
    """Return what the step determines of the parameters."""
    target, known = move.target, dict[str, Sequence[Any]]()
    if move.args:
        known["n"] = move.args[:1]
    match move.action:
        case "Send":
            known["k"] = [move.event.parts]
        case "SendFragment" | "GiveUp":
            known["m"] = [move.event.number]
        case "ReceiveFragment" | "ReceiveGiveUp":
            known["i"] = [target.at[machine.index[str(move.args[0])]] - 1]
        case "InstallView":
            known["v"] = [move.event.view]
        case "Sequence":
            _, m, e, p, _ = target.log[-1][-1]
            known |= {"m": [m], "e": [e], "p": [p]}
        case "ViewChange":
            joiners = target.views[-1].joiners
            known |= {"k": [len(target.log[-2])], "joiners": [joiners.__contains__]}
            known["j"] = sorted(joiners)[:1]
    return known


def began(read: Reading, first: State) -> Tables:
    """Return the tables of a first state, with the history that it has."""
    return {**read.tables(first), **{name: {} for name in GHOST}, "began": {(1,): 1}}
