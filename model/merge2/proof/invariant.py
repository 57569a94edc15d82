"""The inductive invariant of MERGE2's proof."""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, World

from .words import ANSWERED, FLUSHING, in_path, leads


def one_coordinator(s: World, n: Expr) -> Expr:
    """A running member is the coordinator if, and only if, it is the first in its view."""
    return Implies(s.running(n), s.coordinates(n) == (s.first(s.view(n)) == n))


def _is_result(s: World, v: Expr) -> Expr:
    """If the view comes from a merge, it is what that merge has decided."""
    return Implies(s.merged(v), And(s.decided(s.union(v)), s.result(s.union(v)) == v))


INVARIANT: Final = (
    Conjunct(
        "OneCoordinator",
        "A member is the coordinator if, and only if, it is the first in its view.",
        ("process",),
        one_coordinator,
        lambda s, n: [s.coordinates(n)],
    ),
    Conjunct(
        "DecidedAreBegun",
        "A merge that is decided has been begun.",
        ("union",),
        lambda s, u: Implies(s.decided(u), s.begun(u)),
        lambda s, u: [s.decided(u)],
    ),
    Conjunct(
        "DecidedOnce",
        "A leader that may decide has not decided.",
        ("process",),
        lambda s, n: Implies(
            And(leads(s, n), Or(s.stage(n) == FLUSHING, s.stage(n) == ANSWERED)),
            Not(s.decided(s.merge(n))),
        ),
        lambda s, n: [s.merge(n)],
    ),
    Conjunct(
        "ResultOfItsMerge",
        "What a merge has decided comes from it.",
        ("union",),
        lambda s, u: Implies(s.decided(u), And(s.merged(s.result(u)), s.union(s.result(u)) == u)),
        lambda s, u: [s.result(u)],
    ),
    Conjunct(
        "HeldIsResult",
        "A merged view that is held ready is what its merge has decided.",
        ("process",),
        lambda s, n: Implies(s.holds(n), _is_result(s, s.held(n))),
        lambda s, n: [s.held(n)],
    ),
    Conjunct(
        "PathIsResult",
        "A merged view that is installed is what its merge has decided.",
        ("process", "index"),
        lambda s, n, i: Implies(in_path(s, n, i), _is_result(s, s.path(n, i))),
        lambda s, n, i: [s.path(n, i)],
    ),
)
