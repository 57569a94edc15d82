"""Faults planted for the rules of `trace/layers/`: two layers that speak of the same things.

The lower one installs views, is called, delivers and multicasts; the upper one says so, too.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.bindings.state_transfer.speaks import within_deliveries
from raincheck.conformance.trace.findings import FileReport
from raincheck.conformance.trace.judged import layers_of
from raincheck.conformance.trace.layers.agreements import (
    Agreement,
    counted,
    in_turn,
    on_the_way,
    same,
)
from raincheck.conformance.trace.layers.speaks import VIEW, Speaks, Statement, view

from . import pingpong
from .planting import Complaints, Plant, Planted, sentences

_MEMBERS: Final = [("a", 0), ("b", 0)]
_TOPICS: Final = {
    "call": same,
    "purge": in_turn,
    "multicast": counted,
    "digest": on_the_way,
    "cut": within_deliveries,
}

Files: TypeAlias = dict[tuple[str, str], FileReport]
"""By protocol and node."""
Fault: TypeAlias = Callable[[Files], object]


def found_by(protocol: str) -> Binding:
    """Return what the upper layer says, and the lower one."""
    agrees = tuple(
        Agreement(
            name=f"Same{topic.title()}",
            topic=topic,
            other="lower",
            its=topic,
            compare=compare,
            rule=f"the {topic} is one",
        )
        for topic, compare in _TOPICS.items()
    )
    upper = protocol == "upper"
    return replace(pingpong.BINDING, real=None, speaks=Speaks(agrees=agrees if upper else ()))


def files_of() -> Files:
    """Return the reports of a good run."""
    rows = np.array([[1, 0, 1], [3, 1, 1], [5, 1, 2]], dtype=np.int64)
    said: dict[str, list[tuple[str, int, Any]]] = {
        "upper": [
            ("call", 2, "up"),
            ("call", 3, "down"),
            ("purge", 4, ["a.0", 11]),
            ("digest", 5, [1, [[("a", 0), 1]], [[("a", 0), 1]]]),
            ("cut", 6, [1, 1]),
            ("cut", 7, [1, 2]),
        ],
        "lower": [
            ("call", 2, "up"),
            ("call", 4, "down"),
            ("purge", 3, ["a.0", 11]),
            ("purge", 6, ["a.0", 12]),
        ],
    }
    return {
        (layer, node): FileReport(
            run="r1",
            protocol=layer,
            node=node,
            incarnation=0,
            path=f"{layer}.{node}.jsonl",
            nodes=("a", "b"),
            events=9,
            conforming=9,
            complete=True,
            said=[
                Statement(VIEW, 1, view(1, _MEMBERS)),
                *(Statement(*each) for each in said[layer]),
                Statement(VIEW, 8, view(2, _MEMBERS)),
            ],
            tally={"multicast 1": 3, "delivered 1": 4, "delivered 2": 1},
            tracks={"a.0": rows.tobytes()},
        )
        for layer in ("lower", "upper")
        for node in "ab"
    }


def _told(fault: Fault | None, killed: str) -> Callable[[Path], Complaints]:
    def ask(_: Path) -> Complaints:
        files = deepcopy(files_of())
        for (layer, node), report in files.items():
            report.complete = node not in killed or layer == "upper"
        if fault is not None:
            fault(files)
        verdicts = list(layers_of("r1", files.values(), {(node, 0) for node in killed}, found_by))
        promises = [promise for verdict in verdicts for promise in verdict.promises]
        unsure = [f"{each.name}: {each.reason}" for each in promises if each.reason]
        return [*sentences(verdicts), *unsure]

    return ask


def plant(words: str, fault: Fault, killed: str = "", verdict: str = "violated") -> Plant:
    """Plant a fault in the reports of a run, in which these nodes' lower files are cut."""
    return Plant(good=_told(None, killed), bad=_told(fault, killed), words=words, verdict=verdict)


def says(layer: str, topic: str, *values: Any) -> Fault:
    """Let a's layer say that on the topic, and nothing else."""

    def fault(files: Files) -> None:
        report = files[layer, "a"]
        rest = [each for each in report.said if each.topic != topic]
        report.said = [*rest, *(Statement(topic, n, value) for n, value in enumerate(values, 1))]

    return fault


def _views(layer: str, *views: Any, nodes: str = "a") -> Fault:
    def fault(files: Files) -> None:
        for node in nodes:
            report = files[layer, node]
            rest = [each for each in report.said if each.topic != VIEW]
            shown = [Statement(VIEW, n, each) for n, each in zip((1, 8), views, strict=False)]
            report.said = [*shown, *rest]

    return fault


def _in_both(files: Files) -> None:
    """Both layers of b have installed other members."""
    for layer in ("upper", "lower"):
        _views(layer, view(1, _MEMBERS), view(2, _MEMBERS[1:]), nodes="b")(files)


