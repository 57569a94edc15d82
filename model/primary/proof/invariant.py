"""The inductive invariant of PRIMARY's proof."""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, World

from .words import (
    ASKING,
    ATTEMPTING,
    NONE,
    PRIMARY,
    before,
    knows_so_far,
)


def remembers(s: World, p: Expr, x: Expr) -> Expr:
    """p remembers that it has attempted x, or knows of something later."""
    return Or(s.attempts(p, x), And(s.has(p), s.number(s.last(p)) >= s.number(x)))


def of_now(s: World, x: Expr) -> Expr:
    """x is of the present history, or an attempt to found from before it."""
    return Or(s.history(x) == s.now(), And(s.history(x) == x, s.number(x) < s.number(s.now())))


def shares(s: World, x: Expr, t: Expr) -> Expr:
    """A process is a member of both."""
    return s.exists(["process"], lambda p: And(s.member(x, p), s.member(t, p)))


def one_between(s: World, x: Expr, t: Expr) -> Expr:
    """A primary view of their history has a number between theirs."""
    return s.exists(
        ["session"],
        lambda z: And(
            *(s.primary(z), s.history(z) == s.history(t)),
            *(s.number(x) < s.number(z), s.number(z) < s.number(t)),
        ),
    )


VIEWS: Final = (
    Conjunct(
        "InItsView",
        "A process is a member of its view, which has begun.",
        ("process",),
        lambda s, p: Implies(s.stage(p) != NONE, And(s.begun(s.view(p)), s.member(s.view(p), p))),
        lambda s, p: [s.stage(p), s.view(p)],
    ),
    Conjunct(
        "ViewsRise",
        "A member of a view is in it, or in a later one.",
        ("session", "process"),
        lambda s, w, p: Implies(
            And(s.begun(w), s.member(w, p)),
            And(s.stage(p) != NONE, s.born(w) <= s.born(s.view(p))),
        ),
        lambda s, w, p: [(s.begun(w), s.member(w, p))],
    ),
    Conjunct(
        "BegunByNow",
        "A view that has begun is one of those that there were.",
        ("session",),
        lambda s, w: Implies(s.begun(w), s.born(w) <= s.clock()),
        lambda s, w: [s.begun(w)],
    ),
    Conjunct(
        "AllBegan",
        "All live sessions up to now have begun.",
        ("session",),
        lambda s, w: Implies(And(s.live(w), s.born(w) <= s.clock()), s.begun(w)),
        lambda s, w: [(s.live(w), s.born(w))],
    ),
    Conjunct(
        "TellsWhatItRemembers",
        "A process that asks has told what it remembers.",
        ("process",),
        lambda s, p: Implies(
            s.stage(p) == ASKING,
            And(
                s.knows(s.view(p), p) == s.has(p),
                Implies(s.has(p), s.told(s.view(p), p) == s.last(p)),
            ),
        ),
        lambda s, p: [s.stage(p), s.view(p)],
    ),
    Conjunct(
        "TellsItsAttempts",
        "A process that asks has told what it has attempted.",
        ("process", "session"),
        lambda s, p, x: Implies(s.stage(p) == ASKING, s.tells(s.view(p), p, x) == s.attempts(p, x)),
        lambda s, p, x: [s.attempts(p, x), s.tells(s.view(p), p, x)],
    ),
)

