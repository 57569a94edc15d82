"""A whole PRIMARY system: the members of `handlers.py`, and an environment that makes views.

The twin of `Next` in `spec/Primary.tla` and of the bounds in `spec/MCPrimary.tla`. Steps carry the
names of the spec's actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.machine import Value
from raincheck.model.machine.rows import with_
from raincheck.model.machine.runs import Address

from .events import Attempt, Decide, Form, Info, InstallView, Output, SetVotes, ViewId
from .handlers import HANDLERS, Asked, Local, Rules, attempt_of
from .promises import invariants
from .state import Constants, Done, Due, State, constants_of, variables


def machine(values: Mapping[str, Value]) -> PrimarySystem:
    """Return the bounded system that a case describes; raise ValueError if a constant is wrong."""
    return PrimarySystem(constants_of(values))


class PrimarySystem(Composed[State, Local]):
    """The bounded instance as a machine for the explorer."""

    name = "primary"
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
        return invariants(self.constants)

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `Primary.tla`."""
        return variables(self.constants, state)

    def local(self, state: State, node: str) -> Local:
        """Return a node's local state."""
        return state.locals[self.index[node]]

    def initial(self) -> Iterator[State]:
        """Yield the state in which everybody runs, and is in no view."""
        yield State(tuple(True for _ in self.nodes), tuple(self._begun(n, 0) for n in self.nodes))

    def _begun(self, name: str, life: int) -> Local:
        c = self.constants
        found = name in (c.found_again if life else c.found_first)
        return Local(Address(name, life), self._first_votes(name), found)

    def _first_votes(self, name: str) -> int:
        return self.constants.heavy_votes if name in self.constants.heavy else 1

    # ------------------------------------------------------------------ steps

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Yield every enabled action, in the order of `MCNext`."""
        if state.due.left:
            yield from self._install_view(state)
            return
        for i, name in enumerate(self.nodes):
            if state.up[i]:
                yield from self._decide(state, i, name)
                yield from self._form(state, i, name)
                yield from self._set_votes(state, name)
                yield from self._crash(state, i, name)
            else:
                yield from self._restart(state, i, name)
        yield from self._new_view(state)

    def _install_view(self, state: State) -> Iterator[Move[State]]:
        view, members, (name, *left) = state.due
        due = Due(view, members, tuple(left)) if left else Due()
        event = InstallView(view, members)
        for move in self.act(state._replace(due=due), name, event, (name,)):
            yield move._replace(target=_readable(move.target))

    def _decide(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        infos = self._infos(state, i)
        for move in self.act(state, name, Decide(infos), (name,)):
            after = move.target.locals[i]
            if after.stage == "refused":
                yield move
                continue
            asked = Asked(self.rules, infos)
            begun_again = not asked.continues and asked.total < self.rules.expected and asked.said
            if (
                self.constants.operator_knows
                and begun_again
                and self._others_remember(state, asked.there)
            ):
                continue
            session = asked.session(after.view)
            done = Done(session, after.me)
            target = move.target._replace(tried=state.tried | {done})
            if after.stage == "primary":
                target = target._replace(formed=state.formed | {done})
            yield move._replace(target=target)

    def _infos(self, state: State, i: int) -> tuple[Info, ...]:
        mine = state.locals[i].view
        infos = (m for m in state.net if isinstance(m, Info) and m.view == mine)
        return tuple(sorted(infos, key=lambda info: info.sender))

    def _others_remember(self, state: State, there: frozenset[Address]) -> bool:
        return any(
            up
            and me.me not in there
            and (me.last is not None or bool(me.attempts) or me.stage == "asking")
            for up, me in zip(state.up, state.locals, strict=True)
        )

    def _form(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        me = state.locals[i]
        attempts = (m for m in state.net if isinstance(m, Attempt) and m.view == me.view)
        event = Form(frozenset(message.sender for message in attempts))
        for move in self.act(state, name, event, (name,)):
            done = Done(attempt_of(me), me.me)
            yield move._replace(target=move.target._replace(formed=state.formed | {done}))

    def _set_votes(self, state: State, name: str) -> Iterator[Move[State]]:
        c = self.constants
        if name not in c.reweighed:
            return
        for move in self.act(state, name, SetVotes(c.heavy_votes)):
            pairs = zip(state.up, move.target.locals, strict=True)
            total = sum(me.votes for up, me in pairs if up)
            if not c.votes_as_expected or total <= self.rules.expected:
                yield move

    def carried(
        self, state: State, node: str, local: Local, outputs: tuple[Any, ...]
    ) -> State | None:
        """Return the state with the node's new local state and what it has multicast."""
        locals_ = with_(state.locals, self.index[node], local)
        return state._replace(locals=locals_, net=state.net | frozenset(outputs))

    # ------------------------------------------------------------------ the environment

    def _new_view(self, state: State) -> Iterator[Move[State]]:
        c = self.constants
        if state.views == c.max_views:
            return
        for group in sorted(c.groups, key=sorted):
            places = sorted(self.index[n] for n in group)
            mine = [state.locals[i] for i in places]
            members = frozenset(me.me for me in mine)
            if (
                not all(state.up[i] for i in places)
                or (c.together and not state.views and len(group) < len(self.nodes))
                or all(me.members == members for me in mine)
            ):
                continue
            number = 1 + max(me.view.counter for me in mine)
            left = tuple(self.nodes[i] for i in places)
            due = Due(ViewId(number, min(members)), members, left)
            yield Move("NewView", (), state._replace(due=due, views=state.views + 1))

    def _crash(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        c, me = self.constants, state.locals[i].me
        ended = sum(
            not up or each.me.incarnation > 0
            for up, each in zip(state.up, state.locals, strict=True)
        )
        if name not in c.crashers or me.incarnation > 0 or ended >= c.max_crashes:
            return
        target = state._replace(
            up=with_(state.up, i, False),
            locals=with_(state.locals, i, self._begun(name, me.incarnation)),
        )
        yield Move("Crash", (name,), _readable(target))

    def _restart(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        life = state.locals[i].me.incarnation
        if name in self.constants.returners and life == 0:
            target = state._replace(
                up=with_(state.up, i, True),
                locals=with_(state.locals, i, self._begun(name, life + 1)),
            )
            yield Move("Restart", (name,), target)


def _readable(state: State) -> State:
    """Return the state without what was multicast in views that nobody is in any more."""
    views = {me.view for up, me in zip(state.up, state.locals, strict=True) if up}
    left: frozenset[Output] = frozenset(m for m in state.net if m.view in views)
    return state._replace(net=left)
