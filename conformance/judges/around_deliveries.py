"""Delivery logs, and the logs of simulated groups, around the rules for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from raincheck.conformance.campaigns.promises import Broken, Log, check, logs
from raincheck.conformance.deliveries import sides
from raincheck.conformance.deliveries.logs import Row, label_of
from raincheck.conformance.deliveries.properties import NAMES, Facts, Verdicts, judged
from raincheck.conformance.deliveries.properties_local import answer
from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, VIOLATED, Promise
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
            + (f", {each.reason}" if each.reason else "")
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


def _facts(rows: Iterable[Row], *names: str) -> Ask:
    """Ask for the facts about a log."""
    kept = list(rows)

    def ask(_: Path) -> Complaints:
        facts = msgspec.to_builtins(answer(kept).facts)
        return [f"{name}: {facts[name]}" for name in names]

    return ask


def _lists(*views: tuple[str, int, str]) -> list[Row]:
    """Return the member lists of views: of a member, its number, and the members."""
    return [
        Row(member, 0, view, event="view", members=tuple(members.split()))
        for member, view, members in views
    ]


_CRASHED: Final = [*log("p: 1/a1 1/b1 2/b2 2/a2", end=False), Row("p", event="crash")]
_APART: Final = _lists(
    ("p", 4, "p"), ("p", 5, "p q"), ("p", 7, "p q"), ("q", 1, "p q"), ("q", 2, "p q")
)
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
    "how much there is, and who did not end": Shown(
        _facts([*_CRASHED, *log("q: 1/a1")], "rows", "members", "messages", "open_end"),
        (
            "rows: 7",
            "members: 2",
            "messages: 4",
            "open_end: False",
        ),
    ),
    "what a crashed member delivered in its last view does not count": Shown(
        _asked([*_CRASHED, *log("q: 1/a1 1/b1 2/a2 2/b2")], names=("total_order", "agreement")),
        (
            "total_order: holds over [2, 1, 2]",
            "agreement: holds over [2, 1, 2]",
        ),
    ),
    "what a crashed member delivered before does": Shown(
        _asked([*_CRASHED, *log("q: 1/b1 1/a1 2/a2 2/b2")], names=("total_order", "agreement")),
        (
            "total_order: violated {'members': ['p', 'q'], 'messages': [['a', '1'], ['b', '1']]}",
            "agreement: holds over [2, 1, 2]",
        ),
    ),
    "rows in any order": Shown(
        _asked(reversed([*log("p: a1 a2 a3", "q: a1 a2 a3"), *sent("a: a1 a2 a3")])),
        (
            "total_order: holds over [2, 1, 3]",
            "agreement: holds over [2, 1, 3]",
            "no_duplication: holds over [2, 1, 3]",
            "no_creation: holds over [2, 1, 3]",
            "sender_fifo: holds over [2, 1, 3]",
            "virtual_synchrony: inconclusive, the log has no views",
            "gap_freeness: holds over [2, 1, 3]",
            "state_cut: inconclusive, the log does not say that anybody took a state",
            "uniform_total_order: holds over [2, 1, 3]",
            "uniform_agreement: inconclusive, nobody whose log ends in a view from which another "
            "one went on has delivered a message in it",
            "sending_view: inconclusive, the log has no views",
        ),
    ),
    "a message that is sent twice, the first time later in the log": Shown(
        _asked(
            [
                *log("p: a1 a2", "q: a1 a2"),
                Row("a", 9, 0, "a", "1", "send"),
                Row("a", 2, 0, "a", "2", "send"),
                Row("a", 1, 0, "a", "1", "send"),
            ],
            names=("sender_fifo",),
        ),
        ("sender_fifo: holds over [2, 1, 2]",),
    ),
    "members that number their views apart, by the lists": Shown(
        _asked(
            [*log("p: 4/x1 5/p1 7/p2", "q: 1/p1 2/p2"), *_APART, Row("p", 1, 5, "p", "1", "send")],
            names=("virtual_synchrony", "sending_view"),
        ),
        (
            "virtual_synchrony: holds over [2, 2, 2]",
            "sending_view: holds over [2, 1, 1]",
        ),
    ),
    "the same, and a message in another view": Shown(
        _asked(
            [*log("p: 4/x1 5/p1 7/p2", "q: 2/p1 2/p2"), *_APART, Row("p", 1, 7, "p", "1", "send")],
            names=("virtual_synchrony", "sending_view"),
        ),
        (
            "virtual_synchrony: violated {'messages': [['p', '1']], 'views': ['{p q}', "
            "'occurrence 2 of {p q}'], 'members': ['p', 'q']}",
            "sending_view: violated {'messages': [['p', '1']], 'views': ['occurrence 2 of "
            "{p q}', '{p q}'], 'members': ['p']}",
        ),
    ),
    "views with names between which nothing was delivered": Shown(
        _asked(
            [
                *_named(log("p: 1/a1")),
                Row("p", 0, "x", event="view", after=1),
                Row("p", 0, "y", event="view", after=1),
            ],
            names=("agreement",),
        ),
        (
            "agreement: inconclusive, it is unclear whether p had view x or y first: "
            "nothing was delivered between them",
        ),
    ),
    "views with names that say after how many deliveries they came": Shown(
        _asked(
            [
                *_named(log("p: 2/a1 1/a2", "q: 2/a1 1/a2")),
                Row("p", 0, "second", event="view", after=0),
                Row("p", 0, "second", event="view", after=3),
                Row("p", 0, "first", event="view", after=1),
            ],
            names=("agreement", "virtual_synchrony"),
        ),
        (
            "agreement: holds over [2, 2, 2]",
            "virtual_synchrony: holds over [2, 2, 2]",
        ),
    ),
    "views with names that say nothing": Shown(
        _asked(_named(log("p: 2/a1 1/a2", "q: 2/a1 1/a2")), names=("virtual_synchrony",)),
        ("virtual_synchrony: holds over [2, 2, 2]",),
    ),
    "a view without deliveries that says after how many it came": Shown(
        _asked(
            [
                *_named(log("p: 2/a1 2/a2", "q: 2/a1 2/a2 1/a3")),
                Row("p", 0, "first", event="view", after=2),
            ],
            names=("virtual_synchrony",),
        ),
        ("virtual_synchrony: holds over [2, 1, 2]",),
    ),
    "a view without deliveries from before all": Shown(
        _asked(
            [
                *_named(log("p: 2/a1", "q: 1/b1 2/a1")),
                Row("p", 0, "first", event="view", after=0),
            ],
            names=("virtual_synchrony",),
        ),
        ("virtual_synchrony: holds over [2, 1, 1]",),
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


def _raised(call: Callable[[], object]) -> str:
    """Return what the call raised, in its first line, or what it returned."""
    try:
        return getattr(call(), "name", "nothing raised")
    except (AssertionError, KeyError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def _whole(_: Path) -> Complaints:
    """What verdicts on several properties are together, and which of them a test may rely on."""
    kinds = {"h": HOLDS, "v": VIOLATED, "i": INCONCLUSIVE}
    said = []
    for word in ("h", "hi", "hiv", "i", "hh"):
        found = [Promise(f"{kind}{at}", kinds[kind]) for at, kind in enumerate(word)]
        verdicts = Verdicts(facts=Facts(), properties=found, problems=[])
        said += [
            f"{word}: {verdicts.verdict}",
            _raised(verdicts.assert_holds),
            _raised(partial(verdicts.assert_holds, "h0")),
            _raised(verdicts.assert_not_violated),
            _raised(partial(verdicts.__getitem__, "i1")),
        ]
    return said


def _read_lives(_: Path) -> Complaints:
    """Return what is read of the logs of members that have come together and taken a state."""
    rows = [
        *(Row("p", view=view, event="view") for view in (1, 3)),
        Row("p", 1, 1, "p", "1"),
        Row("p", 2, 3, "q", "1"),
        Row("p", 3, 3, "q", "2"),
        Row("q", 0, 0, "p", event="state"),
        *(Row("q", view=view, event="view") for view in (2, 3)),
        Row("q", 1, 3, "p", event="state"),
        Row("q", 2, 3, "q", "2"),
        Row("r", 1, 2, "r", "1"),
        *(Row("r", view=view, event="view") for view in (1, 3)),
        Row("r", 1, 3, "p", event="state"),
        Row("s", 0, 0, "p", event="state"),
        Row("s", view=4, event="view"),
        Row("s", 1, 4, "s", "1"),
        Row("s", 1, 5, "p", event="state"),
    ]
    lives = sides.lives_of(rows)
    said = [
        f"{who}: {life.views}, {sorted(life.given)}, "
        + "; ".join(
            f"{view}: {' '.join(f'{told.sender}{told.number}' for told in messages)}"
            for view, messages in life.delivered.items()
        )
        for who, life in lives.items()
    ]
    return [*said, f"compared {sides.compared_together(lives)}", sides.two_sets(lives)]


AROUND: Final[dict[str, dict[str, Shown]]] = {
    "deliveries.properties": {
        "verdicts as tests use them": Shown(
            _whole,
            (
                "h: holds",
                "nothing raised",
                "nothing raised",
                "nothing raised",
                "KeyError: 'i1 was not judged; judged were h0'",
                "hi: inconclusive",
                "AssertionError: h0: holds, judged over ",
                "nothing raised",
                "nothing raised",
                "i1",
                "hiv: violated",
                "AssertionError: h0: holds, judged over ",
                "nothing raised",
                "AssertionError: h0: holds, judged over ",
                "i1",
                "i: inconclusive",
                "AssertionError: i0: inconclusive, judged over ",
                "KeyError: 'h0 was not judged; judged were i0'",
                "AssertionError: i0: inconclusive, judged over ",
                "KeyError: 'i1 was not judged; judged were i0'",
                "hh: holds",
                "nothing raised",
                "nothing raised",
                "nothing raised",
                "KeyError: 'i1 was not judged; judged were h0, h1'",
            ),
        ),
    },
    "deliveries.sides": {
        "what is read of each life": Shown(
            _read_lives,
            (
                "p: [1, 3], [], 1: p1; 3: q1 q2",
                "q: [2, 3], [0, 2, 3], 3: q2",
                "r: [1, 3], [1, 3], 2: r1",
                "s: [4], [0, 4, 5], 4: s1",
                "compared 1",
                "",
            ),
        ),
    },
    "deliveries.logs": {
        "what is the number of a view": Shown(
            lambda _: [repr(label_of(text)) for text in ("7", "x", "", 8, "1" * 18, "1" * 19, "²")],
            ("7", "'x'", "0", "8", "1" * 18, repr("1" * 19), "'²'"),
        ),
    },
    "deliveries.properties_local": _LOGS,
    "campaigns.promises": _GROUPS,
}
