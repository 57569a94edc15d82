"""Delivery logs, and the logs of simulated groups, around the rules for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

import msgspec

from raincheck.conformance.campaigns.promises import Broken, Log, check, logs
from raincheck.conformance.deliveries.logs import Row, label_of
from raincheck.conformance.deliveries.properties import NAMES, judged
from raincheck.conformance.deliveries.properties_local import answer
from raincheck.conformance.trace.findings import HOLDS
from raincheck.impl.messages import Address, Run, View, ViewId

from .delivery_log import log, sent
from .group_faults import rested
from .planting import Ask, Complaints, Shown


def _asked(rows: Iterable[Row], names: Collection[str] = NAMES) -> Ask:
    """Ask for each property of a log: its verdict, the witness, and over what it was judged."""
    kept = list(rows)

    def ask(_: Path) -> Complaints:
        return [
            f"{each.name}: {each.verdict}"
            + (f" {each.witness}" if each.witness else "")
            + (f" over {[*each.judged.values()]}" if each.verdict == HOLDS else "")
            for each in judged(answer(kept), [], names, False).properties
        ]

    return ask


def _named(rows: Iterable[Row]) -> list[Row]:
    """Return the rows with names for views in place of numbers, told apart by their messages."""
    return [
        msgspec.structs.replace(row, view=("first", "second")[int(row.view) - 1])
        if row.event == "deliver"
        else row
        for row in rows
    ]


_LONGEST: Final = "r: x1 x2 x3 x4"
_ORDER: Final = ("total_order",)

_LOGS: Final[dict[str, Shown]] = {
    "without views and sendings some properties are not asked": Shown(
        _asked(log("p: a1 a2", "q: a1 a2"), names=()),
        (
            "total_order: holds over [2, 1, 2]",
            "agreement: holds over [2, 1, 2]",
            "no_duplication: holds over [2, 1, 2]",
            "sender_fifo: holds over [2, 1, 2]",
            "gap_freeness: holds over [2, 1, 2]",
        ),
    ),
    "two orders that the longest log has nothing of": Shown(
        _asked(log(_LONGEST, "p: y1 y2", "q: y2 y1"), names=_ORDER),
        ("total_order: violated {'members': ['p', 'q'], 'messages': [['y', '1'], ['y', '2']]}",),
    ),
    "one order that the longest log has nothing of": Shown(
        _asked(log(_LONGEST, "p: y1 y2 y3", "q: y1 y2 y3"), names=_ORDER),
        ("total_order: holds over [2, 1, 3]",),
    ),
    "a witness has the log's own name of its view": Shown(
        _asked(_named(log("p: 1/a1 1/b1 2/a2", "q: 1/a1 2/a2")), names=("agreement",)),
        ("agreement: violated {'view': 'first', 'messages': [['b', '1']], 'members': ['p', 'q']}",),
    ),
    "a witness has the log's own names of its views": Shown(
        _asked(_named(log("p: 1/a1 1/b1 2/a2", "q: 1/a1 2/b1 2/a2")), names=("virtual_synchrony",)),
        (
            "virtual_synchrony: violated {'messages': [['b', '1']], 'views': ['first', "
            "'second'], 'members': ['p', 'q']}",
        ),
    ),
    "views with names, and nothing against it": Shown(
        _asked(_named(log("p: 1/a1 2/a2", "q: 1/a1 2/a2")), names=("agreement",)),
        ("agreement: holds over [2, 2, 2]",),
    ),
    "a sender's order is not known": Shown(
        _asked([*log("p: a1 bx by", "q: a1 bx by"), *sent("b: bx by")], names=("sender_fifo",)),
        ("sender_fifo: holds over [2, 1, 2]",),
    ),
}


# ---------------------------------------------------------------------- simulated groups

_A, _B, _C = (Address(name, 0) for name in "abc")
_FIRST: Final = View(ViewId(1, _A), (_A, _B, _C))
_SECOND: Final = View(ViewId(2, _A), (_A, _B))


def _lives(_: Path) -> Complaints:
    """All lives of a group of which y comes back, and z leaves."""
    group = rested()
    group.crash("y")
    group.run(3.0)
    group.restart("y")
    group.run_until(lambda: group.in_one_view(*"abyz"))
    group.leave("z")
    group.run_until(lambda: group["z"].left is not None)
    group["a"].left = "excluded"
    return [
        f"{each.address}: {'delivered' if each.delivered else 'nothing'}"
        + f"{' survives' * each.survives}{' complete' * each.complete}"
        for each in logs(group)
    ]


def _kept(*found: Log) -> Ask:
    def ask(_: Path) -> Complaints:
        try:
            check(found)
        except Broken as error:
            return [str(error)]
        return []

    return ask


def _life(who: Address, count: int, *views: View, survives: bool = True) -> Log:
    """Return a life that has delivered so many messages of a's in its first view."""
    return Log(who, [(Run(_A, 1, count), 1)], list(views), survives)


_GROUPS: Final[dict[str, Shown]] = {
    "the lives of a group": Shown(
        _lives,
        (
            "a.0: delivered",
            "b.0: delivered survives complete",
            "c.0: delivered",
            "z.0: delivered complete",
            "y.0: delivered",
            "y.1: nothing survives complete",
        ),
    ),
    "who went on together and does not survive": Shown(
        _kept(_life(_A, 2, _FIRST, _SECOND), _life(_B, 1, _FIRST, _SECOND, survives=False)),
        ("virtual synchrony: in view 1 a.0 delivered 1 messages more than b.0, the first a.0's 2",),
    ),
    "who survives in one view": Shown(
        _kept(_life(_A, 2, _FIRST), _life(_B, 1, _FIRST)),
        ("virtual synchrony: in view 1 a.0 delivered 1 messages more than b.0, the first a.0's 2",),
    ),
    "who does not survive in one view": Shown(
        _kept(_life(_A, 2, _FIRST), _life(_C, 1, _FIRST, survives=False)), ()
    ),
}

AROUND: Final[dict[str, dict[str, Shown]]] = {
    "deliveries.logs": {
        "what is the number of a view": Shown(
            lambda _: [repr(label_of(text)) for text in ("7", "x", "", 8, "1" * 18, "1" * 19, "²")],
            ("7", "'x'", "0", "8", "1" * 18, repr("1" * 19), "'²'"),
        ),
    },
    "deliveries.properties_local": _LOGS,
    "campaigns.promises": _GROUPS,
}
