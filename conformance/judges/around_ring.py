"""Planted stories of a ring's members, and the promises that each of them breaks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, TypeAlias

import msgspec

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
    Eaten,
    Lock,
    RingObserver,
    RingSeen,
    Said,
    State,
)

from .planting import Ask, Complaints, Shown

_A, _B, _C, _D = (("a", 0), ("b", 0), ("c", 0), ("d", 0))
_ONE, _TWO = (_A, _B, _C), (_A, _B)
Heard: TypeAlias = Mapping[tuple[Address, int], list[tuple[Address, int]]]


def _broken(
    seen: Mapping[Address, RingSeen],
    heard: Heard | None = None,
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


def _over(seen: Mapping[Address, RingSeen], heard: Heard | None = None) -> Ask:
    """Ask over how much each promise was judged."""

    def ask(_: Path) -> Complaints:
        promises = ring_promises(seen, HappensBefore(heard or {}), (), complete=True)
        return [f"{each.name}: {[*each.judged.values()]}" for each in promises]

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


def _state(up: str, token: str, seq: int, views: tuple[Any, ...] = (), said: int = 0) -> Any:
    """Return a local state, as far as it is observed."""
    by = SimpleNamespace(node="a", incarnation=0)
    here = SimpleNamespace(
        epoch=SimpleNamespace(n=1, by=by),
        seq=seq,
        nodelist=(SimpleNamespace(node="a", incarnation=0),),
    )
    return SimpleNamespace(
        up=up,
        token_state=token,
        view_state="agreement",
        last_token=here,
        global_view=views,
        said=said,
    )


def _observed(_: Path) -> Complaints:
    """What is seen of a member that eats, goes down, loses its state, and eats again."""
    views = ((SimpleNamespace(node="a", incarnation=0),),)
    observer = RingObserver(_state("new", "hungry", 0))
    steps = (
        _state("up", "hungry", 0),
        _state("up", "eating", 1, views),
        _state("up", "eating", 1, views, said=1),
        _state("down", "eating", 1, views, said=1),
        _state("new", "hungry", 0),
        _state("up", "eating", 2),
        _state("up", "hungry", 2),
    )
    for index, state in enumerate(steps, 1):
        observer.take(state, index, None, ())
    seen = msgspec.to_builtins(observer.done())
    return [f"{name}: {value}" for name, value in seen.items()]


AROUND: Final[dict[str, dict[str, Shown]]] = {
    "trace.ring.views": _HOLES,
    "trace.ring.witnesses": _LOCKS,
    "trace.ring.judged": {
        "over how much a ring is judged": Shown(
            _over(
                {
                    _A: _seen(
                        commits=_WHOLE,
                        eaten=[Eaten((1, "a", 0, 1), 2), Eaten((1, "a", 0, 3), 6)],
                        locks=_lock(1, 2, 4, ""),
                        states=[State("hungry", "agreement", 0), State("eating", "agreement", 2)],
                        delivered=[Delivered(_A, 1, 3), Delivered(_B, 1, 7), Delivered(_A, 2, 8)],
                        said=[Said(2, 2)],
                    ),
                    _B: _seen(
                        commits=_WHOLE[:2],
                        eaten=[Eaten((1, "a", 0, 2), 5)],
                        locks=_lock(2, 5, 6, ""),
                        states=[State("hungry", "agreement", 0)],
                        delivered=[Delivered(_A, 1, 4), Delivered(_B, 1, 6)],
                        said=[Said(1, 5)],
                    ),
                    _C: _seen(commits=_WHOLE[:1], delivered=[Delivered(_B, 1, 9)]),
                },
                {(_B, 4): [(_A, 4)], (_A, 6): [(_B, 6)]},
            ),
            (
                "ConsistentHistory: [3, 2]",
                "FenceUnique: [2, 3]",
                "OneLock: [2, 2]",
                "SevenStates: [1, 2]",
                "HeldByAll: [2, 2]",
                "NoHoles: [2, 2]",
                "AgreedOrder: [2, 2]",
                "Integrity: [3, 3]",
                "Fifo: [1, 2]",
            ),
        ),
    },
    "trace.ring.seen": {
        "a member that has lost its state": Shown(
            _observed,
            (
                "locks: [[(1, 'a', 0, 1), 2, 4, 'crashed', None], [(1, 'a', 0, 2), 6, 7, "
                "'', None]]",
                "eaten: [[(1, 'a', 0, 1), 2, None], [(1, 'a', 0, 2), 6, None]]",
                "commits: [[1, (('a', 0),), 2, None], [1, (), 5, None]]",
                "delivered: []",
                "states: [['hungry', 'agreement', 0, None, False], ['hungry', 'agreement', "
                "1, None, True], ['eating', 'agreement', 2, None, True], ['eating', "
                "'agreement', 4, None, False]]",
                "said: [[1, 3]]",
                "forgot: [5]",
                "agreed: [(('a', 0),), 7, 0, None]",
                "up: up",
                "last: 7",
            ),
        ),
    },
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
