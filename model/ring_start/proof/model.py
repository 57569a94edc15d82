"""Runs of RING_START's model, translated into the vocabulary of its proof."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeAlias

from raincheck.model.machine.composed import Move
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.following import Following, Step
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.logic import Function
from raincheck.model.ring_start.events import Founders, Hear, Late
from raincheck.model.ring_start.handlers import ASKS, Local, address_of, info_of, majority
from raincheck.model.ring_start.state import State
from raincheck.model.ring_start.system import RingStartSystem

from .theory import theory
from .words import STAGES

Quorum: TypeAlias = frozenset[str]
Shown: TypeAlias = dict[tuple[str, tuple[Any, ...]], Any]
"""The values of the theory's symbols that a state of the model shows, where they matter."""


def quorums(system: RingStartSystem) -> list[Quorum]:
    """Return all majorities of the members."""
    members = sorted(system.rules.members)
    sizes = range(len(members) // 2 + 1, len(members) + 1)
    return [frozenset(each) for size in sizes for each in combinations(members, size)]


def rigid(system: RingStartSystem) -> Mapping[str, Function]:
    """Return what never changes; where there is no founding and no majority, the tables have 0."""

    def life(f: Founders | int, p: str) -> int:
        return next((life for name, life in f or () if name == p), 0)  # type: ignore[union-attr]

    return {
        "member": lambda p: p in system.rules.members,
        "first": lambda: min(system.rules.members),
        "founder": lambda f, p: any(name == p for name, _ in f or ()),
        "life": life,
        "voter": lambda q, p: bool(q) and p in q,
        "everybody": lambda: system.rules.members,
        "to": lambda w: w.to,
        "by_whom": lambda w: w.info.sender.node,
        "told_life": lambda w: w.info.sender.incarnation,
        "told_stage": lambda w: STAGES.index(w.info.stage),
        "told_ring": lambda w: w.info.ring or 0,
        "meet": lambda q, r: min(q & r, default="") if q and r else "",
    }


def frame_of(system: RingStartSystem, states: Sequence[State], subject: Theory) -> Frame:
    """Return the frame for these states of an instance."""
    rings = {me.ring for state in states for me in state.locals}
    rings |= {done.ring for state in states for done in (*state.tried, *state.spoken, *state.gone)}
    rings |= {each.info.ring for state in states for each in state.late}
    lives = max(me.me.incarnation for state in states for me in state.locals)
    return Frame(
        subject,
        {
            "process": system.nodes,
            "founding": sorted(filter(None, rings), key=sorted),
            "quorum": quorums(system),
            "answer": sorted({_sent(each) for state in states for each in state.late}),
            "number": range(max(lives + 2, len(STAGES))),
            "bool": (False, True),
        },
        rigid(system),
        lambda *_: True,
        "",
    )


def _sent(late: Late) -> Late:
    """Return what never changes of an answer that is late."""
    return late._replace(before=False)


def shown(system: RingStartSystem, frame: Frame, state: State) -> Shown:
    """Return the values of the theory's symbols that the state shows."""
    found: Shown = {}
    for me in state.locals:
        n = me.me.node
        found["memory", (n,)] = me.me.incarnation
        found["stage", (n,)] = STAGES.index(me.stage)
        if me.ring:
            found["ring", (n,)] = me.ring
        heard = {info.sender.node: info for info in me.heard}
        for p in system.nodes:
            found["heard", (n, p)] = p in heard
        for p, info in heard.items():
            found["heard_life", (n, p)] = info.sender.incarnation
            found["heard_stage", (n, p)] = STAGES.index(info.stage)
            if info.ring:
                found["heard_ring", (n, p)] = info.ring
        found["again", (n,)] = bool(me.once)
        for p, life in me.once:
            if p != n:
                found["once_life", (n, p)] = life
    for name in ("tried", "spoken", "gone"):
        dones = {(done.ring, done.founder) for done in getattr(state, name)}
        for f in frame.domain["founding"]:
            for founder in f:
                found[name, (f, founder.node)] = (f, founder) in dones
    under_way = {_sent(each): each.before for each in state.late}
    for answer in frame.domain["answer"]:
        found["late", (answer,)] = answer in under_way
    for answer, before in under_way.items():
        found["before", (answer,)] = before
    return found


class Run(Following[State]):
    """A run of the model, and the same run in the theory."""

    def __init__(
        self,
        system: RingStartSystem,
        first: State,
        moves: Sequence[Move[State]],
        subject: Theory | None = None,
    ) -> None:
        super().__init__(first, moves, subject or theory())
        self.system = system
        self.frame = frame_of(system, self.states, self.theory)

    def differs(self, tables: Tables, state: State) -> str | None:
        """Return the first symbol that differs where it matters, or None."""
        world = self.frame.world(tables)
        for (name, values), wanted in shown(self.system, self.frame, state).items():
            if getattr(world, name)(*values) != wanted:
                return name
        return None

    # ------------------------------------------------------------------ its steps

    def steps(self, number: int) -> Iterator[Step]:
        """Yield the step as transitions of the theory; nothing if it does not matter there."""
        move, before = self.moves[number], self.states[number]
        n = str(move.args[0])
        i = self.system.index[n]
        me, then = before.locals[i], move.target.locals[i]
        match move.action:
            case "Start":
                yield from self._settled(me, then)
            case "Hear":
                assert isinstance(move.event, Hear)
                yield from self._heard(me, then, move.event)
            case "Delay":
                p = str(move.args[1])
                info = info_of(self.system.rules, before.locals[self.system.index[p]])
                yield "Delay", (n, p, Late(n, info))
            case "HearLate":
                assert isinstance(move.event, Hear)
                yield from self._heard(me, then, move.event, Late(n, move.event.info))
            case "Leave":
                yield "Leave", (n,)
            case "Crash" | "Close" if me.me == then.me:
                yield "Crash", (n,)
            case _:
                yield "Lose", (n, self._keepers(before, n))

    def _heard(
        self, me: Local, then: Local, event: Hear, late: Late | None = None
    ) -> Iterator[Step]:
        info = event.info
        p = info.sender.node
        heard = "HearLate" if late else "Hear"
        values = (late,) if late else (me.me.node, p)
        free = me.stage in ASKS
        if info.stage == "member":
            yield f"{heard}: a member of the ring", values
            return
        others = {each for each in me.heard if each.sender.node != p}
        knows = me._replace(heard=frozenset(others | {info}))
        if free and info.stage == "attempting" and address_of(self.system.rules, me) in info.ring:
            yield f"{heard}: a founding of its own", values
            knows = knows._replace(stage="attempting", ring=info.ring)
        else:
            yield f"{heard}: neither", values
        yield from self._settled(knows, then)

    def _settled(self, me: Local, then: Local) -> Iterator[Step]:
        """Yield what follows from what a process has heard."""
        n = me.me.node
        if me.stage in ASKS and not then.ring:
            if then.once != me.once:
                yield "Hear: all have answered once", (n,)
            return
        if me.stage in ASKS:
            if not me.heard:  # there is nobody else to ask
                yield "Hear: all have answered once", (n,)
            yield "Hear: proposes", (n, then.ring)
        if then.stage == "member" != me.stage:
            those = {each.sender.node for each in me.heard if each.ring == then.ring} | {n}
            yield "Hear: completes", (n, self._quorum(those))

    def _quorum(self, names: Collection[str]) -> Quorum:
        """Return the majority that these are, or a majority that they are not all of."""
        members = self.system.rules.members
        return members.intersection(names) if majority(self.system.rules, names) else members

    def _keepers(self, state: State, n: str) -> Quorum:
        """Return the members that remember, but for one that will not."""
        lost = {me.me.node for me in state.locals if me.me.incarnation and me.stage == "asking"}
        return self._quorum(self.system.rules.members - lost - {n})


# ---------------------------------------------------------------------- single states


def shows(system: RingStartSystem, state: State, subject: Theory) -> tuple[Frame, Tables]:
    """Return the state by itself: a founding has the majority that has recorded it, if any has."""
    frame = frame_of(system, [state], subject)
    tables: Tables = {name: {} for name in subject.symbols}
    for (name, values), value in shown(system, frame, state).items():
        tables[name][values] = value
    for f in frame.domain["founding"]:
        those = {done.founder.node for done in state.tried if done.ring == f}
        recorded = majority(system.rules, those)
        members = system.rules.members
        tables["by"][f,] = members & those if recorded else members
    return frame, tables
