"""The membership service of SEQUENCER's model: which views can be decided next.

The twin of `ViewChange` and `Demote` in `spec/Sequencer.tla`. With `VirtualSynchrony` a view
also cuts the stream of the coordinator that it replaces.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from raincheck.model.machine.composed import Composed
from raincheck.model.machine.rows import with_
from raincheck.model.machine.runs import Address

from . import handlers as node
from .handlers import Local
from .member import Member
from .state import Constants, State, View


class MembershipService(Composed[State, Member]):
    """The part of the system that decides views."""

    def __init__(self, constants: Constants) -> None:
        """Take the instance's constants."""
        self.constants = constants
        self.rules = constants.rules
        self.nodes = constants.nodes
        self.index = {n: i for i, n in enumerate(constants.nodes)}

    def address(self, me: Local) -> Address:
        """Return the address of a node's present life."""
        return node.address(self.rules, me)

    def alive(self, state: State, who: Address) -> bool:
        """Return whether that life of its node takes part in the protocol."""
        them = state.locals[self.index[who.node]]
        return node.running(them) and self.address(them) == who

    def _settled(self, state: State) -> bool:
        last = state.views[-1]
        for i, them in enumerate(state.locals):
            mine = self.address(them)
            if node.running(them) and mine in last.members and them.view != len(state.views):
                return False
            if (
                them.status == "joining"
                and mine in last.joiners
                and (state.join_rsp[i] is not None or self.alive(state, last.members[0]))
            ):
                return False
        return True

    def view_change(self, state: State) -> Iterator[State]:
        """Yield the states after each view that can be decided next."""
        if not self._settled(state):
            return
        last = state.views[-1]
        staying = tuple(a for a in last.members if self.alive(state, a))
        asking = [
            self.address(them)
            for them in state.locals
            if them.status == "joining" and them.node not in self.constants.strangers
        ]
        if not staying:
            return
        for size in range(len(asking) + 1):
            for joiners in combinations(asking, size):
                if joiners or len(staying) < len(last.members):
                    yield from self._decide(state, View(staying + joiners, frozenset(joiners)))

    def demote(self, state: State) -> Iterator[State]:
        """Yield the states after a view in which the coordinator is the last member."""
        last = state.views[-1]
        if (
            len(state.views) < self.constants.last_demotion
            and len(last.members) > 1
            and all(self.alive(state, a) for a in last.members)
            and self._settled(state)
        ):
            yield from self._decide(state, View((*last.members[1:], last.members[0]), frozenset()))

    def _decide(self, state: State, new: View) -> Iterator[State]:
        last = state.views[-1]
        state = state._replace(views=(*state.views, new))
        old = last.members[0]
        if not self.constants.virtual_synchrony or new.members[0] == old:
            yield state
            return
        c = self.index[old.node]
        survivors = (
            state.position[i][c]
            for i, them in enumerate(state.locals)
            if node.running(them) and self.address(them) in last.members
        )
        held = max(survivors, default=0)
        for cut in range(held, len(state.stream[c]) + 1):
            yield state._replace(stream=with_(state.stream, c, state.stream[c][:cut]))
