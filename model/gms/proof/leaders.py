"""Part of GMS's invariant: there is one leader at a time, and whom it asks."""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Implies, Not

from .words import FLUSHING, IDLE, INSTALLING

LEADERS: Final = (
    Conjunct(
        "LeadersInOrder",
        "A process that has led ranks before every member that has not ended.",
        ("process", "process"),
        lambda s, r, p: Implies(
            And(s.led(r), s.member(s.top(), p), Not(s.dead(p))), s.rank(r) <= s.rank(p)
        ),
        lambda s, r, p: [(s.led(r), s.member(s.top(), p)), (s.led(r), s.running(p))],
    ),
    Conjunct(
        "LeadersAreOld",
        "A process that has led was admitted with an installed view.",
        ("process",),
        lambda s, r: Implies(s.led(r), s.admitted(r) <= s.number(s.top())),
        lambda s, r: [s.led(r)],
    ),
    Conjunct(
        "Begun",
        "A change belongs to a leader in a view that it has installed, and its steps come in"
        " order.",
        ("change",),
        lambda s, c: And(
            Implies(
                s.began(c),
                And(
                    s.led(s.requester(c)),
                    s.installed(s.of(c)),
                    s.member(s.of(c), s.requester(c)),
                ),
            ),
            Implies(
                s.proposed(c),
                And(s.began(c), s.made(s.proposal(c))),
            ),
            Implies(s.sent(c), And(s.proposed(c), s.installed(s.proposal(c)))),
        ),
        lambda s, c: [s.began(c), s.proposed(c), s.sent(c)],
    ),
    Conjunct(
        "Leads",
        "The leader of a change is bound to itself.",
        ("process",),
        lambda s, r: Implies(
            And(s.running(r), s.phase(r) != IDLE),
            And(
                s.led(r),
                s.bound(r),
                s.promised(r) == r,
                s.began(s.change(r)),
                s.requester(s.change(r)) == r,
                Implies(
                    s.phase(r) == FLUSHING,
                    And(s.of(s.change(r)) == s.view(r), Not(s.proposed(s.change(r)))),
                ),
                Implies(s.phase(r) == INSTALLING, s.proposed(s.change(r))),
            ),
        ),
        lambda s, r: [s.phase(r)],
    ),
    Conjunct(
        "LatestAsks",
        "The current change of a leader is its latest.",
        ("change",),
        lambda s, d: Implies(
            And(
                s.began(d),
                s.running(s.requester(d)),
                s.phase(s.requester(d)) == FLUSHING,
            ),
            s.attempt(d) <= s.attempt(s.change(s.requester(d))),
        ),
        lambda s, d: [s.began(d)],
    ),
    Conjunct(
        "AllTakePart",
        "Every member of the leader's view takes part in its change, or has ended.",
        ("change", "process"),
        lambda s, c, p: Implies(
            And(s.began(c), s.member(s.of(c), p), Not(s.dead(p))), s.part(c, p)
        ),
        lambda s, c, p: [(s.began(c), s.member(s.of(c), p)), s.part(c, p)],
    ),
    Conjunct(
        "PartsAreMembers",
        "A participant is a member of the leader's view, and does not rank before the leader.",
        ("change", "process"),
        lambda s, c, p: Implies(
            And(s.began(c), s.part(c, p)),
            And(s.member(s.of(c), p), s.rank(s.requester(c)) <= s.rank(p)),
        ),
        lambda s, c, p: [s.part(c, p)],
    ),
    Conjunct(
        "PartOrGone",
        "A leader takes every member that it does not ask for gone.",
        ("process", "process"),
        lambda s, r, p: Implies(
            And(
                s.running(r),
                s.phase(r) == FLUSHING,
                s.member(s.view(r), p),
                Not(s.part(s.change(r), p)),
            ),
            s.gone(r, p),
        ),
        lambda s, r, p: [s.part(s.change(r), p), s.gone(r, p)],
    ),
)
