"""A whole FRAG system: the members of `handlers.py`, SEQUENCER below them, and the membership.

The twin of `Next` in `spec/Frag.tla` and of the bounds in `spec/MCFrag.tla`. Steps carry the names
of the spec's actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, combinations
from typing import Any

from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.machine import Value
from raincheck.model.machine.rows import with_
from raincheck.model.machine.runs import Address

from .events import (
    Deliver,
    Forget,
    Fragment,
    GivenUp,
    GiveUp,
    InstallView,
    Keep,
    ReceiveFragment,
    ReceiveGiveUp,
    Send,
    SendFragment,
)
from .handlers import HANDLERS, Local, Rules
from .promises import invariants
from .state import Constants, Delivered, Entry, Key, Part, State, View, constants_of, variables


def machine(values: Mapping[str, Value]) -> FragSystem:
    """Return the bounded system that a case describes; raise ValueError if a constant is wrong."""
    return FragSystem(constants_of(values))


class FragSystem(Composed[State, Local]):
    """The bounded instance as a machine for the explorer."""

    name = "frag"
    handlers = HANDLERS

    def __init__(self, constants: Constants) -> None:
        """Take the instance's constants."""
        self.constants = constants
        self.rules: Rules = constants.rules
        self.nodes = constants.node
        self.index = {n: i for i, n in enumerate(constants.node)}

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """Return the spec's invariants, by name."""
        return invariants(self.rules)

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `Frag.tla`."""
        return variables(self.constants, state)

    def local(self, state: State, node: str) -> Local:
        """Return a node's local state."""
        return state.locals[self.index[node]]

    def initial(self) -> Iterator[State]:
        """Yield the state in which the founders form the first view."""
        c = self.constants
        founders = tuple(Address(n, 0) for n in c.node if n in c.founders)
        none: tuple[tuple[Any, ...], ...] = tuple(() for _ in c.node)
        yield State(
            tuple(
                Local(Address(n, 0), view=1, members=founders, epoch=1)
                if n in c.founders
                else Local(Address(n, 0))
                for n in c.node
            ),
            tuple("member" if n in c.founders else "joining" for n in c.node),
            none,
            none,
            frozenset(),
            none,
            none,
            ((),),
            tuple(0 for _ in c.node),
            (View(c.founders, frozenset()),),
        )

    # ------------------------------------------------------------------ steps

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Yield every enabled action, in the order of `MCNext`."""
        for i, name in enumerate(self.nodes):
            if state.status[i] == "member":
                yield from self._sends(state, i, name)
                yield from self._reads(state, i, name)
                yield from self._sequence(state, i, name)
                yield from self._crash(state, i, name)
            yield from self._install_view(state, i, name)
        yield from self._view_change(state)

    def _sends(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        c, number = self.constants, len(state.sent[i]) + 1
        if name in c.senders and number <= c.max_sent:
            for parts in sorted(c.sizes):
                after = state._replace(sent=with_(state.sent, i, (*state.sent[i], parts)))
                yield from self.act(after, name, Send(number, parts))
        for number, _ in state.locals[i].sending:
            yield from self.act(state, name, SendFragment(number))
            if name in c.quitters:
                given_up = state.given_up | {(name, number)}
                yield from self.act(state._replace(given_up=given_up), name, GiveUp(number))

    def _reads(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        entries = state.log[state.locals[i].view - 1]
        if state.at[i] == len(entries):
            return
        sender, number, epoch, part, parts = entries[state.at[i]]
        source = Address(sender, 0)
        after = state._replace(at=with_(state.at, i, state.at[i] + 1))
        if parts:
            event = ReceiveFragment(source, number, epoch, part, parts)
            pieces = _with(state.pieces[i], (sender, number), (epoch, part))
            for move in self.act(after, name, event, (name,)):
                yield self._noted(move, i, pieces)
        else:
            yield from self.act(after, name, ReceiveGiveUp(source, number), (name,))

    def _noted(
        self, move: Move[State], i: int, pieces: tuple[tuple[Key, tuple[Part, ...]], ...]
    ) -> Move[State]:
        """Note which fragments are kept, and of which a delivered message was made."""
        kept = [each for each in move.outputs if isinstance(each, Keep)]
        if not kept:
            return move
        key = kept[0].sender.node, kept[0].number
        target = move.target
        if any(isinstance(each, Deliver) for each in move.outputs):
            made = Delivered(*key, target.locals[i].view, dict(pieces)[key])
            delivered = with_(target.delivered, i, (*target.delivered[i], made))
            target = target._replace(delivered=delivered)
            pieces = tuple(pair for pair in pieces if pair[0] != key)
        return move._replace(target=target._replace(pieces=with_(target.pieces, i, pieces)))

    def carried(
        self, state: State, node: str, local: Local, outputs: tuple[Any, ...]
    ) -> State | None:
        """Return the state in which the node is in `local` and SEQUENCER has what it sends."""
        i = self.index[node]
        state = state._replace(locals=with_(state.locals, i, local))
        for output in outputs:
            match output:
                case Fragment(number, epoch, part, parts):
                    state = self._handed_down(state, i, Entry(node, number, epoch, part, parts))
                case GivenUp(number):
                    state = self._handed_down(state, i, Entry(node, number))
                case Forget(sender, number):
                    key = sender.node, number
                    left = tuple(pair for pair in state.pieces[i] if pair[0] != key)
                    state = state._replace(pieces=with_(state.pieces, i, left))
        return state

    def _handed_down(self, state: State, i: int, entry: Entry) -> State:
        return state._replace(below=with_(state.below, i, (*state.below[i], entry)))

    def _install_view(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        me = state.locals[i]
        if state.status[i] == "member":
            if me.view == len(state.views):
                return
            read = state.at[i] == len(state.log[me.view - 1])
            numbers = [me.view + 1] if read or not self.constants.virtual_synchrony else []
        elif state.status[i] == "joining":
            numbers = [v for v, view in enumerate(state.views, 1) if name in view.joiners]
        else:
            return
        for number in numbers:
            view = state.views[number - 1]
            after = state._replace(
                at=with_(state.at, i, 0), status=with_(state.status, i, "member")
            )
            members, joiners = (tuple(Address(n, 0) for n in sorted(nodes)) for nodes in view)
            yield from self.act(after, name, InstallView(number, members, joiners), (name,))

    # ------------------------------------------------------------------ SEQUENCER, the membership

    def _sequence(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        view, waiting = state.locals[i].view, state.below[i]
        if view < len(state.views):
            return
        for place in range(min(1, len(waiting)) if self.constants.fifo else len(waiting)):
            entries = (*state.log[view - 1], waiting[place])
            left = (*waiting[:place], *waiting[place + 1 :])
            target = state._replace(
                log=with_(state.log, view - 1, entries), below=with_(state.below, i, left)
            )
            yield Move("Sequence", (name,), target)

    def _view_change(self, state: State) -> Iterator[Move[State]]:
        last, v = state.views[-1], len(state.views)
        survivors = frozenset(n for n in last.members if state.status[self.index[n]] != "crashed")
        if v == self.constants.max_views or not survivors:
            return
        if any(self.local(state, n).view != v for n in survivors):
            return
        gone, entries = last.members - survivors, state.log[-1]
        waiting = [n for n in self.nodes if state.status[self.index[n]] == "joining"]
        read = max(state.at[self.index[n]] for n in survivors) if gone else len(entries)
        for joiners in _subsets(waiting):
            if not joiners and not gone:
                continue
            views = (*state.views, View(survivors | joiners, joiners))
            for cut in range(read, len(entries) + 1):
                lost = {n: tuple(e for e in entries[cut:] if e.sender == n) for n in survivors}
                below = tuple(
                    (*lost.get(n, ()), *mine)
                    for n, mine in zip(self.nodes, state.below, strict=True)
                )
                log = (*state.log[:-1], entries[:cut], ())
                target = state._replace(views=views, log=log, below=below)
                yield Move("ViewChange", (), target)

    def _crash(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        others = [status for j, status in enumerate(state.status) if j != i]
        if name not in self.constants.crashers or "member" not in others:
            return
        target = state._replace(
            locals=with_(state.locals, i, Local(state.locals[i].me)),
            status=with_(state.status, i, "crashed"),
            pieces=with_(state.pieces, i, ()),
            delivered=with_(state.delivered, i, ()),
            below=with_(state.below, i, ()),
            at=with_(state.at, i, 0),
        )
        yield Move("Crash", (name,), target)


def _with(
    pieces: tuple[tuple[Key, tuple[Part, ...]], ...], key: Key, piece: Part
) -> tuple[tuple[Key, tuple[Part, ...]], ...]:
    """Return the pieces with one more of that message."""
    table = dict(pieces)
    table[key] = (*table.get(key, ()), piece)
    return tuple(sorted(table.items()))


def _subsets(nodes: list[str]) -> Iterator[frozenset[str]]:
    sizes = range(len(nodes) + 1)
    return map(frozenset, chain.from_iterable(combinations(nodes, size) for size in sizes))
