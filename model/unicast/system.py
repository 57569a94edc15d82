"""A whole UNICAST system: the processes of `handlers.py`, and a network of datagrams between them.

The twin of `Next` in `spec/Unicast.tla` and of the bounds in `spec/MCUnicast.tla`. Steps carry the
names of the spec's actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.machine import Value
from raincheck.model.machine.network import Link, after_arrival, arriving, dropped, empty_link, put
from raincheck.model.machine.rows import placed, with_
from raincheck.model.machine.runs import Address

from . import handlers as node
from .events import (
    Acknowledge,
    Consume,
    Crash,
    Deliver,
    Forget,
    Message,
    Receive,
    ReceiveAck,
    Restart,
    Retransmit,
    Send,
)
from .handlers import HANDLERS, Local, Rules
from .promises import invariants
from .state import Constants, Datagram, State, constants_of, variables


def machine(values: Mapping[str, Value]) -> UnicastSystem:
    """Return the bounded system that a case describes; raise ValueError if a constant is wrong."""
    return UnicastSystem(constants_of(values))


class UnicastSystem(Composed[State, Local]):
    """The bounded instance as a machine for the explorer."""

    name = "unicast"
    handlers = HANDLERS

    def __init__(self, constants: Constants) -> None:
        """Take the instance's constants."""
        self.constants = constants
        self.rules: Rules = constants.rules
        self.nodes = constants.nodes
        self.index = {n: i for i, n in enumerate(constants.nodes)}
        self._invariants = invariants(constants.rules)

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """Return the spec's invariants, by name."""
        return self._invariants

    def initial(self) -> Iterator[State]:
        """Yield the state in which all processes run and know nothing."""
        empty: Link[Datagram] = empty_link(self.constants.may_reorder)
        yield State(
            tuple(Local(n) for n in self.nodes),
            tuple(0 for _ in self.nodes),
            tuple(() for _ in self.nodes),
            tuple(tuple(empty for _ in self.nodes) for _ in self.nodes),
        )

    def local(self, state: State, node: str) -> Local:
        """Return a process's local state."""
        return state.locals[self.index[node]]

    # ------------------------------------------------------------------ steps

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Yield every enabled action, in the order of `MCNext`."""
        for i, name in enumerate(self.nodes):
            for j, peer in enumerate(self.nodes):
                yield from self._send(state, i, j)
                yield from self._arrivals(state, i, peer, state.link[j][i], j)
            me = state.locals[i]
            for source, _ in me.receivers:
                if len(state.delivered[i]) <= self.constants.max_said:
                    yield from self.act(state, name, Consume(source))
                yield from self.act(state, name, Acknowledge(source))
            for to, _ in me.senders:
                yield from self.act(state, name, Retransmit(to))
            yield from self._lives(state, i)
        yield from self._lose(state)

    def _send(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        c, me, peer = self.constants, state.locals[i], state.locals[j]
        if i == j or me.node not in c.senders or state.said[i] >= c.max_said:
            return
        to = node.address(self.rules, peer)
        end = node.sender_to(me, to)
        content = (me.incarnation, peer.incarnation, end.connection, end.seqno + 1)
        said = with_(state.said, i, state.said[i] + 1)
        yield from self.act(state._replace(said=said), me.node, Send(to, content))

    def _arrivals(
        self, state: State, i: int, peer: str, link: Link[Datagram], j: int
    ) -> Iterator[Move[State]]:
        name, mine = self.nodes[i], node.address(self.rules, state.locals[i])
        for datagram in _ordered(arriving(link)):
            source, what = datagram
            if what.to != mine:
                continue
            event: Receive | ReceiveAck
            if isinstance(what, Message):
                event = Receive(source, what.connection, what.seqno, what.content)
            else:
                event = ReceiveAck(
                    source, what.connection, what.arrived, what.consumed, what.missing
                )
            for rest in after_arrival(link, datagram, self.constants.may_duplicate):
                after = state._replace(link=placed(state.link, j, i, rest))
                yield from self.act(after, name, event, (name, peer))

    def _lives(self, state: State, i: int) -> Iterator[Move[State]]:
        c, me = self.constants, state.locals[i]
        if me.node in c.forgetters:
            sending = {to.node for to, _ in me.senders}
            for peer in sorted({*dict(me.senders), *dict(me.receivers)}):
                if peer.node not in sending or me.connections < c.max_connections:
                    yield from self.act(state, me.node, Forget(peer))
        if me.node in c.crashers and me.incarnation == 0:
            link = state.link
            if self.rules.incarnations:
                for j in range(len(self.nodes)):
                    link = placed(link, j, i, empty_link(c.may_reorder))
            yield from self.act(state._replace(link=link), me.node, Crash())
        if me.node in c.returners:
            fresh = state._replace(delivered=with_(state.delivered, i, ()))
            yield from self.act(fresh, me.node, Restart())

    def _lose(self, state: State) -> Iterator[Move[State]]:
        if not self.constants.may_lose:
            return
        for j in range(len(self.nodes)):
            for i in range(len(self.nodes)):
                link = state.link[j][i]
                for datagram in _ordered(link):
                    left = placed(state.link, j, i, dropped(link, datagram))
                    args = (self.nodes[j], self.nodes[i])
                    yield Move("Lose", args, state._replace(link=left))

    def carried(self, state: State, node: str, local: Local, outputs: tuple[Any, ...]) -> State:
        """Return the state with the process's new local state and its outputs in the network."""
        i = self.index[node]
        state = state._replace(locals=with_(state.locals, i, local))
        for output in outputs:
            if isinstance(output, Deliver):
                heard = (*state.delivered[i], (output.source, output.content))
                state = state._replace(delivered=with_(state.delivered, i, heard))
            elif self._reaches(state, output.to):
                j = self.index[output.to.node]
                datagram = self._source(local), output
                link = put(state.link[i][j], [datagram])
                state = state._replace(link=placed(state.link, i, j, link))
        return state

    def _source(self, me: Local) -> Address:
        return node.address(self.rules, me)

    def _reaches(self, state: State, to: Address) -> bool:
        """Tell whether a process of that address may ever take a message to it."""
        peer = state.locals[self.index[to.node]]
        return not self.rules.incarnations or (peer.up and node.address(self.rules, peer) == to)

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `Unicast.tla`."""
        return variables(self.nodes, state)


@lru_cache(maxsize=100_000)
def _ordered(link: Link[Datagram]) -> tuple[Datagram, ...]:
    """Return the datagrams of a link, always in the same order."""
    return tuple(sorted(link, key=repr))
