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
from raincheck.conformance.trace.invariants.watch import Watch, plan_of
from raincheck.conformance.trace.layers.speaks import Statement

from .planted_invariants import STEPS, WHOLE_MERGE, A, B, Said, Sent, Step, run_of
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


def noted(protocol: str, *steps: Step, merges: bool = False) -> Callable[[Path], Complaints]:
    """Ask what a file notes of these steps; `merges`: one of groups that merge."""

    def ask(_: Path) -> Complaints:
        binding = binding_of(protocol).of_traces(real=merges, merges=merges)
        plan = plan_of(binding)
        assert plan is not None
        watch = Watch(plan, binding.rules(), hash)
        watch.take([step.at(index) for index, step in enumerate(steps, 1)])
        return [f"{said.index} {said.topic}: {said.value}" for said in watch.noted]

    return ask


def as_new(value: Any) -> Any:
    """Return an equal value that is another object."""
    return type(value)(*value)


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


_IDLE: Final = STEPS["flush"]["TypeOK 0"][0].before
_STILL: Final = _IDLE._replace(latch=True, blocked="yes", flush=(1, A, 1))
_SUSPENDS: Final = _IDLE._replace(suspended=True, asked=(1, A, 1), participants=(B,))
_WITHOUT_A: Final = [2, [_B], True]
_BOTH: Final = [1, [_A, _B], True]
_OPEN: Final = ("Still: 2, b.0 is not still for it from its event 6",)

# --------------------------------------------------------------------------- state transfer


def _handed(provider: list[Any], *read: Said) -> Callable[[Path], Complaints]:
    """Let b hand up a chunk of that provider, a having read this."""
    return asked("state_transfer", [*read, ("b", "handed", 2, [provider, 1, 1, "x", True])])


# ----------------------------------------------------------------------------------- merge2


def _half(left: Sequence[str], coordinators: Sequence[Any] = ("a", "b")) -> list[Said]:
    """Return the notes of a merge that a has decided and b has not installed; who left it so."""
    whole = [each for each in WHOLE_MERGE if each[1] != "finishes" and each[:3] != ("b", "view", 4)]
    other = {"a": "b", "b": "a"}
    at = next(at for at, each in enumerate(whole) if each[1] == "decided")
    whole[at] = (*whole[at][:3], [whole[at][3][0], [*coordinators]])
    return [*whole, *((node, "left out", 9, [["a", 1], [other[node]]]) for node in left)]


_MERGED: Final = STEPS["merge2"]["Monotone 0"][0]

AROUND: Final[dict[str, dict[str, Shown]]] = {
    "bindings.flush.invariants": {
        "who becomes still, and is not any more": Shown(
            noted(
                "flush",
                Step(_IDLE, _STILL),
                Step(_STILL, _STILL._replace(blocked="no")),
                Step(_STILL, _STILL._replace(latch=False)),
            ),
            ("1 still: [1, ['a', 0], 1]", "2 still: None", "3 still: None"),
        ),
        "who suspends the members": Shown(
            noted("flush", Step(_IDLE, _SUSPENDS), Step(_SUSPENDS, _SUSPENDS._replace(asked=None))),
            ("1 suspended: [[1, ['a', 0], 1], [['b', 0]]]", "2 suspended: None"),
        ),
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
        "a view that is installed, and one that stays": Shown(
            noted(
                "merge2",
                _MERGED,
                Step(_MERGED.after, _MERGED.after._replace(view=as_new(_MERGED.after.view))),
            ),
            ("1 view: [[2, 'a'], ['a', 'b'], ['', 0]]",),
        ),
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
        "a merge in which a coordinator that is not of it installed nothing": Shown(
            asked("merge2", _half(left=[], coordinators=["a"])),
            (
                "OneViewPerId: 3",
                "OneViewPerMerge: 1",
                "MembersAreThere: 1",
                "AllOrNothing: 1",
                "FewMerges: 1",
            ),
        ),
        "a merge with coordinators in full, one of them without a file": Shown(
            asked("merge2", _half(left=[], coordinators=[_A, _B, ["c", 0]])),
            (
                "OneViewPerId: 3",
                "OneViewPerMerge: 1",
                "MembersAreThere: 1",
                "AllOrNothing: 2, b.0 has not installed it and is in that merge no more",
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
}
