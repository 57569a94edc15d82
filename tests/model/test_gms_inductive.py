"""The proof of GMS: it succeeds, fails without each repair, and is about the model's runs."""

from collections import Counter

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.gms.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.gms.proof.walks import walk
from raincheck.model.gms.system import machine
from raincheck.model.proof.bounded import Search
from raincheck.model.proof.induction import attempt, obligations

CASES = {case.name: case for case in load_cases()}
WHOLE = theory()

BREAKS = {
    "AccurateSuspicion": ("GoneAreGone", "Suspect"),
    "InstallWhen": ("HoldsLast", "ReceiveNewView"),
    "ViewAcks": ("HoldsLast", "InstallView"),
    "Takeover": ("HoldsNext", "Suspended: the next view"),
}
"""A step that no longer keeps that conjunct without the assumption or repair."""


@pytest.mark.slow  # the audit proves the same with the same seeds
@pytest.mark.parametrize("seed", [1, 2])
def test_the_invariant_begins_is_kept_and_implies_what_is_promised(seed: int) -> None:
    found = obligations(WHOLE)

    left_open = [each for each in found if not attempt(each, seed).proved]

    assert left_open == []
    promised = {"SingleSequenceOfViews", "SelfInclusion", "Monotone", "NobodyIsLost"}
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


RUNS = {"crash": 3, "four": 6, "four-live": 6, "join": 6, "leave": 3, "return": 4, "transfer": 3}
"""How many runs of each case of the model are followed."""


def test_the_theory_follows_the_runs_of_the_model() -> None:
    taken: Counter[str] = Counter()
    for case, runs in RUNS.items():
        for seed in range(runs):
            run = walk(machine(CASES[f"gms-{case}"].constants), seed)
            assert run.difference() == "", (case, seed)
            taken.update(run.taken)

    assert set(taken) == {each.name for each in WHOLE.transitions}


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("f2-undone", "the guard of Suspended: the next view"),
        ("f2-acks-undone", "the guard of InstallView"),
        ("f3-last", "view differs"),
        ("f4-seed", "the guard of Suspect"),
    ],
)
def test_a_run_without_a_repair_is_not_followed(case: str, told: str) -> None:
    system = machine(CASES[f"gms-{case}"].constants)

    found = [walk(system, seed).difference() for seed in range(12)]

    assert any(told in difference for difference in found)
