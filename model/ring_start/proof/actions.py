"""The actions of `spec/RingStart.tla`; each branch of an action is a transition."""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Or, Updates, World, merged, put

from .late import late_transitions
from .updates import F, N, P, Q, anew, asked, forgets_answers, lapses, recorded, speaks
from .words import ASKING, ATTEMPTING, LEFT, MEMBER, Basis, asks, is_founder, lost


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return all branches of all actions."""

    def never(stage: Expr) -> Expr:
        return stage == ASKING if basis.leaver_remembers else Or(stage == ASKING, stage == LEFT)

    def told(s: World, n: Expr, p: Expr) -> Expr:
        """The founding that p has recorded is one that n records, too."""
        return And(asks(s, n), s.stage(p) == ATTEMPTING, is_founder(s, n, s.ring(p)))

    def hears(s: World, n: Expr, p: Expr) -> Updates:
        return {
            "heard": put(s.heard, n, p, True),
            "heard_life": put(s.heard_life, n, p, s.memory(p)),
            "heard_stage": put(s.heard_stage, n, p, s.stage(p)),
            "heard_ring": put(s.heard_ring, n, p, s.ring(p)),
        }

    def all_never(s: World, n: Expr) -> Expr:
        """All members have answered that they have never been in the ring."""
        return s.forall(
            ["process"],
            lambda p: Implies(
                And(s.member(p), p != n), And(s.heard(n, p), never(s.heard_stage(n, p)))
            ),
            lambda p: [s.member(p), s.heard(n, p), s.was_asking(p)],
        )

    def asks_again(s: World, n: Expr) -> Expr:
        return And(n == s.first(), never(s.stage(n)), all_never(s, n))

    def proposes(s: World, n: Expr, f: Expr) -> Expr:
        as_before = s.forall(
            ["process"],
            lambda p: Implies(And(s.member(p), p != n), s.heard_life(n, p) == s.once_life(n, p)),
            lambda p: [s.member(p), s.heard(n, p), s.was_asking(p)],
        )
        founders = s.forall(
            ["process"],
            lambda p: And(
                s.founder(f, p) == s.member(p),
                Implies(s.member(p), s.life(f, p) == If(p == n, s.memory(n), s.heard_life(n, p))),
            ),
            lambda p: [s.founder(f, p), s.life(f, p), s.member(p)],
        )
        twice = And(s.again(n), as_before) if basis.asks_twice else True
        return And(n == s.first(), never(s.stage(n)), all_never(s, n), twice, founders)

    def proposes_by_majority(s: World, n: Expr, f: Expr) -> Expr:
        q = s.kept()  # some majority
        return And(
            *(s.member(n), never(s.stage(n))),
            s.forall(
                ["process"],
                lambda p: Implies(
                    And(s.voter(q, p), p != n), And(s.heard(n, p), never(s.heard_stage(n, p)))
                ),
                lambda p: [s.voter(q, p)],
            ),
            s.forall(
                ["process"],
                lambda p: And(
                    s.founder(f, p) == Or(p == n, And(s.member(p), s.heard(n, p))),
                    Implies(
                        s.founder(f, p),
                        s.life(f, p) == If(p == n, s.memory(n), s.heard_life(n, p)),
                    ),
                ),
                lambda p: [s.founder(f, p), s.life(f, p)],
            ),
        )

    def completes(s: World, n: Expr, q: Expr) -> Expr:
        by_all = s.forall(
            ["process"],
            lambda p: Implies(
                And(s.voter(q, p), p != n),
                And(
                    *(s.heard(n, p), s.heard_stage(n, p) == ATTEMPTING),
                    s.heard_ring(n, p) == s.ring(n),
                ),
            ),
            lambda p: [s.voter(q, p)],
        )
        return And(s.stage(n) == ATTEMPTING, by_all if basis.records else True)

    def may_forget(s: World, n: Expr, q: Expr) -> Expr:
        if not basis.majority_keeps:
            return True
        return s.forall(
            ["process"],
            lambda p: Implies(s.voter(q, p), And(p != n, Not(lost(s, p)))),
            lambda p: [s.voter(q, p)],
        )

    return (
        Transition(
            "Hear",
            "a member of the ring",
            (N, P),
            lambda s, n, p: And(asked(s, n, p), s.stage(p) == MEMBER),
            lambda s, n, p: merged(
                forgets_answers(s, n), recorded(s, n, s.ring(p)), speaks(s, n, s.ring(p))
            ),
        ),
        Transition(
            "Hear",
            "a founding of its own",
            (N, P),
            lambda s, n, p: And(asked(s, n, p), told(s, n, p)),
            lambda s, n, p: merged(
                hears(s, n, p),
                recorded(s, n, s.ring(p)),
                {"stage": put(s.stage, n, ATTEMPTING), "again": put(s.again, n, False)},
            ),
        ),
        Transition(
            "Hear",
            "neither",
            (N, P),
            lambda s, n, p: And(asked(s, n, p), s.stage(p) != MEMBER, Not(told(s, n, p))),
            lambda s, n, p: merged(
                hears(s, n, p), {"late": lambda w: And(s.late(w), Not(lapses(s, n, p, w, basis)))}
            ),
        ),
        Transition(
            "Hear",
            "all have answered once",
            (N,),
            asks_again,
            lambda s, n: {
                "again": put(s.again, n, True),
                "heard": lambda m, p: And(m != n, s.heard(m, p)),
                "once_life": lambda m, p: If(m == n, s.heard_life(n, p), s.once_life(m, p)),
                "was_life": s.memory,
                "was_asking": lambda p: s.stage(p) == ASKING,
                "strayed": lambda _p: False,
                "late": lambda w: And(s.to(w) != n, s.late(w)),
                "before": lambda _w: True,
            },
        ),
        Transition(
            "Hear",
            "proposes",
            (N, F),
            proposes if basis.found_needs else proposes_by_majority,
            lambda s, n, f: merged(
                recorded(s, n, f),
                {
                    "stage": put(s.stage, n, ATTEMPTING),
                    "again": put(s.again, n, False),
                    "proposed": put(s.proposed, f, True),
                    "latest": lambda: f,
                },
            ),
        ),
        Transition(
            "Hear",
            "completes",
            (N, Q),
            completes,
            lambda s, n, q: merged(
                forgets_answers(s, n),
                speaks(s, n, s.ring(n)),
                {"done": put(s.done, s.ring(n), True), "by": put(s.by, s.ring(n), q)},
            ),
        ),
        *late_transitions(basis),
        Transition("Crash", "", (N,), lambda _s, _n: True, forgets_answers),
        Transition(
            "Leave",
            "",
            (N,),
            lambda s, n: s.stage(n) == MEMBER,
            lambda s, n: anew(s, n, LEFT, basis),
        ),
        Transition(
            "Lose",
            "",
            (N, Q),
            may_forget,
            lambda s, n, q: merged(anew(s, n, ASKING, basis), {"kept": lambda: q}),
        ),
    )
