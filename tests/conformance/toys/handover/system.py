"""Handover, composed: tokens travel in a set that may lose them, thanks in queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from raincheck.model.handover import handlers as node  # type: ignore[import-not-found]
from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.values import Value


class State(NamedTuple):
    """The nodes, the tokens under way as (sender, to, turn), and the queues of thanks."""

    locals: tuple[Any, ...]
    tokens: frozenset[tuple[str, str, int]] = frozenset()
    thanks: tuple[tuple[str, str, int], ...] = ()
    lost: int = 0


def machine(constants: Mapping[str, Any]) -> System:
    """Return the bounded instance."""
    return System(**constants)


class System(Composed[State, Any]):
    """At most so many turns; one token may be lost; b may restart once."""

    name = "handover"
    handlers = node.HANDLERS

    def __init__(self, nodes: str = "ab", turns: int = 3, rules: Any = None) -> None:
        self.nodes = tuple(nodes)
        self.turns = turns
        self.rules = rules or node.Rules()

    @property
    def invariants(self) -> Mapping[str, Any]:
        return {}

    def initial(self) -> Iterator[State]:
        first = self.nodes[0]
        yield State(
            tuple(
                node.Local(n, tuple(m for m in self.nodes if m != n), holds=n == first)
                for n in self.nodes
            )
        )

    def variables(self, state: State) -> dict[str, Value]:
        return {"holds": tuple(me.holds for me in state.locals)}

    def local(self, state: State, name: str) -> Any:
        return state.locals[self.nodes.index(name)]

    def moves(self, state: State) -> Iterator[Move[State]]:
        for me in state.locals:
            for to in me.peers if me.turn < self.turns else ():
                yield from self.act(state, me.node, node.Pass(to))
        for sender, to, turn in sorted(state.tokens):
            # It stays under way: it may arrive again.
            if len(state.thanks) < 2:
                yield from self.act(state, to, node.ReceiveToken(sender, turn))
            if state.lost < 1:
                left = state.tokens - {(sender, to, turn)}
                yield Move("Lose", (turn,), state._replace(tokens=left, lost=1))
        for place, (sender, to, turn) in enumerate(state.thanks):
            left = state.thanks[:place] + state.thanks[place + 1 :]
            if (sender, to) not in {each[:2] for each in state.thanks[:place]}:
                taken = state._replace(thanks=left)
                yield from self.act(taken, to, node.ReceiveThanks(sender, turn))
        b = state.locals[1]
        if b.turn == 1 and not state.thanks:
            yield from self.act(state, b.node, node.Restart())

    def carried(
        self, state: State, name: str, local: Any, outputs: tuple[Any, ...]
    ) -> State | None:
        place = self.nodes.index(name)
        locals_ = (*state.locals[:place], local, *state.locals[place + 1 :])
        state = state._replace(locals=locals_)
        for output in outputs:
            match output:
                case node.Token(to, turn):
                    state = state._replace(tokens=state.tokens | {(name, to, turn)})
                case node.Thanks(to, turn):
                    state = state._replace(thanks=(*state.thanks, (name, to, turn)))
        return state
