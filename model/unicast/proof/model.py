"""The states of UNICAST's model in the vocabulary of its proof, and runs beside the theory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from raincheck.model.machine.composed import Move
from raincheck.model.proof.admitting import Reading
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.logic import World
from raincheck.model.proof.ties import Edge, Machines, Seen, damages, said, walked
from raincheck.model.unicast.handlers import Receiver, Rules, Sender, address, found
from raincheck.model.unicast.promises import invariants
from raincheck.model.unicast.state import Constants, State
from raincheck.model.unicast.system import UnicastSystem

from .theory import theory
from .words import SPEC

A, B = 0, 1
"""The places of the sending and of the receiving process."""

HISTORY: Final = ("data", "ack", "place")
"""What no state shows."""

_NOTHING: Final = (
    "Where nothing is received, `from_here` is 0, so it is no later connection either."
)
_NOT_BOTH: Final = "The guard excludes it: a datagram begins a connection or goes on with one."

EXCUSED: Final = {
    "ReceiveAck: stale: only Not(ack(c, a, b))": "The guard asks for the acknowledgement first.",
    "ReceiveAck: stale: only Not(sending)": "Where nothing is sent, `connection` is 0, so the"
    " acknowledgement is of another connection as well.",
    "ReceiveAck: stale: only Not(a <= out)": "Nothing is acknowledged that is not out.",
    "Receive: dropped: only Not(receiving)": _NOTHING,
    "Receive: first: only Not(receiving)": _NOTHING,
    "Receive: kept: only Not(receiving)": _NOTHING,
    "Receive: first: only Not(buffered(k))": _NOT_BOTH,
    "Receive: kept: only Not(Not(Or(Not(receiving), c != from_here)))": _NOT_BOTH,
    "Receive: kept: only c != from_here": _NOT_BOTH,
    "BoundedBuffers": "The theorem says which messages are kept, the promise only how many.",
}


def instance(**changes: Any) -> UnicastSystem:
    """Return the model of a small instance: a sends to b."""
    usual: dict[str, Any] = {
        "nodes": ("a", "b"),
        "senders": frozenset("a"),
        "max_said": 2,
        "forgetters": frozenset("ab"),
        "max_connections": 2,
        "crashers": frozenset(),
        "returners": frozenset(),
        "may_lose": False,
        "may_duplicate": True,
        "may_reorder": True,
        "rules": Rules(window=1),
    }
    return UnicastSystem(Constants(**{**usual, **changes}))


def tables_of(machine: UnicastSystem, state: State) -> Tables:
    """The spec's variables of a state, as the theory has them; what was ever sent is left out."""
    a, b = state.locals
    values: Tables = {name: {} for name in SPEC}

    def put_in(name: str, value: Any, *at: Any) -> None:
        if value not in (0, False):
            values[name][at] = value

    put_in("connections", a.connections)
    sender = found(a.senders, address(machine.rules, b))
    put_in("sending", sender is not None)
    for name, field in {"confirmed": "consumed"}.items() | {
        (each, each) for each in ("connection", "seqno", "acked", "out")
    }:
        put_in(name, getattr(sender or Sender(0), field))
    receiver = found(b.receivers, address(machine.rules, a))
    put_in("receiving", receiver is not None)
    receiver = receiver or Receiver(0)
    put_in("from_here", receiver.connection)
    put_in("arrived", receiver.arrived)
    put_in("consumed", receiver.consumed)
    for k, content in receiver.buffer:
        put_in("buffered", True, k)
        put_in("buffer_talk", content[2], k)
        put_in("buffer_number", content[3], k)
    put_in("closed", found(b.closed, address(machine.rules, a)) or 0)
    put_in("heard", len(state.delivered[B]))
    for i, (_, content) in enumerate(state.delivered[B], 1):
        put_in("heard_talk", content[2], i)
        put_in("heard_number", content[3], i)
    return values


def matters(name: str, at: tuple[Any, ...], s: World) -> bool:
    """Tell whether the values matter: values that no guard can see need not be equal."""
    if name in ("connection", "seqno", "acked", "out", "confirmed"):
        return bool(s.sending())
    if name in ("from_here", "arrived", "consumed", "buffered"):
        return bool(s.receiving())
    if name.startswith("buffer_"):
        return bool(s.receiving() and s.buffered(*at))
    return not name.startswith("heard_") or bool(1 <= at[0] <= s.heard())


def frame_of(machine: UnicastSystem, most: int = 3, subject: Theory | None = None) -> Frame:
    """Return the frame for states with numbers of at most that size."""
    kinds = dict.fromkeys(("number", "seqno", "index"), range(most + 1))
    window = machine.rules.window
    return Frame(
        subject or theory(), {**kinds, "bool": (False, True)}, {"window": lambda: window}, matters
    )


