"""Runs whose members have noted much, around the rules of the protocols' own invariants.

Each is asked how often an invariant was evaluated on several members, too: what is left out of an
evaluation breaks nothing, and shows in the number alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.trace.findings import VIOLATED
from raincheck.conformance.trace.invariants.judged import evaluated
from raincheck.conformance.trace.layers.speaks import Statement
from raincheck.conformance.trace.layers.views import other_beginnings

from .planted_invariants import WHOLE_MERGE, Said, Sent, run_of
from .planting import Complaints, Shown

_A, _B = ["a", 0], ["b", 0]


def asked(
    protocol: str, notes: Sequence[Said], messages: Sequence[Sent] = (), **how: Any
) -> Callable[[Path], Complaints]:
    """Ask how often each invariant was evaluated on several members, and what breaks it.

    With `stated`, the files state that beside what they note.
    """
    stated: Sequence[Said] = how.pop("stated", ())

    def ask(_: Path) -> Complaints:
        run = run_of(protocol, notes, messages, **how)
        for (node, _life), report in run.reports.items():
            report.said += [Statement(topic, *rest) for who, topic, *rest in stated if who == node]
        return [
            f"{each.name.partition('.')[2]}: {each.judged['pairs']}"
            + (f", {each.witness.get('but')}" if each.verdict == VIOLATED else "")
            for each in evaluated(binding_of(protocol), run)
            if each.judged["pairs"] or each.verdict == VIOLATED
        ]

    return ask


# ------------------------------------------------------------------------------------ flush

_FLUSH: Final = [1, _A, 1]
_IN_ONE: Final[list[Said]] = [(node, "view", 0, [1, [_A, _B], True]) for node in "ab"]


def _flushed(
    *stated: Said, still: object = None, merges: bool = True
) -> Callable[[Path], Complaints]:
    """Let a suspend b for a flush that it does not end, for which b is still up to its event 6.

    What b states then says whether it has gone on without a.
    """
    return asked(
        "flush",
        [
            ("a", "suspended", 3, [_FLUSH, [_B]]),
            ("b", "still", 0, None),
            ("b", "still", 2, _FLUSH),
            ("b", "still", 6, still),
        ],
        [("b", 2, "a", 3)],
        stated=[*_IN_ONE, *stated],
        merges=merges,
    )


def _says(index: int, topic: str, value: object) -> Said:
    return ("b", topic, index, value)


_WITHOUT_A: Final = [2, [_B], True]
_BOTH: Final = [1, [_A, _B], True]
_OPEN: Final = ("Still: 2, b.0 is not still for it from its event 6",)

# --------------------------------------------------------------------------- state transfer


def _handed(provider: list[Any], *read: Said) -> Callable[[Path], Complaints]:
    """Let b hand up a chunk of that provider, a having read this."""
    return asked("state_transfer", [*read, ("b", "handed", 2, [provider, 1, 1, "x", True])])


# ----------------------------------------------------------------------------------- merge2


def _half(left: Sequence[str]) -> list[Said]:
    """Return the notes of a merge that a has decided and b has not installed; who left it so."""
    whole = [each for each in WHOLE_MERGE if each[1] != "finishes" and each[:3] != ("b", "view", 4)]
    other = {"a": "b", "b": "a"}
    return [*whole, *((node, "left out", 9, [["a", 1], [other[node]]]) for node in left)]


# ------------------------------------------------------------------------------------- gms

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
    "bindings.flush.invariants": {
        "who is in a later view is not still any more": Shown(
            _flushed(_says(5, "view", _WITHOUT_A)), ("Still: 1",)
        ),
        "a requester that the last view lacks is gone": Shown(
            _flushed(_says(5, "view", _WITHOUT_A), merges=False), ("Still: 1",)
        ),
        "a requester that the last view has is not": Shown(
            _flushed(_says(5, "view", [2, [_A, _B], True]), merges=False), _OPEN
        ),
        "who is flushed by somebody else is not still for the first": Shown(
            _flushed(still=[1, _B, 1]), ("Still: 1",)
        ),
        "who takes the requester for gone goes on": Shown(
            _flushed(_says(5, "gone", _A)), ("Still: 1",)
        ),
        "who says only afterwards that the requester is gone goes on": Shown(
            _flushed(_says(8, "gone", _A)), ("Still: 1",)
        ),
        "who says so in the next view does not": Shown(
            _flushed(_says(7, "view", _BOTH), _says(8, "gone", _A)), _OPEN
        ),
        "who has a view with the requester again does not": Shown(
            _flushed(_says(3, "gone", _A), _says(4, "view", _BOTH)), _OPEN
        ),
        "who takes another one for gone does not": Shown(
            _flushed(_says(5, "gone", ["c", 0])), _OPEN
        ),
    },
    "bindings.state_transfer.invariants": {
        "a chunk of a provider that has read none": Shown(
            _handed(_A), ("SameCut: 1, a.0 has read None for it",)
        ),
        "a chunk of a provider without a file": Shown(_handed(["c", 0]), ()),
        "two chunks in order": Shown(
            asked(
                "state_transfer",
                [
                    (node, topic, at + 1, [peer, 1, at, "x", at == 2])
                    for at in (1, 2)
                    for node, topic, peer in (("a", "read", _B), ("b", "handed", _A))
                ],
            ),
            ("SameCut: 2",),
        ),
        "a chunk as it was read": Shown(
            _handed(_A, ("a", "read", 1, [_B, 1, 1, "x", True])), ("SameCut: 1",)
        ),
    },
    "bindings.merge2.invariants": {
        "how often each is asked in a whole merge": Shown(
            asked("merge2", WHOLE_MERGE, [("b", 6, "a", 7)]),
            (
                "OneViewPerId: 4",
                "OneViewPerMerge: 2",
                "MembersAreThere: 1",
                "AllOrNothing: 2",
                "AcksBeforeResume: 1",
                "FewMerges: 1",
            ),
        ),
        "a merge that both coordinators left, each without the other": Shown(
            asked("merge2", _half(left=["a", "b"])),
            ("OneViewPerId: 3", "OneViewPerMerge: 1", "MembersAreThere: 1", "FewMerges: 1"),
        ),
        "a merge that one coordinator has left": Shown(
            asked("merge2", _half(left=["b"])),
            (
                "OneViewPerId: 3",
                "OneViewPerMerge: 1",
                "MembersAreThere: 1",
                "AllOrNothing: 1",
                "FewMerges: 1",
            ),
        ),
        "a merge that one coordinator is still in": Shown(
            asked("merge2", [*_half(left=[]), ("b", "ends", 9, ["a", 1])]),
            (
                "OneViewPerId: 3",
                "OneViewPerMerge: 1",
                "MembersAreThere: 1",
                "AllOrNothing: 2",
                "FewMerges: 1",
            ),
        ),
        "a merge in which one was suspected": Shown(
            asked("merge2", [*_half(left=[]), ("a", "suspects", 7, [["a", 1], "b"])]),
            ("OneViewPerId: 3", "OneViewPerMerge: 1", "MembersAreThere: 1", "FewMerges: 1"),
        ),
        "a merge in which one crashed": Shown(
            asked("merge2", _half(left=[]), crashed="b"),
            ("OneViewPerId: 3", "OneViewPerMerge: 1", "MembersAreThere: 1"),
        ),
        "a coordinator that crashed when it had installed the view": Shown(
            asked("merge2", WHOLE_MERGE, crashed="b"),
            ("OneViewPerId: 4", "OneViewPerMerge: 2", "MembersAreThere: 1", "AllOrNothing: 1"),
        ),
    },
    "bindings.gms.invariants": {
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
        "how often each is asked": Shown(
            asked("nakack", _ENDS),
            ("Contiguous: 2", "NoCreation: 4", "Agreement: 2", "Bounded: 2"),
        ),
        "of whoever crashed it is not known": Shown(
            asked("nakack", _ENDS, crashed="b"),
            ("Contiguous: 2", "NoCreation: 2", "Agreement: 2", "Bounded: 1"),
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
