"""Part of GMS's invariant: a process that has answered a leader heeds none before it."""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Implies, Not, Or

from .words import FLUSHING, joins, knows

PROMISES: Final = (
    Conjunct(
        "Answers",
        "A member that has answered is running or has ended, and is bound to that leader or to a"
        " later one.",
        ("change", "process"),
        lambda s, c, p: Implies(
            s.answered(c, p),
            And(
                s.began(c),
                s.part(c, p),
                s.got(c, p),
                p != s.requester(c),
                Or(s.running(p), s.dead(p)),
                s.installed(s.said_view(c, p)),
                Implies(
                    s.said_holds(c, p),
                    And(
                        s.made(s.said_held(c, p)),
                        s.number(s.said_held(c, p)) > s.number(s.said_view(c, p)),
                    ),
                ),
                Implies(
                    s.running(p),
                    And(
                        s.bound(p),
                        s.rank(s.requester(c)) <= s.rank(s.promised(p)),
                        s.number(s.said_view(c, p)) <= s.number(s.view(p)),
                    ),
                ),
            ),
        ),
        lambda s, c, p: [s.answered(c, p)],
    ),
    Conjunct(
        "Got",
        "A process that has accepted PREPARE is running or has ended.",
        ("change", "process"),
        lambda s, c, p: Implies(s.got(c, p), And(s.began(c), Or(s.running(p), s.dead(p)))),
        lambda s, c, p: [s.got(c, p)],
    ),
    Conjunct(
        "InOrder",
        "A member that has accepted PREPARE accepts no earlier PREPARE of that leader.",
        ("change", "change", "process"),
        lambda s, c, d, p: Implies(
            And(
                s.got(c, p),
                s.began(d),
                s.requester(d) == s.requester(c),
                s.attempt(d) <= s.attempt(c),
            ),
            s.got(d, p),
        ),
        lambda s, c, d, p: [(s.got(c, p), s.began(d))],
    ),
    Conjunct(
        "Bound",
        "A member is bound only to a process that has led.",
        ("process",),
        lambda s, p: Implies(And(s.running(p), s.bound(p)), s.led(s.promised(p))),
        lambda s, p: [s.bound(p), s.promised(p)],
    ),
    Conjunct(
        "EarlierAreUnknown",
        "A member that is bound to a leader takes every earlier leader for gone, or has no view"
        " with it.",
        ("process", "process"),
        lambda s, p, r: Implies(
            And(s.running(p), s.bound(p), s.led(r), s.rank(r) < s.rank(s.promised(p))),
            Not(knows(s, p, r)),
        ),
        lambda s, p, r: [(s.running(p), s.led(r))],
    ),
    Conjunct(
        "NotTakenUp",
        "While a member has not accepted PREPARE, the running leader's change is still at its"
        " first step.",
        ("change", "process"),
        lambda s, c, p: Implies(
            And(
                s.began(c),
                s.part(c, p),
                Not(s.dead(p)),
                s.running(s.requester(c)),
                p != s.requester(c),
                Not(s.got(c, p)),
            ),
            And(
                s.phase(s.requester(c)) == FLUSHING,
                s.of(c) == s.view(s.requester(c)),
            ),
        ),
        lambda s, c, p: [(s.began(c), s.dead(p)), s.part(c, p), s.got(c, p)],
    ),
    Conjunct(
        "StaleIsIgnored",
        "A PREPARE that a member may still accept is of the last view or of the one before it.",
        ("change", "process"),
        lambda s, c, p: Implies(
            And(
                s.began(c),
                s.part(c, p),
                s.running(p),
                p != s.requester(c),
                Not(s.got(c, p)),
                knows(s, p, s.requester(c)),
            ),
            Or(s.of(c) == s.top(), And(s.number(s.top()) >= 2, s.of(c) == s.base(s.top()))),
        ),
        lambda s, c, p: [(s.began(c), s.running(p)), s.part(c, p), s.got(c, p)],
    ),
    Conjunct(
        "FormerLeadersAreOut",
        "A process that led before another one decided a view is no member of that view.",
        ("group", "change"),
        lambda s, g, c: Implies(
            And(
                s.made(g),
                s.began(c),
                s.number(s.of(c)) + 1 < s.number(g),
                s.requester(c) != s.maker(g),
            ),
            Not(s.member(g, s.requester(c))),
        ),
        lambda s, g, c: [(s.made(g), s.began(c))],
    ),
    Conjunct(
        "NothingFromBefore",
        "A PREPARE from before a member's admission is ignored.",
        ("change", "process"),
        lambda s, c, p: Implies(
            And(
                s.began(c),
                s.running(p),
                s.number(s.of(c)) + 1 < s.admitted(p),
                s.requester(c) != s.admitter(p),
            ),
            Not(knows(s, p, s.requester(c))),
        ),
        lambda s, c, p: [(s.began(c), s.running(p))],
    ),
    Conjunct(
        "Admitters",
        "The process that admits a joiner is the one that decided the view.",
        ("group", "process"),
        lambda s, g, p: Implies(
            And(s.made(g), s.number(g) >= 2, joins(s, g, p)), s.admitter(p) == s.maker(g)
        ),
        lambda s, g, p: [s.member(g, p)],
    ),
)
