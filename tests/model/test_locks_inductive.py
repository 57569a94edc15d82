"""The proof of LOCKS' tables: it succeeds, fails without a rule, and is about the model."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations, product
from random import Random

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.locks.events import Epoch, Post, Request, Table, Ticket
from raincheck.model.locks.handlers import Rules, changed, ticket
from raincheck.model.locks.proof.tables import tables
from raincheck.model.locks.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.locks.proof.walks import INSTANCES, instance, walk
from raincheck.model.locks.system import LocksSystem, machine
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.induction import Theory, attempt, obligations

CASES = {case.name: case for case in load_cases() if case.protocol == "locks"}
WHOLE = theory()

PROVED = {"Faithful", "OneCurrent", "NobodyPasses", "FenceUnique", "FencesMonotone"}

BREAKS = {
    "Chained": {("Knows", "Arrive: one post"), ("Knows", "Arrive: all is read")},
    "BeginsOwn": {("Begun", "Arrive: with a place")},
    "NamesParent": {("Knows", "Arrive: one post")},
    "ReadsOn": {("Knows", "Depart: with a post")},
    "AllAsk": {("HoldsOn", "Depart: with a post")},
    "InOrder": {("InOrder", "Arrive: one post"), ("InOrder", "Depart: with a post")},
    "EpochInFence": {("FenceIsAPost", "Depart: with a post")},
    "EpochWhenTold": {("Grows", "Told")},
}
"""Steps that are no longer kept without it."""


def open_in(subject: Theory, *claims: str) -> set[tuple[str, str]]:
    """What stays open of these claims, or of all."""
    work = obligations(subject, claims or None)
    tried = (attempt(each, 1, timeout=2_000) for each in work)
    return {
        (each.claim, each.transition)
        for each, answer in zip(work, tried, strict=True)
        if not answer.proved
    }


@pytest.mark.slow  # the audit proves the same with the same seed and another
def test_the_invariant_begins_is_kept_and_implies_the_promises() -> None:
    assert open_in(WHOLE) == set()


def test_the_promises_without_a_proof_are_named() -> None:
    asked = {name for case in CASES.values() for name in case.properties}

    assert {each.name for each in WHOLE.properties} == PROVED
    assert asked - PROVED == {
        "OneWriterOrReaders",
        *("TypeOK", "Served", "CatchesUp"),  # the form, and progress
    }


@pytest.mark.parametrize("name", WITHOUT)
def test_without_what_tables_rest_on_a_step_fails(name: str) -> None:
    claims = {claim for claim, _ in BREAKS[name]}
    assert BREAKS[name] <= open_in(theory(basis_without([name])), *claims)


@pytest.mark.slow
@pytest.mark.parametrize("dropped", [each.name for each in WHOLE.invariant])
def test_without_a_conjunct_the_others_are_not_enough(dropped: str) -> None:
    left = tuple(each for each in WHOLE.invariant if each.name != dropped)

    assert open_in(replace(WHOLE, invariant=left)) != set()


# ---------------------------------------------------------------------- tables


def test_behind_a_post_nobody_has_passed_another() -> None:
    assert open_in(tables()) == set()


def test_without_the_order_of_requests_somebody_passes() -> None:
    assert open_in(tables(in_order=False)) == {("InOrder", "Post")}


REQUESTS = [
    Request(member, 1, number, name, mode)
    for member, number, name, mode in product("ab", (1, 2), "xy", ("read", "write"))
]


@pytest.mark.parametrize("in_order", [True, False])
def test_a_table_changes_as_in_the_model(in_order: bool) -> None:
    subject, draw = tables(in_order=in_order), Random(1)
    (change,) = subject.transitions
    table: Table = ()
    for place in range(1, 60):
        new = [each for each in REQUESTS if each not in {x._replace(fence=None) for x in table}]
        wanted = tuple(draw.sample(new, min(len(new), draw.randrange(3))))
        ended = frozenset(ticket(each) for each in table if draw.random() < 0.3)
        lines = [*table, *wanted]
        post = Post("a", Epoch(1, "a"), place, None, False, False, (), ended, wanted)
        after = changed(Rules(in_order=in_order), table, post)
        frame = Frame(
            subject,
            {"request": [line_of(each) for each in lines], "bool": (False, True)},
            {
                "ends": lambda x, r: Ticket(*r[:3]) in x.ended,
                "wants": lambda x, r: r in list(map(line_of, x.wanted)),
                "first": lambda x, q, r: (q, r) in combinations(x.wanted, 2),
                "name": lambda r: r.name,
                "reads": lambda r: r.mode == "read",
            },
            lambda *_: True,
        )
        assert frame.after(change, frame.world(of_table(table)), (post,)) == of_table(after)
        table = after if len(after) < 6 else ()


def line_of(request: Request) -> Request:
    """The request without what the table adds."""
    return request._replace(fence=None)


def of_table(table: Table) -> Tables:
    """The model's table in the theory's words."""
    lines = [line_of(each) for each in table]
    return {
        "there": {(each,): True for each in lines},
        "before": dict.fromkeys(combinations(lines, 2), True),
        "holds": {(line_of(each),): True for each in table if each.fence},
    }


# ---------------------------------------------------------------------- the theory and the model


def _system(which: int) -> LocksSystem:
    return instance(machine(CASES["locks-crash"].constants), INSTANCES[which][0])


def test_the_theory_follows_the_runs_of_the_model() -> None:
    taken: Counter[str] = Counter()
    for which, (_, seeds, steps) in enumerate(INSTANCES):
        for seed in seeds[:2]:
            run = walk(_system(which), seed, steps)
            edges = list(run.edges())
            assert [edge for edge in edges if edge.refused] == []
            taken.update(each.transition for edge in edges for each in edge.taken)
            for reached in run.reached[::30]:
                world = run.frame.world(reached)
                assert [c.name for c in WHOLE.invariant if c.formula(world) is not True] == []

    assert set(taken) == {each.name for each in WHOLE.transitions}


@pytest.mark.parametrize("undone", ["chained", "names_parent"])
def test_a_run_without_a_rule_is_not_followed(undone: str) -> None:
    system = _system(0)
    system.rules = replace(system.rules, **{undone: False})

    runs = (walk(system, seed, 120) for seed in range(20))
    assert any(edge.refused for run in runs for edge in run.edges())
