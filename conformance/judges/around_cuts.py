"""Members that take states, around the rules of `deliveries/cuts.py`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from raincheck.conformance.deliveries.cuts import wrong_cut
from raincheck.conformance.deliveries.properties import Message
from raincheck.conformance.deliveries.sortedlog import SortedLog
from raincheck.conformance.deliveries.states import State

from .planting import Ask, Complaints, Shown

_A, _B = "a.0", "b.0"
_ONE, _TWO, _THREE, _FOUR = ((_A, str(number)) for number in range(1, 5))
_STATE: Final = State(position=3, member=_B, provider=_A, after=2, view=2)
_GAVE: Final = ((1, 1, _ONE), (2, 1, _TWO), (3, 1, _THREE), (4, 2, _FOUR))
"""The deliveries of a, which has given its state after the second; the last is of the next view."""


def _taken(*mine: tuple[int, int, Message], ended: Iterable[str] = ()) -> Ask:
    """Ask of b, which takes the state and has delivered this beside it."""

    def ask(_: Path) -> Complaints:
        log = SortedLog([])
        log.delivered |= {_A: list(_GAVE), _B: list(mine)}
        log.contents = {_STATE: {_ONE: 1, _TWO: 1}}
        log.ended = dict.fromkeys(ended, 4)
        found = wrong_cut(log)
        return [] if found is None else [f"{found['messages']}: {found['found']}"]

    return ask


AROUND: Final[dict[str, dict[str, Shown]]] = {
    "deliveries.cuts": {
        "a member that delivers behind the state what is not in it": Shown(
            _taken((1, 1, _ONE), (4, 2, _THREE)), ()
        ),
        "one that delivers nothing behind the state, and may have gone": Shown(
            _taken((1, 1, _ONE)), ()
        ),
        "one that ends without what was delivered behind the state": Shown(
            _taken((1, 1, _ONE), ended=[_B]),
            ("[['a.0', '3']]: neither in the state nor delivered",),
        ),
        "one that goes on in the view without it": Shown(
            _taken((4, 2, _FOUR)), ("[['a.0', '3']]: neither in the state nor delivered",)
        ),
    },
}
