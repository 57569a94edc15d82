"""A whole STABLE system: the members of `handlers.py`, NAKACK below them, and the membership.

The twin of `Next` in `spec/Stable.tla` and of the bounds in `spec/MCStable.tla`. Steps carry the
names of the spec's actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from raincheck.model.machine.composed import Move
from raincheck.model.machine.machine import Value
from raincheck.model.machine.rows import with_
from raincheck.model.machine.runs import Address

from .below import Below
from .handlers import (
    HANDLERS,
    Heard,
    InstallView,
    Local,
    Purge,
    ReceiveDigest,
    ReceiveStability,
    Resume,
    Rules,
    SendDigest,
    SendStability,
    Stability,
    StableDigest,
    Suspend,
    Vector,
    Vote,
    reset,
)
from .promises import INVARIANTS
from .state import Constants, Counts, Datagram, Rsp, State, View, constants_of, variables


def machine(values: Mapping[str, Value]) -> StableSystem:
    """Return the bounded system that a case describes; raise ValueError if a constant is wrong."""
    return StableSystem(constants_of(values))


class StableSystem(Below):
    """The bounded instance as a machine for the explorer."""

    name = "stable"
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
        return INVARIANTS

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `Stable.tla`."""
        return variables(self.constants, state)

    def local(self, state: State, node: str) -> Local:
        """Return a node's local state."""
        return state.locals[self.index[node]]

    def initial(self) -> Iterator[State]:
        """Yield the state in which the founders form the first view and all others ask to join."""
        c = self.constants
        first = View(tuple(Address(n, 0) for n in c.nodes if n in c.founders), frozenset())
        zeros = tuple(0 for _ in c.nodes)
        grid = tuple(zeros for _ in c.nodes)
        none = tuple(None for _ in c.nodes)
        yield State(
            tuple(
                reset(Local(Address(n, 0), view=1, members=first.members))
                if n in c.founders
                else Local(Address(n, 0))
                for n in c.nodes
            ),
            tuple("member" if n in c.founders else "joining" for n in c.nodes),
            zeros,
            zeros,
            grid,
            grid,
            grid,
            grid,
            grid,
            frozenset(),
            frozenset(),
            0,
            none,
            none,
            (first,),
        )

    # ------------------------------------------------------------------ steps

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Yield every enabled action, in the order of `MCNext`."""
        for i, name in enumerate(self.nodes):
            if state.status[i] == "member":
                yield from self._send_digest(state, i)
                yield from self.act(state, name, SendStability())
                yield from self._changing(state, i)
            yield from self._install_view(state, i)
            yield from self.lives(state, i)
            for j, peer in enumerate(self.nodes):
                if state.status[i] == "member":
                    yield from self._arrivals(state, i, peer)
                    yield from self.nakack(state, i, j)
        if state.lost < self.constants.max_lost:
            for d in _sorted(state.digests):
                left = state._replace(digests=state.digests - {d}, lost=state.lost + 1)
                yield Move("Lose", (), left)
            for d in _sorted(state.stabilities):
                left = state._replace(stabilities=state.stabilities - {d}, lost=state.lost + 1)
                yield Move("Lose", (), left)
        yield from self.decide(state, None)

    def _send_digest(self, state: State, i: int) -> Iterator[Move[State]]:
        me, name = state.locals[i], self.nodes[i]
        under_way = state.digests | state.stabilities
        if name in self.constants.mute or (
            self.constants.spaced
            and (
                any(
                    d.sender == me.me and state.status[self.index[d.to]] != "crashed"
                    for d in under_way
                )
                or any(me.me in dict(them.in_hand) for them in state.locals)
            )
        ):
            return
        event = SendDigest(self._vector(me, state.delivered[i]), self._vector(me, state.highest[i]))
        yield from self.act(state, name, event, (name,))

    def _arrivals(self, state: State, i: int, peer: str) -> Iterator[Move[State]]:
        name = self.nodes[i]
        event: ReceiveDigest | ReceiveStability
        for d in _sorted(state.digests):
            if d.to == name and d.sender.node == peer:
                event = ReceiveDigest(d.sender, d.view, d.first, d.second)
                for left in self._left(state.digests, d):
                    yield from self.act(state._replace(digests=left), name, event, (name, peer))
        for d in _sorted(state.stabilities):
            if d.to == name and d.sender.node == peer:
                event = ReceiveStability(d.sender, d.view, d.first, d.second)
                for left in self._left(state.stabilities, d):
                    after = state._replace(stabilities=left)
                    yield from self.act(after, name, event, (name, peer))
        for sender, _ in state.locals[i].in_hand:
            if sender.node == peer:
                yield from self.act(state, name, Vote(sender), (name, peer))

    def _left(self, datagrams: frozenset[Datagram], d: Datagram) -> tuple[frozenset[Datagram], ...]:
        taken = datagrams - {d}
        return (datagrams, taken) if self.constants.duplication else (taken,)

    def carried(
        self, state: State, node: str, local: Local, outputs: tuple[Any, ...]
    ) -> State | None:
        """Return the state in which the node is in `local` and the network has its outputs."""
        i = self.index[node]
        state = state._replace(locals=with_(state.locals, i, local))
        for output in outputs:
            match output:
                case StableDigest(to, view, first, second):
                    found = self._sent(state, state.digests, local.me, to, (view, first, second))
                    state = state._replace(digests=found)
                case Stability(to, view, first, second):
                    found = self._sent(
                        state, state.stabilities, local.me, to, (view, first, second)
                    )
                    state = state._replace(stabilities=found)
                case Purge(digest):
                    stable, mine = self._by_node(state, local, digest), state.delivered[i]
                    purged = tuple(
                        max(old, min(at, have))
                        for old, at, have in zip(state.purged[i], stable, mine, strict=True)
                    )
                    state = state._replace(purged=with_(state.purged, i, purged))
                case Heard(_, received):
                    known = zip(
                        state.highest[i], self._by_node(state, local, received), strict=True
                    )
                    highest = tuple(max(old, at) for old, at in known)
                    state = state._replace(highest=with_(state.highest, i, highest))
        return state

    def _sent(
        self,
        state: State,
        datagrams: frozenset[Datagram],
        sender: Address,
        to: tuple[Address, ...],
        content: tuple[int, Vector, Vector],
    ) -> frozenset[Datagram]:
        if not self.constants.overtaking:
            datagrams = frozenset(d for d in datagrams if d.sender != sender)
        return datagrams | {
            Datagram(a.node, sender, *content)
            for a in to
            if state.status[self.index[a.node]] != "crashed"
        }

    def _vector(self, me: Local, row: Counts) -> Vector:
        return tuple((a, row[self.index[a.node]]) for a in sorted(me.members))

    def _by_node(self, state: State, me: Local, entries: Vector) -> Counts:
        """Return the vector by node, -1 for nodes that are not in the view."""
        given = dict(entries)
        inside = {a.node for a in me.members}
        return tuple(
            given.get(self.address(state, s), 0) if name in inside else -1
            for s, name in enumerate(self.nodes)
        )

    # ------------------------------------------------------------------ view changes at a member

    def _changing(self, state: State, i: int) -> Iterator[Move[State]]:
        c, me, name = self.constants, state.locals[i], self.nodes[i]
        if me.view != len(state.views):
            return
        last = state.views[-1]
        if state.cut[i] is not None:
            if c.gives_up:
                yield from self.act(state._replace(cut=with_(state.cut, i, None)), name, Resume())
        elif (
            len(state.views) < c.max_views
            and next((a for a in last.members if self.alive(state, a)), None) == me.me
            and "joining" in state.status
        ):
            cut = with_(state.cut, i, state.delivered[i])
            yield from self.act(state._replace(cut=cut), name, Suspend())

    def _install_view(self, state: State, i: int) -> Iterator[Move[State]]:
        name, me, status = self.nodes[i], state.locals[i], state.status[i]
        if status == "joining":
            rsp = state.join_rsp[i]
            if rsp is None:
                return
            after = state._replace(
                status=with_(state.status, i, "member"),
                join_rsp=with_(state.join_rsp, i, None),
                began=with_(state.began, i, rsp.digest),
                passed=with_(state.passed, i, rsp.digest),
                delivered=with_(state.delivered, i, rsp.digest),
                highest=with_(state.highest, i, rsp.digest),
            )
            event = InstallView(rsp.view, state.views[rsp.view - 1].members)
            yield from self.act(after, name, event, (name,))
        elif status == "member" and me.view < len(state.views):
            v = me.view + 1
            new, cut = state.views[v - 1], state.cut[i]
            join_rsp = tuple(
                Rsp(v, cut)
                if cut is not None
                and new.members[0] == me.me
                and state.status[j] == "joining"
                and self.address(state, j) in new.joiners
                else old
                for j, old in enumerate(state.join_rsp)
            )
            after = state._replace(join_rsp=join_rsp, cut=with_(state.cut, i, None))
            yield from self.act(after, name, InstallView(v, new.members), (name,))


def _sorted(datagrams: frozenset[Datagram]) -> list[Datagram]:
    return sorted(datagrams)
