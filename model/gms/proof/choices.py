"""Part of GMS's invariant: the possible fates of a view that is decided (`choice`)."""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Implies, Or

from .words import FLUSHING, INSTALLING, ahead, heeds

CHOICES: Final = (
    Conjunct(
        "SurvivorsAnswered",
        "A member to which NEW_VIEW goes has answered PREPARE.",
        ("change", "process"),
        lambda s, c, p: Implies(And(s.proposed(c), s.survivor(c, p)), s.answered(c, p)),
        lambda s, c, p: [s.survivor(c, p)],
    ),
    Conjunct(
        "AllSurvive",
        "The leader proposes the next view to every running member.",
        ("process", "process"),
        lambda s, r, p: Implies(
            And(
                s.running(r),
                s.phase(r) == INSTALLING,
                s.number(s.proposal(s.change(r))) == s.number(s.top()) + 1,
                s.running(p),
                p != r,
            ),
            s.survivor(s.change(r), p),
        ),
        lambda s, r, p: [(s.running(r), s.running(p))],
    ),
    Conjunct(
        "ProposesChoice",
        "A leader proposes the last installed view or the last decided one.",
        ("process",),
        lambda s, r: Implies(
            And(s.running(r), s.phase(r) == INSTALLING),
            Or(
                s.proposal(s.change(r)) == s.top(),
                And(
                    s.proposal(s.change(r)) == s.choice(),
                    s.number(s.choice()) == s.number(s.top()) + 1,
                ),
            ),
        ),
        lambda s, r: [s.phase(r)],
    ),
    Conjunct(
        "OneAtATime",
        "A change that was proposed and is not installed is the leader's current change.",
        ("change",),
        lambda s, d: Implies(
            And(
                s.proposed(d),
                s.running(s.requester(d)),
                s.number(s.proposal(d)) == s.number(s.top()) + 1,
            ),
            And(
                s.phase(s.requester(d)) == INSTALLING,
                s.change(s.requester(d)) == d,
            ),
        ),
        lambda s, d: [s.proposed(d)],
    ),
    Conjunct(
        "HeedsChoice",
        "A view that a member may still accept is the last installed or the last decided one.",
        ("change", "process"),
        lambda s, d, p: Implies(
            And(heeds(s, p, d), s.number(s.proposal(d)) == s.number(s.view(p)) + 1),
            s.proposal(d) == ahead(s, p),
        ),
        lambda s, d, p: [s.survivor(d, p), (s.proposed(d), s.running(p))],
    ),
    Conjunct(
        "SaidChoice",
        "A view that a member reports to the leader is the last installed or the last decided one.",
        ("change", "process"),
        lambda s, c, p: Implies(
            And(
                s.answered(c, p),
                s.said_holds(c, p),
                s.running(s.requester(c)),
                s.phase(s.requester(c)) == FLUSHING,
                s.change(s.requester(c)) == c,
            ),
            Or(
                s.said_held(c, p) == s.top(),
                And(
                    s.said_held(c, p) == s.choice(),
                    s.number(s.choice()) == s.number(s.top()) + 1,
                ),
            ),
        ),
        lambda s, c, p: [s.answered(c, p)],
    ),
    Conjunct(
        "SaidIsTrue",
        "A member that holds a view beyond the last installed one has reported it to the current"
        " leader.",
        ("change", "process"),
        lambda s, c, p: Implies(
            And(
                s.answered(c, p),
                s.running(p),
                s.holds(p),
                s.view(p) == s.top(),
                s.running(s.requester(c)),
                s.phase(s.requester(c)) == FLUSHING,
                s.change(s.requester(c)) == c,
            ),
            s.said_holds(c, p),
        ),
        lambda s, c, p: [s.answered(c, p)],
    ),
)
