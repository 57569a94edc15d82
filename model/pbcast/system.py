"""A whole PBCAST system: the members of `handlers.py`, the network, and the membership.

The twin of `Next` in `spec/Pbcast.tla` and of the bounds in `spec/MCPbcast.tla`. Steps carry the
names of the spec's actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.machine import Value
from raincheck.model.machine.rows import placed, with_
from raincheck.model.machine.runs import Address
from raincheck.model.machine.values import order

from .events import (
    Arrive,
    Check,
    Deliver,
    Forward,
    GetDigest,
    Gossip,
    GotDigest,
    InstallView,
    Members,
    Multicast,
    ReceiveGossip,
    ReceiveRequest,
    ReceiveResponse,
    Request,
    Response,
    SendGossip,
)
from .handlers import HANDLERS, Local, Rules
from .promises import invariants, running
from .state import Asked, Constants, Datagram, Grid, State, View, constants_of, variables
from .vectors import highest, vector

LAYERS = ("GMS", "STATE_TRANSFER")


def machine(values: Mapping[str, Value]) -> PbcastSystem:
    """Return the bounded system that a case describes; raise ValueError if a constant is wrong."""
    return PbcastSystem(constants_of(values))


class PbcastSystem(Composed[State, Local]):
    """The bounded instance as a machine for the explorer."""

    name = "pbcast"
    handlers = HANDLERS

    def __init__(self, constants: Constants) -> None:
        """Take the instance's constants."""
        self.constants = constants
        self.rules: Rules = constants.rules
        self.nodes = constants.nodes
        self.index = {Address(n, 0): i for i, n in enumerate(constants.nodes)}

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """Return the spec's invariants, by name."""
        return invariants(self.constants)

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `Pbcast.tla`."""
        return variables(self.constants, state)

    def local(self, state: State, node: str) -> Local:
        """Return a node's local state."""
        return state.locals[self.nodes.index(node)]

    def initial(self) -> Iterator[State]:
        """Yield the state in which the founders form the first view and all others ask to join."""
        c = self.constants
        founders = frozenset(Address(n, 0) for n in c.founders)
        zeros: Grid = tuple(tuple(0 for _ in self.nodes) for _ in self.nodes)
        none: tuple[Asked, ...] = tuple(frozenset() for _ in self.nodes)
        yield State(
            tuple(
                self._begun(n)._replace(view=1, members=founders)
                if n in c.founders
                else self._begun(n)
                for n in self.nodes
            ),
            tuple("member" if n in c.founders else "joining" for n in self.nodes),
            zeros,
            zeros,
            zeros,
            (),
            (),
            none,
            none,
            (View(founders, frozenset(), ()),),
        )

    def _begun(self, name: str) -> Local:
        c = self.constants
        lag = c.handlers_lag if name in c.handlers else c.usual_lag
        return Local(Address(name, 0), lag, name in c.watchers)

    # ------------------------------------------------------------------ steps

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Yield every enabled action, in the order of `MCNext`."""
        c = self.constants
        unsent = [i for i, me in enumerate(state.locals) if any(e.unsent for e in me.cache)]
        for i in unsent:
            yield from self._forward(state, i)
        if unsent and c.eager:
            return
        busy = c.spaced and self._busy(state)
        for i, name in enumerate(self.nodes):
            if state.status[i] == "member":
                if name in c.gossipers and state.locals[i].number < c.max_gossips and not busy:
                    yield from self._send_gossip(state, i)
                yield from self._arrivals(state, i)
                yield from self.act(state, name, Check())
                yield from self._application(state, i)
                yield from self._crash(state, i)
            yield from self._install_view(state, i)
        yield from self._losses(state)

    def _busy(self, state: State) -> bool:
        c = self.constants
        for i, me in enumerate(state.locals):
            if state.status[i] != "member":
                continue
            if me.me.node in c.senders and me.sent < c.max_sent:
                return True
            if any(self._is_new(state, i, j) for j in range(len(self.nodes))):
                return True
        return False

    def _is_new(self, state: State, i: int, j: int) -> bool:
        sender = state.locals[j]
        if self.rules.flushed and sender.me not in state.views[-1].members:
            return False
        return sender.me in state.locals[i].members and state.passed[i][j] < sender.sent

    def _recipients(self, me: Local, not_seen: Members) -> Iterator[Members]:
        if self.rules.use_mcast or me.members == {me.me}:
            yield me.members - {me.me}
            return
        for size in range(1, len(not_seen) + 1):
            yield from map(frozenset, combinations(sorted(not_seen), size))

    def _send_gossip(self, state: State, i: int) -> Iterator[Move[State]]:
        me = state.locals[i]
        there = {each.me: each for each in running(state)}
        begun = state
        if all(a in there and there[a].view == me.view for a in me.members):
            rows = [dict(there[a].delivered) for a in me.members]
            due = vector({a: min(row.get(a, 0) for row in rows) for a in self.index})
            begun = state._replace(due=due, shown=highest(state.shown, me.delivered))
        for to in self._recipients(me, me.members - {me.me}):
            yield from self.act(begun, me.me.node, SendGossip(to), (me.me.node,))

    def _forward(self, state: State, i: int) -> Iterator[Move[State]]:
        me = state.locals[i]
        if max(state.resent[i]) >= self.constants.max_resent:
            return
        for e in me.cache:
            if not e.unsent:
                continue
            count = state.resent[i][self.index[e.origin]] + 1
            again = state._replace(resent=placed(state.resent, i, self.index[e.origin], count))
            every = [me.members - {me.me}]
            for to in self._recipients(me, e.not_seen) if e.not_seen else every:
                event = Forward(e.origin, e.number, to)
                yield from self.act(again, me.me.node, event, (me.me.node,))

    def _arrivals(self, state: State, i: int) -> Iterator[Move[State]]:
        me = state.locals[i]
        for d in sorted(state.net, key=order):
            if d.to != me.me:
                continue
            event: ReceiveGossip | ReceiveRequest | ReceiveResponse
            match d.body:
                case Gossip():
                    event = ReceiveGossip(d.sender, *d.body[1:])
                case Request(_, wanted):
                    event = ReceiveRequest(d.sender, wanted)
                case Response(_, messages):
                    event = ReceiveResponse(d.sender, messages)
            for left in self._left(state, d):
                yield from self.act(state._replace(net=left), me.me.node, event, (me.me.node,))

    def _left(self, state: State, d: Datagram) -> tuple[frozenset[Datagram], ...]:
        taken = state.net - {d}
        return (taken, state.net) if self.constants.duplication else (taken,)

    def _application(self, state: State, i: int) -> Iterator[Move[State]]:
        c, me, name = self.constants, state.locals[i], self.nodes[i]
        if name in c.senders and me.sent < c.max_sent:
            after = state
            if self.rules.own_copy:
                after = state._replace(passed=placed(state.passed, i, i, state.passed[i][i] + 1))
            yield from self.act(after, name, Multicast(), (name,))
        for layer in LAYERS:
            if layer in c.askers:
                yield from self._get_digest(state, name, layer)
        for j, peer in enumerate(self.nodes):
            if self._is_new(state, i, j):
                k = state.passed[i][j] + 1
                passed = state._replace(passed=placed(state.passed, i, j, k))
                yield from self.act(passed, name, Arrive(state.locals[j].me, k), (name, peer))
                if name in c.losers:
                    yield Move("Drop", (name, peer), passed)
            if not self.rules.prompt:
                yield from self.act(state, name, Deliver(state.locals[j].me), (name, peer))

    def _get_digest(self, state: State, name: str, layer: str) -> Iterator[Move[State]]:
        for move in self.act(state, name, GetDigest(layer)):
            pairs = {(layer, o.layer) for o in move.outputs if isinstance(o, GotDigest)}
            yield move._replace(target=move.target._replace(answered=state.answered | pairs))

    def carried(
        self, state: State, node: str, local: Local, outputs: tuple[Any, ...]
    ) -> State | None:
        """Return the state with the node's new local state, and its datagrams under way."""
        i = self.nodes.index(node)
        held = dict(state.locals[i].held)
        net, asked = state.net, set[tuple[Address, Address, int]]()
        for output in outputs:
            if not isinstance(output, Gossip | Request | Response):
                continue
            body = output._replace(to=frozenset())
            to = [a for a in output.to if state.status[self.index[a]] == "member"]
            net |= {Datagram(a, local.me, type(output).__name__, body) for a in to}
            if isinstance(output, Request):
                (whom,) = output.to
                asked |= {(whom, sender, k) for sender, some in output.wanted for k in some}
        if asked:
            lacked = frozenset(x for x in asked if x[2] not in held.get(x[1], ()))
            state = state._replace(
                asked=with_(state.asked, i, frozenset(asked)),
                needed=with_(state.needed, i, lacked),
            )
        locals_ = with_(state.locals, i, local)
        return state._replace(locals=locals_, net=net)

    # ------------------------------------------------------------------ the environment

    def _losses(self, state: State) -> Iterator[Move[State]]:
        for d in sorted(state.net, key=order):
            left = state._replace(net=state.net - {d})
            if state.lost < self.constants.max_lost:
                yield Move("Lose", (), left._replace(lost=state.lost + 1, due=(), shown=()))
        if self.constants.discards:
            for d in sorted(state.net, key=order):
                if self._full(state, d):
                    left = state._replace(net=state.net - {d}, discarded=state.discarded + 1)
                    yield Move("Discard", (), left)

    def _full(self, state: State, d: Datagram) -> bool:
        others = [x for x in state.net if x.to == d.to and x != d]
        if self.constants.places == "shared":
            return len(others) >= self.constants.buffer
        return isinstance(d.body, Gossip) and any(
            isinstance(x.body, Gossip)
            and x.sender == d.sender
            and x.body.origin == d.body.origin
            and (
                (self.rules.latest and d.body.number < x.body.number)
                or (d.body.number == x.body.number and d.body.seen <= x.body.seen)
            )
            for x in others
        )

    def _install_view(self, state: State, i: int) -> Iterator[Move[State]]:
        me, status, name = state.locals[i], state.status[i], self.nodes[i]
        last = state.views[-1]
        excused = state._replace(due=(), shown=())
        if status == "joining" and me.me in last.joiners:
            digest = dict(last.digest)
            row = tuple(digest.get(a, 0) for a in self.index)
            after = excused._replace(
                status=with_(state.status, i, "member"),
                passed=with_(state.passed, i, row),
                began=with_(state.began, i, row),
            )
            event = InstallView(len(state.views), last.members, last.digest)
            yield from self.act(after, name, event, (name,))
        elif status == "member" and me.view < len(state.views):
            view = state.views[me.view]
            event = InstallView(me.view + 1, view.members, view.digest)
            yield from self.act(excused, name, event, (name,))
        elif status == "member" and len(state.views) < self.constants.max_views:
            yield from self._decide(excused, i)

    def _decide(self, state: State, i: int) -> Iterator[Move[State]]:
        """Yield the moves in which the coordinator decides the next view, and installs it."""
        last, me = state.views[-1], state.locals[i]
        by_address = dict(
            zip(self.index, zip(state.locals, state.status, strict=True), strict=True)
        )
        for a in last.members:
            them, status = by_address[a]
            if status == "joining" or (status == "member" and them.view != len(state.views)):
                return
        staying = frozenset(a for a in last.members if by_address[a][1] == "member")
        if me.me not in staying or me.me != min(staying, key=self.index.__getitem__):
            return
        if self.rules.flushed and not self._reconciled(state, me, staying):
            return
        asking = [a for a, (_, status) in by_address.items() if status == "joining"]
        for size in range(len(asking) + 1):
            for joiners in map(frozenset, combinations(asking, size)):
                members = staying | joiners
                if members != last.members:
                    counted = members if self.rules.flushed else self.index
                    digest = tuple((a, at) for a, at in me.delivered if a in counted)
                    after = state._replace(views=(*state.views, View(members, joiners, digest)))
                    event = InstallView(len(after.views), members, digest)
                    yield from self.act(after, me.me.node, event, (me.me.node,))

    def _reconciled(self, state: State, me: Local, staying: Members) -> bool:
        """Tell whether those that stay have delivered the same of those that are gone (FLUSH)."""
        gone = state.views[-1].members - staying
        mine = dict(me.delivered)
        for a in staying:
            them = state.locals[self.index[a]]
            delivered, held = dict(them.delivered), dict(them.held)
            for s in gone:
                at = delivered.get(s, 0)
                if at != mine.get(s, 0) or any(k > at for k in held.get(s, ())):
                    return False
        return True

    def _crash(self, state: State, i: int) -> Iterator[Move[State]]:
        me, name = state.locals[i], self.nodes[i]
        if name not in self.constants.crashers:
            return
        gone = self._begun(name)._replace(sent=me.sent, number=me.number)
        target = state._replace(
            locals=with_(state.locals, i, gone),
            status=with_(state.status, i, "crashed"),
            net=frozenset(d for d in state.net if d.to != me.me),
            due=(),
            shown=(),
        )
        yield Move("Crash", (name,), target)
