"""The layers below STABLE as the environment plays them: NAKACK, crashes, the membership.

The twin of those actions of `spec/Stable.tla` that no handler of a member makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.rows import placed, with_
from raincheck.model.machine.runs import Address

from .handlers import Local
from .promises import holds
from .state import Constants, Grid, State, View


class Below(Composed[State, Local]):
    """The environment's moves of an instance."""

    constants: Constants
    index: dict[str, int]

    # ------------------------------------------------------------------ NAKACK

    def nakack(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        """Yield NAKACK's moves at node i on the stream of node j; on its own, its multicasts."""
        c, name, peer = self.constants, self.nodes[i], self.nodes[j]
        if i == j and name in c.senders and state.sent[i] < c.max_sent:
            yield Move(
                "Multicast",
                (name,),
                state._replace(
                    sent=with_(state.sent, i, state.sent[i] + 1),
                    passed=placed(state.passed, i, i, state.passed[i][i] + 1),
                    delivered=placed(state.delivered, i, i, state.delivered[i][i] + 1),
                    highest=placed(state.highest, i, i, state.highest[i][i] + 1),
                ),
            )
        if all(a.node != peer for a in state.locals[i].members):
            return
        k, have, known = state.passed[i][j] + 1, state.delivered[i][j], state.highest[i][j]
        if i != j and k <= state.sent[j]:
            passed = state._replace(passed=placed(state.passed, i, j, k))
            arrived = passed._replace(highest=placed(state.highest, i, j, max(known, k)))
            if k == have + 1:
                arrived = arrived._replace(delivered=placed(state.delivered, i, j, k))
            yield Move("Arrive", (name, peer), arrived)
            if name in c.losers:
                yield Move("Drop", (name, peer), passed)
        if have < known and any(holds(state, h, i, j) for h in range(len(self.nodes))):
            yield Move(
                "Fetch",
                (name, peer),
                state._replace(
                    delivered=placed(state.delivered, i, j, have + 1),
                    passed=placed(state.passed, i, j, max(k - 1, have + 1)),
                ),
            )

    # ------------------------------------------------------------------ lives

    def address(self, state: State, i: int) -> Address:
        """The address of the node's present process."""
        return Address(self.nodes[i], state.incarnation[i] if self.constants.incarnations else 0)

    def alive(self, state: State, who: Address) -> bool:
        """Tell whether the process behind the address is still a member."""
        i = self.index[who.node]
        return state.status[i] == "member" and self.address(state, i) == who

    def lives(self, state: State, i: int) -> Iterator[Move[State]]:
        """Yield the moves in which the node crashes, comes back, or is excluded alive."""
        c, name, zeros = self.constants, self.nodes[i], tuple(0 for _ in self.nodes)
        if name in c.crashers and state.status[i] == "member":
            crashed = state._replace(
                locals=with_(state.locals, i, Local(state.locals[i].me)),
                status=with_(state.status, i, "crashed"),
                began=with_(state.began, i, zeros),
                passed=with_(state.passed, i, zeros),
                delivered=with_(state.delivered, i, zeros),
                highest=with_(state.highest, i, zeros),
                purged=with_(state.purged, i, zeros),
                cut=with_(state.cut, i, None),
            )
            yield Move("Crash", (name,), crashed)
        if name in c.returners and state.incarnation[i] == 0 and state.status[i] == "crashed":
            yield from self._restart(state, i)
        if name in c.excluded and self.alive(state, self.address(state, i)):
            yield from self.decide(state, self.address(state, i))

    def _restart(self, state: State, i: int) -> Iterator[Move[State]]:
        name = self.nodes[i]
        if any(
            status == "member" and any(a.node == name for a in them.members)
            for status, them in zip(state.status, state.locals, strict=True)
        ) or any(x is not None for x in (*state.join_rsp, *state.cut)):
            return

        def forgotten(grid: Grid) -> Grid:
            return tuple(with_(row, i, 0) for row in grid)

        state = state._replace(
            status=with_(state.status, i, "joining"),
            incarnation=with_(state.incarnation, i, 1),
            sent=with_(state.sent, i, 0),
            began=forgotten(state.began),
            passed=forgotten(state.passed),
            delivered=forgotten(state.delivered),
            highest=forgotten(state.highest),
            purged=forgotten(state.purged),
        )
        me = Local(self.address(state, i))
        yield Move("Restart", (name,), state._replace(locals=with_(state.locals, i, me)))

    # ------------------------------------------------------------------ the membership service

    def _settled(self, state: State) -> bool:
        last = state.views[-1]
        for i, them in enumerate(state.locals):
            mine, status = self.address(state, i), state.status[i]
            if status == "member" and mine in last.members and them.view != len(state.views):
                return False
            if (
                status == "joining"
                and mine in last.joiners
                and (state.join_rsp[i] is not None or self.alive(state, last.members[0]))
            ):
                return False
        return True

    def decide(self, state: State, excluded: Address | None) -> Iterator[Move[State]]:
        """Yield the membership's decision of the next view, without `excluded` if it is given."""
        last = state.views[-1]
        if (
            len(state.views) >= self.constants.max_views
            or not self._settled(state)
            or (excluded is not None and excluded not in last.members)
        ):
            return
        staying = tuple(a for a in last.members if self.alive(state, a) and a != excluded)
        asking = [self.address(state, i) for i, s in enumerate(state.status) if s == "joining"]
        if not staying:
            return
        promised = state.cut[self.index[staying[0].node]] is not None
        action, args = ("ViewChange", ()) if excluded is None else ("Exclude", (excluded.node,))
        for size in range(len(asking) + 1 if promised else 1):
            for joiners in combinations(asking, size):
                if joiners or len(staying) < len(last.members):
                    new = View((*staying, *joiners), frozenset(joiners))
                    yield Move(action, args, state._replace(views=(*state.views, new)))
