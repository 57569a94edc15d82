"""Runs of MERGE2's model, larger than those of its cases, in which a promise breaks.

They are the open holes on MERGE2's page. A repair turns each into a run that is refused.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.merge2.system import Merge2System, machine

CASES = {case.name: case for case in load_cases() if case.protocol == "merge2"}


def played(steps: str, sides: str, **changes: Any) -> Iterable[tuple[str, set[str]]]:
    """Yield each step with the promises that are broken behind it.

    A step is an action with its node, and what else tells it from others: "Suspect a e".
    """
    constants = replace(
        machine(CASES["merge2-two"].constants).constants,
        nodes=tuple(sorted("".join(sides.split()))),
        sides=frozenset(map(frozenset, sides.split())),
        **changes,
    )
    system = Merge2System(constants)
    state = next(iter(system.initial()))
    for step in filter(None, map(str.strip, steps.splitlines())):
        action, *who = step.split()
        fitting = [
            move
            for move in system.moves(state)
            if move.action == action and who in (_names(move)[:1], _names(move))
        ]
        # A crash may lose messages of the process: the last of its moves loses none.
        assert fitting, f"{step} is not enabled"
        state = fitting[-1].target
        broken = {name for name, holds in system.invariants.items() if not holds(state)}
        yield step, broken


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

RUNS: Final[dict[str, tuple[str, dict[str, Any], set[str]]]] = {
    "MRG-F17, taking part again after a view of its own": (
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
    "MRG-F18, a side whose coordinator has answered and crashed": (
        ORPHAN,
        {
            "sides": "a bc d",
            "founders": frozenset("abd"),
            "told": frozenset(("ab", "ad", "cd")),
            "crashers": frozenset("b"),
            "max_crashes": 1,
        },
        {"MembersAreThere"},
    ),
    "MRG-F19, another merge before the first is over": (
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


@pytest.mark.parametrize("hole", RUNS)
def test_the_run_of_an_open_hole_breaks_the_promise_in_its_last_step(hole: str) -> None:
    steps, world, promises = RUNS[hole]

    *before, (_, broken) = played(steps, **world)

    assert broken == promises
    assert [step for step, found in before if promises <= found] == []
