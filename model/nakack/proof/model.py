"""The states of NAKACK's model in the vocabulary of its proof, and runs beside the theory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from raincheck.model.machine.composed import Move
from raincheck.model.machine.runs import Address
from raincheck.model.nakack.handlers import Rules, Stream, running, stream_of
from raincheck.model.nakack.promises import acks_are_true, invariants
from raincheck.model.nakack.state import Constants, State
from raincheck.model.nakack.system import NakackSystem
from raincheck.model.proof.admitting import Reading
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.logic import World
from raincheck.model.proof.ties import Edge, Machines, Path, Seen, damages, said, walked

from .theory import theory
from .words import CRASHED, JOINING, MEMBER, SPEC

HISTORY: Final = ("data", "forged", "acks", "sent", "sent_in", "begin")
"""What no state shows."""

_BY: Final = {
    "ReceiveData": ("ReceiveData", "HeardOf"),
    "ReceiveAlive": ("ReceiveAlive", "HeardOf"),
}
"""Under which names the theory has what an action does to the stream."""

EXCUSED: Final = {
    "InstallView: only Not(reads(p))": "A stream that is not read is cut at 0, and the symbol of"
    " what was delivered of it is 0.",
    "SendingView": "The theorem asks for the true view of sending too, where the promise takes the"
    " tag's word for it.",
    "Recoverable": "The theorem asks the member that delivered a multicast to keep it, the promise"
    " that anybody does. Of streams that were left behind, and of what lies before a joiner's"
    " beginning, the theorem says nothing: TLC checks that.",
}


def instance(**changes: Any) -> NakackSystem:
    """Return the model of a small instance: one member sends, another one joins."""
    usual: dict[str, Any] = {
        "nodes": ("a", "b", "c"),
        "founders": frozenset("ab"),
        "senders": frozenset("a"),
        "max_sent": 1,
        "crashers": frozenset("a"),
        "max_crashes": 1,
        "max_views": 2,
        "announcers": frozenset("abc"),
        "purging": True,
        "max_lost": 0,
        "may_duplicate": True,
        "safe_purge": "delivered",
        "virtual_synchrony": True,
        "prompt": False,
        "cut_by": "arrived",
        "rules": Rules(window=2, retain=3, announcing=False),
    }
    return NakackSystem(Constants(**{**usual, **changes}))


def tables_of(machine: NakackSystem, state: State, source: int) -> Tables:
    """Return the spec's variables of a state, as the theory has them for that member's stream."""
    values: Tables = {name: {} for name in SPEC}
    words = {"joining": JOINING, "member": MEMBER, "crashed": CRASHED}
    who = Address(machine.nodes[source], 0)

    def put_in(name: str, value: Any, *at: Any) -> None:
        if value not in (0, False):
            values[name][at] = value

    for p, me in enumerate(state.locals):
        put_in("status", words[me.status], p)
        put_in("view", me.view, p)
        stream = stream_of(me.stream, who)
        put_in("reads", stream is not None, p)
        stream = stream or Stream()
        put_in("delivered", stream.delivered, p)
        put_in("heard", stream.heard, p)
        put_in("frozen", stream.frozen, p)
        for k, view in stream.held:
            put_in("held", True, p, k)
            put_in("tag", view, p, k)
        log = state.log[p][source]
        put_in("passed", len(log), p)
        for i, (seqno, tag, within) in enumerate(log, 1):
            put_in("passed_seqno", seqno, p, i)
            put_in("passed_tag", tag, p, i)
            put_in("passed_in", within, p, i)
    for member, at in state.locals[source].acked:
        put_in("acked", at, machine.index[member.node])
    put_in("decided", len(state.views))
    for v, decided in enumerate(state.views, 1):
        put_in("cut", dict(decided.cut).get(who, 0), v)
        for member in decided.members:
            put_in("in_view", True, v, machine.index[member.node])
    return values


def matters(name: str, at: tuple[Any, ...], s: World) -> bool:
    """Tell whether the values matter: values that no guard can see need not be equal."""
    if name in ("delivered", "heard", "frozen", "held"):
        return bool(s.reads(at[0]))
    if name == "tag":
        return bool(s.reads(at[0]) and s.held(*at))
    if name.startswith("passed_"):
        return bool(1 <= at[1] <= s.passed(at[0]))
    if name == "acked":
        return bool(s.status(s.source()) == MEMBER and s.in_view(s.view(s.source()), at[0]))
    if name == "view":
        return bool(s.status(at[0]) == MEMBER)
    if name in ("cut", "in_view"):
        return bool(1 <= at[0] <= s.decided())
    return True


def frame_of(
    machine: NakackSystem, source: int, most: int = 3, subject: Theory | None = None
) -> Frame:
    """Return the frame for states with numbers of at most that size."""
    kinds = dict.fromkeys(("number", "seqno", "index", "view"), range(most + 1))
    founders = {i for i, name in enumerate(machine.nodes) if name in machine.constants.founders}
    return Frame(
        subject or theory(),
        {**kinds, "process": list(range(len(machine.nodes))), "bool": (False, True)},
        {"source": lambda: source, "founder": founders.__contains__},
        matters,
    )


def reading(
    machine: NakackSystem, source: int, most: int = 3, subject: Theory | None = None
) -> Reading:
    """Return how the states of the machine read in the theory of that member's stream."""
    frame = frame_of(machine, source, most, subject)

    def candidates(move: Move[State]) -> Iterable[tuple[Any, Mapping[str, Any]]]:
        for transition in frame.theory.transitions:
            if transition.action not in _BY.get(move.action, (move.action,)):
                continue
            # What the source counts is the sender's; all else is of who takes the step.
            who = move.event.sender.node if transition.case == "at the source" else move.node
            yield transition, {} if who is None else {"p": [machine.nodes.index(who)]}

    return Reading(frame, lambda state: tables_of(machine, state, source), HISTORY, candidates)


