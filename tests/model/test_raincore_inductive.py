"""The proof of Raincore: it succeeds, fails without each repair, and is about the model's runs."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from raincheck.model.machine.runs import Address
from raincheck.model.proof.bounded import Search
from raincheck.model.proof.induction import attempt, obligations
from raincheck.model.raincore.events import Epoch, Settled
from raincheck.model.raincore.lists import is_quorum
from raincheck.model.raincore.local import Rules
from raincheck.model.raincore.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.raincore.proof.walks import INSTANCES, walk

WHOLE = theory()

BREAKS = {
    "HolderVetoes": ("Holds", "Receive911: grants"),
    "Promises": ("GrantedKnowing", "ReceiveToken"),
    "OwnPromise": ("GrantedKnowing", "Receive911: regenerates"),
    "FreshAttempts": ("Voters", "Receive911: regenerates"),
    "FailureClaims": ("OneToken", "TokenUndelivered"),
    "Majority": ("Elected", "Receive911: regenerates"),
    "ChangesByMajority": ("VotedByQuorums", "EatingTimeout: changes the list"),
    "BoundIndex": ("Entries", "ReceiveToken: commits"),
    "Incarnations": ("Granted", "Forget"),
    "SeenByAll": ("Settled", "ReceiveToken: the last one to hold it"),
    "FromMembers": ("HeldOrSent", "Forge: a token"),
    "TrueSources": ("HeldOrSent", "Forge: a token"),
    "DatagramsUnaltered": ("TakenOnce", "Corrupt: a token"),
}
"""A step that no longer keeps that conjunct without the assumption or repair."""


@pytest.mark.slow  # the audit proves the same with the same seeds
@pytest.mark.parametrize("seed", [1, 2])
def test_the_invariant_begins_is_kept_and_implies_what_is_promised(seed: int) -> None:
    assert [each for each in obligations(WHOLE) if not attempt(each, seed).proved] == []


def test_there_is_something_to_prove_for_every_promise_conjunct_and_transition() -> None:
    found = obligations(WHOLE)

    promised = {"ConsistentHistory", "FenceUnique", "OneToken", "HeldByAll", "OneLockWhenCalm"}
    assert {each.claim for each in found if each.kind == "implied"} == promised | {
        "NothingIsMissed"
    }
    kept = {(each.claim, each.transition) for each in found if each.kind == "kept"}
    assert len(kept) == len(WHOLE.invariant) * len(WHOLE.transitions)


SEARCHED_LONG = {"OwnPromise", "FreshAttempts", "ChangesByMajority"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SEARCHED_LONG else [])
        for name in BREAKS
    ],
)
def test_without_a_repair_a_step_fails(name: str) -> None:
    subject = theory(basis_without([name]))
    claim, transition = BREAKS[name]

    conjunct = next(each for each in subject.invariant if each.name == claim)
    step = next(each for each in subject.transitions if each.name == transition)
    cases = [
        each
        for each in obligations(subject, {claim}, {transition})
        if (each.claim, each.transition) == (claim, transition)
    ]

    assert not all(attempt(each, 1).proved for each in cases)
    assert Search(subject).failure(conjunct, step) is not None


def test_with_several_first_tokens_the_invariant_does_not_begin() -> None:
    subject = theory(basis_without(["OneFounder"]))

    failed = {
        each.claim
        for each in obligations(subject, transitions=())
        if each.kind == "initially" and not attempt(each, 1).proved
    }

    assert "OneToken" in failed
    assert {*BREAKS, "OneFounder"} == set(WITHOUT)


@pytest.mark.slow
def test_every_transition_can_happen() -> None:
    search = Search(WHOLE)

    assert [each.name for each in WHOLE.transitions if not search.enabled(each)] == []


def test_two_quorums_of_a_list_have_a_member_in_common() -> None:
    for size in range(1, 7):
        ring = tuple(Address(n, 0) for n in "dbfeac"[:size])
        some = [set(c) for k in range(size + 1) for c in combinations(ring, k)]
        quorums = [each for each in some if is_quorum(each, ring)]

        assert set(ring) in quorums
        assert all(one & other for one in quorums for other in quorums)


# ---------------------------------------------------------------------- runs of the model


def test_the_theory_follows_the_runs_of_the_model() -> None:
    taken: Counter[str] = Counter()
    for case in INSTANCES:
        for seed in (0, 1):
            run = walk(case, seed)
            assert run.difference(every=10) == "", (case, seed)
            taken.update(run.taken)

    seldom = {"ReceiveToken: fills a hole"}
    assert set(taken) | seldom == {each.name for each in WHOLE.transitions}


@pytest.mark.slow
@pytest.mark.parametrize("case", INSTANCES)
def test_it_follows_many_and_the_invariant_holds_in_each_state(case: str) -> None:
    for seed in range(2, 6):
        assert walk(case, seed).difference(every=2) == "", seed


UNDONE = {
    "holder_vetoes": ("false", "the guard of Receive911: grants"),
    "majority": ("split", "the guard of Receive911: regenerates"),
    "seen_by_all": ("recovery", "sure of"),
    "promises": ("early", "the guard of Receive911: regenerates"),
    "bound_index": ("crash", "list of"),
    "failure_claims": ("false", "differs"),
}
"""A rule, a case in which it matters, and what is told of a run without it."""


@pytest.mark.parametrize("rule", UNDONE)
def test_a_run_without_a_repair_is_not_followed(rule: str) -> None:
    case, told = UNDONE[rule]
    rules = replace(Rules(), **{rule: False})

    found = (walk(case, seed, rules).difference(every=100) for seed in range(40))

    assert any(told in difference for difference in found)


@pytest.mark.parametrize(
    ("name", "changed", "told"),
    [
        ("promised", lambda _: Epoch(5, Address("b", 0)), "promised of"),
        ("view_state", lambda _: "agreement", "sure of"),
        ("token_state", lambda _: "eating", "eating of"),
        ("global_view", lambda views: (*views, (Address("b", 0),)), "views of"),
        ("last_token", lambda t: t._replace(seq=t.seq + 1), "number of"),
        ("last_token", lambda t: t._replace(settled=Settled(7, ())), "settled of"),
        ("last_token", lambda t: t._replace(nodelist=t.nodelist[1:]), "list of"),
    ],
)
def test_a_damaged_state_is_reported(name: str, changed: Callable[[Any], Any], told: str) -> None:
    """Each member that runs in the state, in turn."""
    run = walk("crash", 0)
    state, tables = run.states[0], run.initial()
    assert run.differs(tables, state) == ""

    damaged = []
    for n, me in enumerate(state.locals):
        worse = me._replace(**{name: changed(getattr(me, name))})
        if name == "view_state":
            worse = worse._replace(token_state=me.token_state)
            tables = {**tables, "sure": {}}
        row = (*state.locals[:n], worse, *state.locals[n + 1 :])
        damaged.append(run.differs(tables, state._replace(locals=row)))

    assert any(told in each for each in damaged)
