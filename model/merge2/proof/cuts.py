"""The part of MERGE2's invariant that speaks of cuts: who is in a merged view has answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, World

from .words import (
    ANSWERED,
    INSTALLED,
    INSTALLING,
    answers,
    leads,
    side,
    takes_part,
)


def members_are_there(s: World, n: Expr, p: Expr) -> Expr:
    """The view that n has decided has those that answered, who are in the cut of that merge."""
    u = s.merge(n)

    def has_answered(r: Expr) -> Expr:
        in_cut = Or(Not(s.running(s.by(r))), s.cut(p, u))
        return And(s.has(n, r), s.there(r, p), in_cut)

    decides = And(Not(s.doubted()), s.stage(n) == INSTALLING, leads(s, n))
    asked = And(decides, s.decided(u), s.inside(s.result(u), p))
    return Implies(asked, s.exists(["reply"], has_answered))


def _before_it_installs(s: World, u: Expr) -> Expr:
    """The leader of the merge is in it, and its side has not installed the view."""
    n = s.leader(u)
    early = Or(answers(s, n), s.stage(n) == INSTALLING)
    return And(s.running(n), early, s.merge(n) == u)


def _has_answered(s: World, c: Expr, u: Expr) -> Expr:
    """c is in the merge, and has answered it."""
    stage = Or(s.stage(c) == ANSWERED, s.stage(c) == INSTALLING, s.stage(c) == INSTALLED)
    return And(s.running(c), stage, s.merge(c) == u)


def _in_merge(s: World, r: Expr) -> Expr:
    """The sender of an answer and the leader are in the merge, whose view its side has not yet."""
    given = Or(s.sent(r), And(s.has(s.by(r), r), s.by(r) == s.leader(s.of(r))))
    return And(given, _before_it_installs(s, s.of(r)), _has_answered(s, s.by(r), s.of(r)))


def _locked(s: World, r: Expr, p: Expr) -> Expr:
    u, c = s.of(r), s.by(r)
    w = s.at(r)
    there = And(_in_merge(s, r), s.there(r, p), s.running(p))
    has_it = And(s.decided(u), s.view(p) == s.result(u))
    ready = Implies(s.holds(p), And(s.decided(u), s.held(p) == s.result(u), s.view(p) == w))
    behind = Implies(And(s.view(p) == w, Or(s.view(c) != w, s.holds(c))), s.holds(p))
    return Implies(there, And(Or(s.view(p) == w, has_it), ready, behind))


def _terms(s: World, r: Expr, p: Expr) -> Sequence[Expr]:
    """Return what makes Z3 look at an answer and a member."""
    there = s.there(r, p)
    return [(s.sent(r), there), (s.has(s.by(r), r), there), (there, s.view(p))]


CUTS: Final = (
    Conjunct(
        "Locked",
        "Until the leader's side has the view, who has answered goes to that view only.",
        ("reply", "process"),
        _locked,
        _terms,
    ),
    Conjunct(
        "InTheCut",
        "Until the leader's side has the view, who has answered is in the cut.",
        ("reply", "process"),
        lambda s, r, p: Implies(And(_in_merge(s, r), s.there(r, p)), s.cut(p, s.of(r))),
        _terms,
    ),
    Conjunct(
        "ReplyHasSender",
        "An answer is of a side whose coordinator is its sender, who is there.",
        ("reply",),
        lambda s, r: Implies(
            Or(s.sent(r), And(s.has(s.by(r), r), leads(s, s.by(r)), s.stage(s.by(r)) > 0)),
            And(s.there(r, s.by(r)), s.first(s.at(r)) == s.by(r)),
        ),
        lambda s, r: [s.sent(r), s.by(r)],
    ),
    Conjunct(
        "SideInTheCut",
        "The side of a coordinator that has answered is in the cut.",
        ("process", "process"),
        lambda s, c, p: Implies(And(s.stage(c) == ANSWERED, side(s, c, p)), s.cut(p, s.merge(c))),
        lambda s, c, p: [(s.stage(c), s.cut(p, s.merge(c)))],
    ),
    Conjunct(
        "SideIsQuiet",
        "While its leader runs, a side that has answered holds no view ready.",
        ("process", "process"),
        lambda s, c, p: Implies(
            And(s.stage(c) == ANSWERED, side(s, c, p), s.running(s.leader(s.merge(c)))),
            Not(s.holds(p)),
        ),
        lambda s, c, p: [(s.stage(c), s.holds(p))],
    ),
    Conjunct(
        "CancelledIsOut",
        "Without wrong suspicions, CANCEL is sent to those that the leader has no answer of.",
        ("union", "process", "reply"),
        lambda s, u, c, r: Implies(
            And(
                s.told(u, c),
                s.running(c),
                Not(s.doubted()),
                takes_part(s, s.leader(u), u),
                s.by(r) == c,
            ),
            Not(s.has(s.leader(u), r)),
        ),
        lambda s, u, c, r: [(s.told(u, c), s.has(s.leader(u), r))],
    ),
    Conjunct(
        "CancelledIsNotAwaited",
        "Without wrong suspicions, who is sent CANCEL is not waited for.",
        ("union", "process"),
        lambda s, u, c: Implies(
            And(
                s.told(u, c),
                s.running(c),
                Not(s.doubted()),
                takes_part(s, s.leader(u), u),
                answers(s, s.leader(u)),
            ),
            Not(s.waiting(s.leader(u), c)),
        ),
        lambda s, u, c: [s.told(u, c)],
    ),
    Conjunct(
        "AwaitedStaysIn",
        "Without wrong suspicions, who has answered and is waited for is in the merge.",
        ("reply",),
        lambda s, r: Implies(
            And(
                s.sent(r),
                s.running(s.by(r)),
                Not(s.doubted()),
                takes_part(s, s.leader(s.of(r)), s.of(r)),
                answers(s, s.leader(s.of(r))),
                s.waiting(s.leader(s.of(r)), s.by(r)),
            ),
            _has_answered(s, s.by(r), s.of(r)),
        ),
        lambda s, r: [s.sent(r)],
    ),
    Conjunct(
        "AnsweredStaysIn",
        "Without wrong suspicions, whose answer the leader has is in the merge.",
        ("process", "reply"),
        lambda s, n, r: Implies(
            And(
                s.has(n, r),
                leads(s, n),
                Or(answers(s, n), s.stage(n) == INSTALLING),
                s.running(s.by(r)),
                Not(s.doubted()),
            ),
            _has_answered(s, s.by(r), s.merge(n)),
        ),
        lambda s, n, r: [s.has(n, r)],
    ),
    Conjunct(
        "ViewIsOfAnswers",
        "Who is in a merged view is in an answer.",
        ("process", "process"),
        lambda s, n, p: Implies(
            And(s.stage(n) == INSTALLING, leads(s, n), s.inside(s.result(s.merge(n)), p)),
            s.exists(["reply"], lambda r: And(s.has(n, r), s.there(r, p))),
        ),
        lambda s, n, p: [(s.stage(n), s.inside(s.result(s.merge(n)), p))],
    ),
)
