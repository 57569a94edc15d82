"""A whole RING_START system: the handlers of `handlers.py`, and processes that stop and forget.

The twin of `Next` in `spec/RingStart.tla` and of the bounds in `spec/MCRingStart.tla`. Steps carry
the names of the spec's actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.machine import Value
from raincheck.model.machine.rows import with_
from raincheck.model.machine.runs import Address

from .events import Hear, Late, Start
from .handlers import (
    ASKS,
    HANDLERS,
    Local,
    Rules,
    address_of,
    by_word_only,
    info_of,
    majority,
    names,
)
from .promises import invariants
from .state import Constants, Done, State, constants_of, variables


def machine(values: Mapping[str, Value]) -> RingStartSystem:
    """Return the bounded system that a case describes; raise ValueError if a constant is wrong."""
    return RingStartSystem(constants_of(values))


class RingStartSystem(Composed[State, Local]):
    """The bounded instance as a machine for the explorer."""

    name = "ring_start"
    handlers = HANDLERS

    def __init__(self, constants: Constants) -> None:
        """Take the instance's constants."""
        self.constants = constants
        self.rules: Rules = constants.rules
        self.nodes = constants.nodes
        self.index = {n: i for i, n in enumerate(constants.nodes)}

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """Return the spec's invariants, by name."""
        return invariants(self.rules)

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `RingStart.tla`."""
        return variables(self.constants, state)

    def local(self, state: State, node: str) -> Local:
        """Return a node's local state."""
        return state.locals[self.index[node]]

    def initial(self) -> Iterator[State]:
        """Yield the state in which nobody has been started."""
        yield State(tuple(False for _ in self.nodes), tuple(self._begun(n, 0) for n in self.nodes))

    def _begun(self, name: str, memory: int, stage: str = "asking") -> Local:
        c = self.constants
        found = name in (c.found_again if memory else c.found_first)
        return Local(Address(name, memory), found, stage)

    # ------------------------------------------------------------------ steps

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Yield every enabled action, in the order of `MCNext`."""
        for i, name in enumerate(self.nodes):
            if state.up[i]:
                yield from self._stopped(state, i, name)
            else:
                if all(self._started(state, other) for other in self.nodes[:i]):
                    yield from self._start(state, i, name)
                yield from self._lose(state, i, name)
        for name in self.nodes:
            for other in self.nodes:
                yield from self._hear(state, name, other)
                yield from self._delay(state, name, other)
                yield from self._hear_late(state, name, other)

    def _start(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        begun = state._replace(up=with_(state.up, i, True))
        yield from self._right(begun, i, self.act(begun, name, Start(), (name,)))

    def _started(self, state: State, name: str) -> bool:
        """Whether the process was started, if that matters."""
        return not self.constants.neighbours or state.up[self.index[name]] or state.stops > 0

    def _near(self, state: State, name: str, other: str) -> bool:
        """Whether one may hear the other: all do, unless there are neighbours."""
        pairs = self.constants.neighbours
        if name == self.nodes[0]:
            before = names(self.local(state, name).heard)
            near = all(each in before for each in self.nodes if each > other)
        else:
            near = {name, other} in pairs
            near = near and (other == self.nodes[0] or {name, self.nodes[0]} not in pairs)
        return not pairs or (near and all(self._started(state, each) for each in self.nodes))

    def _hear(self, state: State, name: str, other: str) -> Iterator[Move[State]]:
        i, j = self.index[name], self.index[other]
        if state.up[i] and state.up[j] and self._near(state, name, other):
            event = Hear(info_of(self.rules, state.locals[j]))
            answered = self._answered(state, name, state.locals[j])
            yield from self._right(state, i, self.act(answered, name, event, (name, other)))

    def _answered(self, state: State, name: str, other: Local) -> State:
        """Return the state once the other has answered: it asks anew if that may found the ring."""
        first = name == min(self.rules.members)
        if not state.late or not (self.constants.asks_anew and first and other.stage in ASKS):
            return state
        left = (each for each in state.late if each.to != other.me.node or not each.before)
        return state._replace(late=frozenset(left))

    def _delay(self, state: State, name: str, other: str) -> Iterator[Move[State]]:
        i, j = self.index[name], self.index[other]
        me, it = state.locals[i], state.locals[j]
        if (
            len(state.late) < self.constants.max_late
            and state.up[i]
            and me.stage != "member"
            and state.up[j]
            and name != other
            and other in self.rules.members
        ):
            sent = Late(name, info_of(self.rules, it))
            answered = self._answered(state, name, it)
            late = answered.late - {sent._replace(before=True)} | {sent}
            yield Move("Delay", (name, other), answered._replace(late=late))

    def _hear_late(self, state: State, name: str, other: str) -> Iterator[Move[State]]:
        for late in sorted(state.late):
            if late.to == name and late.info.sender.node == other:
                moves = self.act(state, name, Hear(late.info), (name, other))
                for move in self._right(state, self.index[name], moves):
                    yield move._replace(action="HearLate")

    def _right(self, state: State, i: int, moves: Iterator[Move[State]]) -> Iterator[Move[State]]:
        """Yield the moves unless the operator is wrong: somebody else remembers."""
        before = state.locals[i]
        for move in moves:
            heard = self._answers(before, move.event)
            after = move.target.locals[i]
            proposes = (
                before.stage in ASKS
                and after.ring
                and all(info.ring != after.ring for info in heard)
            )
            others = (*state.locals[:i], *state.locals[i + 1 :])
            if (
                not (self.constants.operator_knows and before.found and proposes)
                or all(me.stage in ASKS for me in others)
                or not by_word_only(self.rules, before._replace(heard=frozenset(heard)))
            ):
                yield move

    @staticmethod
    def _answers(me: Local, event: Start | Hear) -> list[Any]:
        if isinstance(event, Start):
            return []
        name = event.info.sender.node
        return [*(info for info in me.heard if info.sender.node != name), event.info]

    def carried(
        self,
        state: State,
        node: str,
        local: Local,
        outputs: tuple[Any, ...],  # noqa: ARG002
    ) -> State | None:
        """Return the state with the node's new local state, and what it has recorded and said."""
        i = self.index[node]
        founder = address_of(self.rules, local)
        done = frozenset((Done(local.ring, founder),))
        tried, spoken = state.tried, state.spoken
        if founder in local.ring:
            if local.ring != state.locals[i].ring:
                tried |= done
            if local.stage == "member":
                spoken |= done
        late = self._under_way(state, state.locals[i], local)
        locals_ = with_(state.locals, i, local)
        return state._replace(locals=locals_, tried=tried, spoken=spoken, late=late)

    @staticmethod
    def _under_way(state: State, before: Local, me: Local) -> frozenset[Late]:
        """Return the answers under way: none to a question that the process asks no more."""
        others = frozenset(each for each in state.late if each.to != me.me.node)
        if me.once and me.once != before.once:
            return frozenset(each._replace(before=True) for each in others)
        return others if me.stage == "member" else state.late

    # ------------------------------------------------------------------ the environment

    def _stopped(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        c, me = self.constants, state.locals[i]
        if state.stops == c.max_stops:
            return
        member, has_file = me.stage == "member", name in c.files
        late = frozenset(each for each in state.late if each.to != name)
        up = with_(state.up, i, False)
        down = state._replace(up=up, stops=state.stops + 1, late=late)
        kept = self._with(down, i, me._replace(heard=frozenset(), once=frozenset()))
        left = self._anew(down, i, "left")
        if name in c.crashers:
            if has_file:
                yield Move("Crash", (name,), kept)
            elif (
                self._lost(state) < c.max_lost
                and (not c.neighbours or name == self._forgets_next(state))
                and self._may_forget(state, name)
            ):
                yield Move("Crash", (name,), self._anew(down, i, "asking"))
        if name in c.closers and member and has_file:
            yield Move("Close", (name,), kept if c.keeps_place else left)
        if name in c.leavers and member and has_file:
            yield Move("Leave", (name,), left)

    def _lose(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        c = self.constants
        if (
            name in c.losers
            and name in c.files
            and state.locals[i].stage != "asking"
            and self._lost(state) < c.max_lost
            and self._may_forget(state, name)
        ):
            yield Move("Lose", (name,), self._anew(state, i, "asking"))

    @staticmethod
    def _with(state: State, i: int, me: Local) -> State:
        return state._replace(locals=with_(state.locals, i, me))

    def _anew(self, state: State, i: int, stage: str) -> State:
        """Let the process be somebody else; what it said as a founder is gone with it."""
        me = state.locals[i]
        founder = address_of(self.rules, me)
        if founder in me.ring:
            state = state._replace(gone=state.gone | {Done(me.ring, founder)})
        name, life = me.me
        return self._with(state, i, self._begun(name, life + 1, stage))

    def _forgets_next(self, state: State) -> str | None:
        """Return the first of those that crash and have not forgotten yet."""
        names_ = sorted(self.constants.crashers)
        return next((n for n in names_ if not self.local(state, n).me.incarnation), None)

    @staticmethod
    def _lost(state: State) -> int:
        return sum(me.me.incarnation for me in state.locals)

    def _may_forget(self, state: State, name: str) -> bool:
        """Whether a majority would still have its memory, or be back."""
        lost = {me.me.node for me in state.locals if me.me.incarnation and me.stage == "asking"}
        keep = self.rules.members - lost - {name}
        return not self.constants.majority_keeps or majority(self.rules, keep)
