"""Both ends of channels and streams, as rows, and which origins and faults are found in them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from raincheck.conformance.trace.channels_compared import (
    FEW,
    Bad,
    Compared,
    compare,
    compare_all,
    joined,
)
from raincheck.conformance.trace.columns import SPOILED, Channel, Columns
from raincheck.conformance.trace.findings import FileReport
from raincheck.conformance.trace.judged import other_design

from .pingpong_talk import Change, Records, at, judged, talk
from .planted_channels import CIRCLE
from .planting import Ask, Complaints, Shown

_NAME: Final = '["x","a",0,"b",0]'
Rows: TypeAlias = Sequence[tuple[int, int, int]]
"""Of each message a digest, the event, and its number."""


def _end(rows: Rows, fifo: bool) -> Channel:
    end = Channel(_NAME, fifo=fifo)
    for row in rows:
        end.add(*row)
    return end


def found_in(of: Compared) -> str:
    """Return the origins and the faults."""
    origins = [tuple(row) for row in of.origins.tolist()]
    bad = [f"{each.kind} {each.index} {each.number}" for each in of.bad]
    return f"{origins} {bad}"


def _met(sent: Rows, received: Rows, *, fifo: bool) -> Ask:
    """Ask what is found between both ends, whether compared as they are or as tables."""

    def ask(_: Path) -> Complaints:
        one, other = Columns(), Columns()
        one.sent[_NAME], other.received[_NAME] = _end(sent, fifo), _end(received, fifo)
        (found,) = compare_all([one, other]).values()
        tables = compare(one.sent[_NAME].table(), other.received[_NAME].table(), fifo=fifo)
        return [
            found_in(found),
            *([] if found_in(found) == found_in(tables) else [found_in(tables)]),
        ]

    return ask


def _numbered(*rows: tuple[int, int], behind: int = 0) -> Rows:
    return [(*row, number) for number, row in enumerate(rows, behind + 1)]


_MANY: Final = [(7 + number, 2 * number) for number in range(1, FEW + 45)]
_LATER: Final = [(digest, index + 1) for digest, index in _MANY]
_ALL: Final = [(2 * number + 1, 2 * number, number) for number in range(1, FEW + 45)]

_COMPARED: Final[dict[str, Shown]] = {
    "messages in order": Shown(
        _met(_numbered((5, 1), (6, 2), (7, 3)), _numbered((5, 4), (6, 5)), fifo=True),
        ("[(4, 1, 1), (5, 2, 2)] []",),
    ),
    "the receiver counts from where it came in": Shown(
        _met(_numbered((5, 1), (6, 2), (7, 3)), _numbered((6, 4), (7, 5)), fifo=True),
        ("[(4, 2, 1), (5, 3, 2)] []",),
    ),
    "the receiver came in, and misses one": Shown(
        _met(_numbered((5, 1), (6, 2), (7, 3), (8, 4)), _numbered((6, 4), (8, 5)), fifo=True),
        ("[] ['contents 4 1', 'contents 5 2']",),
    ),
    "the sender's numbers have a gap": Shown(
        _met([(5, 1, 1), (6, 2, 3)], _numbered((5, 4), (6, 5)), fifo=True),
        ("[(4, 1, 1)] ['absent 5 2']",),
    ),
    "the receiver's numbers have a gap": Shown(
        _met(_numbered((5, 1), (6, 2)), [(5, 4, 1), (6, 5, 3)], fifo=True),
        ("[(4, 1, 1)] ['absent 5 3']",),
    ),
    "the receiver's first number is the third": Shown(
        _met(_numbered((5, 1), (6, 2), (7, 3)), [(7, 6, 3)], fifo=True), ("[(6, 3, 3)] []",)
    ),
    "the receiver knows that a message is spoiled": Shown(
        _met(_numbered((5, 1), (6, 2)), _numbered((5, 4), (SPOILED, 5)), fifo=True),
        ("[(4, 1, 1), (5, 2, 2)] []",),
    ),
    "many messages in order": Shown(
        _met(_numbered(*_MANY), _numbered(*_LATER), fifo=True), (f"{_ALL} []",)
    ),
    "many messages, of which one was not sent": Shown(
        _met(_numbered(*_MANY), [*_numbered(*_LATER), (5, 900, 900)], fifo=True),
        (f"{_ALL} ['absent 900 900']",),
    ),
    "datagrams, doubled and overtaken: the first sending counts": Shown(
        _met([(5, 1, 0), (6, 2, 0), (5, 3, 0)], [(6, 7, 0), (5, 8, 0), (5, 9, 0)], fifo=False),
        ("[(7, 2, -1)] []",),
    ),
    "a datagram that was not sent": Shown(
        _met([(5, 1, 0)], [(5, 7, 0), (9, 8, 0)], fifo=False),
        ("[(7, 1, -1)] ['absent 8 -1']",),
    ),
    "many datagrams": Shown(
        _met(
            [(*row, 0) for row in _MANY],
            [*((*row, 0) for row in _LATER), (5, 900, 0)],
            fifo=False,
        ),
        (f"{[(*row[:2], -1) for row in _ALL]} ['absent 900 -1']",),
    ),
    "blocks of a channel": Shown(
        lambda _: [
            found_in(
                joined(
                    Compared(np.array([[event, origin, -1]]), [Bad("absent", event + 1)])
                    for event, origin in ((8, 2), (6, 1))
                )
            )
        ],
        ("[(6, 1, -1), (8, 2, -1)] ['absent 9 -1', 'absent 7 -1']",),
    ),
}


# ---------------------------------------------------------------------- what was judged of them


def _judged(records: Records) -> Ask:
    return lambda folder: judged(folder, records)


def _changed(*changes: Change) -> Records:
    records = talk()
    for change in changes:
        change(records)
    return records


def _circle_with_a_hole() -> Records:
    records = copy.deepcopy(CIRCLE[1])
    at("b", -1, index=3)(records)
    return records


def _designs(_: Path) -> Complaints:
    """Return what is lacking by headers that set a repair, and a number that is none."""
    told = ({"last_primary": True}, {"last_primary": False}, {"expected": 7})
    headers = [
        FileReport(run="r", protocol="primary", node="a", incarnation=0, path="a", constants=each)
        for each in told
    ]
    return [str(other_design("primary", [each])) for each in headers]


_WHOLE: Final[dict[str, Shown]] = {
    "only a repair that is lacking makes another design": Shown(
        _designs, ("{}", "{'last_primary': False}", "{}")
    ),
    "a circle, where an event is missing": Shown(
        _judged(_circle_with_a_hole()),
        (
            "r1: inconclusive",
            'inconclusive network, a.0 event 1: ["fifo","b",0,"a",0,1]: the records do not '
            "show its sending before it was received",
            'inconclusive network, b.0 event 1: ["fifo","a",0,"b",0,1]: the records do not '
            "show its sending before it was received",
            "inconclusive records, b.0 event 2: the footer says that event 3 is the last "
            "one, the file ends with event 2: records are missing",
        ),
    ),
    "what a node did comes before what others saw": Shown(
        _judged(
            _changed(at("b", 5, changed__said=7), at("a", 4, args__number=6, told=[["Heard", [6]]]))
        ),
        (
            "r1: violated",
            "violated local, b.0 event 5 Say: not what the model does; said: 7, not 2",
            'violated network, a.0 event 4: ["fifo","b",0,"a",0,1] was sent with other contents; '
            'contents: "those of event 4 here", not "those that event 3 of b.0 has sent"',
        ),
    ),
    "a hail that was not sent by a node that did wrong": Shown(
        _judged(
            _changed(
                at("a", 3, changed={"said": 9}), at("b", 2, args__number=9, told=[["Heard", [9]]])
            )
        ),
        (
            "r1: violated",
            "violated local, a.0 event 3 Rest: not what the model does; said: 9, not 1",
            'violated network, b.0 event 2: ["Hail","a",0,"b",0] was never sent',
        ),
    ),
    "a hail that was not sent by a node of which an event is missing": Shown(
        _judged(_changed(at("a", -1, index=6), at("b", 2, args__number=9, told=[["Heard", [9]]]))),
        (
            "r1: inconclusive",
            "inconclusive records, a.0 event 5: the footer says that event 6 is the last "
            "one, the file ends with event 5: records are missing",
            'inconclusive network, b.0 event 2: ["Hail","a",0,"b",0]: the records of a.0 do '
            "not show its sending",
        ),
    ),
}


AROUND: Final[dict[str, dict[str, Shown]]] = {
    "trace.channels_compared": _COMPARED,
    "trace.judged": _WHOLE,
}
