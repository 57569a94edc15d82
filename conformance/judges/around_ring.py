"""What the members of a ring are said to have done, and which promises that breaks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.trace.causality import HappensBefore
from raincheck.conformance.trace.findings import VIOLATED
from raincheck.conformance.trace.ring.promises import ring_promises
from raincheck.conformance.trace.ring.seen import (
    CRASHED,
    OPEN,
    Address,
    Agreed,
    Commit,
    Delivered,
    Lock,
    RingSeen,
)

from .planting import Ask, Complaints, Shown

_A, _B, _C, _D = (("a", 0), ("b", 0), ("c", 0), ("d", 0))
_ONE, _TWO, _THREE = (_A, _B, _C), (_A, _B), (_B, _A)


def _broken(
    seen: Mapping[Address, RingSeen],
    heard: Mapping[tuple[Address, int], list[tuple[Address, int]]] | None = None,
    crashed: tuple[Address, ...] = (),
    only: str = "",
) -> Ask:
    """Ask which promises are broken; `heard` has for each event those that sent what it got."""

    def ask(_: Path) -> Complaints:
        causality = HappensBefore(heard or {})
        return [
            f"{each.name}: {each.witness}"
            for each in ring_promises(seen, causality, crashed, complete=True)
            if each.verdict == VIOLATED and only in each.name
        ]

    return ask


def _seen(**values: Any) -> RingSeen:
    return RingSeen(up="up", last=20, **values)


def _commits(*places: tuple[int, tuple[Address, ...], int]) -> list[Commit]:
    return [Commit(place, members, index, float(index)) for place, members, index in places]


_WHOLE: Final = _commits((1, _ONE, 0), (2, _TWO, 3), (3, _ONE, 5))


def _agreeing(**lists: Agreed | None) -> dict[Address, RingSeen]:
    """Two members, of which b lacks the last view, and the times at which they agreed."""
    return {
        _A: _seen(commits=_WHOLE, agreed=lists["a"]),
        _B: _seen(commits=_WHOLE[:2], agreed=lists["b"]),
    }


_HOLES: Final[dict[str, Shown]] = {
    "the commit of which the time is known comes first": Shown(
        _broken(
            {
                _A: _seen(commits=[Commit(1, _ONE, 2)]),
                _B: _seen(commits=[Commit(1, _TWO, 4, 4.0)]),
            },
            only="ConsistentHistory",
        ),
        (
            "ConsistentHistory: {'index': 1, 'members': [['b', 0], ['a', 0]], "
            "'events': [4, 2], 'views': [['a.0', 'b.0'], ['a.0', 'b.0', 'c.0']]}",
        ),
    ),
    "a view is lost and comes back": Shown(
        _broken(
            {
                _A: _seen(commits=[*_WHOLE, *_commits((2, (), 7), (2, _TWO, 9))]),
                _B: _seen(commits=_WHOLE),
            },
            only="NoHoles",
        ),
        (
            "NoHoles: {'index': 2, 'members': [['a', 0]], 'events': [7], 'view': "
            "['a.0', 'b.0'], 'lacking': 'a.0 has the one at 3, and not this one', "
            "'at': 7.0}",
        ),
    ),
    "a view comes after the next one": Shown(
        _broken(
            {
                _A: _seen(commits=_commits((1, _ONE, 0), (3, _ONE, 5), (2, _TWO, 7))),
                _B: _seen(commits=_WHOLE),
            },
            only="NoHoles",
        ),
        (
            "NoHoles: {'index': 2, 'members': [['a', 0]], 'events': [5], 'view': "
            "['a.0', 'b.0'], 'lacking': 'a.0 has the one at 3, and not this one', "
            "'at': 5.0}",
        ),
    ),
    "all agree, and one lacks the last view": Shown(
        _broken(_agreeing(a=Agreed(_TWO, 6), b=Agreed(_TWO, 4)), only="NoHoles"),
        (
            "NoHoles: {'index': 3, 'members': [['b', 0]], 'view': ['a.0', 'b.0', "
            "'c.0'], 'lacking': 'all agree, and b.0 has not the last one'}",
        ),
    ),
    "all agreed for some time, and one lacked the last view": Shown(
        _broken(_agreeing(a=Agreed(_TWO, 6, 12), b=Agreed(_TWO, 4, 12)), only="NoHoles"),
        (
            "NoHoles: {'index': 3, 'members': [['b', 0]], 'view': ['a.0', 'b.0', "
            "'c.0'], 'lacking': 'all agree, and b.0 has not the last one'}",
        ),
    ),
    "one had ceased to agree when the other one began": Shown(
        _broken(
            _agreeing(a=Agreed(_TWO, 6), b=Agreed(_TWO, 4, 8)),
            {(_A, 6): [(_B, 9)]},
            only="NoHoles",
        ),
        (),
    ),
    "a member that has died had the last view": Shown(
        _broken(
            {
                _A: _seen(commits=_WHOLE[:2], agreed=Agreed(_TWO, 6)),
                _B: _seen(commits=_WHOLE[:2], agreed=Agreed(_TWO, 4)),
                _D: _seen(commits=_WHOLE),
            },
            crashed=(_D,),
            only="NoHoles",
        ),
        (
            "NoHoles: {'index': 3, 'members': [['a', 0]], 'view': ['a.0', 'b.0', "
            "'c.0'], 'lacking': 'all agree, and a.0 has not the last one'}",
        ),
    ),
}


def _lock(number: int, start: int, end: int = 0, how: str = OPEN) -> list[Lock]:
    return [Lock((1, "a", 0, number), start, end, how, float(start))]


_LOCKS: Final[dict[str, Shown]] = {
    "who died with the lock may have lost it long before": Shown(
        _broken(
            {
                _B: _seen(locks=_lock(2, 6, 9, "")),
                _D: _seen(locks=_lock(1, 2)),
            },
            crashed=(_D,),
            only="OneLock",
        ),
        (),
    ),
    "who died with the lock knew that another one had it": Shown(
        _broken(
            {
                _B: _seen(locks=_lock(2, 3, 8, "")),
                _D: _seen(locks=_lock(1, 2)),
            },
            {(_D, 5): [(_B, 4)]},
            crashed=(_D,),
            only="OneLock",
        ),
        (
            "OneLock: {'fences': [[1, 'a', 0, 1], [1, 'a', 0, 2]], 'members': [['d', "
            "0], ['b', 0]], 'events': [2, 3], 'at': 3.0}",
        ),
    ),
    "who crashed with the lock knew that another one had it": Shown(
        _broken(
            {
                _B: _seen(locks=_lock(2, 3, 8, "")),
                _D: _seen(locks=_lock(1, 2, 6, CRASHED)),
            },
            {(_D, 5): [(_B, 4)]},
            only="OneLock",
        ),
        (
            "OneLock: {'fences': [[1, 'a', 0, 1], [1, 'a', 0, 2]], 'members': [['d', "
            "0], ['b', 0]], 'events': [2, 3], 'at': 3.0}",
        ),
    ),
}

AROUND: Final[dict[str, dict[str, Shown]]] = {
    "trace.ring.views": _HOLES,
    "trace.ring.witnesses": _LOCKS,
    "trace.ring.promises": {
        "the first witness is the one of which the time is known": Shown(
            _broken(
                {
                    _A: _seen(delivered=[Delivered(_C, 1, 2), Delivered(_C, 1, 3)]),
                    _B: _seen(delivered=[Delivered(_C, 1, 4, 4.0), Delivered(_C, 1, 5, 5.0)]),
                },
                only="Fifo",
            ),
            ("Fifo: {'members': [['b', 0]], 'messages': [['c', 0, 1], ['c', 0, 1]], 'at': 5.0}",),
        ),
    },
}
