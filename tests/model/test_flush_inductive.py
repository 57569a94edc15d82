"""The proof of FLUSH: it succeeds, fails without each repair, and is about the model's runs."""

from collections import Counter

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.flush.proof.model import walk
from raincheck.model.flush.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.flush.system import machine
from raincheck.model.proof.bounded import Search
from raincheck.model.proof.induction import attempt, obligations

CASES = {case.name: case for case in load_cases()}
WHOLE = theory()

BREAKS = {
    "AccurateSuspicions": ("SuspectsAreGone", "Suspect"),
    "AcksBeforeResume": ("BlockedUntilInstalled", "Resume"),
    "Reconcile": ("Same", "ReceiveReconciled: the last one"),
    "NumberAtLatch": ("LatchedSince", "Multicast"),
    "FlushIds": ("TakesTheLatest", "ReceiveStop"),
    "OneQueue": ("FirstAsks", "Suspend"),
    "Freeze": ("LeftOut", "ReceiveStart"),
    "Restart": ("AllAnswer", "ReceiveCompleted: the last one"),
    "FromMembers": ("TakesTheLatest", "ReceiveStart"),
}
"""A step that no longer keeps that conjunct without the assumption or repair."""


@pytest.mark.slow  # the audit proves the same with the same seeds
@pytest.mark.parametrize("seed", [1, 2])
def test_the_invariant_begins_is_kept_and_implies_what_is_promised(seed: int) -> None:
    found = obligations(WHOLE)

    left_open = [each for each in found if not attempt(each, seed).proved]

    assert left_open == []
    promised = {"VirtualSynchrony", "SameView", "NothingLost", "LatchedUntilInstalled", "Still"}
    assert {each.claim for each in found if each.kind == "implied"} == promised
    kept = [each for each in found if each.kind == "kept"]
    assert len(kept) == len(WHOLE.invariant) * len(WHOLE.transitions)


@pytest.mark.parametrize("name", WITHOUT)
def test_without_an_assumption_or_a_repair_a_step_fails(name: str) -> None:
    subject = theory(basis_without([name]))
    claim, transition = BREAKS[name]

    conjunct = next(each for each in subject.invariant if each.name == claim)
    step = next(each for each in subject.transitions if each.name == transition)
    [obligation] = [
        each
        for each in obligations(subject, {claim}, {transition})
        if (each.claim, each.transition) == (claim, transition)
    ]

    assert not attempt(obligation, 1).proved
    assert Search(subject).failure(conjunct, step) is not None


@pytest.mark.slow  # the audit asks the same of the same theory
def test_every_transition_can_happen() -> None:
    search = Search(WHOLE)

    assert [each.name for each in WHOLE.transitions if not search.enabled(each)] == []


def test_the_theory_follows_the_runs_of_the_model() -> None:
    taken: Counter[str] = Counter()
    for case in ("crash", "crash-two", "everything", "join", "transfer-crash"):
        for seed in range(5):
            run = walk(machine(CASES[f"flush-{case}"].constants), seed)
            assert run.difference() == "", (case, seed)
            taken.update(run.taken)

    assert set(taken) == {each.name for each in WHOLE.transitions}


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("f2-undone", "the guard of ReceiveReconciled: the last one"),
        ("inaccurate", "the guard of Suspect"),
    ],
)
def test_a_run_without_a_repair_is_not_followed(case: str, told: str) -> None:
    system = machine(CASES[f"flush-{case}"].constants)

    found = [walk(system, seed).difference() for seed in range(40)]

    assert any(told in difference for difference in found)
