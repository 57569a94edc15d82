"""A whole TOTAL system: the members of `handlers.py`, and the layers below them.

The twin of `Next` in `spec/Total.tla` and of the bounds in `spec/MCTotal.tla`: what is under way,
FLUSH, and the membership service. Steps carry the names of the spec's actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, combinations
from typing import Any, Final

from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.machine import Value
from raincheck.model.machine.network import Link, after_arrival, arriving, dropped, empty_link, put
from raincheck.model.machine.rows import placed, with_
from raincheck.model.machine.runs import Address

from . import handlers as node
from .events import (
    Acknowledge,
    Announce,
    Ask,
    Bcast,
    Cast,
    CumSeqAck,
    Deliver,
    InstallView,
    Last,
    NewView,
    Number,
    ReceiveBcast,
    ReceiveCumSeqAck,
    ReceiveLast,
    ReceiveNewView,
    ReceiveNumber,
    ReceiveRequest,
    ReceiveResend,
    Request,
    Resend,
    ResendRequests,
    Send,
    Unicast,
)
from .handlers import HANDLERS, Local, Rules
from .promises import INVARIANTS, received
from .state import Constants, Links, State, View, constants_of, variables

_TO_ALL: Final = (Bcast, NewView, Last)


def machine(values: Mapping[str, Value]) -> TotalSystem:
    """Return the bounded system that a case describes; raise ValueError if a constant is wrong."""
    return TotalSystem(constants_of(values))


class TotalSystem(Composed[State, Local]):
    """The bounded instance as a machine for the explorer."""

    name = "total"
    handlers = HANDLERS

    def __init__(self, constants: Constants) -> None:
        """Take the instance's constants."""
        self.constants = constants
        self.rules: Rules = constants.rules
        self.nodes = constants.nodes
        self.index = {n: i for i, n in enumerate(constants.nodes)}
        self._most = 2 * constants.max_said * len(constants.senders)

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """Return the spec's invariants, by name."""
        return INVARIANTS

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `Total.tla`."""
        return variables(self.constants, state)

    def local(self, state: State, node: str) -> Local:
        """Return a node's local state."""
        return state.locals[self.index[node]]

    def initial(self) -> Iterator[State]:
        """Yield the state in which the founders form the first view and all others ask to join."""
        c = self.constants
        members = tuple(Address(n, 0) for n in c.nodes if n in c.founders)
        requests: Link[Any] = empty_link(not c.fifo_forward)
        casts: Link[Any] = empty_link(not c.fifo_casts)
        yield State(
            tuple(
                node.founder(Address(n, 0), members) if n in c.founders else Local(Address(n, 0))
                for n in c.nodes
            ),
            tuple(() for _ in c.nodes),
            tuple(tuple(requests for _ in c.nodes) for _ in c.nodes),
            tuple(tuple(casts for _ in c.nodes) for _ in c.nodes),
            (View(members),),
        )

    # ------------------------------------------------------------------ steps

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Yield every enabled action, in the order of `MCNext`."""
        for i, name in enumerate(self.nodes):
            yield from self._of_itself(state, i, name)
            yield from self._timers(state, i, name)
            yield from self._crash(state, i, name)
            for j in range(len(self.nodes)):
                yield from self._arrivals(state, i, j)
                yield from self._flushed(state, i, j)
                yield from self._lose_request(state, i, j)
                yield from self._lose_cast(state, i, j)
        yield from self._view_change(state)

    def _of_itself(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        c, me = self.constants, state.locals[i]
        if name in c.senders and me.seqno < c.max_said:
            yield from self.act(state, name, Send(), (name,))
        view = me.view + 1 if node.running(me) else len(state.views)
        if not me.view < view <= len(state.views) or me.status == "crashed":
            return
        members = state.views[view - 1].members
        if me.me not in members or not self._synchronised(state, i):
            return
        first = {1}
        if self.rules.begin != "one" and members[0] == me.me:
            first = set(c.first_ids)
        if c.sending_view:
            row = tuple(with_(r, i, _in_time(r[i], view)) for r in state.casts)
            state = state._replace(casts=row)
        for each in sorted(first):
            yield from self.act(state, name, InstallView(view, members, each), (name,))

    def _timers(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        """Yield what repeats something, where that is of use."""
        c, me = self.constants, state.locals[i]
        events: list[Any] = [Ask()]
        if not me.view:
            return
        sequencer = self._at(state, me.members[0])
        if sequencer.next_id <= c.max_ids:
            events.append(ResendRequests())
        if self._unaware(state, me):
            events.append(Announce())
        if name in c.acknowledgers and node.count(sequencer.acks, me.me) < me.expected - 1:
            events.append(Acknowledge())
        for event in events:
            for move in self.act(state, name, event, (name,)):
                if move.target != state:
                    yield move

    def _unaware(self, state: State, me: Local) -> bool:
        them = (self._at(state, each) for each in me.members)
        return any(
            each.status != "crashed"
            and (each.view < me.view or (each.last < me.next_id - 1 and each.expected < me.next_id))
            for each in them
        )

    def _at(self, state: State, address: Address) -> Local:
        return state.locals[self.index[address.node]]

    # ------------------------------------------------------------------ what arrives

    def _arrivals(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        name, peer, duplicate = self.nodes[i], self.nodes[j], self.constants.may_duplicate
        for kind, table in (("requests", state.requests), ("casts", state.casts)):
            link: Link[Any] = table[j][i]
            for datagram in _ordered(arriving(link)):
                each = datagram[1]
                if isinstance(each, Bcast | NewView | Last) and not self._may_arrive(
                    state, i, each.view
                ):
                    continue
                if isinstance(each, NewView) and len(state.delivered[i]) > self._most:
                    continue
                event = _event(Address(peer, 0), each)
                for rest in after_arrival(link, datagram, duplicate):
                    after = _with_links(state, kind, placed(table, j, i, rest))
                    yield from self.act(after, name, event, (name, peer))

    def _may_arrive(self, state: State, i: int, view: int) -> bool:
        me = state.locals[i]
        if view == me.view:
            return self._latch_open(state, me)
        return not self.constants.sending_view

    def _latch_open(self, state: State, me: Local) -> bool:
        return not self.constants.virtual_synchrony or me.view == len(state.views)

    def _flushed(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        """FLUSH hands i the first broadcast that j has received and i has not."""
        me, other = state.locals[i], state.locals[j]
        if (
            not self.constants.virtual_synchrony
            or not node.running(me)
            or me.view == len(state.views)
            or not self._goes_on_with(state, me, me)
            or not self._goes_on_with(state, me, other)
        ):
            return
        missing = received(state, j) - received(state, i)
        low = min((each.id for each in missing), default=0)
        for each in sorted(each for each in missing if each.id == low):
            event = ReceiveBcast(each.id, each.message, me.view)
            yield from self.act(state, me.me.node, event, (me.me.node, other.me.node))

    def _goes_on_with(self, state: State, me: Local, other: Local) -> bool:
        new = state.views[me.view].members
        return node.running(other) and other.view == me.view and other.me in new

    def _synchronised(self, state: State, i: int) -> bool:
        me = state.locals[i]
        if not self.constants.virtual_synchrony or not node.running(me):
            return True
        mine = received(state, i)
        return all(
            received(state, j) == mine
            for j, other in enumerate(state.locals)
            if self._goes_on_with(state, me, other)
        )

    # ------------------------------------------------------------------ what is sent

    def carried(
        self, state: State, node: str, local: Local, outputs: tuple[Any, ...]
    ) -> State | None:
        """Return the state with the node's new local state and its outputs in the network.

        Return None if FLUSH lets the node broadcast nothing now.
        """
        i = self.index[node]
        state = state._replace(locals=with_(state.locals, i, local))
        for output in outputs:
            match output:
                case Deliver():
                    heard = (*state.delivered[i], output)
                    state = state._replace(delivered=with_(state.delivered, i, heard))
                case Request(to) | Resend(to) | CumSeqAck(to):
                    state = state._replace(requests=self._put(state, state.requests, i, to, output))
                case Bcast(to) | Number(to) if to is not None:
                    if isinstance(output, Number) and not self._latch_open(state, local):
                        return None
                    state = state._replace(casts=self._put(state, state.casts, i, to, output))
                case _:
                    if not self._latch_open(state, local):
                        return None
                    for to in local.members:
                        if to != local.me:
                            casts = self._put(state, state.casts, i, to, output)
                            state = state._replace(casts=casts)
        return state

    def _put(
        self, state: State, table: Links[Any], i: int, to: Address, output: Cast | Unicast
    ) -> Links[Any]:
        """Return the links with the datagram on its way; to a process that is gone it is lost."""
        j = self.index[to.node]
        if state.locals[j].status == "crashed":
            return table
        if isinstance(output, Bcast):
            output = output._replace(to=None)
        return placed(table, i, j, put(table[i][j], [(type(output).__name__, output)]))

    # ------------------------------------------------------------------ the environment

    def _crash(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        c, me = self.constants, state.locals[i]
        crashed = sum(each.status == "crashed" for each in state.locals)
        if name not in c.crashers or crashed >= c.max_crashes or not node.running(me):
            return
        empty: tuple[Link[Any], Link[Any]] = (
            empty_link(not c.fifo_forward),
            empty_link(not c.fifo_casts),
        )
        yield Move(
            "Crash",
            (name,),
            state._replace(
                locals=with_(state.locals, i, Local(me.me, "crashed", seqno=me.seqno)),
                requests=tuple(with_(row, i, empty[0]) for row in state.requests),
                casts=tuple(with_(row, i, empty[1]) for row in state.casts),
            ),
        )

    def _lose_request(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        yield from self._lost(state, i, j, "requests", "LoseRequest")

    def _lose_cast(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        yield from self._lost(state, i, j, "casts", "LoseCast")

    def _lost(self, state: State, i: int, j: int, kind: str, action: str) -> Iterator[Move[State]]:
        c = self.constants
        if state.losses >= c.max_losses or kind not in c.lossy:
            return
        table: Links[Any] = getattr(state, kind)
        for datagram in _ordered(arriving(table[j][i])):
            left = placed(table, j, i, dropped(table[j][i], datagram))
            target = _with_links(state, kind, left)._replace(losses=state.losses + 1)
            yield Move(action, (self.nodes[i], self.nodes[j]), target)

    def _view_change(self, state: State) -> Iterator[Move[State]]:
        last = state.views[-1]
        for address in last.members:
            me = self._at(state, address)
            if me.status != "crashed" and me.view != len(state.views):
                return
        stay = tuple(a for a in last.members if node.running(self._at(state, a)))
        asking = [me.me for me in state.locals if me.status == "joining"]
        if not stay:
            return
        for joiners in chain.from_iterable(
            combinations(asking, size) for size in range(len(asking) + 1)
        ):
            if len(stay) < len(last.members) or joiners:
                view = View((*stay, *joiners), frozenset(joiners))
                yield Move("ViewChange", (), state._replace(views=(*state.views, view)))


def _with_links(state: State, kind: str, table: Links[Any]) -> State:
    if kind == "requests":
        return state._replace(requests=table)
    return state._replace(casts=table)


def _event(sender: Address, each: Cast | Unicast) -> Any:
    """Return the input by which a message of that sender arrives."""
    match each:
        case Request(_, message, tag, view):
            return ReceiveRequest(sender, message, tag, view)
        case Resend(_, id_, view):
            return ReceiveResend(sender, id_, view)
        case CumSeqAck(_, id_, view):
            return ReceiveCumSeqAck(sender, id_, view)
        case Bcast(_, id_, message, view):
            return ReceiveBcast(id_, message, view)
        case NewView(id_, view):
            return ReceiveNewView(id_, view)
        case Last(id_, view):
            return ReceiveLast(id_, view)
    return ReceiveNumber(each.id, each.tag, each.view)


def _in_time(link: Link[Any], view: int) -> Link[Any]:
    """Return the link without what was sent in an earlier view (R11)."""
    left = (each for each in link if each[1].view >= view)
    return frozenset(left) if isinstance(link, frozenset) else tuple(left)


@lru_cache(maxsize=100_000)
def _ordered(link: Link[Any]) -> tuple[Any, ...]:
    """Return what is under way, always in the same order."""
    return tuple(sorted(link, key=repr)) if isinstance(link, frozenset) else link