ATTEMPTS: Final = (
    Conjunct(
        "TriedInIt",
        "Who has attempted a session is a member of it, and has come to that stage if it is there.",
        ("session", "process"),
        lambda s, x, p: Implies(
            s.tried(x, p),
            And(
                *(s.begun(x), s.member(x, p)),
                Implies(s.view(p) == x, Or(s.stage(p) == ATTEMPTING, s.stage(p) == PRIMARY)),
            ),
        ),
        lambda s, x, p: [s.tried(x, p)],
    ),
    Conjunct(
        "AttemptsItsView",
        "Who attempts its view, or has formed it, has said so.",
        ("process",),
        lambda s, p: And(
            Implies(s.stage(p) == ATTEMPTING, s.tried(s.view(p), p)),
            Implies(s.stage(p) == PRIMARY, s.formed(s.view(p), p)),
        ),
        lambda s, p: [s.stage(p), s.view(p)],
    ),
    Conjunct(
        "AttemptsWereTried",
        "What a process remembers to have attempted, it has.",
        ("process", "session"),
        lambda s, p, x: Implies(s.attempts(p, x), s.tried(x, p)),
        lambda s, p, x: [s.attempts(p, x)],
    ),
    Conjunct(
        "ToldAttemptsWereTried",
        "What a member has told to have attempted, it had attempted in an earlier view.",
        ("session", "process", "session"),
        lambda s, w, p, x: Implies(
            And(s.begun(w), s.member(w, p), s.tells(w, p, x)),
            And(s.tried(x, p), s.born(x) < s.born(w)),
        ),
        lambda s, w, p, x: [(s.begun(w), s.tells(w, p, x))],
    ),
    Conjunct(
        "LiveWereTried",
        "Who has left the view of a live session has attempted it.",
        ("session", "process"),
        lambda s, x, p: Implies(
            And(s.live(x), s.begun(x), s.member(x, p), s.view(p) != x), s.tried(x, p)
        ),
        lambda s, x, p: [(s.live(x), s.member(x, p))],
    ),
    Conjunct(
        "KeeperForms",
        "The keeper of a live session has not left its view, or has formed it.",
        ("session",),
        lambda s, x: Implies(
            And(s.live(x), s.begun(x), s.view(s.keeper(x)) != x), s.formed(x, s.keeper(x))
        ),
        lambda s, x: [s.live(x), s.keeper(x)],
    ),
)

MEMORY: Final = (
    Conjunct(
        "PrimaryIsLive",
        "What is primary is live.",
        ("session",),
        lambda s, x: Implies(s.primary(x), And(s.live(x), s.begun(x))),
        lambda s, x: [s.primary(x)],
    ),
    Conjunct(
        "AllHaveTried",
        "All members have attempted what somebody has formed.",
        ("session", "process"),
        lambda s, x, q: Implies(And(s.primary(x), s.member(x, q)), s.tried(x, q)),
        lambda s, x, q: [(s.primary(x), s.member(x, q))],
    ),
    Conjunct(
        "LastIsPrimary",
        "The last primary view of which a process knows is one.",
        ("process",),
        lambda s, p: Implies(s.has(p), s.primary(s.last(p))),
        lambda s, p: [s.has(p), s.last(p)],
    ),
    Conjunct(
        "ToldIsPrimary",
        "What a member has told to be the last primary view is one.",
        ("session", "process"),
        lambda s, w, p: Implies(
            And(s.begun(w), s.member(w, p), s.knows(w, p)),
            And(s.primary(s.told(w, p)), s.born(s.told(w, p)) < s.born(w)),
        ),
        lambda s, w, p: [(s.begun(w), s.told(w, p))],
    ),
    Conjunct(
        "FormerKnows",
        "Who has formed a primary view knows of it, or of a later one.",
        ("session", "process"),
        lambda s, x, p: Implies(s.formed(x, p), And(s.has(p), s.number(s.last(p)) >= s.number(x))),
        lambda s, x, p: [s.formed(x, p)],
    ),
    Conjunct(
        "FormerTells",
        "... and tells so in every later view.",
        ("session", "process", "session"),
        lambda s, x, p, w: Implies(
            And(s.formed(x, p), s.begun(w), s.member(w, p), s.born(x) < s.born(w)),
            knows_so_far(s, w, p, x),
        ),
        lambda s, x, p, w: [(s.formed(x, p), s.member(w, p)), (s.formed(x, p), s.told(w, p))],
    ),
    Conjunct(
        "AttemptIsLatest",
        "What a process attempts has a larger number than the last primary view that it knows.",
        ("process",),
        lambda s, p: Implies(
            And(s.stage(p) == ATTEMPTING, s.has(p)), s.number(s.last(p)) < s.number(s.view(p))
        ),
        lambda s, p: [s.stage(p), s.last(p)],
    ),
    Conjunct(
        "LiveIsRemembered",
        "Who has attempted a live session remembers it, or knows of a later one.",
        ("session", "process"),
        lambda s, x, p: Implies(And(s.live(x), s.tried(x, p)), remembers(s, p, x)),
        lambda s, x, p: [(s.live(x), s.tried(x, p))],
    ),
    Conjunct(
        "LiveIsTold",
        "... and tells so in every later view.",
        ("session", "process", "session"),
        lambda s, x, p, w: Implies(
            And(
                *(s.live(x), s.begun(x), s.member(x, p)),
                *(s.begun(w), s.member(w, p), s.born(x) < s.born(w)),
            ),
            Or(s.tells(w, p, x), knows_so_far(s, w, p, x)),
        ),
        lambda s, x, p, w: [(s.live(x), s.member(x, p), s.begun(w), s.member(w, p))],
    ),
)

