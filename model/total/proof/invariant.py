"""The inductive invariant of TOTAL's proof: members, and what has an id."""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, World

from .deliveries import DELIVERED
from .words import CRASHED, JOINING, been, leads, logged, running


def _lives(s: World, n: Expr) -> Expr:
    nothing = And(s.latest(n) == 0, s.seqno(n) == 0, s.heard(n) == 0, s.expected(n) == 0)
    here = And(s.first(n) >= 1, s.latest(n) == s.view(n), s.reached(n) == s.expected(n))
    return And(
        Implies(running(s, n), And(here, s.view(n) >= 1)),
        Implies(Not(running(s, n)), s.view(n) == 0),
        Implies(s.status(n) == JOINING, And(s.first(n) == 0, nothing)),
        *(s.status(n) >= JOINING, s.status(n) <= CRASHED, s.heard(n) >= 0),
        *(s.first(n) >= 0, s.first(n) <= s.latest(n)),
    )


def _log(s: World, v: Expr, i: Expr) -> Expr:
    p, m = s.log_from(v, i), s.log_number(v, i)
    return Implies(
        logged(s, v, i),
        And(
            *(been(s, p, v), m == s.base(p, v) + s.count(v, i, p), m <= s.seqno(p)),
            s.count(v, i, p) >= 1,
        ),
    )


def _rises(s: World, v: Expr, i: Expr, j: Expr, p: Expr) -> Expr:
    a, b = s.count(v, i, p), s.count(v, j, p)
    return Implies(
        And(i >= 0, i < j, j <= s.length(v)),
        And(a >= 0, a <= b, Implies(s.log_from(v, j) == p, a < b)),
    )


def _sequencer(s: World, n: Expr) -> Expr:
    v = s.view(n)
    sent = s.base(n, v) + s.count(v, s.length(v), n)
    return Implies(
        leads(s, n),
        And(
            s.next_id(n) == s.length(v) + 1,
            s.expected(n) == s.length(v) + 1,
            s.seqno(n) == sent,
        ),
    )


_ORDERED: Final = (
    Conjunct(
        "Lives",
        "A member has been in the views from its first one to its own; a joiner has done nothing.",
        ("process",),
        _lives,
        lambda s, n: [s.status(n), s.view(n), s.first(n), s.latest(n), s.heard(n)],
    ),
    Conjunct(
        "NotBefore",
        "It is in no view before its first one.",
        ("process", "view"),
        lambda s, n, v: Implies(And(v >= 1, v < s.first(n)), Not(s.member(v, n))),
        lambda s, n, v: [s.member(v, n)],
    ),
    Conjunct(
        "LogOfMembers",
        "What has an id was sent, by a process that is in the view, as the next of its messages.",
        ("view", "place"),
        _log,
        lambda s, v, i: [s.log_from(v, i), s.log_number(v, i)],
    ),
    Conjunct(
        "LogOfSequencer",
        "Nothing has an id before the sequencer has installed the view.",
        ("view",),
        lambda s, v: And(s.length(v) >= 0, Implies(s.length(v) > 0, been(s, s.sequencer(v), v))),
        lambda s, v: [s.length(v)],
    ),
    Conjunct(
        "CountBegins",
        "Nobody has a message before the first id.",
        ("view", "process"),
        lambda s, v, p: s.count(v, 0, p) == 0,
        lambda s, v, p: [s.count(v, 0, p)],
    ),
    Conjunct(
        "CountFollows",
        "The message with an id is one more of its sender's, and of nobody else's.",
        ("view", "place", "process"),
        lambda s, v, i, p: Implies(
            logged(s, v, i),
            s.count(v, i, p) == s.count(v, i - 1, p) + If(s.log_from(v, i) == p, 1, 0),
        ),
        lambda s, v, i, p: [s.count(v, i, p)],
    ),
    Conjunct(
        "CountRises",
        "With later ids a process has no fewer messages; more, if the last one is its own.",
        ("view", "place", "place", "process"),
        _rises,
        lambda s, v, i, j, p: [(s.count(v, i, p), s.count(v, j, p))],
    ),
    Conjunct(
        "Sequencer",
        "The sequencer has delivered all that it has given an id, and all its own messages.",
        ("process",),
        _sequencer,
        lambda s, n: [s.next_id(n), s.expected(n), s.view(n)],
    ),
    Conjunct(
        "Taken",
        "It has taken as many requests of another process as that has messages in the log.",
        ("process", "process"),
        lambda s, n, p: Implies(
            And(leads(s, n), p != n),
            s.taken(n, p) == s.count(s.view(n), s.length(s.view(n)), p),
        ),
        lambda s, n, p: [s.taken(n, p)],
    ),
    Conjunct(
        "Expected",
        "A member expects an id that was given, or the next one; so did one that has crashed.",
        ("process",),
        lambda s, n: Implies(
            s.first(n) >= 1,
            And(s.reached(n) >= 1, s.reached(n) <= s.length(s.latest(n)) + 1),
        ),
        lambda s, n: [s.expected(n), s.reached(n)],
    ),
    Conjunct(
        "Left",
        "Whoever has left a view has come to a later one, and has delivered what was given an id.",
        ("view",),
        lambda s, v: Implies(
            s.left(v),
            And(s.latest(s.leaver(v)) > v, s.cut(v) >= 0, s.cut(v) <= s.length(v)),
        ),
        lambda s, v: [s.left(v)],
    ),
    Conjunct(
        "SameCut",
        "Whoever is still in a view that was left has delivered the same of it.",
        ("process",),
        lambda s, n: Implies(
            And(running(s, n), s.left(s.view(n))), s.expected(n) == s.cut(s.view(n)) + 1
        ),
        lambda s, n: [s.view(n)],
    ),
    Conjunct(
        "GoesOn",
        "A process has left all views before its latest.",
        ("process", "view"),
        lambda s, p, v: Implies(And(been(s, p, v), v < s.latest(p)), s.left(v)),
        lambda s, p, v: [(s.left(v), s.latest(p)), (s.base(p, v), s.latest(p))],
    ),
    Conjunct(
        "BasesRise",
        "It has delivered no fewer of its own messages at the beginning of a later view.",
        ("process", "view", "view"),
        lambda s, p, v, w: Implies(
            And(been(s, p, v), been(s, p, w), v < w),
            s.base(p, v) + s.count(v, s.cut(v), p) <= s.base(p, w),
        ),
        lambda s, p, v, w: [(s.base(p, v), s.base(p, w))],
    ),
    Conjunct(
        "CountOfMembers",
        "Only a process that has installed the view has messages in its log.",
        ("process", "view", "place"),
        lambda s, p, v, i: Implies(
            And(i >= 0, i <= s.length(v)),
            And(s.count(v, i, p) >= 0, Implies(s.count(v, i, p) > 0, been(s, p, v))),
        ),
        lambda s, p, v, i: [s.count(v, i, p)],
    ),
    Conjunct(
        "CountIsSent",
        "It has sent as many as it has delivered before the view, and has in the log.",
        ("process", "view"),
        lambda s, p, v: Implies(
            been(s, p, v),
            And(s.base(p, v) >= 0, s.base(p, v) + s.count(v, s.length(v), p) <= s.seqno(p)),
        ),
        lambda s, p, v: [s.base(p, v)],
    ),
)

INVARIANT: Final = (*_ORDERED, *DELIVERED)