# ---------------------------------------------------------------------- random runs

_MANY: Final[Mapping[str, Any]] = {
    "max_sent": 3,
    "max_lost": 2,
    "max_views": 3,
    "crashers": frozenset("abc"),
    "max_crashes": 2,
}


def damaged(source: int) -> tuple[Path, ...]:
    """Return where the states are damaged of which the theorems about that stream are asked."""
    log = ("log", "*", str(source))
    acked = ("locals", str(source), "acked", "*", "1")
    stream = ("locals", "*", "stream", "*", "1")
    return (
        *(log, (*log, "*", "0"), (*log, "*", "1"), (*log, "*", "2"), acked),
        *((*stream, "held"), (*stream, "delivered")),
    )


def _speaks_of(source: int, before: State, after: State) -> bool:
    """Tell whether only the source's stream was damaged, and nothing lost its shape: views begin
    with 1, and what is held is in order.
    """
    if any(within < 1 for row in after.log for log in row for _, _, within in log):
        return False
    held = (stream.held for me in after.locals for _, stream in me.stream)
    if any(list(each) != sorted(set(each)) for each in held):
        return False
    return all(
        one == other or a.node == before.locals[source].node
        for me, then in zip(before.locals, after.locals, strict=True)
        for (a, one), (_, other) in zip(me.stream, then.stream, strict=True)
    )


def _created(state: State, source: int) -> Iterator[State]:
    """Yield the state with one multicast more in a log than the source has sent, if it runs."""
    me = state.locals[source]
    if not running(me):
        return
    for p, reader in enumerate(state.locals):
        if reader.view:
            passed = (*state.log[p][source], (me.sent + 1, reader.view, reader.view))
            row = (*state.log[p][:source], passed, *state.log[p][source + 1 :])
            yield state._replace(log=(*state.log[:p], row, *state.log[p + 1 :]))


def _weight(crash: float, _: State, move: Move[State]) -> float:
    return crash if move.action == "Crash" else 1


def _runs() -> Iterator[tuple[NakackSystem, int, State, list[Move[State]]]]:
    for source, founders, strangers in (
        (0, "ab", ""),
        (0, "abc", ""),
        (2, "ab", ""),
        (0, "ab", "c"),
    ):
        machine = instance(
            senders=frozenset("abc"[source]),
            founders=frozenset(founders),
            strangers=frozenset(strangers),
            max_forged=2,
            **_MANY,
        )
        for seed in range(20):
            crash = 0.05 if seed % 4 else 0.5
            first, moves = walked(machine, seed, 70, partial(_weight, crash))
            yield machine, source, first, moves


def edges(subject: Theory, _machines: Machines) -> Iterator[Edge]:
    """Yield the steps of random runs."""
    for machine, source, first, moves in _runs():
        read = reading(machine, source, 4, subject)
        yield from read.followed(read.tables(first), moves, [])


def twins(subject: Theory, _machines: Machines) -> Iterator[Seen]:
    """Yield states of random runs, and damaged ones."""
    for machine, source, first, moves in _runs():
        read = reading(machine, source, 4, subject)
        reached: list[Tables] = []
        list(read.followed(read.tables(first), moves, reached))
        rules = machine.constants.rules
        promises = {**invariants(rules.window, rules.retain), "AcksAreTrue": acks_are_true}
        states = [first, *(move.target for move in moves)]
        for state, tables in list(zip(states, reached, strict=False))[::9]:
            history = {name: tables.get(name, {}) for name in HISTORY}
            for other in (*damages([state], damaged(source), 24), *_created(state, source)):
                if not _speaks_of(source, state, other):
                    continue
                if found := said(promises, other):
                    yield Seen(found, read.frame.world({**read.tables(other), **history}))