def _by_two(files: Files) -> None:
    """The layers of a say that others have decided its second view."""
    for layer, by in (("lower", ["a", 0]), ("upper", ["b", 0])):
        _views(layer, view(1, _MEMBERS), view(2, _MEMBERS, by=by))(files)


def _not_checked(files: Files) -> None:
    files["upper", "a"].complete = False


def _not_there(files: Files) -> None:
    del files["upper", "b"]


_ONE, _TWO = view(1, _MEMBERS), view(2, _MEMBERS)
_DIFFERENT: Final = "OneSequenceOfViews: another view than by lower of a.0, event 8"
_PURGE: Final = 'SamePurge: the purge is one; lower says otherwise, event 3; purge: ["a.0",16]'
_PURGED: Final = says("upper", "purge", ["a.0", 16])
_REVERSED: Final = _views("upper", _ONE, view(2, _MEMBERS[::-1]))
_SAME: Final = "SameCall: the call is one; lower says otherwise"
_CUT: Final = "SameCut: the cut is one; lower says otherwise; cut: "

PLANTED: Final[dict[str, Planted]] = {
    "trace.layers.agreements": {
        "same: return mine.clashing(count, one, other.value, other.index)": plant(
            f'{_SAME}, event 4; call: "left", not "down"', says("upper", "call", "up", "left")
        ),
        "same: return mine.clashing(count, ours[count])": plant(
            f'{_SAME}; call: "on", not null', says("upper", "call", "up", "down", "on")
        ),
        "same: return Found(count, [Clash(0, None, lacking.value, lacking.index, "
        "mine.topic)])": plant(
            f'{_SAME}, event 4; call: null, not "down"', says("upper", "call", "up")
        ),
        "in_turn: return mine.clashing(compared, one, value, index)": plant(_PURGE, _PURGED),
        "counted: clashes.append(Clash(begins, ours.get(what, 0), others.get(what, 0), 0, name))": (
            plant(
                "SameMulticast: the multicast is one; lower says otherwise; multicast in view 1: 2,"
                " not 3",
                lambda files: files["upper", "a"].tally.update({"multicast 1": 2}),
            )
        ),
        "on_the_way: return mine.clashing(compared, says, state, begin)": plant(
            "SameDigest: the digest is one; lower says otherwise, event 5; the stream of a.0: "
            "[0,2], not [0,1]",
            says("upper", "digest", [1, [[("a", 0), 0]], [[("a", 0), 2]]]),
        ),
    },
    "bindings.state_transfer.speaks": {
        "within_deliveries: number not in views": plant(
            f"{_CUT}[7,0]", says("upper", "cut", [7, 0])
        ),
        "within_deliveries: one.value < before": plant(
            f"{_CUT}[1,1], not [1,2]", says("upper", "cut", [1, 2], [1, 1])
        ),
        "within_deliveries: theirs.whole": plant(
            f"{_CUT}[2,9], not [2,1]", says("upper", "cut", [2, 9])
        ),
        "within_deliveries: number != max(views)": plant(
            f"{_CUT}[1,9], not [1,4]", says("upper", "cut", [1, 9]), killed="a"
        ),
    },
    "trace.layers.views": {
        "between_layers: found.append(Different(None, other, 'view', None, other.said.value, "
        "report))": plant(
            "OneSequenceOfViews: a view is not installed here, and is by lower of a.0, event 8",
            _views("upper", _ONE),
        ),
        "_first: return Different(mine, other, 'view', number, its_number)": plant(
            f"{_DIFFERENT}; view: 3, not 2", _views("upper", _ONE, view(3, _MEMBERS))
        ),
        "_first: decided by": plant(f'{_DIFFERENT}; decided by: ["b",0], not ["a",0]', _by_two),
        "_first: return Different(mine, other, 'members', members, its_members)": plant(
            f'{_DIFFERENT}; members: [["b",0],["a",0]], not [["a",0],["b",0]]', _REVERSED
        ),
        "between_members: yield different": plant(
            f'{_DIFFERENT}; members: [["b",0]], not [["a",0],["b",0]]', _in_both
        ),
    },
    "trace.layers.judged": {
        "_views: found.findings.append(_other_view(each))": plant(_DIFFERENT, _REVERSED),
        "_agreement: wrong += [_clashing(report, agreement, clash) for clash in "
        "result.clashes]": plant(_PURGE, _PURGED),
        "_missing: not every record of … was checked": plant(
            "not every record of upper was checked", _not_checked, verdict="inconclusive"
        ),
        "_missing: there is no file of … of a member of a view": plant(
            "there is no file of upper of a member of a view", _not_there, verdict="inconclusive"
        ),
        "_as_far_as_compared: not every record was checked": replace(
            plant(
                "OneSequenceOfViews: not every record was checked",
                _not_checked,
                verdict="inconclusive",
            ),
            then="not every record of upper was checked",
            why="the verdict of the run does not rest on its promises",
        ),
    },
}
