"""The inductive invariant of RING_START's proof."""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Not, World

from .late import LATE
from .words import ASKING, ATTEMPTING, MEMBER, holds, is_founder, lost, quiet


def _remembers(s: World, f: Expr, p: Expr) -> Expr:
    """p is a member that has recorded f, and has not lost its memory, or is back."""
    return And(s.member(p), s.tried(f, p), Not(lost(s, p)))


RECORDS: Final = (
    Conjunct(
        "LivesCount",
        "Memories are lost a number of times.",
        ("process",),
        lambda s, p: s.memory(p) >= 0,
        lambda s, p: [s.memory(p)],
    ),
    Conjunct(
        "TriedInALife",
        "Who has recorded a founding was one of its founders, and has not forgotten that it has if"
        " it is in that life.",
        ("founding", "process"),
        lambda s, f, p: Implies(
            s.tried(f, p),
            And(
                *(s.founder(f, p), s.life(f, p) >= 0, s.life(f, p) <= s.memory(p)),
                Implies(s.life(f, p) == s.memory(p), holds(s, p)),
            ),
        ),
        lambda s, f, p: [s.tried(f, p)],
    ),
    Conjunct(
        "TriedWasProposed",
        "What was recorded was proposed.",
        ("founding", "process"),
        lambda s, f, p: Implies(s.tried(f, p), s.proposed(f)),
        lambda s, f, p: [s.tried(f, p)],
    ),
    Conjunct(
        "AttemptsWhatItTried",
        "Who attempts a founding is one of its founders, and has recorded it.",
        ("process",),
        lambda s, p: Implies(
            s.stage(p) == ATTEMPTING, And(is_founder(s, p, s.ring(p)), s.tried(s.ring(p), p))
        ),
        lambda s, p: [s.stage(p), s.ring(p)],
    ),
    Conjunct(
        "HeardHadTried",
        "Who was heard to attempt a founding has recorded it.",
        ("process", "process"),
        lambda s, n, p: Implies(
            And(s.heard(n, p), s.heard_stage(n, p) == ATTEMPTING), s.tried(s.heard_ring(n, p), p)
        ),
        lambda s, n, p: [s.heard(n, p), s.heard_ring(n, p)],
    ),
    Conjunct(
        "MembersAreInIt",
        "Who is in a ring is in one whose founding was complete.",
        ("process",),
        lambda s, p: Implies(s.stage(p) == MEMBER, s.done(s.ring(p))),
        lambda s, p: [s.stage(p), s.ring(p)],
    ),
    Conjunct(
        "DoneByMajority",
        "A majority has recorded a founding that was complete.",
        ("founding", "process"),
        lambda s, f, p: Implies(And(s.done(f), s.voter(s.by(f), p)), s.tried(f, p)),
        lambda s, f, p: [(s.done(f), s.voter(s.by(f), p))],
    ),
    Conjunct(
        "SpokenIsDone",
        "Nobody speaks in a ring before its founding is complete.",
        ("founding", "process"),
        lambda s, f, p: Implies(s.spoken(f, p), s.done(f)),
        lambda s, f, p: [s.spoken(f, p)],
    ),
    Conjunct(
        "GoneIsOver",
        "A founder that is gone is an earlier life.",
        ("founding", "process"),
        lambda s, f, p: Implies(s.gone(f, p), s.life(f, p) < s.memory(p)),
        lambda s, f, p: [s.gone(f, p)],
    ),
    Conjunct(
        "MajorityRemembers",
        "A majority has never lost its memory, or is back.",
        ("process",),
        lambda s, p: Implies(s.voter(s.kept(), p), Not(lost(s, p))),
        lambda s, p: [s.voter(s.kept(), p)],
    ),
    Conjunct(
        "SomebodyRemembers",
        "One of them has recorded any founding that was complete.",
        ("founding",),
        lambda s, f: Implies(s.done(f), _remembers(s, f, s.meet(s.by(f), s.kept()))),
        lambda s, f: [s.done(f)],
    ),
    Conjunct(
        "FoundersAreMembers",
        "The founders of what was proposed are members.",
        ("founding", "process"),
        lambda s, f, p: Implies(And(s.proposed(f), s.founder(f, p)), s.member(p)),
        lambda s, f, p: [(s.proposed(f), s.founder(f, p))],
    ),
)

TWICE: Final = (
    Conjunct(
        "FirstWasAsking",
        "When the first member began to ask again, it had recorded nothing.",
        (),
        lambda s: Implies(s.again(s.first()), s.was_asking(s.first())),
    ),
    Conjunct(
        "HeardOfALife",
        "Who was heard is in that life, or in a later one.",
        ("process", "process"),
        lambda s, n, p: Implies(s.heard(n, p), s.heard_life(n, p) <= s.memory(p)),
        lambda s, n, p: [s.heard(n, p), s.heard_life(n, p)],
    ),
    Conjunct(
        "OnceBefore",
        "Who had answered once was not in a later life than it was then.",
        ("process",),
        lambda s, p: Implies(
            And(s.again(s.first()), s.member(p), p != s.first()),
            s.once_life(s.first(), p) <= s.was_life(p),
        ),
        lambda s, p: [s.once_life(s.first(), p), s.was_life(p)],
    ),
    Conjunct(
        "AsksAsThen",
        "Who asks, in the life in which it was when the first member asked again, asked then.",
        ("process",),
        lambda s, p: Implies(
            s.again(s.first()),
            And(
                s.was_life(p) <= s.memory(p),
                Implies(And(s.was_life(p) == s.memory(p), s.stage(p) == ASKING), s.was_asking(p)),
            ),
        ),
        lambda s, p: [s.was_life(p), s.was_asking(p), s.memory(p)],
    ),
    Conjunct(
        "HeardAskedThen",
        "... and so did whoever has been heard since to ask, in that life.",
        ("process",),
        lambda s, p: Implies(
            And(
                *(s.again(s.first()), s.heard(s.first(), p)),
                s.heard_stage(s.first(), p) == ASKING,
            ),
            And(
                s.was_life(p) <= s.heard_life(s.first(), p),
                Implies(s.heard_life(s.first(), p) == s.was_life(p), s.was_asking(p)),
            ),
        ),
        lambda s, p: [s.heard(s.first(), p), s.was_asking(p)],
    ),
    Conjunct(
        "NothingIsDone",
        "If no member had recorded anything then, no founding that there is by now is complete.",
        ("founding",),
        lambda s, f: Implies(
            And(s.again(s.first()), s.proposed(f), quiet(s)),
            Not(s.done(f)),
        ),
        lambda s, f: [s.proposed(f), s.done(f)],
    ),
    Conjunct(
        "NobodyHolds",
        "... and nobody has recorded any.",
        ("process",),
        lambda s, p: Implies(And(s.again(s.first()), quiet(s)), Not(holds(s, p))),
        lambda s, p: [s.stage(p)],
    ),
)

ONE: Final = (
    Conjunct(
        "LatestIsHeld",
        "What anybody has recorded, or is in, is the founding that was proposed last.",
        ("process",),
        lambda s, p: Implies(holds(s, p), s.ring(p) == s.latest()),
        lambda s, p: [s.stage(p), s.ring(p)],
    ),
    Conjunct(
        "LatestIsDone",
        "Only that one is complete.",
        ("founding",),
        lambda s, f: Implies(s.done(f), f == s.latest()),
        lambda s, f: [s.done(f)],
    ),
)

INVARIANT: Final = (*RECORDS, *TWICE, *LATE, *ONE)
