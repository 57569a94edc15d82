"""The part of MERGE2's invariant that speaks of who goes on together: a side leaves a view as one.

A view is settled if it is GMS's own, or if the leader of its merge has let all go on in it.
Somebody speaks only in a settled view, and a settled view is left by all of its side at once.
"""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Not, World

from .views import answered_into
from .words import ANSWERED, settled, side


def _both_run(s: World, p: Expr, q: Expr) -> Expr:
    return And(s.running(p), s.running(q))


def _hold_together(s: World, p: Expr, q: Expr) -> Expr:
    beside = And(_both_run(s, p, q), s.view(p) == s.view(q), settled(s, s.view(p)))
    return Implies(And(beside, s.holds(p)), And(s.holds(q), s.held(p) == s.held(q)))


def _nobody_comes_late(s: World, p: Expr, q: Expr) -> Expr:
    comes = And(s.holds(q), s.held(q) == s.view(p), Not(s.merged(s.held(q))))
    return Implies(And(_both_run(s, p, q), comes), Not(s.holds(p)))


def _speakers_stay(s: World, p: Expr, x: Expr) -> Expr:
    stays = And(_both_run(s, p, x), Not(s.holds(p)), s.spoke(x, s.view(p)))
    return Implies(stays, s.view(x) == s.view(p))


def _speakers_wait(s: World, p: Expr, x: Expr) -> Expr:
    of_gms = And(s.holds(p), Not(s.merged(s.held(p))))
    comes = And(_both_run(s, p, x), of_gms, s.spoke(x, s.held(p)))
    return Implies(comes, s.view(x) == s.held(p))


def _holders_have_read(s: World, p: Expr, x: Expr, k: Expr) -> Expr:
    said = And(k >= 1, k <= s.spoken(x), s.said(x, k) == s.view(p))
    return Implies(And(_both_run(s, p, x), s.holds(p), said), k <= s.position(p, x))


def _gone_with_the_cut(s: World, n: Expr, i: Expr, x: Expr, k: Expr) -> Expr:
    v, w = s.path(n, i), s.path(n, i + 1)
    said = And(k >= 1, k <= s.cutoff(v, w, x), s.said(x, k) == v, s.inside(v, x))
    return Implies(And(i >= 0, i + 1 < s.count(n)), s.hears(n, x, k, v) == said)


TOGETHER: Final = (
    Conjunct(
        "SpokeWhenSettled",
        "Who has multicast in a view has been in it, and it is settled.",
        ("process", "group"),
        lambda s, x, v: Implies(s.spoke(x, v), And(s.been(x, v), settled(s, v))),
        lambda s, x, v: [s.spoke(x, v)],
    ),
    Conjunct(
        "HoldTogether",
        "In a settled view, all that are in it hold the same view ready, or nobody does.",
        ("process", "process"),
        _hold_together,
        lambda s, p, q: [(s.held(p), s.view(q))],
        lambda s, _p, q: [s.merged(s.held(q))],
    ),
    Conjunct(
        "NobodyComesLate",
        "Nobody is about to come into a view of GMS's that is being left.",
        ("process", "process"),
        _nobody_comes_late,
        lambda s, p, q: [(s.view(p), s.held(q))],
    ),
    Conjunct(
        "SpeakersStay",
        "Who has multicast in a view stays in it as long as anybody there holds none ready.",
        ("process", "process"),
        _speakers_stay,
        lambda s, p, x: [s.spoke(x, s.view(p))],
    ),
    Conjunct(
        "SpeakersWait",
        "Who has multicast in a view of GMS's stays in it as long as anybody is to come.",
        ("process", "process"),
        _speakers_wait,
        lambda s, p, x: [s.spoke(x, s.held(p))],
    ),
    Conjunct(
        "HoldersHaveRead",
        "Who holds a view ready has read what those that run have multicast in its own.",
        ("process", "process", "place"),
        _holders_have_read,
        lambda s, p, x, k: [(s.held(p), s.said(x, k)), (s.position(p, x), s.said(x, k))],
    ),
    Conjunct(
        "AnsweredReadAlike",
        "A side that has answered has read the same.",
        ("process", "process", "process"),
        lambda s, c, p, x: Implies(
            And(s.stage(c) == ANSWERED, side(s, c, p), s.inside(s.view(c), x)),
            s.position(p, x) == s.position(c, x),
        ),
        lambda s, c, p, x: [(s.stage(c), s.position(p, x))],
    ),
    Conjunct(
        "AnsweredHaveRead",
        "A coordinator that has answered has read what its side has multicast.",
        ("process", "process"),
        lambda s, c, p: Implies(
            And(s.stage(c) == ANSWERED, side(s, c, p)), s.spoken(p) <= s.position(c, p)
        ),
        lambda s, c, p: [(s.stage(c), s.position(c, p)), (s.stage(c), s.view(p))],
    ),
    Conjunct(
        "HoldersReadAlike",
        "Who holds a view ready has read as far as its side had when that was decided.",
        ("process", "process"),
        lambda s, p, x: Implies(
            And(s.running(p), s.holds(p), s.inside(s.view(p), x)),
            s.position(p, x) == s.cutoff(s.view(p), s.held(p), x),
        ),
        lambda s, p, x: [(s.held(p), s.position(p, x))],
    ),
    Conjunct(
        "CutoffIsSaid",
        "A side has read no more than was multicast.",
        ("group", "group", "process"),
        lambda s, v, w, x: s.cutoff(v, w, x) <= s.spoken(x),
        lambda s, v, w, x: [s.cutoff(v, w, x)],
    ),
    Conjunct(
        "GoneWithTheCut",
        "Who has gone on to a view has delivered in the one before what its side had read.",
        ("process", "index", "process", "place"),
        _gone_with_the_cut,
        lambda s, n, i, x, k: [s.hears(n, x, k, s.path(n, i))],
    ),
    Conjunct(
        "EarlierIsBelow",
        "The views that a member has left have smaller numbers than its own.",
        ("process", "index"),
        lambda s, n, i: Implies(
            And(i >= 0, i + 1 < s.count(n)), s.number(s.path(n, i)) < s.number(s.view(n))
        ),
        lambda s, n, i: [s.path(n, i)],
    ),
    Conjunct(
        "WentToMade",
        "A view to which a side was to go was decided.",
        ("group", "group"),
        lambda s, v, w: Implies(s.went(v, w), s.made(w)),
        lambda s, v, w: [s.went(v, w)],
    ),
    Conjunct(
        "HoldersGo",
        "Who holds a view ready was to go there from its own.",
        ("process",),
        lambda s, p: Implies(s.holds(p), s.went(s.view(p), s.held(p))),
        lambda s, p: [s.held(p)],
    ),
    Conjunct(
        "PathWent",
        "Who has gone from a view to the next was to.",
        ("process", "index"),
        lambda s, n, i: Implies(
            And(i >= 0, i + 1 < s.count(n)), s.went(s.path(n, i), s.path(n, i + 1))
        ),
        lambda s, n, i: [s.path(n, i + 1)],
    ),
    Conjunct(
        "NotGoneYet",
        "Nobody has gone to a merged view from a side that is yet to install it.",
        ("process", "union"),
        lambda s, c, u: Implies(answered_into(s, c, u), Not(s.went(s.view(c), s.result(u)))),
        lambda s, c, u: [s.into(u, c)],
    ),
)
