"""Runs of MERGE2's model by which the attempt to prove it found holes, larger than its cases."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, NamedTuple

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.merge2.events import MergeId
from raincheck.model.merge2.state import State
from raincheck.model.merge2.system import Merge2System, machine

CASES = {case.name: case for case in load_cases() if case.protocol == "merge2"}


class Step(NamedTuple):
    """A step of a run, the state behind it, and the promises that are broken there."""

    name: str
    state: State
    broken: set[str]


def played(steps: str, sides: str, *, undone: str = "", **changes: Any) -> Iterable[Step]:
    """Yield each step, up to the first one that is refused.

    A step is an action with its node, and what else tells it from others: "Suspect a e".
    """
    usual = machine(CASES["merge2-two"].constants).constants
    constants = replace(
        usual,
        nodes=tuple(sorted("".join(sides.split()))),
        sides=frozenset(map(frozenset, sides.split())),
        rules=replace(usual.rules, **({undone: False} if undone else {})),
        **changes,
    )
    system = Merge2System(constants)
    state = next(iter(system.initial()))
    for step in names(steps):
        action, *who = step.split()
        fitting = [
            move
            for move in system.moves(state)
            if move.action == action and who in (_names(move)[:1], _names(move))
        ]
        if not fitting:
            return
        # A crash may lose messages of the process: the last of its moves loses none.
        state = fitting[-1].target
        broken = {name for name, holds in system.invariants.items() if not holds(state)}
        yield Step(step, state, broken)


def names(steps: str) -> list[str]:
    """The steps of a run, one a line."""
    return [step.strip() for step in steps.splitlines() if step.strip()]


def _names(move: Any) -> list[str]:
    if move.action == "Lose":
        return []
    sender = getattr(move.event, "sender", None)
    return [*map(str, move.args[:1]), sender] if sender else [*map(str, move.args)]


AGAIN: Final = """
    Merge a
    Lose
    Resend a
    ReceiveMergeReq b
    Resend a
    Flushed a
    Flushed b
    ReceiveMergeRsp a
    Decide a
    Crash a
    Crash c
    ViewChange b
    InstallView b
    ReceiveMergeReq b
    Flushed b
    ReceiveInstallMergeView b
    InstallView b
"""

ORPHAN: Final = """
    Merge a
    ReceiveMergeReq b
    Flushed b
    ReceiveMergeRsp a
    Crash b
    ViewChange c
    InstallView c
    Merge c
    Flushed c
    ReceiveMergeReq d a
    Flushed d
    ReceiveMergeRsp a d
    Flushed a
    Decide a
"""

EARLY: Final = """
    Merge b
    ReceiveMergeReq c
    ReceiveMergeReq d
    Flushed b
    Flushed c
    Flushed d
    ReceiveMergeRsp b c
    ReceiveMergeRsp b d
    Decide b
    ReceiveInstallMergeView c
    InstallView a
    InstallView b
    InstallView c
    Merge a
    Flushed a
    Crash e
    Suspect a e
    Decide a
"""

RUNS: Final[dict[str, tuple[str, str, dict[str, Any], set[str]]]] = {
    "MRG-F17, taking part again after a view of its own": (
        "stays_out",
        AGAIN,
        {
            "sides": "a bc",
            "founders": frozenset("ab"),
            "told": frozenset(("ab",)),
            "crashers": frozenset("ac"),
            "max_crashes": 2,
            "max_lost": 1,
        },
        {"Monotone"},
    ),
    "MRG-F19, another merge before the first is over": (
        "after_resume",
        EARLY,
        {
            "sides": "ac b d e",
            "founders": frozenset("bcde"),
            "told": frozenset(("bc", "bd", "ae")),
            "crashers": frozenset("e"),
            "max_crashes": 1,
        },
        {"MembersAreThere", "AcksBeforeResume"},
    ),
}
REFUSED: Final = {"stays_out": "Flushed b", "after_resume": "Merge a"}
"""The first step that is refused where the rule is kept."""


@pytest.mark.parametrize("hole", RUNS)
def test_the_run_of_a_hole_is_refused_and_breaks_the_promise_where_the_rule_is_undone(
    hole: str,
) -> None:
    rule, steps, world, promises = RUNS[hole]

    kept = list(played(steps, **world))
    assert names(steps)[len(kept)] == REFUSED[rule]
    assert [step.name for step in kept if step.broken] == []

    *before, last = played(steps, undone=rule, **world)
    assert last.broken == promises
    assert len(before) + 1 == len(names(steps))
    assert [step.name for step in before if promises <= step.broken] == []


def test_a_side_is_elsewhere_at_the_decision_if_its_coordinator_has_crashed() -> None:
    """MRG-F18: the leader cannot know, so nothing is promised of that side."""
    told = frozenset(("ab", "ad", "cd"))
    world = {"founders": frozenset("abd"), "told": told, "crashers": frozenset("b")}

    run = list(played(ORPHAN, "a bc d", max_crashes=1, **world))

    assert [step.name for step in run] == names(ORPHAN)
    assert [step.name for step in run if step.broken] == []
    _, _, of_c, _ = run[-1].state.cut
    [decided] = run[-1].state.decided
    assert "c" in decided.view.members
    assert (decided.merge, of_c) == (MergeId("a", 1), MergeId("c", 1))
