"""The part of MERGE2's invariant that speaks of latches: who goes on in a merged view, and when."""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, World

from .words import (
    ANSWERED,
    CANCELLED,
    INSTALLING,
    answers,
    installs,
    leads,
    side,
    takes_part,
)


def acks_before_resume(s: World, n: Expr, p: Expr) -> Expr:
    """If n goes on in a merged view, p has installed it."""
    goes_on = And(s.running(n), Not(s.latched(n)), s.merged(s.view(n)))
    return Implies(And(goes_on, s.running(p), s.inside(s.view(n), p)), s.been(p, s.view(n)))


def _no_comer(s: World, n: Expr, p: Expr) -> Expr:
    comes = And(s.running(p), s.holds(p), s.held(p) == s.view(n))
    return Implies(And(s.stage(n) == ANSWERED, comes), Not(s.inside(s.view(n), p)))


def _side_is_closed(s: World, n: Expr, p: Expr) -> Expr:
    closed = And(s.latched(p), s.latch(p) == n)
    return Implies(And(s.stage(n) == ANSWERED, side(s, n, p)), closed)


def _holder_is_closed(s: World, p: Expr) -> Expr:
    by_first = Implies(s.merged(s.held(p)), s.latch(p) == s.first(s.view(p)))
    return Implies(s.holds(p), And(s.latched(p), by_first))


def _first_of_holder(s: World, p: Expr) -> Expr:
    n, v = s.first(s.view(p)), s.held(p)
    comes = And(s.view(n) == s.view(p), s.holds(n), s.held(n) == v)
    has_it = And(s.view(n) == v, Not(s.holds(n)), s.latched(n), s.latch(n) == n)
    return Implies(And(s.holds(p), s.merged(v), s.running(n)), Or(comes, has_it))


def _who_closed_it(s: World, p: Expr) -> Expr:
    n, v = s.latch(p), s.view(p)
    waits = And(s.latched(p), Not(s.holds(p)), s.merged(v), s.running(n))
    has_it = And(s.view(n) == v, Not(s.holds(n)), s.latched(n), s.latch(n) == n)
    comes = And(s.holds(n), s.held(n) == v, s.first(s.view(n)) == n)
    return Implies(waits, Or(has_it, comes))


