"""The part of MERGE2's invariant that speaks of views: their ids, and who installs which."""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, World

from .words import (
    ANSWERED,
    CANCELLED,
    FLUSHING,
    IDLE,
    INSTALLING,
    answers,
    in_path,
    installs,
    leads,
    of_merge,
    side,
)


def grows(s: World, n: Expr, i: Expr) -> Expr:
    """The numbers of the views of a member grow."""
    later = s.number(s.path(n, i)) < s.number(s.path(n, i + 1))
    return Implies(And(i >= 0, i + 1 < s.count(n)), later)


def _maker_is_above(s: World, v: Expr) -> Expr:
    m = s.maker(v)
    mine = s.number(s.view(m))
    merging = And(s.held(m) == v, s.merged(v), s.first(s.view(m)) == m)
    ready = And(s.holds(m), Or(s.number(v) <= mine + 1, merging))
    return Implies(And(s.made(v), s.running(m)), Or(s.number(v) <= mine, ready))


def _installer_holds(s: World, n: Expr) -> Expr:
    holds = And(s.holds(n), of_merge(s, s.held(n), s.merge(n)), s.first(s.view(n)) == n)
    ready = And(Or(s.stage(n) == INSTALLING, s.stage(n) == CANCELLED), holds)
    return Implies(installs(s, n), Or(of_merge(s, s.view(n), s.merge(n)), ready))


def _holder_installs(s: World, n: Expr) -> Expr:
    merging = And(s.holds(n), s.merged(s.held(n)), s.first(s.view(n)) == n)
    stage = Or(s.stage(n) == INSTALLING, s.stage(n) == CANCELLED)
    return Implies(merging, And(stage, s.merge(n) == s.union(s.held(n))))


def _reply_of_its_view(s: World, r: Expr) -> Expr:
    c = s.by(r)
    present = And(s.sent(r), s.stage(c) != IDLE, s.merge(c) == s.of(r))
    same = Implies(s.stage(c) == ANSWERED, s.at(r) == s.view(c))
    return Implies(present, And(s.stage(c) != FLUSHING, same))


def _reply_has_side(s: World, r: Expr, p: Expr) -> Expr:
    c = s.by(r)
    given = Or(s.sent(r), And(s.has(c, r), leads(s, c)))
    present = And(given, s.stage(c) == ANSWERED, s.merge(c) == s.of(r))
    return Implies(And(present, side(s, c, p)), s.there(r, p))


def _has_own(s: World, n: Expr, r: Expr) -> Expr:
    own = And(s.by(r) == n, s.stage(n) != FLUSHING)
    given = And(s.has(n, r), leads(s, n), s.stage(n) != IDLE)
    same = Implies(s.stage(n) == ANSWERED, s.at(r) == s.view(n))
    return Implies(given, And(s.of(r) == s.merge(n), Or(s.sent(r), And(own, same))))


def answered_into(s: World, c: Expr, u: Expr) -> Expr:
    """c has answered, is in the merge, which is decided, and its side is yet to hold its view."""
    return And(
        s.decided(u), s.into(u, c), s.stage(c) == ANSWERED, s.merge(c) == u, s.leader(u) != c
    )


