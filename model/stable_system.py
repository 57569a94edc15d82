"""A whole STABLE system: the members of `stable.py`, NAKACK below them, and the membership.

The twin of `Next` in `spec/Stable.tla` and of the bounds in `spec/MCStable.tla`. Steps carry the
names of the spec's actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any, TypeVar

from .composed import Composed, Move
from .machine import Value
from .runs import Address
from .stable import (
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
from .stable_promises import INVARIANTS, holds
from .stable_state import (
    Constants,
    Counts,
    Datagram,
    Grid,
    Rsp,
    State,
    View,
    constants_of,
    variables,
)

T = TypeVar("T")


def machine(values: Mapping[str, Value]) -> StableSystem:
    """Return the bounded system that a case's constants describe; raise ValueError if none."""
    return StableSystem(constants_of(values))


class StableSystem(Composed[State, Local]):
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
        """The spec's invariants, by name."""
        return INVARIANTS

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `Stable.tla`."""
        return variables(self.constants, state)

    def local(self, state: State, node: str) -> Local:
        """Return a node's local state."""
        return state.locals[self.index[node]]

    def initial(self) -> Iterator[State]:
        """The founders are members of the first view; everybody else asks to join."""
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
        """Every enabled action, in the order of `MCNext`."""
        for i, name in enumerate(self.nodes):
            if state.status[i] == "member":
                yield from self._send_digest(state, i)
                yield from self.act(state, name, SendStability())
                yield from self._changing(state, i)
            yield from self._install_view(state, i)
            yield from self._lives(state, i)
            for j, peer in enumerate(self.nodes):
                if state.status[i] == "member":
                    yield from self._arrivals(state, i, peer)
                    yield from self._nakack(state, i, j)
        if state.lost < self.constants.max_lost:
            for d in _sorted(state.digests):
                left = state._replace(digests=state.digests - {d}, lost=state.lost + 1)
                yield Move("Lose", (), left)
            for d in _sorted(state.stabilities):
                left = state._replace(stabilities=state.stabilities - {d}, lost=state.lost + 1)
                yield Move("Lose", (), left)
        yield from self._decide(state, None)

    def _send_digest(self, state: State, i: int) -> Iterator[Move[State]]:
        me, name = state.locals[i], self.nodes[i]
        under_way = state.digests | state.stabilities
        if name in self.constants.mute or (
            self.constants.spaced
            and any(
                d.sender == me.me and state.status[self.index[d.to]] != "crashed" for d in under_way
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
        state = state._replace(locals=_with(state.locals, i, local))
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
                    state = state._replace(purged=_with(state.purged, i, purged))
                case Heard(_, received):
                    known = zip(
                        state.highest[i], self._by_node(state, local, received), strict=True
                    )
                    highest = tuple(max(old, at) for old, at in known)
                    state = state._replace(highest=_with(state.highest, i, highest))
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
        """The vector by node, -1 for nodes that are not in the view."""
        given = dict(entries)
        inside = {a.node for a in me.members}
        return tuple(
            given.get(self._address(state, s), 0) if name in inside else -1
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
                yield from self.act(state._replace(cut=_with(state.cut, i, None)), name, Resume())
        elif (
            len(state.views) < c.max_views
            and next((a for a in last.members if self._alive(state, a)), None) == me.me
            and "joining" in state.status
        ):
            cut = _with(state.cut, i, state.delivered[i])
            yield from self.act(state._replace(cut=cut), name, Suspend())

    def _install_view(self, state: State, i: int) -> Iterator[Move[State]]:
        name, me, status = self.nodes[i], state.locals[i], state.status[i]
        if status == "joining":
            rsp = state.join_rsp[i]
            if rsp is None:
                return
            after = state._replace(
                status=_with(state.status, i, "member"),
                join_rsp=_with(state.join_rsp, i, None),
                began=_with(state.began, i, rsp.digest),
                passed=_with(state.passed, i, rsp.digest),
                delivered=_with(state.delivered, i, rsp.digest),
                highest=_with(state.highest, i, rsp.digest),
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
                and self._address(state, j) in new.joiners
                else old
                for j, old in enumerate(state.join_rsp)
            )
            after = state._replace(join_rsp=join_rsp, cut=_with(state.cut, i, None))
            yield from self.act(after, name, InstallView(v, new.members), (name,))

    # ------------------------------------------------------------------ NAKACK

    def _nakack(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        c, name, peer = self.constants, self.nodes[i], self.nodes[j]
        if i == j and name in c.senders and state.sent[i] < c.max_sent:
            yield Move(
                "Multicast",
                (name,),
                state._replace(
                    sent=_with(state.sent, i, state.sent[i] + 1),
                    passed=_put(state.passed, i, i, state.passed[i][i] + 1),
                    delivered=_put(state.delivered, i, i, state.delivered[i][i] + 1),
                    highest=_put(state.highest, i, i, state.highest[i][i] + 1),
                ),
            )
        if all(a.node != peer for a in state.locals[i].members):
            return
        k, have, known = state.passed[i][j] + 1, state.delivered[i][j], state.highest[i][j]
        if i != j and k <= state.sent[j]:
            passed = state._replace(passed=_put(state.passed, i, j, k))
            arrived = passed._replace(highest=_put(state.highest, i, j, max(known, k)))
            if k == have + 1:
                arrived = arrived._replace(delivered=_put(state.delivered, i, j, k))
            yield Move("Arrive", (name, peer), arrived)
            if name in c.losers:
                yield Move("Drop", (name, peer), passed)
        if have < known and any(holds(state, h, i, j) for h in range(len(self.nodes))):
            yield Move(
                "Fetch",
                (name, peer),
                state._replace(
                    delivered=_put(state.delivered, i, j, have + 1),
                    passed=_put(state.passed, i, j, max(k - 1, have + 1)),
                ),
            )

    # ------------------------------------------------------------------ lives

    def _address(self, state: State, i: int) -> Address:
        return Address(self.nodes[i], state.incarnation[i] if self.constants.incarnations else 0)

    def _alive(self, state: State, who: Address) -> bool:
        i = self.index[who.node]
        return state.status[i] == "member" and self._address(state, i) == who

    def _lives(self, state: State, i: int) -> Iterator[Move[State]]:
        c, name, zeros = self.constants, self.nodes[i], tuple(0 for _ in self.nodes)
        if name in c.crashers and state.status[i] == "member":
            crashed = state._replace(
                locals=_with(state.locals, i, Local(state.locals[i].me)),
                status=_with(state.status, i, "crashed"),
                began=_with(state.began, i, zeros),
                passed=_with(state.passed, i, zeros),
                delivered=_with(state.delivered, i, zeros),
                highest=_with(state.highest, i, zeros),
                purged=_with(state.purged, i, zeros),
                cut=_with(state.cut, i, None),
            )
            yield Move("Crash", (name,), crashed)
        if name in c.returners and state.incarnation[i] == 0 and state.status[i] == "crashed":
            yield from self._restart(state, i)
        if name in c.excluded and self._alive(state, self._address(state, i)):
            yield from self._decide(state, self._address(state, i))

    def _restart(self, state: State, i: int) -> Iterator[Move[State]]:
        name = self.nodes[i]
        if any(
            status == "member" and any(a.node == name for a in them.members)
            for status, them in zip(state.status, state.locals, strict=True)
        ) or any(x is not None for x in (*state.join_rsp, *state.cut)):
            return

        def forgotten(grid: Grid) -> Grid:
            return tuple(_with(row, i, 0) for row in grid)

        state = state._replace(
            status=_with(state.status, i, "joining"),
            incarnation=_with(state.incarnation, i, 1),
            sent=_with(state.sent, i, 0),
            began=forgotten(state.began),
            passed=forgotten(state.passed),
            delivered=forgotten(state.delivered),
            highest=forgotten(state.highest),
            purged=forgotten(state.purged),
        )
        me = Local(self._address(state, i))
        yield Move("Restart", (name,), state._replace(locals=_with(state.locals, i, me)))

    # ------------------------------------------------------------------ the membership service

    def _settled(self, state: State) -> bool:
        last = state.views[-1]
        for i, them in enumerate(state.locals):
            mine, status = self._address(state, i), state.status[i]
            if status == "member" and mine in last.members and them.view != len(state.views):
                return False
            if (
                status == "joining"
                and mine in last.joiners
                and (state.join_rsp[i] is not None or self._alive(state, last.members[0]))
            ):
                return False
        return True

    def _decide(self, state: State, excluded: Address | None) -> Iterator[Move[State]]:
        last = state.views[-1]
        if (
            len(state.views) >= self.constants.max_views
            or not self._settled(state)
            or (excluded is not None and excluded not in last.members)
        ):
            return
        staying = tuple(a for a in last.members if self._alive(state, a) and a != excluded)
        asking = [self._address(state, i) for i, s in enumerate(state.status) if s == "joining"]
        if not staying:
            return
        promised = state.cut[self.index[staying[0].node]] is not None
        action, args = ("ViewChange", ()) if excluded is None else ("Exclude", (excluded.node,))
        for size in range(len(asking) + 1 if promised else 1):
            for joiners in combinations(asking, size):
                if joiners or len(staying) < len(last.members):
                    new = View((*staying, *joiners), frozenset(joiners))
                    yield Move(action, args, state._replace(views=(*state.views, new)))


def _sorted(datagrams: frozenset[Datagram]) -> list[Datagram]:
    return sorted(datagrams)


def _with(row: tuple[T, ...], i: int, value: T) -> tuple[T, ...]:
    return (*row[:i], value, *row[i + 1 :])


def _put(grid: Grid, i: int, j: int, value: int) -> Grid:
    return _with(grid, i, _with(grid[i], j, value))
