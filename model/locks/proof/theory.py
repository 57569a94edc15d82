"""LOCKS' tables, proved for any number of members, names, posts and epochs.

`theory()` is `spec/Locks.tla` in first-order logic, as it is implemented. Its actions have the
spec's names. It has Faithful, OneCurrent, NobodyPasses, FenceUnique and FencesMonotone; all but
Faithful by axioms that `tables.py` proves of tables. It differs from the spec in these points, each
of which allows more.

- A table is a value, and a post makes another value of it. A post may want anything, and its member
  may lay its table down whether anybody has asked or not.
- A member reads the posts of a token one by one, and learns of its locks one by one; nothing else
  happens to it meanwhile. It may give back any lock at any time.
- The token may be made anew by any member at any time, from its own copy, whoever agrees. Only its
  own promise counts, and only tokens that it has, or that go to it, are lost then.
- A token may go to any member on its list, and anybody may come onto any list. Any process may have
  a place in the mail of a new token. So Recover and Want are no steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from raincheck.model.proof.induction import Conjunct, Property, Theory
from raincheck.model.proof.logic import And, Expr, Function, If, Implies, Not, World
from raincheck.model.proof.vocabulary import nothing

from .actions import transitions
from .fences import grow
from .invariant import invariant
from .words import RIGID, VOCABULARY, WITHOUT, Basis, conflict, fence, told_fence

__all__ = ["WITHOUT", "Basis", "basis_without", "theory"]


def basis_without(names: Iterable[str]) -> Basis:
    """Return the basis without some parts, by the spec's names; KeyError if a name is unknown."""
    return replace(Basis(), **{WITHOUT[name]: False for name in names})


def _faithful(s: World) -> Expr:
    def true(n: Expr) -> Expr:
        e, i = s.base(n), s.size(n)
        return Implies(
            And(Not(s.reading(n)), e >= 1, e == s.epoch(n)),
            And(s.chain(e, i) == e, s.truth(e, i) == s.table(n)),
        )

    return s.forall(["process"], true)


def axioms(basis: Basis) -> tuple[Conjunct, ...]:
    """Return what `tables.py` proves of tables."""
    found = (
        Conjunct(
            "EmptyInOrder",
            "In the empty table nobody has passed another.",
            (),
            lambda s: s.in_order(s.empty()),
        ),
        Conjunct(
            "ChangedInOrder",
            "If nobody has passed another in a table, nobody has behind a post.",
            ("table", "post"),
            lambda s, t, x: Implies(s.in_order(t), s.in_order(s.changed(t, x))),
            lambda s, t, x: [s.changed(t, x)],
        ),
    )
    lines = (
        Conjunct(
            "Empty",
            "Nobody holds anything by the empty table.",
            ("request",),
            lambda s, r: Not(s.holds(s.empty(), r)),
            lambda s, r: [s.holds(s.empty(), r)],
        ),
        Conjunct(
            "HoldsOnBehind",
            "A request that holds its name holds it until it is ended.",
            ("table", "post", "request"),
            lambda s, t, x, r: Implies(
                And(s.holds(t, r), Not(s.ends(x, r))), s.holds(s.changed(t, x), r)
            ),
            lambda s, t, x, r: [s.holds(s.changed(t, x), r)],
        ),
        Conjunct(
            "KeepsFence",
            "... with the same fence.",
            ("table", "post", "request"),
            lambda s, t, x, r: Implies(
                And(s.holds(t, r), Not(s.ends(x, r))), _same(s, s.changed(t, x), t, r)
            ),
            lambda s, t, x, r: [s.of_place(s.changed(t, x), r)],
        ),
        Conjunct(
            "NewFence",
            "A new fence is that of the post.",
            ("table", "post", "request"),
            lambda s, t, x, r: Implies(
                _gets(s, t, x, r),
                And(
                    s.of_epoch(s.changed(t, x), r) == (s.written(x) if basis.epoch_in_fence else 0),
                    s.of_place(s.changed(t, x), r) == s.stands(x),
                ),
            ),
            lambda s, t, x, r: [s.of_place(s.changed(t, x), r)],
        ),
        Conjunct(
            "TurnsDiffer",
            "Two requests that get their names by one post stand at two places in the table.",
            ("table", "post", "request", "request"),
            lambda s, t, x, q, r: Implies(
                And(
                    *(_gets(s, t, x, q), _gets(s, t, x, r)),
                    s.turn(s.changed(t, x), q) == s.turn(s.changed(t, x), r),
                ),
                q == r,
            ),
            lambda s, t, x, q, r: [(s.turn(s.changed(t, x), q), s.turn(s.changed(t, x), r))],
        ),
        Conjunct(
            "OneHolds",
            "Of those that hold a name in such a table, one writes, or all read.",
            ("table", "request", "request"),
            lambda s, t, q, r: Implies(
                And(s.in_order(t), s.holds(t, q), s.holds(t, r), conflict(s, q, r)), q == r
            ),
            lambda s, t, q, r: [(s.holds(t, q), s.holds(t, r))],
        ),
    )
    return (*(found if basis.in_order else found[:1]), *lines)


