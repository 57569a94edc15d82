"""The proof of STABLE: it succeeds, fails without each repair, and is about the model's runs."""

from collections import Counter
from collections.abc import Mapping

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.machine.machine import Value
from raincheck.model.proof.bounded import Search
from raincheck.model.proof.induction import attempt, obligations
from raincheck.model.stable.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.stable.proof.walks import everything, walk
from raincheck.model.stable.system import StableSystem, machine

CASES = {case.name: case for case in load_cases()}
WHOLE = theory()

BREAKS = {
    "VoteCheck": ("VotesHold", "ReceiveDigest: later"),
    "ResetOnView": ("VotesHold", "InstallView: member"),
    "AtomicVote": ("VotesHold", "Vote: last"),
    "SuspendOnJoin": ("Suspended", "Suspend"),
    "TrueDigests": ("DigestsHold", "SendDigest: first"),
}
"""A step that is no longer kept without it."""


@pytest.mark.slow  # the audit proves the same with the same seeds
@pytest.mark.parametrize("seed", [1, 2])
def test_the_invariant_begins_is_kept_and_implies_only_stable_purged(seed: int) -> None:
    found = obligations(WHOLE)

    left_open = [each for each in found if not attempt(each, seed).proved]

    assert left_open == []
    assert {each.claim for each in found if each.kind == "implied"} == {"OnlyStablePurged"}
    kept = [each for each in found if each.kind == "kept"]
    assert len(kept) == len(WHOLE.invariant) * len(WHOLE.transitions)


@pytest.mark.parametrize("name", WITHOUT)
def test_without_a_repair_or_an_assumption_a_step_fails(name: str) -> None:
    subject = theory(basis_without([name]))
    claim, transition = BREAKS[name]

    found = obligations(subject, {claim}, {transition})
    asked = [o for o in found if (o.claim, o.transition) == (claim, transition)]
    assert any(not attempt(each, 1).proved for each in asked)

    conjunct = next(each for each in subject.invariant if each.name == claim)
    step = next(each for each in subject.transitions if each.name == transition)
    assert Search(subject).failure(conjunct, step) is not None


@pytest.mark.slow  # the audit asks the same of the same theory
def test_every_transition_can_happen() -> None:
    search = Search(WHOLE)

    assert [each.name for each in WHOLE.transitions if not search.enabled(each)] == []


def system(changes: Mapping[str, Value]) -> StableSystem:
    return everything(machine({**CASES["stable-crash"].constants, **changes}))


@pytest.mark.parametrize("seeds", [(27, 36), pytest.param((1, 2, 4, 6), marks=pytest.mark.slow)])
def test_the_theory_follows_the_runs_of_the_model(seeds: tuple[int, ...]) -> None:
    taken: Counter[str] = Counter()
    for seed in seeds:
        run = walk(system({}), seed)
        assert run.difference() == "", seed
        taken.update(run.taken)

    # Nobody's own digest comes back to it, though the theory admits that.
    assert {each.name for each in WHOLE.transitions} - set(taken) == {"ReceiveDigest: first, last"}


@pytest.mark.parametrize(
    ("undone", "value", "told"),
    [
        ("VoteCheck", "any", "the guard of ReceiveDigest"),
        ("ResetOnView", False, "voted differs"),
        ("AtomicVote", False, "voted differs"),
        ("SuspendOnJoin", False, "suspended differs"),
        ("ClearVotes", False, "voted differs"),
    ],
)
def test_a_run_without_a_repair_is_not_followed(undone: str, value: Value, told: str) -> None:
    found = (walk(system({undone: value}), seed).difference() for seed in range(40))

    assert any(told in difference for difference in found)