HISTORIES: Final = (
    Conjunct(
        "KnownIsOfNow",
        "Whatever primary view a process knows is of the present history.",
        ("process",),
        lambda s, p: Implies(And(Not(s.down(p)), s.has(p)), s.history(s.last(p)) == s.now()),
        lambda s, p: [s.has(p), s.last(p)],
    ),
    Conjunct(
        "ToldIsOfNow",
        "... and so is what it is told in the view in which it asks.",
        ("process", "process"),
        lambda s, p, q: Implies(
            And(
                *(Not(s.down(p)), s.stage(p) == ASKING, s.member(s.view(p), q)),
                s.knows(s.view(p), q),
            ),
            s.history(s.told(s.view(p), q)) == s.now(),
        ),
        lambda s, p, q: [s.told(s.view(p), q)],
    ),
    Conjunct(
        "AttemptIsOfNow",
        "What a process attempts is of the present history, or an earlier attempt to found.",
        ("process", "session"),
        lambda s, p, x: Implies(And(Not(s.down(p)), s.attempts(p, x)), of_now(s, x)),
        lambda s, p, x: [s.attempts(p, x)],
    ),
    Conjunct(
        "ToldAttemptIsOfNow",
        "... and so is what it is told in the view in which it asks.",
        ("process", "process", "session"),
        lambda s, p, q, x: Implies(
            And(
                *(Not(s.down(p)), s.stage(p) == ASKING, s.member(s.view(p), q)),
                s.tells(s.view(p), q, x),
            ),
            of_now(s, x),
        ),
        lambda s, p, q, x: [s.tells(s.view(p), q, x)],
    ),
    Conjunct(
        "AttemptingIsOfNow",
        "Who attempts its view does so in the present history.",
        ("process",),
        lambda s, p: Implies(
            And(Not(s.down(p)), s.stage(p) == ATTEMPTING),
            And(
                s.history(s.view(p)) == s.now(),
                s.number(s.now()) <= s.number(s.view(p)),
            ),
        ),
        lambda s, p: [s.stage(p), s.view(p)],
    ),
    Conjunct(
        "GoesOnFromKnown",
        "Who has attempted what does not found knows of a primary view.",
        ("process", "session"),
        lambda s, p, x: Implies(And(s.attempts(p, x), s.history(x) != x), s.has(p)),
        lambda s, p, x: [s.attempts(p, x)],
    ),
    Conjunct(
        "ToldGoesOnFromKnown",
        "... and tells of one.",
        ("session", "process", "session"),
        lambda s, w, p, x: Implies(
            And(s.begun(w), s.member(w, p), s.tells(w, p, x), s.history(x) != x), s.knows(w, p)
        ),
        lambda s, w, p, x: [(s.begun(w), s.tells(w, p, x))],
    ),
    Conjunct(
        "NumbersOfAHistory",
        "The number of a primary view is at least that of the one that founds its history.",
        ("session",),
        lambda s, x: Implies(s.primary(x), s.number(s.history(x)) <= s.number(x)),
        lambda s, x: [s.primary(x)],
    ),
    Conjunct(
        "FounderIsFirst",
        "No live session began before the one that founds its history.",
        ("session",),
        lambda s, x: Implies(
            And(s.live(x), s.begun(x)),
            And(s.begun(s.history(x)), s.born(s.history(x)) <= s.born(x)),
        ),
        lambda s, x: [s.live(x)],
    ),
)