def _gets(s: World, t: Expr, x: Expr, r: Expr) -> Expr:
    """r holds its name behind post x, and not yet before it."""
    return And(s.holds(s.changed(t, x), r), Not(And(s.holds(t, r), Not(s.ends(x, r)))))


def _same(s: World, t: Expr, u: Expr, r: Expr) -> Expr:
    """r has one fence in both tables."""
    return And(*(one == other for one, other in zip(fence(s, t, r), fence(s, u, r), strict=True)))


def _one_current(s: World) -> Expr:
    def one(n: Expr, p: Expr, q: Expr, r: Expr) -> Expr:
        e = s.newest()
        current = And(s.base(n) == e, s.base(p) == e, Not(s.reading(n)), Not(s.reading(p)))
        both = And(s.held(n, q), s.held(p, r), conflict(s, q, r))
        return Implies(And(current, both), And(n == p, q == r))

    return s.forall(["process", "process", "request", "request"], one)


def _fence_unique(s: World) -> Expr:
    def one(q: Expr, r: Expr) -> Expr:
        fences = zip(told_fence(s, q), told_fence(s, r), strict=True)
        return Implies(And(s.told(q), s.told(r), *(a == b for a, b in fences)), q == r)

    return s.forall(["request", "request"], one)


def _fences_monotone(s: World) -> Expr:
    return s.forall(["request", "request"], lambda q, r: grow(s, q, r))


PROPERTIES: Final = (
    Property(
        "Faithful",
        "A good table is all that was posted, up to what the member has had.",
        _faithful,
    ),
    Property(
        "OneCurrent",
        "Among members that know the newest epoch one writes, or all read.",
        _one_current,
    ),
    Property(
        "NobodyPasses",
        "Nobody holds a name before another that asked earlier and that it is in the way of.",
        lambda s: s.forall(["process"], lambda n: s.in_order(s.table(n))),
    ),
    Property("FenceUnique", "No two requests have the same fence.", _fence_unique),
    Property(
        "FencesMonotone",
        "A fence is greater than those told before, unless it is told late, or both are readers'.",
        _fences_monotone,
    ),
)


def initial(s: World) -> tuple[Expr, Mapping[str, Function]]:
    """Return Init of the spec."""
    values: dict[str, Function] = {
        name: nothing(symbol.result)
        for name, symbol in VOCABULARY.items()
        if symbol.result in ("bool", "epoch", "place")
    }
    values["newest"] = lambda: 1
    for name in ("epoch", "base"):
        values[name] = lambda n: If(s.founder(n), 1, 0)
    values["promised"] = lambda _: 1
    values["at"] = lambda _: s.first()
    values["placed"] = lambda e, n: And(e == 1, s.founder(n))
    values["member"] = values["placed"]
    values["chain"] = lambda e, i: If(And(e == 1, i == 0), 1, 0)
    values["truth"] = lambda *_: s.empty()
    values["table"] = lambda *_: s.empty()
    return s.founder(s.first()), values


@cache  # a theory's transitions are compiled once, too, for all that follow runs with it
def theory(basis: Basis | None = None) -> Theory:
    """Return LOCKS over the given basis, by default with all rules."""
    rests = basis or Basis()
    return Theory(
        "locks",
        VOCABULARY,
        RIGID,
        axioms(rests),
        initial,
        transitions(rests),
        invariant(rests),
        PROPERTIES,
    )
