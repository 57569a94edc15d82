"""The part of LOCKS' invariant that is about fences: FenceUnique follows from it."""

from __future__ import annotations

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, World

from .words import fence, is_epoch, is_post


def _there(s: World, e: Expr, i: Expr) -> Expr:
    """There is a truth of epoch e at place i."""
    return And(is_epoch(s, e), i >= 0, i <= s.length(e))


def _fence_is_a_post(s: World, e: Expr, i: Expr, r: Expr) -> Expr:
    table = s.truth(e, i)
    j = s.of_place(table, r)
    then = s.truth(e, j)
    return Implies(
        And(_there(s, e, i), s.holds(table, r)),
        And(
            *(j >= 1, j <= i, s.written(s.log(e, j)) == s.of_epoch(table, r), s.holds(then, r)),
            *(a == b for a, b in zip(fence(s, then, r), fence(s, table, r), strict=True)),
        ),
    )


def _one_fence(s: World, e: Expr, i: Expr, q: Expr, r: Expr) -> Expr:
    table = s.truth(e, i)
    same = (a == b for a, b in zip(fence(s, table, q), fence(s, table, r), strict=True))
    both = And(s.holds(table, q), s.holds(table, r), *same)
    return Implies(And(_there(s, e, i), both), q == r)


def _given(s: World, r: Expr, e: Expr, i: Expr, k: Expr) -> Expr:
    table = s.truth(e, i)
    has = (a == b for a, b in zip(fence(s, table, r), (e, i, k), strict=True))
    there = And(is_post(s, e, i), s.written(s.log(e, i)) == e, s.holds(table, r), *has)
    return Implies(s.given(r, e, i, k), there)


def fences() -> tuple[Conjunct, ...]:
    """Return the conjuncts."""
    return (
        Conjunct(
            "OneTruth",
            "Behind a post all epochs that have it have one table.",
            ("epoch", "place"),
            lambda s, e, i: Implies(
                is_post(s, e, i), s.truth(s.written(s.log(e, i)), i) == s.truth(e, i)
            ),
            lambda s, e, i: [s.log(e, i)],
        ),
        Conjunct(
            "FenceIsAPost",
            "A fence is that of a post that is there, behind which its request had it already.",
            ("epoch", "place", "request"),
            _fence_is_a_post,
            lambda s, e, i, r: [s.holds(s.truth(e, i), r)],
        ),
        Conjunct(
            "OneFence",
            "No two requests of a true table have the same fence.",
            ("epoch", "place", "request", "request"),
            _one_fence,
            lambda s, e, i, q, r: [(s.holds(s.truth(e, i), q), s.holds(s.truth(e, i), r))],
        ),
        Conjunct(
            "Given",
            "What was told has its fence in the true table behind that post.",
            ("request", "epoch", "place", "place"),
            _given,
            lambda s, r, e, i, k: [s.given(r, e, i, k)],
        ),
    )
