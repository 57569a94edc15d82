"""Faults planted for the rules of `deliveries/properties.py` and `properties_local.py`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

import msgspec

from raincheck.conformance.deliveries import properties
from raincheck.conformance.deliveries.logs import Row
from raincheck.conformance.deliveries.properties import judged
from raincheck.conformance.deliveries.properties_local import answer
from raincheck.conformance.errors import UsageError
from raincheck.conformance.importers.said import Said
from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.findings import HOLDS

from .delivery_log import log, sent
from .planting import Ask, Plant, Planted

NAMES: Final = tuple(
    name for name in properties.NAMES if name not in ("state_cut", "uniform_agreement")
)
"""All that is asked of logs in which nobody takes a state, and nobody is gone."""
_SENT: Final = sent("a: 1/a1 1/a2 2/a3 2/a4", "b: 1/b1 1/b2 2/b3")
_P: Final = "p: 1/a1 1/b1 1/a2 1/b2 2/a3 2/b3"
_Q: Final = "q: 1/a1 1/b1 1/a2 1/b2 2/a3 2/b3"


def _asked(
    rows: Iterable[Row],
    names: Collection[str] = NAMES,
    problems: Collection[Problem] = (),
    sparse: bool = False,
) -> Ask:
    """Ask which of these properties do not hold of a log."""

    def ask(_: Any) -> list[str]:
        try:
            found = judged(
                answer(rows, Said(sparse=sparse)), list(problems), names, False
            ).properties
        except UsageError as error:
            return [str(error)]
        return [
            f"{each.name}: {each.verdict}: {each.reason or each.witness}"
            for each in found
            if each.verdict != HOLDS
        ]

    return ask


_GOOD: Final = _asked([*log(_P, _Q), *_SENT])
"""Two members deliver the same in two views, in which it was sent."""


def _plant(words: str, p: str = _P, q: str = _Q, **more: Any) -> Plant:
    """Plant two members, one of which delivers something else; every property is asked."""
    return _of(words, [*log(p, q), *_SENT], **more)


def _of(
    words: str,
    rows: Iterable[Row],
    names: Collection[str] = NAMES,
    problems: Collection[Problem] = (),
    **more: Any,
) -> Plant:
    return Plant(good=_GOOD, bad=_asked(list(rows), names, problems), words=words, **more)


_WITH_STATES: Final = (*NAMES, "state_cut")
_GIVEN: Final = _asked([*log(_P, _Q, "r: 2/=p4 2/a3 2/b3"), *_SENT], _WITH_STATES)
"""A third member takes a state with what p had in the first view."""


def _given(words: str, r: str, **more: Any) -> Plant:
    """Plant a third member's state, or what it delivers."""
    rows = [*log(_P, _Q, *r.split("; ")), *_SENT]
    return Plant(good=_GIVEN, bad=_asked(rows, _WITH_STATES), words=words, **more)


_TWICE: Final = "'found': 'in the state, and delivered behind it'"
_LATE: Final = "r: 2/=p5 2/a3 2/b3"
"""It takes a state in which the first of its messages is."""


def _later(rows: Iterable[Row], member: str, behind: int) -> list[Row]:
    """Return the rows, with those of the member after that position one further on."""
    return [
        msgspec.structs.replace(row, position=row.position + 1)
        if row.member == member and row.event == "deliver" and row.position > behind
        else row
        for row in rows
    ]


_NUMBERED: Final = log(_P, _Q, end=False)
_HOLE: Final = "total_order: inconclusive: positions are missing or doubled in the log of p"
_SKIPPED: Final = [*_later(log(_P, _Q), "p", 2), *_SENT]
_ORDER: Final = (
    "total_order: violated: {'members': ['q', 'p'], 'messages': [['b', '1'], ['a', '1']]}"
)
_SWAPPED: Final = "q: 1/b1 1/a1 1/a2 1/b2 2/a3 2/b3"
_TWO: Final = ("total_order", "uniform_total_order")
_NOBODY: Final = "nobody was there to be judged by either"
_APART: Final = (
    "p: 1/a1 1/b1 1/a2 2/a3 2/a4",
    "q: 1/a1 1/b1 1/b2 2/b3",
    "r: 1/a1 1/b2 1/b1 2/b3",
)

