"""The models exhibit the flaws of the designs, without TLC: CI sees each of them at each commit.

A flaw is exhibited by a case that breaks the property it costs. TLC finds all these violations in
the full tier, and few in the quick one. A model has the graph that TLC has of the same case, which
`raincheck mirror` compares, so that the explorer finds the same violation, in a hundredth of the
time.
"""

from collections.abc import Iterator
from typing import Final

import pytest

from raincheck.conformance.cases.tables import HOLDS, Case, load_cases
from raincheck.conformance.verbs.mirror import has_model, machine_of
from raincheck.model.machine.explore import explore

Flaw = tuple[str, str]
MOST: Final = 40_000
"""The states in which a violation is looked for; each of these flaws shows in fewer."""

LONG: Final = frozenset({"primary-from-formed-undone", "locks-told-undone", "primary-lives-undone"})
"""Cases whose violation is more than 10,000 states away."""

FULL_ALONE: Final[frozenset[Flaw]] = frozenset(
    {
        # A property of progress breaks, of which the models say nothing.
        ("gms", "GMS-F5"),
        ("locks", "LCK-F6"),
        ("locks", "LCK-F7"),
        ("merge2", "MRG-F14"),
        ("nakack", "NAK-F14"),
        ("sequencer", "SEQ-F5"),
        ("sequencer", "SEQ-F9"),
        ("stable", "STB-F10"),
        ("stable", "STB-F4"),
        ("stable", "STB-F5"),
        ("stable", "STB-F8"),
        ("stable", "STB-F9"),
        ("state_transfer", "STA-F13"),
        ("state_transfer", "STA-F7"),
        ("state_transfer", "STA-F8"),
        ("state_transfer", "STA-F9"),
        ("total", "TOT-F3"),
        ("total", "TOT-F9"),
        ("unicast", "UNI-F11"),
        ("unicast", "UNI-F6"),
        ("unicast", "UNI-F7"),
        # A composition, which has no model.
        ("merging_gms", "MRG-F21"),
        ("merging_state", "STA-F2"),
        ("stack", "SEQ-F2"),
    }
)
"""Flaws that neither the quick tier nor a model exhibits: the full tier does."""

CASES = [case for case in load_cases() if case.flaw and case.expected != HOLDS]


def flaw_of(case: Case) -> Flaw:
    """The flaw that the case exhibits: flaws have numbers of their own in each table."""
    return case.protocol, case.flaw


QUICK = frozenset(flaw_of(case) for case in CASES if case.tier == "quick")


def shown_by_models() -> Iterator[Case]:
    """One case of each flaw that the quick tier does not exhibit, and a model can."""
    seen: set[Flaw] = set()
    for case in CASES:
        if flaw_of(case) in QUICK | seen or case.simulate or not has_model(case.protocol):
            continue
        if case.expected not in case.temporal | case.unmodelled:
            seen.add(flaw_of(case))
            yield case


SHOWN = list(shown_by_models())


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=[pytest.mark.slow] if case.name in LONG else [])
        for case in SHOWN
    ],
)
def test_a_model_exhibits_the_flaw(case: Case) -> None:
    machine = machine_of(case.protocol, case.constants, case.name)

    asked = {case.expected: machine.invariants[case.expected]}
    found = explore(machine, limit=None if case.name in LONG else MOST, invariants=asked)

    assert found.violation is not None
    assert found.violation.invariant == case.expected


def test_no_flaw_is_left_to_the_full_tier_unnoticed() -> None:
    shown = QUICK | {flaw_of(case) for case in SHOWN}

    assert {flaw_of(case) for case in CASES} - shown == FULL_ALONE
