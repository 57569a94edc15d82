"""Answers that are late, in the proof of RING_START: what happens with them, and what is kept."""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct, Transition
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, Updates, World, merged, put

from .updates import N, P, W, asked, forgets_answers, lapses, recorded, speaks
from .words import ASKING, ATTEMPTING, MEMBER, Basis, asks, holds, is_founder, quiet


def _hears(s: World, w: Expr) -> Updates:
    n, p = s.to(w), s.by_whom(w)
    return {
        "heard": put(s.heard, n, p, True),
        "heard_life": put(s.heard_life, n, p, s.told_life(w)),
        "heard_stage": put(s.heard_stage, n, p, s.told_stage(w)),
        "heard_ring": put(s.heard_ring, n, p, s.told_ring(w)),
    }


def _told(s: World, w: Expr) -> Expr:
    n = s.to(w)
    return And(asks(s, n), s.told_stage(w) == ATTEMPTING, is_founder(s, n, s.told_ring(w)))


def late_transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return what happens with answers that are late."""
    return (
        Transition(
            "Delay",
            "",
            (N, P, W),
            lambda s, n, p, w: And(
                *(asked(s, n, p), s.to(w) == n, s.by_whom(w) == p),
                *(s.told_life(w) == s.memory(p), s.told_stage(w) == s.stage(p)),
                Or(asks(s, p), s.told_ring(w) == s.ring(p)),
            ),
            lambda s, n, p, w: {
                "late": lambda k: Or(k == w, And(s.late(k), Not(lapses(s, n, p, k, basis)))),
                "before": put(s.before, w, False),
            },
        ),
        Transition(
            "HearLate",
            "a member of the ring",
            (W,),
            lambda s, w: And(s.late(w), s.stage(s.to(w)) != MEMBER, s.told_stage(w) == MEMBER),
            lambda s, w: merged(
                forgets_answers(s, s.to(w)),
                recorded(s, s.to(w), s.told_ring(w)),
                speaks(s, s.to(w), s.told_ring(w)),
            ),
        ),
        Transition(
            "HearLate",
            "a founding of its own",
            (W,),
            lambda s, w: And(s.late(w), _told(s, w)),
            lambda s, w: merged(
                _hears(s, w),
                recorded(s, s.to(w), s.told_ring(w)),
                {
                    "stage": put(s.stage, s.to(w), ATTEMPTING),
                    "again": put(s.again, s.to(w), False),
                    "strayed": lambda p: Or(s.strayed(p), And(p == s.to(w), s.before(w))),
                },
            ),
        ),
        Transition(
            "HearLate",
            "neither",
            (W,),
            lambda s, w: And(s.late(w), s.stage(s.to(w)) != MEMBER, s.told_stage(w) != MEMBER),
            _hears,
        ),
    )


def _told_first(s: World, k: Expr) -> Expr:
    """The first member, which asks again, may hear this late: somebody asks."""
    return And(s.again(s.first()), s.late(k), s.to(k) == s.first(), s.told_stage(k) == ASKING)


LATE: Final = (
    Conjunct(
        "LateHadTried",
        "Who has told late that it attempts a founding has recorded it.",
        ("answer",),
        lambda s, w: Implies(
            And(s.late(w), s.told_stage(w) == ATTEMPTING), s.tried(s.told_ring(w), s.by_whom(w))
        ),
        lambda s, w: [s.late(w)],
    ),
    Conjunct(
        "LateMembersAreInIt",
        "Who has told late that it is in a ring was in one whose founding was complete.",
        ("answer",),
        lambda s, w: Implies(And(s.late(w), s.told_stage(w) == MEMBER), s.done(s.told_ring(w))),
        lambda s, w: [s.late(w)],
    ),
    Conjunct(
        "LateOfALife",
        "Who has told something late is in that life, or in a later one.",
        ("answer",),
        lambda s, w: Implies(s.late(w), s.told_life(w) <= s.memory(s.by_whom(w))),
        lambda s, w: [s.late(w)],
    ),
    Conjunct(
        "LateAskedThen",
        "Who has told the first member late that it asks asked when that one asked again, if it was"
        " in that life.",
        ("answer",),
        lambda s, k: Implies(
            _told_first(s, k),
            And(
                s.was_life(s.by_whom(k)) <= s.told_life(k),
                Implies(s.told_life(k) == s.was_life(s.by_whom(k)), s.was_asking(s.by_whom(k))),
            ),
        ),
        lambda s, k: [s.late(k)],
    ),
    Conjunct(
        "FirstHearsNoneBefore",
        "The first member, once it asks again, hears no answer from before.",
        ("answer",),
        lambda s, w: Implies(
            And(s.again(s.first()), s.late(w), s.to(w) == s.first()), Not(s.before(w))
        ),
        lambda s, w: [s.late(w)],
    ),
    Conjunct(
        "HeardAsksAnew",
        "Nor does whoever was heard since to ask.",
        ("answer",),
        lambda s, w: Implies(
            And(
                *(s.again(s.first()), s.late(w), s.heard(s.first(), s.to(w))),
                s.heard_stage(s.first(), s.to(w)) == ASKING,
            ),
            Not(s.before(w)),
        ),
        lambda s, w: [s.late(w)],
    ),
    Conjunct(
        "LateAsksAnew",
        "... or will be.",
        ("answer", "answer"),
        lambda s, k, w: Implies(
            And(_told_first(s, k), s.late(w), s.to(w) == s.by_whom(k)), Not(s.before(w))
        ),
        lambda s, k, w: [(s.late(k), s.late(w))],
    ),
    Conjunct(
        "BeforeOfThatLife",
        "Who may hear an answer from before is in the life in which it was then.",
        ("answer",),
        lambda s, w: Implies(
            And(s.again(s.first()), s.late(w), s.before(w)),
            s.memory(s.to(w)) == s.was_life(s.to(w)),
        ),
        lambda s, w: [s.late(w)],
    ),
    Conjunct(
        "StrayedHolds",
        "Who has recorded what it was told before has not forgotten that in that life.",
        ("process",),
        lambda s, p: Implies(
            And(s.again(s.first()), s.strayed(p), s.memory(p) == s.was_life(p)), holds(s, p)
        ),
        lambda s, p: [s.strayed(p)],
    ),
    Conjunct(
        "StrayedIsNotHeard",
        "The first member has not heard of it since that it asks, in that life.",
        ("process",),
        lambda s, p: Implies(
            And(
                *(s.again(s.first()), s.strayed(p), s.heard(s.first(), p)),
                s.heard_stage(s.first(), p) == ASKING,
            ),
            s.heard_life(s.first(), p) != s.was_life(p),
        ),
        lambda s, p: [s.strayed(p)],
    ),
    Conjunct(
        "StrayedHasNotTold",
        "... nor will it.",
        ("answer",),
        lambda s, k: Implies(
            And(_told_first(s, k), s.strayed(s.by_whom(k))),
            s.told_life(k) != s.was_life(s.by_whom(k)),
        ),
        lambda s, k: [s.late(k)],
    ),
    Conjunct(
        "FirstHasNotStrayed",
        "The first member, once it asks again, has recorded nothing that it was told before.",
        (),
        lambda s: Implies(s.again(s.first()), Not(s.strayed(s.first()))),
    ),
    Conjunct(
        "LateSinceHoldsNothing",
        "If no member had recorded anything then, nobody has told since that it has.",
        ("answer",),
        lambda s, w: Implies(
            And(s.again(s.first()), quiet(s), s.late(w), Not(s.before(w))),
            And(s.told_stage(w) != ATTEMPTING, s.told_stage(w) != MEMBER),
        ),
        lambda s, w: [s.late(w)],
    ),
    Conjunct(
        "LateIsLatest",
        "What a member may hear late to be attempted is the founding that was proposed last.",
        ("answer",),
        lambda s, w: Implies(
            And(s.late(w), s.told_stage(w) == ATTEMPTING, s.member(s.to(w))),
            s.told_ring(w) == s.latest(),
        ),
        lambda s, w: [s.late(w)],
    ),
)
