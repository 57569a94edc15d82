"""Changes of views as GMS, NAKACK and STABLE have noted them, around the rules of their invariants.

How often an invariant was evaluated on several members is asked as well (`around_invariants.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from raincheck.conformance.trace.layers.views import other_beginnings
from raincheck.model.gms.events import Answer, Suspended

from .around_invariants import as_new, asked, noted
from .planted_invariants import STEPS, B, Said, Sent, Step, run_of
from .planting import Complaints, Shown

_A, _B = ["a", 0], ["b", 0]

# ------------------------------------------------------------------------------------- gms

_CHANGED: Final = STEPS["gms"]["Monotone 0"][0]
_ANSWERS: Final = Suspended((Answer(B, _CHANGED.after.view),))

_ONE: Final = [[1, _A], [_A, _B], []]
_TWO: Final = [[2, _A], [_A, _B], []]
_THERE: Final[list[Said]] = [
    *((node, "there", 0, _ONE) for node in "ab"),
    ("a", "step", 3, [_ONE, _TWO]),
    ("a", "there", 3, _TWO),
    ("b", "step", 2, [_ONE, _TWO]),
    ("b", "there", 2, _TWO),
    ("a", "resume", 5, _TWO),
]
_TOLD: Final[list[Sent]] = [("b", 2, "a", 4)]

# ---------------------------------------------------------------------------------- nakack

_MEMBER: Final = STEPS["nakack"]["TypeOK 0"][0].before

_ENDS: Final[list[Said]] = [
    ("a", "sent", 0, 2),
    ("b", "sent", 0, 1),
    *((node, "delivered", 0, [who, at]) for node in "ab" for who, at in ((_A, 2), (_B, 1))),
    ("a", "acked", 0, [_B, 2]),
    ("b", "acked", 0, [_A, 1]),
    *((node, "left", 3, [1, [[_A, 1], [_B, 1]]]) for node in "ab"),
    ("b", "joined", 4, [2, [[_A, 1], [_B, 1]]]),
]

# ---------------------------------------------------------------------------------- stable

_DIGESTS: Final[list[Said]] = [
    ("a", "view", 0, [1, [_A, _B], True]),
    ("a", "digest", 2, [1, [[_A, 2]], [[_A, 2]]]),
    ("a", "purge", 4, [_A, 2]),
    ("b", "digest", 2, [1, [[_A, 2]], [[_A, 2]]]),
    ("b", "digest", 5, [1, [[_A, 3]], [[_A, 3]]]),
]

# ------------------------------------------------------------------------------------ views


_BOTH: Final = [1, [_A, _B], True]
_ALONE_OF_BOTH: Final = [2, [_A, _B], True]


def _begin(
    first: object, *also: Said, of_a: object = _BOTH, merges: bool = False
) -> Callable[[Path], Complaints]:
    """Let a's file begin in the first view of both and b's in another; which begin apart?"""

    def ask(_: Path) -> Complaints:
        notes = [("a", "view", 0, of_a), ("b", "view", 0, first), *also]
        run = run_of("gms", notes, said=True, merges=merges)
        return [
            f"{mine.node} begins apart from {other.node}"
            for mine, other in other_beginnings(run.reports.values())
        ]

    return ask


AROUND: Final[dict[str, dict[str, Shown]]] = {
    "bindings.gms.invariants": {
        "a view that is installed, and one that stays": Shown(
            noted(
                "gms",
                _CHANGED,
                Step(_CHANGED.after, _CHANGED.after._replace(view=as_new(_CHANGED.after.view))),
                Step(_CHANGED.after, _CHANGED.after._replace(status="left")),
            ),
            (
                "1 there: [[2, ['a', 0]], [['a', 0]], []]",
                "1 step: [[[1, ['a', 0]], [['a', 0]], []], [[2, ['a', 0]], [['a', 0]], []]]",
                "3 there: None",
            ),
        ),
        "the answers of a flush": Shown(
            noted("gms", _CHANGED._replace(action="Suspended", event=_ANSWERS)),
            (
                "1 there: [[2, ['a', 0]], [['a', 0]], []]",
                "1 step: [[[1, ['a', 0]], [['a', 0]], []], [[2, ['a', 0]], [['a', 0]], []]]",
                "1 answered: [['b', 0], [[2, ['a', 0]], [['a', 0]], []], []]",
            ),
        ),
        "how often each is asked in a change of views": Shown(
            asked("gms", _THERE, _TOLD),
            (
                "SingleSequenceOfViews: 2",
                "SurvivorsAgree: 4",
                "OneHistoryPerSide: 2",
                "NobodyIsLost: 6",
                "AcksBeforeResume: 1",
            ),
        ),
        "the same where groups merge": Shown(
            asked("gms", _THERE, _TOLD, merges=True),
            ("SurvivorsAgree: 4", "OneHistoryPerSide: 2", "AcksBeforeResume: 1"),
        ),
        "whoever a leader has suspected it does not await": Shown(
            asked("gms", [*_THERE, ("a", "suspects", 4, _B)], merges=True),
            ("SurvivorsAgree: 4", "OneHistoryPerSide: 2"),
        ),
        "whoever it suspected before its view it does": Shown(
            asked("gms", [("a", "suspects", 2, _B), *_THERE], merges=True),
            (
                "SurvivorsAgree: 4",
                "OneHistoryPerSide: 2",
                "AcksBeforeResume: 1, b.0 installs it by its event 2",
            ),
        ),
        "whoever has answered the leader's flush has the view": Shown(
            asked("gms", [*_THERE, ("a", "answered", 4, [_B, _TWO, []])], merges=True),
            ("SurvivorsAgree: 4", "OneHistoryPerSide: 2", "AcksBeforeResume: 1"),
        ),
        "an answer of another view does not say so": Shown(
            asked("gms", [*_THERE, ("a", "answered", 4, [_B, _ONE, []])], merges=True),
            (
                "SurvivorsAgree: 4",
                "OneHistoryPerSide: 2",
                "AcksBeforeResume: 1, b.0 installs it by its event 2",
            ),
        ),
        "an answer that comes later does not": Shown(
            asked("gms", [*_THERE, ("a", "answered", 6, [_B, _TWO, []])], merges=True),
            (
                "SurvivorsAgree: 4",
                "OneHistoryPerSide: 2",
                "AcksBeforeResume: 1, b.0 installs it by its event 2",
            ),
        ),
        "whoever has left is not awaited": Shown(
            asked("gms", [*_THERE, ("b", "leaves", 6, True)]),
            (
                "SingleSequenceOfViews: 2",
                "SurvivorsAgree: 2",
                "OneHistoryPerSide: 2",
                "NobodyIsLost: 3",
            ),
        ),
        "whoever has crashed is not awaited": Shown(
            asked("gms", _THERE, crashed="b"),
            (
                "SingleSequenceOfViews: 2",
                "SurvivorsAgree: 1",
                "OneHistoryPerSide: 2",
                "NobodyIsLost: 1",
            ),
        ),
    },
    "bindings.nakack.invariants": {
        "a view that is left, and one that is not": Shown(
            noted(
                "nakack",
                Step(_MEMBER, _MEMBER._replace(view=2)),
                Step(_MEMBER, _MEMBER._replace(view=2, status="left")),
            ),
            ("1 left: [1, [[['a', 0], 0], [['b', 0], 0]]]",),
        ),
        "how often each is asked": Shown(
            asked("nakack", _ENDS),
            ("Contiguous: 2", "NoCreation: 4", "Agreement: 2", "Bounded: 2"),
        ),
        "of whoever crashed it is not known": Shown(
            asked("nakack", _ENDS, crashed="b"),
            ("Contiguous: 2", "NoCreation: 2", "Agreement: 2", "Bounded: 1"),
        ),
    },
    "bindings.nakack.merging": {
        "a view that is left, of whose members one has a stream": Shown(
            noted(
                "nakack",
                Step(_MEMBER._replace(members=(B,)), _MEMBER._replace(view=2)),
                Step(_MEMBER, _MEMBER._replace(view=2, status="left")),
                merges=True,
            ),
            ("1 left: [[1, [['b', 0]]], [2, [['a', 0], ['b', 0]]], [[['b', 0], 0]]]",),
        ),
    },
    "bindings.stable.invariants": {
        "a purge of what both have delivered": Shown(
            asked("stable", _DIGESTS, [("b", 2, "a", 3)], said=True), ("OnlyStablePurged: 2",)
        ),
        "a purge of which b's digest came later": Shown(
            asked("stable", _DIGESTS, said=True), ("OnlyStablePurged: 1",)
        ),
    },
    "trace.layers.views": {
        "two files that begin apart": Shown(_begin(_ALONE_OF_BOTH), ("b begins apart from a",)),
        "two files that begin in different views of one number": Shown(
            _begin([1, [_B], True]), ("b begins apart from a",)
        ),
        "two groups of one name, whose views have the same numbers": Shown(
            _begin([1, [_B], True, _B], of_a=[1, [_A], True, _A], merges=True), ()
        ),
        "two files, of which one goes through the other's first view": Shown(
            _begin(_ALONE_OF_BOTH, ("a", "view", 3, _ALONE_OF_BOTH)), ()
        ),
    },
}
