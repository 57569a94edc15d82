"""The part of LOCKS' invariant that is about fences: FenceUnique, FencesMonotone follow from it."""

from __future__ import annotations

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, World

from .words import conflict, fence, is_epoch, is_post, told_fence


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


def _given(s: World, r: Expr) -> Expr:
    e, i, k = told_fence(s, r)
    table = s.truth(e, i)
    has = And(s.of_place(table, r) == i, s.turn(table, r) == k)
    return Implies(s.told(r), And(is_post(s, e, i), s.holds(table, r), has))


def _holds_since(s: World, e: Expr, i: Expr, j: Expr, r: Expr) -> Expr:
    table = s.truth(e, i)
    since = And(s.of_place(table, r) <= j, j <= i)
    return Implies(And(_there(s, e, i), s.holds(table, r), since), s.holds(s.truth(e, j), r))


def grow(s: World, q: Expr, r: Expr) -> Expr:
    """The fence of r is greater, if it was told after that of q, not late, and is in its way."""
    (e, i, k), (f, j, m) = told_fence(s, q), told_fence(s, r)
    asked = And(s.told(q), s.told(r), s.earlier(q, r), Not(s.late(r)))
    greater = Or(f > e, And(f == e, Or(j > i, And(j == i, m > k))))
    return Implies(And(asked, conflict(s, q, r)), greater)


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
            "HoldsSince",
            "Whoever holds its name has held it behind each post since that of its fence.",
            ("epoch", "place", "place", "request"),
            _holds_since,
            lambda s, e, i, j, r: [(s.holds(s.truth(e, i), r), s.truth(e, j))],
            serves=("Grows",),
        ),
        Conjunct(
            "Earlier",
            "Both have been told of which one was told earlier.",
            ("request", "request"),
            lambda s, q, r: Implies(s.earlier(q, r), And(s.told(q), s.told(r))),
            lambda s, q, r: [s.earlier(q, r)],
            serves=("Grows",),
        ),
        Conjunct(
            "Grows",
            "A fence is greater than each that was told before it, unless it was told late.",
            ("request", "request"),
            grow,
            lambda s, q, r: [s.earlier(q, r)],
            serves=("FencesMonotone",),
        ),
        Conjunct(
            "Given",
            "What was told has its place behind a post of the epoch in which it was told.",
            ("request",),
            _given,
            lambda s, r: [s.told(r)],
        ),
    )