PLANTED: Final[dict[str, Planted]] = {
    "deliveries.properties": {
        "asked: There is no property …: choose from ….": _of(
            "There is no property speed",
            log(_P, _Q),
            names=("speed",),
            breaks=KeyError,
            why="nobody has an answer to it",
        ),
        "_verdict: the last view differs, and no log says that it is complete": _of(
            "agreement: inconclusive: the last view differs",
            [*log(_P, _Q.removesuffix("2/b3"), end=False), *_SENT],
        ),
        "_verdict: return Promise(name, INCONCLUSIVE, {}, facts.unclear, judged)": _of(
            "agreement: inconclusive: the log has no member list of view 1 of p",
            [*log(_P, _Q), Row("q", 0, 1, event="view", members=("p", "q")), *_SENT],
            names=("agreement",),
        ),
        "_verdict: not missing": _plant(
            "agreement: violated: {'view': 1", q=_Q.replace(" 1/b2", "").replace(" 2/b3", "")
        ),
        "_verdict: not name in NEEDS_ALL": _of(
            _ORDER,
            [*_later(log(_P, _SWAPPED), "p", 2), *_SENT],
            names=("total_order",),
            then=_HOLE,
            why="what is there is in another order, whatever is missing",
        ),
        "_verdict: return Promise(name, INCONCLUSIVE, witness or {}, missing, judged)": _of(
            _HOLE, _SKIPPED
        ),
        "_verdict: return Promise(name, INCONCLUSIVE, {}, reason, judged)": _of(
            "no_creation: inconclusive: there is no send log",
            log(_P, _Q),
            names=("no_creation",),
        ),
        "_missing: positions are missing or doubled in the log of …": _of(_HOLE, _SKIPPED),
        "_missing: records were put into quarantine": _of(
            "total_order: inconclusive: records were put into quarantine",
            [*log(_P, _Q), *_SENT],
            problems=[Problem("log.jsonl", 1, "no row")],
        ),
        "_missing: nothing was delivered": _of(
            "total_order: inconclusive: nothing was delivered",
            log("p:", "q:"),
            names=("total_order",),
            then="no two members have both delivered",
            why=_NOBODY,
        ),
        "_unasked: there is no send log": _of(
            "no_creation: inconclusive: there is no send log", log(_P, _Q), names=("no_creation",)
        ),
        "_unasked: return NO_STATES": _of(
            "state_cut: inconclusive: the log does not say that anybody took a state",
            log(_P, _Q),
            names=("state_cut",),
            then="state_cut: inconclusive: nobody that took a state",
            why=_NOBODY,
        ),
        "_unasked: the log has no views": _of(
            "virtual_synchrony: inconclusive: the log has no views",
            log("p: a1", "q: a1"),
            names=("virtual_synchrony",),
            then="virtual_synchrony: inconclusive: no two members",
            why=_NOBODY,
        ),
        "_unasked: there is no send log #2": _of(
            "sending_view: inconclusive: there is no send log",
            log(_P, _Q),
            names=("sending_view",),
            then="sending_view: inconclusive: no message was delivered of which",
            why=_NOBODY,
        ),
        "_unasked: no sender's message ids are numbers": _of(
            "gap_freeness: inconclusive: no sender's message ids are numbers",
            log("p: ax ay", "q: ax ay"),
            names=("gap_freeness",),
            then="gap_freeness: inconclusive: nobody delivered two",
            why=_NOBODY,
        ),
        "_unasked: no send log, and the message ids of … are no numbers": _of(
            "sender_fifo: inconclusive: no send log, and the message ids of b are no numbers",
            log("p: a1 bx a2 by"),
            names=("sender_fifo",),
        ),
        "_unasked: return NOBODY[name]": _of(
            "sender_fifo: inconclusive: nobody delivered two messages of one sender",
            log("p: a1 b1"),
            names=("sender_fifo",),
        ),
    },
    "deliveries.properties_local": {
        "_whole: not positions == list(range(1, len(positions) + 1))": _of(_HOLE, _SKIPPED),
        "_whole: not end == len(positions)": _of(
            _HOLE, [*_NUMBERED, Row("p", 7, event="end"), Row("q", 6, event="end"), *_SENT]
        ),
        "_total_order: return (judged, order_witness(member, reference, a, b))": _plant(
            _ORDER, q=_SWAPPED
        ),
        "_agreement.<locals>.witness: return agreement_witness(view, key, has, lacks)": _plant(
            "agreement: violated: {'view': 2, 'messages': [['b', '3']], 'members': ['p', 'q']}",
            q=_Q.removesuffix("2/b3"),
        ),
        "_duplicate: "
        "return {'members': [member], 'messages': [list(key)], 'positions': [before, position]}": (
            _plant("no_duplication: violated: {'members': ['q']", q=f"{_Q} 2/a3")
        ),
        "_created: "
        "return {'members': [member], 'messages': [list(key)], 'positions': [position]}": _plant(
            "no_creation: violated: {'members': ['p'], 'messages': [['a', '5']]",
            f"{_P} 2/a4 2/a5",
            f"{_Q} 2/a4 2/a5",
        ),
        "_created: return witness | {'sent_after': log.after[key]}": _of(
            "no_creation: violated: {'members': ['b'], 'messages': [['b', '1']], "
            "'positions': [1], 'sent_after': 1}",
            [*log("b: b1", "p: b1"), Row("b", 1, 0, "b", "1", "send", 1)],
            names=("no_creation",),
        ),
        "_fifo: return {'members': [member], 'messages': [list(first), list(second)]}": _plant(
            "sender_fifo: violated: {'members': ['p'], 'messages': [['a', '2'], ['a', '1']]}",
            _P.replace("a1 1/b1 1/a2", "a2 1/b1 1/a1"),
            _Q.replace("a1 1/b1 1/a2", "a2 1/b1 1/a1"),
        ),
        "_views_differ: "
        "return {'messages': [list(key)], 'views': [low, high], 'members': members}": _plant(
            "virtual_synchrony: violated: {'messages': [['b', '2']], 'views': [1, 2]",
            q=_Q.replace("1/b2", "2/b2"),
            then="agreement: violated",
            why="in neither view it is both members' message",
        ),
        "_sent_elsewhere: return "
        "{'messages': [list(key)], 'views': [log.sent[key][1], view], 'members': [member]}": _plant(
            "sending_view: violated: {'messages': [['b', '2']], 'views': [1, 2]",
            _P.replace("1/b2", "2/b2"),
            _Q.replace("1/b2", "2/b2"),
        ),
        "_gap: return {'members': [member], 'messages': [[sender, str(missing)]]}": _plant(
            "gap_freeness: violated: {'members': ['p'], 'messages': [['a', '2']]}",
            _P.replace("1/a2 ", ""),
            _Q.replace("1/a2 ", ""),
        ),
    },
    "deliveries.sparse": {
        "missing_known: return {'members': [member], 'messages': [[sender, missing]]}": Plant(
            good=_asked(log("p: a1 a3 a4", "q: a1 a3 a4"), ("gap_freeness",), sparse=True),
            bad=_asked(log("p: a1 a3 a4", "q: a1 a4"), ("gap_freeness",), sparse=True),
            words="gap_freeness: violated: {'members': ['q'], 'messages': [['a', '3']]}",
        ),
    },
    "deliveries.cuts": {
        "wrong_cut: found.append((TWICE, position, me, key, at))": _given(_TWICE, _LATE),
        "wrong_cut: return cut_witness(what, me, key, position, at)": _given(_TWICE, _LATE),
        "wrong_cut: found.append((LOST, position, me, key, at))": _given(
            "'found': 'delivered before the state, and not in it'",
            "r: 1/a1 1/b1 1/a2 1/b2 2/=p3 2/a3 2/b3",
            then="'found': 'neither in the state nor delivered'",
            why="it is not delivered behind the state either",
        ),
        "wrong_cut: found.append((NEITHER, position, me, key, at))": _given(
            "'found': 'neither in the state nor delivered'",
            "r: 2/=p3 2/a3 2/b3",
            then="gap_freeness: violated",
            why="it is a number between two others",
        ),
    },
    "deliveries.states": {
        "_parts: … took a state with what … had at position …, and the log of … does not go so far"
        "": _given(
            "r took a state with what p had at position 9, and the log of p does not go so far",
            "r: 2/=p9",
            then="state_cut: inconclusive: nobody that took a state",
            why=_NOBODY,
        ),
        "_parts: the states that … and others took are made of each other": _given(
            "the states that s and others took are made of each other",
            "r: 2/=s2 2/a3 2/b3; s: 2/=r3 2/a3 2/b3",
            breaks=TypeError,
            why="nothing is known of what is in them",
        ),
    },
    "deliveries.cycles": {
        "cycle_in: return "
        "{'members': cycle, 'messages': [list(stuck[member]) for member in cycle]}": _of(
            "total_order: violated: {'members': ['q', 'r'], 'messages': [['b', '1'], ['b', '2']]}",
            log(*_APART),
            names=_TWO,
        ),
    },
}
