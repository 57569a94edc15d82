"""A whole NAKACK system: the members of `handlers.py`, datagrams, and the layers around.

The twin of `Next` in `spec/Nakack.tla` and of the bounds in `spec/MCNakack.tla`. Steps carry the
names of the spec's actions. The promises of FLUSH, the membership and STABLE are upheld here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import combinations
from typing import Any

from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.machine import Value
from raincheck.model.machine.rows import placed, with_
from raincheck.model.machine.runs import Address

from . import events as on
from . import handlers as node
from .adversary import corrupted, forged
from .events import Alive, Data, Datagram, Delivered, Nak
from .handlers import HANDLERS, Local, Rules, stream_of
from .promises import all_delivered, invariants
from .state import Constants, Link, State, View, constants_of, variables

ENVIRONMENT = {"Multicast", "Purge", "Crash", "Lose", "Forge", "Corrupt"}
"""The actions that nobody has to take; all others are taken in the end (the spec's Progress)."""


def machine(values: Mapping[str, Value]) -> NakackSystem:
    """Return the bounded system that a case describes; raise ValueError if a constant is wrong."""
    return NakackSystem(constants_of(values))


class NakackSystem(Composed[State, Local]):
    """The bounded instance as a machine for the explorer."""

    name = "nakack"
    handlers = HANDLERS

    def __init__(self, constants: Constants) -> None:
        """Take the instance's constants."""
        self.constants = constants
        self.rules: Rules = constants.rules
        self.nodes = constants.nodes
        self.addresses = tuple(Address(n, 0) for n in constants.nodes)
        self.index = {n: i for i, n in enumerate(constants.nodes)}

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """Return the spec's invariants, by name."""
        known = invariants(self.rules.window, self.rules.retain)
        return {**known, "NothingStuck": self.nothing_stuck}

    def nothing_stuck(self, state: State) -> bool:
        """When nothing is left to do, everything that can be delivered has been delivered."""
        return all_delivered(state) or any(
            move.action not in ENVIRONMENT and move.target != state for move in self.moves(state)
        )

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `Nakack.tla`."""
        return variables(self.nodes, state)

    def local(self, state: State, node: str) -> Local:
        """Return a member's local state."""
        return state.locals[self.index[node]]

    def initial(self) -> Iterator[State]:
        """Yield the state in which the founders form the first view and all others ask to join."""
        first = tuple(a for a in self.addresses if a.node in self.constants.founders)
        row: tuple[Link, ...] = tuple(frozenset() for _ in self.nodes)
        yield State(
            tuple(
                node.founder(n, first) if n in self.constants.founders else Local(n)
                for n in self.nodes
            ),
            tuple(tuple(() for _ in self.nodes) for _ in self.nodes),
            tuple(row for _ in self.nodes),
            0,
            (View(first),),
        )

    # ------------------------------------------------------------------ steps

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Yield every enabled action, in the order of `MCNext`."""
        for i, name in enumerate(self.nodes):
            me = state.locals[i]
            if node.running(me):
                yield from self._own(state, i, name, me)
                for j, peer in enumerate(self.addresses):
                    yield from self._arrivals(state, i, j)
                    yield from self._of(state, name, me, peer)
            yield from self._join(state, name, me)
            yield from self._lose(state, i)
            yield from self.adversary(state, i)
        yield from self.view_change(state)

    def _own(self, state: State, i: int, name: str, me: Local) -> Iterator[Move[State]]:
        c = self.constants
        flushed = not c.virtual_synchrony or me.view == len(state.views)
        if name in c.senders and me.sent < c.max_sent and flushed:
            yield from self.act(state, name, on.Multicast())
        if name in c.announcers:
            yield from self.act(state, name, on.Announce())
        if me.view < len(state.views):
            coming = state.views[me.view]
            if not c.virtual_synchrony or _has_all(me, coming):
                event = on.InstallView(me.view + 1, coming.members)
                yield from self.act(state, name, event, (name,))
        down = sum(them.status == "crashed" for them in state.locals)
        if name in c.crashers and down < c.max_crashes:
            row = state.log[i]
            gone = state._replace(
                log=with_(state.log, i, tuple(() for _ in row)),
                link=tuple(with_(out, i, frozenset()) for out in state.link),
            )
            yield from self.act(gone, name, on.Crash())

    def _of(self, state: State, name: str, me: Local, peer: Address) -> Iterator[Move[State]]:
        """Yield a member's actions on the stream of `peer`, or with the help of `peer`."""
        c = self.constants
        yield from self.act(state, name, on.Deliver(peer), (name, peer.node))
        yield from self.act(state, name, on.Acknowledge(peer), (name, peer.node))
        gone = state.locals[self.index[peer.node]].status == "crashed"
        if len(state.views) < c.max_views and gone and me.view == len(state.views):
            stream = stream_of(me.stream, peer)
            if not c.prompt or stream is None or stream.arrived() == stream.delivered:
                yield from self.act(state, name, on.Freeze(peer), (name, peer.node))
        if me.view < len(state.views):
            cut, holder = dict(state.views[me.view].cut), dict(state.views[me.view].holder)
            if peer in cut:
                event = on.Fetch(peer, cut[peer], holder[peer])
                yield from self.act(state, name, event, (name, peer.node))
        for source in self.addresses:
            args = (name, source.node, peer.node)
            yield from self.act(state, name, on.Ask(source, peer), args)
            them = state.locals[self.index[peer.node]]
            theirs = stream_of(them.stream, source)
            if node.running(them) and theirs is not None:
                heard = on.HeardOf(peer, source, theirs.arrived())
                yield from self.act(state, name, heard, (name, peer.node, source.node))
        if c.purging:
            for at in range(1, c.max_sent + 1):
                if self._safe(state, me, peer, at):
                    yield from self.act(state, name, on.Purge(peer, at), (name, peer.node, at))

    def _safe(self, state: State, me: Local, source: Address, at: int) -> bool:
        """Tell whether STABLE may report to this member that the stream is stable up to `at`."""
        if self.constants.safe_purge == "any":
            return True
        for member in me.members:
            them = state.locals[self.index[member.node]]
            if them.status == "joining":
                return False
            if not node.running(them):
                continue
            if them.view < me.view:
                return False
            stream = stream_of(them.stream, source)
            if stream is None:
                continue  # it is in a later view without the source
            received = self.constants.safe_purge == "received"
            if at > (stream.arrived() if received else stream.delivered):
                return False
        return True

    def _arrivals(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        name, sender = self.nodes[i], self.addresses[j]
        link = state.link[j][i]
        for datagram in ordered(link):
            rest = link if self.constants.may_duplicate else link - {datagram}
            after = state._replace(link=placed(state.link, j, i, rest))
            yield from self.act(after, name, arrival(sender, datagram), (name, sender.node))

    def _join(self, state: State, name: str, me: Local) -> Iterator[Move[State]]:
        last, mine = state.views[-1], node.address(me)
        admitted = any(
            node.running(them) and them.view == len(state.views) for them in state.locals
        )
        if mine in last.joiners and admitted:
            yield from self.act(
                state, name, on.Join(len(state.views), last.members, last.cut), (name,)
            )

    def _lose(self, state: State, i: int) -> Iterator[Move[State]]:
        if state.lost >= self.constants.max_lost:
            return
        for j in range(len(self.nodes)):
            link = state.link[j][i]
            for datagram in ordered(link):
                left = placed(state.link, j, i, link - {datagram})
                yield self.lose(state._replace(link=left), self.nodes[j], self.nodes[i])

    def lose(self, left: State, sender: str, to: str) -> Move[State]:
        """Return the move in which a datagram is lost; `left` is the state without it."""
        return Move("Lose", (sender, to), left._replace(lost=left.lost + 1))

    def adversary(self, state: State, i: int) -> Iterator[Move[State]]:
        """Yield what strangers can send to a node, and what the datagrams to it can become."""
        yield from forged(self.constants, self.addresses, state, i)
        yield from corrupted(self.constants, self.addresses, state, i)

    # ------------------------------------------------------------------ views

    def view_change(self, state: State) -> Iterator[Move[State]]:
        """Yield the view change once FLUSH is done: dead members leave, joiners enter."""
        c = self.constants
        if len(state.views) >= c.max_views or not self._settled(state):
            return
        old = state.views[-1].members
        stay = tuple(a for a in old if node.running(self.local(state, a.node)))
        gone = tuple(a for a in old if a not in stay)
        if not stay or not self._flushed(state, stay, gone):
            return
        cut, holder = {}, {}
        for source in old:
            if source in stay:
                cut[source], holder[source] = self._sent(state, source), source
                continue
            has = {a: self._has(state, a, source) for a in stay}
            cut[source] = max(has.values())
            holder[source] = next(a for a in stay if has[a] == cut[source])
        asking = [
            a
            for a in self.addresses
            if self.local(state, a.node).status == "joining" and a.node not in c.strangers
        ]
        for size in range(len(asking) + 1):
            for joiners in combinations(asking, size):
                if not joiners and not gone:
                    continue
                view = View(
                    tuple(sorted(stay + joiners)),
                    joiners,
                    tuple(sorted(cut.items())),
                    tuple(sorted(holder.items())),
                )
                yield Move("ViewChange", (), state._replace(views=(*state.views, view)))

    def _has(self, state: State, who: Address, source: Address) -> int:
        stream = stream_of(self.local(state, who.node).stream, source) or node.Stream()
        return stream.arrived() if self.constants.cut_by == "arrived" else stream.delivered

    def _sent(self, state: State, source: Address) -> int:
        return self.local(state, source.node).sent

    def _settled(self, state: State) -> bool:
        last = state.views[-1]
        for a, them in zip(self.addresses, state.locals, strict=True):
            if a in last.joiners and them.status == "joining":
                return False
            if node.running(them) and a in last.members and them.view != len(state.views):
                return False
        return True

    def _flushed(self, state: State, stay: tuple[Address, ...], gone: tuple[Address, ...]) -> bool:
        for a in stay:
            streams = dict(self.local(state, a.node).stream)
            if not all(
                streams[s].frozen or self._has(state, a, s) >= self._sent(state, s) for s in gone
            ):
                return False
            if self.constants.virtual_synchrony and not all(
                streams[s].arrived() >= self._sent(state, s) for s in stay
            ):
                return False
        return True

    # ------------------------------------------------------------------ what goes out

    def carried(self, state: State, node: str, local: Local, outputs: tuple[Any, ...]) -> State:
        """Return the state with the member's new local state and its outputs in the network."""
        i = self.index[node]
        state = state._replace(locals=with_(state.locals, i, local))
        for output in outputs:
            if isinstance(output, Delivered):
                j = self.index[output.source.node]
                entry = (output.seqno, output.view, local.view)
                log = placed(state.log, i, j, (*state.log[i][j], entry))
                state = state._replace(log=log)
            elif self.local(state, output.to.node).status != "crashed":
                j = self.index[output.to.node]
                link = state.link[i][j] | {output}
                state = state._replace(link=placed(state.link, i, j, link))
        return state


def arrival(sender: Address, datagram: Datagram) -> Any:
    """Return the input that the datagram is for its receiver."""
    if isinstance(datagram, Data):
        return on.ReceiveData(sender, *datagram[1:])
    if isinstance(datagram, Nak):
        return on.ReceiveNak(sender, *datagram[1:])
    assert isinstance(datagram, Alive)
    return on.ReceiveAlive(sender, *datagram[1:])


def _has_all(me: Local, coming: View) -> bool:
    streams = dict(me.stream)
    return all(streams[source].delivered >= at for source, at in coming.cut)


@lru_cache(maxsize=100_000)
def ordered(link: Link) -> tuple[Datagram, ...]:
    """Return the datagrams of a link, always in the same order."""
    return tuple(sorted(link, key=repr))
