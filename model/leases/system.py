"""A whole system of LEASES: the handlers of `handlers.py`, LOCKS' line, clocks and a network.

The twin of `Next` in `spec/Leases.tla` and of the bounds in `spec/MCLeases.tla`. Steps carry the
names of the spec's actions. A datagram that was sent may arrive often, late, or never.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, combinations
from typing import Any

from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.machine import Value
from raincheck.model.machine.rows import with_

from .events import (
    Ask,
    Asked,
    ComeBack,
    Drop,
    End,
    Expire,
    GivesBack,
    Leave,
    ReceiveAsk,
    ReceiveTell,
    Says,
    Session,
    Tell,
    Told,
    Want,
    Wants,
)
from .handlers import HANDLERS, Client, Member, Rules, lease_of, silent
from .promises import invariants
from .state import Constants, Entry, State, constants_of, variables


def machine(values: Mapping[str, Value]) -> LeasesSystem:
    """Return the bounded system that a case describes; raise ValueError if a constant is wrong."""
    return LeasesSystem(constants_of(values))


class LeasesSystem(Composed[State, Client | Member]):
    """The bounded instance as a machine for the explorer."""

    name = "leases"
    handlers = HANDLERS

    def __init__(self, constants: Constants) -> None:
        """Take the instance's constants."""
        self.constants = constants
        self.rules: Rules = constants.rules
        self.nodes = (*constants.clients, *constants.members)
        self.index = {n: i for names in self._names for i, n in enumerate(names)}

    @property
    def _names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self.constants.clients, self.constants.members

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """Return the spec's invariants, by name."""
        return invariants(self.constants)

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `Leases.tla`."""
        return variables(self.constants, state)

    def local(self, state: State, node: str) -> Client | Member:
        """Return a node's local state."""
        clients = node in self.constants.clients
        return (state.clients if clients else state.members)[self.index[node]]

    def initial(self) -> Iterator[State]:
        """Yield the state in which nobody has said anything."""
        c = self.constants
        yield State(
            tuple(Client(name, c.first_member) for name in c.clients),
            tuple(map(Member, c.members)),
            tuple(c.steady for _ in c.clients),
            tuple(0 for _ in c.members),
        )

    # ------------------------------------------------------------------ steps

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Yield every enabled action, in the order of `MCNext`."""
        for me in state.clients:
            yield from self._of_client(state, me)
        for member in state.members:
            yield from self._of_member(state, member)
        yield from self._tick(state)

    def _of_client(self, state: State, me: Client) -> Iterator[Move[State]]:
        c, name = self.constants, me.me
        if me.request < c.max_requests and me.clock <= c.max_start:
            yield from self._done(state, name, Want())
        if name in c.droppers:
            yield from self._done(state, name, Drop())
        if self._has_to_ask(state, me):
            yield from self._done(state, name, Ask())
        for told in sorted(state.tells):
            for member in c.members:
                if not told.over or self._may_begin(me, member):
                    yield from self._done(state, name, ReceiveTell(told, member))
        for member in c.members:
            if self._may_begin(me, member) and (me.serving or (member != me.at and me.sent)):
                yield from self._done(state, name, End(member))
        yield from self._stop(state, me)

    def _of_member(self, state: State, me: Member) -> Iterator[Move[State]]:
        c, name = self.constants, me.me
        for asked in sorted(state.asks):
            yield from self._done(state, name, ReceiveAsk(asked))
        for session in sorted(me.sessions):
            yield from self._done(state, name, Tell(session))
            yield from self._done(state, name, Expire(session))
        if name in c.leavers:
            yield from self._done(state, name, Leave())
        if name in c.returners and state.turn <= c.max_requests:
            yield from self._done(state, name, ComeBack(state.since[self.index[name]]))
        yield from self._crash(state, me)
        yield from self._give_on(state, me)

    def _stop(self, state: State, me: Client) -> Iterator[Move[State]]:
        c = self.constants
        if me.me in c.stoppers and not me.stopped and me.clock <= c.max_start:
            yield Move("Stop", (me.me,), self._with(state, me._replace(stopped=True)))

    def _crash(self, state: State, me: Member) -> Iterator[Move[State]]:
        if me.me in self.constants.crashers and me.up:
            down = self._with(state, Member(me.me, me.clock, up=False))
            since = with_(state.since, self.index[me.me], 0)
            yield Move("Crash", (me.me,), down._replace(since=since))

    def _give_on(self, state: State, me: Member) -> Iterator[Move[State]]:
        c, since = self.constants, state.since[self.index[me.me]]
        late = since >= self.rules.give_up or not c.given_on_late
        if not me.up and late and any(each.member == me.me for each in state.line):
            yield Move("GiveOn", (me.me,), self._without(state, me.me, None))

    def _done(self, state: State, node: str, event: Any) -> Iterator[Move[State]]:
        yield from self.act(state, node, event, (node,))

    def _may_begin(self, me: Client, member: str) -> bool:
        c = self.constants
        return me.session < c.max_sessions and (me.me in c.movers or member == me.at)

    def _has_to_ask(self, state: State, me: Client) -> bool:
        """Whether it has something to say: else than said last, or because time has passed."""
        c = self.constants
        if len(me.sent) >= c.max_asks:
            return False
        if not me.sent:
            return me.wants
        if me.wants and me.sent[-1] + c.every <= me.clock:
            return True
        last = (me.me, me.session, len(me.sent))
        wanted = me.request if me.wants else 0
        return any(each[1:4] == last and each.request != wanted for each in state.asks)

    # ------------------------------------------------------------------ what comes of them

    def _with(self, state: State, me: Client | Member) -> State:
        i = self.index[me.me]
        if isinstance(me, Client):
            return state._replace(clients=with_(state.clients, i, me))
        return state._replace(members=with_(state.members, i, me))

    @staticmethod
    def _line_becomes(state: State, line: tuple[Entry, ...]) -> State:
        """Return the state with that line: whoever comes to be the first has the lock."""
        turn = state.turn
        if line and not line[0].fence:
            turn += 1
            line = (line[0]._replace(fence=turn), *line[1:])
        return state._replace(line=line, turn=turn)

    def _without(self, state: State, member: str, session: Session | None) -> State:
        """Return the state in which the member has given back what a session has, or all."""

        def stays(each: Entry) -> bool:
            whose = session is None or each[1:3] == session[:2]
            return each.member != member or not whose

        return self._line_becomes(state, tuple(filter(stays, state.line)))

    def carried(
        self, state: State, node: str, local: Client | Member, outputs: tuple[Any, ...]
    ) -> State | None:
        """Return the state with the node's new local state, its datagrams, and LOCKS' line."""
        state = self._with(state, local)
        for i, output in enumerate(outputs):
            match output:
                case Asked():
                    state = state._replace(asks=state.asks | {output})
                case Says():
                    told = self._told(state, node, output.session)
                    state = state._replace(tells=state.tells | {told})
                case GivesBack() if any(isinstance(each, Wants) for each in outputs[i:]):
                    line = self._left(state, node, output.session)
                    state = state._replace(line=line)  # who comes to be the first is seen below
                case GivesBack():
                    state = self._without(state, node, output.session)
                case Wants():
                    client, number, *_, request, _ = output.session
                    entry = Entry(node, client, number, request)
                    state = self._line_becomes(state, (*state.line, entry))
        return state

    @staticmethod
    def _left(state: State, member: str, session: Session | None) -> tuple[Entry, ...]:
        whose = None if session is None else (member, *session[:2])
        return tuple(each for each in state.line if each[:3] != whose)

    def _told(self, state: State, member: str, session: Session) -> Told:
        """Return what the member says of a session."""
        first = state.line[0] if state.line else None
        mine = (member, session.client, session.session, session.request)
        fence = first.fence if first and first[:4] == mine and not session.over else 0
        client, number, asked, *_ = session
        return Told(member, client, number, asked, session.request, fence, session.over)

    # ------------------------------------------------------------------ time

    def _tick(self, state: State) -> Iterator[Move[State]]:
        c = self.constants
        if (
            any(each.clock >= c.max_time for each in state.members)
            or any(silent(self.rules, m, s) for m in state.members for s in m.sessions)
            or (c.quick and not self._idle(state))
        ):
            return
        may = [
            name
            for name, steady in zip(c.clients, state.steady, strict=True)
            if name in c.slow and steady >= c.steady - 1
        ]
        for slow in _subsets(may):
            yield Move("Tick", (slow,), self._ticked(state, slow))

    def _ticked(self, state: State, slow: frozenset[str]) -> State:
        c = self.constants
        return state._replace(
            clients=tuple(
                each if each.me in slow else each._replace(clock=each.clock + 1)
                for each in state.clients
            ),
            members=tuple(each._replace(clock=each.clock + 1) for each in state.members),
            steady=tuple(
                0 if name in slow else min(steady + 1, c.steady)
                for name, steady in zip(c.clients, state.steady, strict=True)
            ),
            since=tuple(
                since if each.up else min(since + 1, self.rules.give_up)
                for each, since in zip(state.members, state.since, strict=True)
            ),
        )

    def _idle(self, state: State) -> bool:
        """Whether nobody who is quick, and no member, has anything to do."""
        return not any(
            self._has_news(state, each) or each.stale or self._has_to_ask(state, each)
            for each in state.clients
            if each.me in self.constants.quick and not each.stopped
        ) and not any(self._has_to_do(state, each) for each in state.members)

    def _has_news(self, state: State, me: Client) -> bool:
        for told in state.tells:
            if told[:3] != (me.at, me.me, me.session) or not 0 < told.number <= len(me.sent):
                continue
            until = lease_of(self.rules, me, told)
            has = me.wants and not me.fence and told.request == me.request and told.fence
            if me.clock < until and (told.over or not me.serving or until > me.until or has):
                return True
        return False

    def _has_to_do(self, state: State, me: Member) -> bool:
        def new(asked: Asked) -> bool:
            session = me.session_of(asked)
            return (
                asked.to == me.me
                and asked.number > session.asked
                and not silent(self.rules, me, session)
                and (not me.leaves or session in me.sessions)
            )

        return me.up and (
            any(map(new, state.asks))
            or any(s.asked and self._told(state, me.me, s) not in state.tells for s in me.sessions)
        )


def _subsets(names: Iterable[str]) -> Iterator[frozenset[str]]:
    those = sorted(names)
    sizes = range(len(those) + 1)
    return map(frozenset, chain.from_iterable(combinations(those, size) for size in sizes))