LATCHES: Final = (
    Conjunct(
        "OpenIsReleased",
        "Who goes on in a merged view does so when the leader has let all go on.",
        ("process",),
        lambda s, n: Implies(
            And(s.running(n), Not(s.latched(n)), s.merged(s.view(n))),
            s.released(s.union(s.view(n))),
        ),
        lambda s, n: [s.latched(n)],
    ),
    Conjunct(
        "AnswersAreReleased",
        "Who enters a merge from a merged view does so when that one's leader has let all go on.",
        ("process",),
        lambda s, n: Implies(
            And(answers(s, n), s.merged(s.view(n))), s.released(s.union(s.view(n)))
        ),
        lambda s, n: [s.stage(n)],
    ),
    Conjunct(
        "ReleasedAllHaveIt",
        "When a leader lets all go on, all have installed the merged view.",
        ("union", "process"),
        lambda s, u, p: Implies(
            And(s.released(u), s.running(p), s.inside(s.result(u), p)), s.been(p, s.result(u))
        ),
        lambda s, u, p: [
            (s.released(u), s.been(p, s.result(u))),
            (s.released(u), s.inside(s.result(u), p)),
        ],
    ),
    Conjunct(
        "ReleasedIsOver",
        "A leader that lets all go on has decided that merge, and has it behind it.",
        ("union",),
        lambda s, u: Implies(s.released(u), And(s.decided(u), Not(takes_part(s, s.leader(u), u)))),
        lambda s, u: [s.released(u)],
    ),
    Conjunct(
        "ResumesAreReleased",
        "RESUME is sent to participants when the leader has let all go on.",
        ("union", "process"),
        lambda s, u, c: Implies(
            s.resumes(u, c), And(s.released(u), s.took(c, u), s.leader(u) != c)
        ),
        lambda s, u, c: [s.resumes(u, c)],
    ),
    Conjunct(
        "LeaderHasItsView",
        "A leader that has its merge's view, and the merge behind it, has let all go on.",
        ("process",),
        lambda s, n: Implies(
            And(
                s.running(n),
                s.merged(s.view(n)),
                s.leader(s.union(s.view(n))) == n,
                Not(takes_part(s, n, s.union(s.view(n)))),
            ),
            s.released(s.union(s.view(n))),
        ),
        lambda s, n: [s.stage(n), s.view(n)],
    ),
    Conjunct(
        "BeenIsBelow",
        "A member has installed its view, and nothing with a larger number.",
        ("process", "group"),
        lambda s, p, v: And(
            s.been(p, s.view(p)), Implies(s.been(p, v), s.number(v) <= s.number(s.view(p)))
        ),
        lambda s, p, v: [s.been(p, v)],
    ),
    Conjunct(
        "NoComer",
        "Nobody comes into the view of a side that has answered.",
        ("process", "process"),
        _no_comer,
        lambda s, n, p: [(s.stage(n), s.held(p))],
    ),
    Conjunct(
        "SideIsClosed",
        "A side that has answered is suspended by its coordinator.",
        ("process", "process"),
        _side_is_closed,
        lambda s, n, p: [(s.stage(n), s.latch(p)), (s.stage(n), s.latched(p))],
    ),
    Conjunct(
        "HolderIsClosed",
        "Who holds a view ready is suspended; for a merged view, by its coordinator.",
        ("process",),
        _holder_is_closed,
        lambda s, p: [s.held(p)],
    ),
    Conjunct(
        "FirstOfHolder",
        "Of who holds a merged view ready, the coordinator holds it, too, or waits in it.",
        ("process",),
        _first_of_holder,
        lambda s, p: [s.held(p)],
    ),
    Conjunct(
        "WhoClosedIt",
        "Of who waits in a merged view, the coordinator it had waits there, too, or holds it.",
        ("process",),
        _who_closed_it,
        lambda s, p: [s.latch(p)],
    ),
    Conjunct(
        "SaysIsInto",
        "INSTALLED is sent by participants of a merge that was decided.",
        ("union", "process"),
        lambda s, u, c: Implies(s.says(u, c), And(s.decided(u), s.into(u, c), s.leader(u) != c)),
        lambda s, u, c: [s.says(u, c)],
    ),
    Conjunct(
        "InstallerIsInto",
        "Who installs the view of a merge is in it; a leader is not left out.",
        ("process",),
        lambda s, n: Implies(
            installs(s, n),
            And(
                s.decided(s.merge(n)),
                s.into(s.merge(n), n),
                Not(And(leads(s, n), s.stage(n) == CANCELLED)),
            ),
        ),
        lambda s, n: [s.stage(n), s.merge(n)],
    ),
    Conjunct(
        "ToldOthers",
        "CANCEL is sent to others, of a merge that has been begun.",
        ("union", "process"),
        lambda s, u, c: Implies(s.told(u, c), And(s.begun(u), s.leader(u) != c)),
        lambda s, u, c: [s.told(u, c)],
    ),
    Conjunct(
        "LeaderGetsItsView",
        "A leader whose merge was decided holds its view ready, or has one with no smaller number.",
        ("union",),
        lambda s, u: Implies(
            And(s.decided(u), s.running(s.leader(u))),
            Or(
                And(
                    s.holds(s.leader(u)),
                    s.held(s.leader(u)) == s.result(u),
                    s.stage(s.leader(u)) == INSTALLING,
                    s.merge(s.leader(u)) == u,
                ),
                s.number(s.view(s.leader(u))) >= s.number(s.result(u)),
            ),
        ),
        lambda s, u: [s.decided(u)],
    ),
    Conjunct(
        "ParticipantsAreNotFirst",
        "A leader is in its merged view, and the first of that is no participant.",
        ("union",),
        lambda s, u: Implies(
            s.decided(u),
            And(
                s.inside(s.result(u), s.leader(u)),
                s.rank(s.first(s.result(u))) <= s.rank(s.leader(u)),
            ),
        ),
        lambda s, u: [s.result(u)],
    ),
)