VIEWS: Final = (
    Conjunct(
        "StageIs",
        "A stage is one of six; who does not run is idle, holds nothing and is not suspended.",
        ("process",),
        lambda s, n: And(
            s.stage(n) >= IDLE,
            s.stage(n) <= CANCELLED,
            Or(s.running(n), And(s.stage(n) == IDLE, Not(s.holds(n)), Not(s.latched(n)))),
        ),
        lambda s, n: [s.stage(n), s.holds(n), s.latched(n)],
    ),
    Conjunct(
        "InView",
        "A member is in its view, and in the one that it holds ready.",
        ("process",),
        lambda s, n: And(s.inside(s.view(n), n), Implies(s.holds(n), s.inside(s.held(n), n))),
        lambda s, n: [s.view(n), s.held(n)],
    ),
    Conjunct(
        "Last",
        "A member's view is the last that it has installed.",
        ("process",),
        lambda s, n: And(s.count(n) >= 1, s.path(n, s.count(n) - 1) == s.view(n)),
        lambda s, n: [s.count(n), s.view(n)],
    ),
    Conjunct(
        "Grows",
        "The numbers of a member's views grow.",
        ("process", "index"),
        grows,
        lambda s, n, i: [s.path(n, i)],
    ),
    Conjunct(
        "Later",
        "A view that is held ready was decided, and has a larger number than the member's own.",
        ("process",),
        lambda s, n: Implies(
            s.holds(n),
            And(s.made(s.held(n)), s.number(s.held(n)) > s.number(s.view(n))),
        ),
        lambda s, n: [s.held(n), s.holds(n)],
    ),
    Conjunct(
        "PathIsMade",
        "A view that is installed was decided.",
        ("process", "index"),
        lambda s, n, i: Implies(in_path(s, n, i), s.made(s.path(n, i))),
        lambda s, n, i: [s.path(n, i)],
    ),
    Conjunct(
        "ResultIsMade",
        "The view of a merge was decided.",
        ("union",),
        lambda s, u: Implies(s.decided(u), s.made(s.result(u))),
        lambda s, u: [s.result(u)],
    ),
    Conjunct(
        "MakerIsAbove",
        "No view has a larger number than its maker's view, but one that the maker holds ready.",
        ("group",),
        _maker_is_above,
        lambda s, v: [(s.made(v), s.view(s.maker(v)))],
    ),
    Conjunct(
        "OneId",
        "Views that were decided under one id are one.",
        ("group",),
        lambda s, v: Implies(s.made(v), s.by_id(s.maker(v), s.number(v)) == v),
        lambda s, v: [s.made(v)],
    ),
    Conjunct(
        "Took",
        "Who takes part in a merge has entered it.",
        ("process",),
        lambda s, n: Implies(s.stage(n) != IDLE, s.took(n, s.merge(n))),
        lambda s, n: [s.merge(n)],
    ),
    Conjunct(
        "TookIsBegun",
        "A merge that was entered has been begun, and its leader comes before its participants.",
        ("process", "union"),
        lambda s, n, u: Implies(
            s.took(n, u),
            And(s.begun(u), Or(s.leader(u) == n, s.rank(s.leader(u)) < s.rank(n))),
        ),
        lambda s, n, u: [s.took(n, u)],
    ),
    Conjunct(
        "CoordinatorsAnswer",
        "Who answers, or is about to, is the coordinator.",
        ("process",),
        lambda s, n: Implies(answers(s, n), s.coordinates(n)),
        lambda s, n: [s.coordinates(n), s.stage(n)],
    ),
    Conjunct(
        "KeepsFirst",
        "A coordinator that holds a view of GMS's ready stays the coordinator.",
        ("process",),
        lambda s, n: Implies(
            And(s.holds(n), Not(s.merged(s.held(n))), s.first(s.view(n)) == n),
            s.first(s.held(n)) == n,
        ),
        lambda s, n: [s.held(n)],
    ),
    Conjunct(
        "HolderInstalls",
        "A coordinator that holds a merged view ready is about to install that merge's.",
        ("process",),
        _holder_installs,
        lambda s, n: [s.held(n)],
    ),
    Conjunct(
        "InstallerHolds",
        "Who installs the view of a merge has it, or holds it ready as its coordinator.",
        ("process",),
        _installer_holds,
        lambda s, n: [s.merge(n), s.stage(n)],
    ),
    Conjunct(
        "SentTook",
        "Who has sent an answer has entered that merge, and does not lead it.",
        ("reply",),
        lambda s, r: Implies(
            s.sent(r), And(s.took(s.by(r), s.of(r)), s.leader(s.of(r)) != s.by(r))
        ),
        lambda s, r: [s.sent(r)],
    ),
    Conjunct(
        "ReplyOfItsView",
        "As long as its sender has got no further, an answer is of its sender's view.",
        ("reply",),
        _reply_of_its_view,
        lambda s, r: [s.sent(r)],
    ),
    Conjunct(
        "ReplyHasSide",
        "As long as its sender has got no further, an answer has the sender's side.",
        ("reply", "process"),
        _reply_has_side,
        lambda s, r, p: [(s.sent(r), s.view(p)), (s.has(s.by(r), r), s.view(p)), s.there(r, p)],
    ),
    Conjunct(
        "HasOwn",
        "A leader has answers that were sent to it, and its own.",
        ("process", "reply"),
        _has_own,
        lambda s, n, r: [s.has(n, r)],
    ),
    Conjunct(
        "IntoIsAbove",
        "Who is to install a merged view is in it, and has one with a smaller number.",
        ("process", "union"),
        lambda s, c, u: Implies(
            answered_into(s, c, u),
            And(s.number(s.result(u)) > s.number(s.view(c)), s.inside(s.result(u), c)),
        ),
        lambda s, c, u: [s.into(u, c)],
    ),
    Conjunct(
        "IntoHasSide",
        "All of a side that is to install a merged view are in it.",
        ("process", "union", "process"),
        lambda s, c, u, p: Implies(
            And(answered_into(s, c, u), side(s, c, p)), s.inside(s.result(u), p)
        ),
        lambda s, c, u, p: [(s.into(u, c), s.inside(s.result(u), p))],
    ),
    Conjunct(
        "IntoTook",
        "Who is in a merge that was decided has entered it, and answers it no more.",
        ("process", "union"),
        lambda s, c, u: Implies(
            And(s.decided(u), s.into(u, c)),
            And(s.took(c, u), Not(And(s.stage(c) == FLUSHING, s.merge(c) == u))),
        ),
        lambda s, c, u: [s.into(u, c)],
    ),
)
