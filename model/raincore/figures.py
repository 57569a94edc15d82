"""The text's Figures 12, 13 and 14, driven step by step through the model.

A figure prints labels beside a node: the nodelist of its copy of the token, its view state and the
number, each time it gets, changes or makes the token, and when it recovers. The figures begin at
number 11; a ring that founds itself with number 3 is then just in agreement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from raincheck.model.machine.composed import Move
from raincheck.model.machine.runs import Address

from . import events as ev
from .handlers import first_token
from .local import Local, Rules
from .state import Constants, Spent, State
from .system import RaincoreSystem

NODES: Final = ("A", "B", "C", "D")
FIRST: Final = 11
_FOUNDED: Final = 3


class Label(NamedTuple):
    """A label that a figure prints beside a node."""

    node: str
    nodelist: tuple[str, ...]
    view_state: str
    seq: int

    def __str__(self) -> str:
        return f"{''.join(self.nodelist)}({self.view_state[0]}){self.seq}"


@dataclass(frozen=True, slots=True)
class Figure:
    """The labels of a figure in order, and each node's globalView at the end.

    A view that is NULL is None.
    """

    labels: tuple[Label, ...]
    views: Mapping[str, tuple[tuple[str, ...] | None, ...]]


def figure(number: int, rules: Rules) -> Figure:
    """Return Figure 12, 13 or 14 by these rules; raise ValueError if there is no such figure."""
    if number not in _LAST:
        raise ValueError(f"there is no figure {number}: the text has 12, 13 and 14")
    play = _Play(rules)
    play.until("A", 15)
    if number > 12:
        play.does("B", "Crash")
        play.until("C", 26)
    if number > 13:
        play.does("B", "Recover")
        play.until(*_LAST[14])
    labels = tuple(label for label in play.labels if label.seq >= FIRST)
    return Figure(labels, {me.me.node: _views(me) for me in play.state.locals})


_LAST: Final = {12: ("A", 15), 13: ("C", 26), 14: ("A", 38)}


class _Play:
    """A run in which messages arrive at once and the holder's time ends when none is under way."""

    def __init__(self, rules: Rules) -> None:
        self.system = RaincoreSystem(
            Constants(
                NODES,
                NODES,
                rules,
                crashers=frozenset("B"),
                most=Spent(crashes=1, recoveries=1),
                max_attempts=9,
                max_epoch=9,
                max_seq=99,
            )
        )
        token = first_token(rules, self.system.founders)._replace(seq=_FOUNDED - 1)
        members = tuple(self._founder(n, token) for n in self.system.founders)
        self.state = State(members, (0,) * len(members))
        self.labels: list[Label] = []

    def _founder(self, me: Address, token: ev.Token) -> Local:
        if me != token.nodelist[0]:
            return Local(me, "up", token_state="hungry", last_token=token)
        token = token._replace(seq=_FOUNDED, seen=frozenset({me}))
        return Local(me, "up", token_state="eating", last_token=token)

    def until(self, node: str, seq: int) -> None:
        """Go on until that node eats with that number."""
        while not self._eats(node, seq):
            moves = list(self.system.moves(self.state))
            arrivals = [m for m in moves if m.action in _NETWORK]
            times = [m for m in moves if m.action == "EatingTimeout"]
            self._take((arrivals + times)[0])
            if len(self.labels) > _TOO_LONG:
                raise RuntimeError(f"{node} never eats with number {seq}")

    def does(self, node: str, action: str) -> None:
        """Let the node take that action."""
        found = (m for m in self.system.moves(self.state) if (m.action, m.node) == (action, node))
        self._take(next(found))

    def _eats(self, node: str, seq: int) -> bool:
        me = self.system.local(self.state, node)
        return me.token_state == "eating" and me.last_token.seq == seq and not self.state.network

    def _take(self, move: Move[State]) -> None:
        assert move.node is not None
        before = self.system.local(self.state, move.node)
        self.state = move.target
        after = self.system.local(self.state, move.node)
        sent = [o for o in move.outputs if isinstance(o, ev.Token)]
        if any(isinstance(o, ev.Eats) for o in move.outputs) or move.action == "Recover":
            self._tell(after, after.last_token.seq)
        elif sent and after.last_token.nodelist != before.last_token.nodelist:
            self._tell(after, sent[0].seq - 1)

    def _tell(self, me: Local, seq: int) -> None:
        nodelist = tuple(n.node for n in me.last_token.nodelist)
        self.labels.append(Label(me.me.node, nodelist, me.view_state, seq))


_NETWORK: Final = ("ReceiveToken", "Receive911", "TokenUndelivered", "Undelivered911")
_TOO_LONG: Final = 200


def _views(me: Local) -> tuple[tuple[str, ...] | None, ...]:
    return tuple(tuple(n.node for n in view) or None for view in me.global_view)