def _one_was_there(s: World, t: Expr) -> list[Expr]:
    """Say, step by step, that a member of t has attempted the session of which t is not told."""
    gap = s.gap(t)
    prev = s.prev(gap)
    both = s.meet(t, gap, prev)
    later = s.born(s.learned(t)) < s.born(gap)
    return [
        s.history(t) == t,
        Or(s.history(t) == t, s.history(s.learned(t)) == s.history(t)),
        later,
        And(later, s.quorum(gap, prev)),
        And(later, s.quorum(t, prev)),
        And(later, s.member(t, both), s.tried(gap, both)),
    ]


_GROUNDS: Final = (
    *("InItsView", "ViewsRise", "BegunByNow", "AllBegan"),
    *("TriedInIt", "LiveWereTried", "KeeperForms", "PrimaryIsLive", "LastIsPrimary"),
    *("FormerKnows", "LiveIsRemembered", "KnownIsOfNow", "AttemptIsOfNow", "NumbersOfAHistory"),
    *("FounderIsFirst", "NoGap", "TheOneBefore", "NumbersRise"),
)
"""From these a new view is shown to fit the chain: they say nothing of what other views tell."""


CHAIN: Final = (
    Conjunct(
        "NoGap",
        "In a live session all earlier ones of its history are told.",
        ("session",),
        lambda s, t: Implies(And(s.begun(t), s.live(t)), Not(s.gapped(t))),
        lambda s, t: [s.live(t)],
        _one_was_there,
        rests_on=_GROUNDS,
    ),
    Conjunct(
        "TheOneBefore",
        "A live session in which all earlier ones are told has a majority of the one before it.",
        ("session", "session"),
        lambda s, x, t: Implies(
            And(s.begun(t), before(s, x, t), Not(s.gapped(t))), s.quorum(t, s.prev(t))
        ),
        lambda s, x, t: [(s.live(x), s.prev(t))],
        rests_on=_GROUNDS,
    ),
    Conjunct(
        "NumbersRise",
        "... and a larger number than they have.",
        ("session", "session"),
        lambda s, x, t: Implies(
            And(s.begun(t), before(s, x, t), Not(s.gapped(t))), s.number(x) < s.number(t)
        ),
        lambda s, x, t: [(s.live(x), s.live(t))],
    ),
    Conjunct(
        "OneAfter",
        "... and then the one after an earlier one has begun.",
        ("session", "session"),
        lambda s, x, t: Implies(
            And(s.begun(t), before(s, x, t), Not(s.gapped(t))),
            And(
                *(s.begun(s.later(x)), before(s, x, s.later(x))),
                s.prev(s.later(x)) == x,
            ),
        ),
        lambda s, x, t: [(s.live(t), s.later(x)), (s.primary(x), s.primary(t))],
    ),
    Conjunct(
        "Linked",
        "... and shares a member with it, or knows of a primary view between them.",
        ("session", "session"),
        lambda s, x, t: Implies(
            And(s.begun(t), before(s, x, t), Not(s.gapped(t))),
            Or(
                And(s.member(t, s.cover(t, x)), s.tells(t, s.cover(t, x), x)),
                s.quorum(t, x),
                And(
                    *(s.primary(s.learned(t)), s.history(s.learned(t)) == s.history(t)),
                    s.number(x) < s.number(s.learned(t)),
                    s.number(s.learned(t)) < s.number(t),
                ),
            ),
        ),
        lambda s, x, t: [(s.live(x), s.cover(t, x)), (s.primary(x), s.primary(t))],
    ),
)

INVARIANT: Final = (*VIEWS, *ATTEMPTS, *MEMORY, *HISTORIES, *CHAIN)
