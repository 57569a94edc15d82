"""The adversary of SEQUENCER's model: the FORWARDs that nobody has sent.

The twin of `Forge` and `Corrupt` in `spec/Sequencer.tla`, bounded as in `MCSequencer.tla`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from raincheck.model.machine.composed import Move
from raincheck.model.machine.rows import placed, with_
from raincheck.model.machine.runs import Run

from . import handlers as node
from .membership import MembershipService
from .state import State, Tagged


class Adversary(MembershipService):
    """The part of the system that makes up FORWARDs, and alters those under way."""

    def forge(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        """Yield what the stranger j can send to node i."""
        c, them = self.constants, state.locals[j]
        if them.node not in c.strangers or them.said >= c.max_forged:
            return
        if not node.running(state.locals[i]):
            return
        made_up = with_(state.locals, j, them._replace(said=them.said + 1))
        for source in (j,) if c.true_sources else range(len(self.nodes)):
            for forward in self._unsent(state):
                channel = (*state.forwards[source][i], forward)
                yield Move(
                    "Forge",
                    (them.node, self.nodes[i]),
                    state._replace(
                        locals=made_up, forwards=placed(state.forwards, source, i, channel)
                    ),
                )

    def corrupt(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        """Yield what the FORWARDs of node j under way to node i can become."""
        if self.constants.true_contents:
            return
        channel = state.forwards[j][i]
        for place in range(len(channel)):
            for forward in self._unsent(state):
                altered = placed(state.forwards, j, i, with_(channel, place, forward))
                target = state._replace(forwards=altered)
                yield Move("Corrupt", (self.nodes[j], self.nodes[i]), target)

    def made_up(self, state: State, move: Move[State]) -> dict[str, Any]:
        """Return what a schedule says of such a FORWARD: its channel, place, tag and view."""
        to = self.index[str(move.args[1])]
        for source, row in enumerate(move.target.forwards):
            for place, forward in enumerate(row[to]):
                if state.forwards[source][to][place : place + 1] != (forward,):
                    message, view = forward
                    tag = [*message.sender, message.first]
                    return {"from": self.nodes[source], "place": place + 1, "tag": tag, "in": view}
        return {}

    def _unsent(self, state: State) -> Iterator[Tagged]:
        last = len(state.views)
        for them in state.locals:
            for ahead in (1, 2):
                made_up = Run(self.address(them), them.seqno + ahead, 1, them.said + ahead)
                for view in range(max(last - 1, 1), last + 2):
                    yield made_up, view
