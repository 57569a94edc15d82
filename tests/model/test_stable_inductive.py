"""The proof of STABLE: it succeeds, and it fails without each repair and assumption."""

import pytest

from raincheck.model.inductive.bounded import Search
from raincheck.model.inductive.induction import attempt, obligations
from raincheck.model.inductive.stable import WITHOUT, basis_without, theory

WHOLE = theory()

BREAKS = {
    "VoteCheck": ("VotesHold", "ReceiveDigest: later"),
    "ResetOnView": ("VotesHold", "InstallView: member"),
    "AtomicVote": ("VotesHold", "Vote: last"),
    "SuspendOnJoin": ("Suspended", "Suspend"),
    "TrueDigests": ("DigestsHold", "SendDigest: first"),
}
"""A step that is no longer kept without it."""


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

    left_open = {(o.claim, o.transition) for o in obligations(subject) if not attempt(o, 1).proved}

    assert (claim, transition) in left_open
    conjunct = next(each for each in subject.invariant if each.name == claim)
    step = next(each for each in subject.transitions if each.name == transition)
    assert Search(subject).failure(conjunct, step) is not None


def test_every_transition_can_happen() -> None:
    search = Search(WHOLE)

    assert [each.name for each in WHOLE.transitions if not search.enabled(each)] == []
