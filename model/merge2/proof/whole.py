"""The part of MERGE2's invariant that speaks of whole merges: all sides install the view.

An answer counts if a merged view was made of it. Nobody suspects wrongly here.
"""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, World

from .words import ANSWERED, INSTALLED, INSTALLING, leads, of_merge, takes_part


def _trusted(s: World, r: Expr) -> Expr:
    """The answer counts, its sender and the leader run, and nobody was suspected wrongly."""
    both = And(s.running(s.by(r)), s.running(s.leader(s.of(r))))
    return And(s.counted(r), both, Not(s.doubted()))


def _is_to_install(s: World, r: Expr) -> Expr:
    """The sender of the answer is in the merge, and its side has not installed the view."""
    c = s.by(r)
    return And(s.merge(c) == s.of(r), Or(s.stage(c) == ANSWERED, s.stage(c) == INSTALLING))


def _leader_waits(s: World, r: Expr) -> Expr:
    u, c = s.of(r), s.by(r)
    n = s.leader(u)
    installs = Or(s.stage(n) == INSTALLING, s.stage(n) == INSTALLED)
    told = Or(s.told(u, c), s.says(u, c))
    waits = And(s.merge(n) == u, installs, s.has(n, r), s.waiting(n, c), Not(told))
    return Implies(And(_trusted(s, r), _is_to_install(s, r)), waits)


def _all_get_it(s: World, r: Expr, p: Expr) -> Expr:
    u, c, w = s.of(r), s.by(r), s.at(r)
    v = s.result(u)
    asked = And(s.stage(c) == ANSWERED, s.view(c) == w)
    ready = And(s.stage(c) == INSTALLING, s.holds(p), s.held(p) == v)
    gets_it = And(s.merge(c) == u, s.view(p) == w, Or(asked, ready))
    return Implies(And(_trusted(s, r), s.there(r, p), s.running(p)), Or(s.been(p, v), gets_it))


def _waits_for_nobody(s: World, n: Expr, c: Expr) -> Expr:
    has_it = And(s.running(n), leads(s, n), of_merge(s, s.view(n), s.merge(n)), s.holds(n))
    return Implies(And(has_it, s.stage(n) == INSTALLED), Not(s.waiting(n, c)))


def _installing_is_busy(s: World, c: Expr) -> Expr:
    u = s.merge(c)
    has_it = And(s.stage(c) == INSTALLING, of_merge(s, s.view(c), u))
    return Implies(And(has_it, takes_part(s, s.leader(u), u)), Not(s.holds(c)))


WHOLE: Final = (
    Conjunct(
        "CountedIsInto",
        "An answer that counts is of a side that is in a merge that was decided, as its leader is.",
        ("reply",),
        lambda s, r: Implies(
            s.counted(r),
            And(
                s.decided(s.of(r)),
                s.into(s.of(r), s.by(r)),
                s.into(s.of(r), s.leader(s.of(r))),
                s.there(r, s.by(r)),
                s.first(s.at(r)) == s.by(r),
            ),
        ),
        lambda s, r: [s.counted(r)],
    ),
    Conjunct(
        "ViewIsCounted",
        "Who is in a merged view is in an answer that counts.",
        ("union", "process"),
        lambda s, u, p: Implies(
            And(s.decided(u), s.inside(s.result(u), p)),
            s.exists(["reply"], lambda r: And(s.counted(r), s.of(r) == u, s.there(r, p))),
        ),
        lambda s, u, p: [s.inside(s.result(u), p)],
    ),
    Conjunct(
        "LeaderWaits",
        "Without wrong suspicions, the leader waits for a side that is to install the view.",
        ("reply",),
        _leader_waits,
        lambda s, r: [s.counted(r)],
    ),
    Conjunct(
        "AllGetIt",
        "Without wrong suspicions, who is in an answer that counts has the view, or gets it.",
        ("reply", "process"),
        _all_get_it,
        lambda s, r, p: [(s.counted(r), s.there(r, p)), (s.counted(r), s.view(p))],
    ),
    Conjunct(
        "WaitsForNobody",
        "A leader goes on from its merged view when it waits for nobody.",
        ("process", "process"),
        _waits_for_nobody,
        lambda s, n, c: [s.waiting(n, c)],
    ),
    Conjunct(
        "InstallingIsBusy",
        "While the leader is in the merge, a side that has just installed the view goes nowhere.",
        ("process",),
        _installing_is_busy,
        lambda s, c: [s.held(c)],
    ),
)