def _parameters(move: Move[State]) -> Mapping[str, list[int]]:
    """Return what the input determines of the parameters."""
    match move.action:
        case "Receive":
            life, _, talk, number = move.event.content
            return {
                "c": [move.event.connection],
                "k": [move.event.seqno],
                "life": [life],
                "talk": [talk],
                "number": [number],
            }
        case "ReceiveAck":
            _, c, a, b, _ = move.event
            return {"c": [c], "a": [a], "b": [b]}
    return {}


def reading(machine: UnicastSystem, most: int = 3, subject: Theory | None = None) -> Reading:
    """Return how the states of the machine read in the theory."""
    frame = frame_of(machine, most, subject)

    def candidates(move: Move[State]) -> Iterable[tuple[Any, Mapping[str, Any]]]:
        by_sender = move.action == "Forget" and move.node == "a"
        for transition in frame.theory.transitions:
            whose = transition.case == "by the sender"
            if transition.action == move.action and whose == by_sender:
                yield transition, _parameters(move)

    return Reading(frame, lambda state: tables_of(machine, state), HISTORY, candidates, {"Lose"})


# ---------------------------------------------------------------------- random runs

MOST: Final = 5
"""The largest number of a state, also of a damaged one."""

DAMAGED: Final = (
    *(("delivered", "1"), ("delivered", "1", "*", "1", "2"), ("delivered", "1", "*", "1", "3")),
    *(("locals", "0", "senders", "*", "1", name) for name in ("acked", "out", "consumed")),
    *(("locals", "1", "receivers", "*", "1", name) for name in ("arrived", "consumed")),
)
"""Where the states are damaged of which the theorems are asked."""


_HASTE: Final = {"Forget": 1.0, "Consume": 0.05, "Retransmit": 0.1}
"""Weights with which a connection begins while messages of the one before are still kept."""


def _runs() -> Iterator[tuple[UnicastSystem, State, list[Move[State]]]]:
    for window, count, runs, weights in (
        (1, 3, 20, {"Forget": 0.1}),
        (2, 4, 30, {"Forget": 0.1}),
        (2, 3, 6, _HASTE),
    ):
        forgetters = frozenset("a" if weights is _HASTE else "ab")
        machine = instance(max_said=count, forgetters=forgetters, rules=Rules(window=window))
        for seed in range(runs):
            first, moves = walked(machine, seed, 60, partial(_weight, weights))
            yield machine, first, moves


def _weight(weights: Mapping[str, float], _: State, move: Move[State]) -> float:
    return weights.get(move.action, 1)


def edges(subject: Theory, _machines: Machines) -> Iterator[Edge]:
    """Yield the steps of random runs."""
    for machine, first, moves in _runs():
        read = reading(machine, MOST, subject)
        yield from read.followed(_began(read, first), moves, [])


def twins(subject: Theory, _machines: Machines) -> Iterator[Seen]:
    """Yield states of random runs, and damaged ones."""
    for machine, first, moves in _runs():
        read, reached = reading(machine, MOST, subject), list[Tables]()
        list(read.followed(_began(read, first), moves, reached))
        states = [first, *(move.target for move in moves)]
        for state, tables in list(zip(states, reached, strict=False))[::16]:
            history = {name: tables.get(name, {}) for name in HISTORY}
            overrun = _overrun(state, machine.rules.window)
            for other in (*damages([state], DAMAGED, 15), _stuffed(state), *overrun):
                if (
                    max((k for _, r in other.locals[B].receivers for k, _ in r.buffer), default=0)
                    > MOST
                ):
                    continue
                if promises := said(invariants(machine.rules), other):
                    yield Seen(promises, read.frame.world({**read.tables(other), **history}))


def _stuffed(state: State) -> State:
    """Return the state with two messages more in the receiver's buffers."""
    me = state.locals[B]
    receivers = []
    for source, receiver in me.receivers:
        kept = list(receiver.buffer)
        last, content = kept[-1] if kept else (receiver.arrived, (0, 0, 1, 1))
        kept += [(last + 1, content), (last + 2, content)]
        receivers.append((source, receiver._replace(buffer=tuple(kept))))
    return state._replace(locals=(state.locals[A], me._replace(receivers=tuple(receivers))))


def _overrun(state: State, window: int) -> Iterator[State]:
    """Yield the state with a sender that has more out than its window and a probe."""
    me = state.locals[A]
    for place, (to, sender) in enumerate(me.senders):
        out = sender.consumed + window + 2
        if out <= MOST:
            row = (to, sender._replace(out=out))
            senders = (*me.senders[:place], row, *me.senders[place + 1 :])
            yield state._replace(locals=(me._replace(senders=senders), state.locals[B]))


def _began(read: Reading, first: State) -> Tables:
    return {**read.tables(first), "place": {}}
