"""The environment of MERGE2's model: GMS's view changes, NAKACK's streams, crashes and losses.

The twin of those actions of `spec/Merge2.tla` that no handler of MERGE2 carries out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.rows import placed, with_

from .events import View, ViewId
from .handlers import Local, leads
from .promises import running
from .state import Constants, Delivered, Held, State


class Environment(Composed[State, Local]):
    """The steps of the environment, and the sides."""

    def __init__(self, constants: Constants) -> None:
        """Take the instance's constants."""
        self.constants = constants
        self.rules = constants.rules
        self.nodes = constants.nodes
        self.index = {n: i for i, n in enumerate(constants.nodes)}

    def view_change(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        """Yield GMS's step: the first of a side leaves out who is not there."""
        me, side = state.locals[i], self.side(state, i)
        stay = tuple(p for p in me.view.members if self.index[p] in side)
        if stay == me.view.members or stay[:1] != (name,) or self.changing(state, i):
            return
        if self.rules.frozen and self._busy(state, side):
            return
        if self.constants.virtual_synchrony and not self.cut(state, side):
            return
        view = View(ViewId(me.view.id.counter + 1, name), stay)
        held = Held(view, tuple((n, 0) for n in self.nodes))
        target = state._replace(
            held=tuple(held if p in side else each for p, each in enumerate(state.held)),
            latch=tuple(name if p in side else each for p, each in enumerate(state.latch)),
        )
        yield Move("ViewChange", (name,), target)

    def _busy(self, state: State, side: list[int]) -> bool:
        for me in (state.locals[p] for p in side):
            if me.stage in ("idle", "waiting") or not running(state, self.index[me.merge.leader]):
                continue
            if not (leads(me) and me.stage == "installed" and not me.waiting):
                return True
        return False

    def multicast(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        """Yield NAKACK's step: the application multicasts."""
        c, stream = self.constants, state.stream[i]
        if name in c.senders and len(stream) < c.max_said and not state.latch[i]:
            said = (*stream, state.locals[i].view.id)
            yield Move("Multicast", (name,), state._replace(stream=with_(state.stream, i, said)))

    def deliver(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        """Yield NAKACK's steps: a member reads on in the streams of its view."""
        view, checks = state.locals[i].view, self.constants.checks_view
        for s in view.members:
            j = self.index[s]
            at = state.position[i][j]
            if at == len(state.stream[j]):
                continue
            there = running(state, j) or any(state.position[q][j] > at for q in self.side(state, i))
            of = state.stream[j][at]
            if not there or not (of == view.id if checks else of.counter <= view.id.counter):
                continue
            delivered = (*state.delivered[i], Delivered(s, at + 1, view.id))
            target = state._replace(
                position=placed(state.position, i, j, at + 1),
                delivered=with_(state.delivered, i, delivered),
            )
            yield Move("Deliver", (name, s), target)

    def crash(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        """Yield the crashes of a node, by what is lost of its last messages."""
        c = self.constants
        crashed = state.status.count("crashed")
        if name not in c.crashers or crashed >= c.max_crashes or crashed == len(self.nodes) - 1:
            return
        me = state.locals[i]
        own = sorted((m for m in state.net if m.source == name), key=repr)
        rest = frozenset(m for m in state.net if m.source != name and m.content.to != name)
        for size in range(len(own) + 1):
            for kept in combinations(own, size):
                target = state._replace(
                    locals=with_(state.locals, i, Local(name, me.view, False)),
                    status=with_(state.status, i, "crashed"),
                    net=rest | frozenset(kept),
                    held=with_(state.held, i, None),
                    latch=with_(state.latch, i, ""),
                )
                yield Move("Crash", (name,), target)

    def lose(self, state: State) -> Iterator[Move[State]]:
        """Yield the losses of messages."""
        if state.losses < self.constants.max_lost:
            for message in sorted(state.net, key=repr):
                net = state.net - {message}
                yield Move("Lose", (), state._replace(net=net, losses=state.losses + 1))

    # ------------------------------------------------------------------ sides

    def side(self, state: State, i: int) -> list[int]:
        """Return the members of a node's view that are there, in that view."""
        view = state.locals[i].view
        members = map(self.index.__getitem__, view.members)
        return [p for p in members if running(state, p) and state.locals[p].view == view]

    def changing(self, state: State, i: int) -> bool:
        """Tell whether a view change is under way in a node's side, or of those that come to it."""
        view = state.locals[i].view
        for p in map(self.index.__getitem__, view.members):
            held = state.held[p]
            if held is None or not running(state, p):
                continue
            if view in (state.locals[p].view, held.view):
                return True
        return False

    def cut(self, state: State, side: list[int]) -> bool:
        """Tell whether all of a side have read the same, and all that they have multicast."""
        for s in {self.index[name] for p in side for name in state.locals[p].view.members}:
            read = {state.position[p][s] for p in side}
            if read != {len(state.stream[s])} if s in side else len(read) > 1:
                return False
        return True
