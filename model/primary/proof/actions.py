"""The actions of `spec/Primary.tla`; each branch of an action is a transition."""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Or, Updates, World, merged, put

from .words import (
    ASKING,
    ATTEMPTING,
    NONE,
    PRIMARY,
    REFUSED,
    Basis,
    before,
    continues,
    continues_unknown,
    founding,
    has_gap,
    knowing,
    nothing_known,
    refuted,
)

_N = ("n", "process")
_W = ("w", "session")


def _leaves(s: World, p: Expr, w: Expr) -> Expr:
    """p can leave its view, as it was foretold, and what it will tell in w is what it remembers."""
    x = s.view(p)
    return And(
        Not(s.down(p)),
        Implies(
            And(s.stage(p) != NONE, s.live(x)),
            And(s.tried(x, p), Implies(p == s.keeper(x), s.formed(x, p))),
        ),
        s.knows(w, p) == s.has(p),
        Implies(s.has(p), s.told(w, p) == s.last(p)),
    )


def new_view(s: World, w: Expr, q: Expr) -> Expr:
    """The members of w find themselves in it."""
    return And(
        *(s.born(w) == s.clock() + 1, s.giver(w) == q),
        s.forall(
            ["process"],
            lambda p: Implies(s.member(w, p), _leaves(s, p, w)),
            lambda p: [s.member(w, p)],
        ),
        s.forall(
            ["process", "session"],
            lambda p, x: Implies(s.member(w, p), s.tells(w, p, x) == s.attempts(p, x)),
            lambda p, x: [s.tells(w, p, x), (s.member(w, p), s.attempts(p, x))],
        ),
    )


def nothing_else_goes_on(s: World, w: Expr) -> Expr:
    """Nobody knows of another primary view, is about to form one, or will be told of one."""

    def bound(p: Expr) -> Expr:
        elsewhere = s.view(p) != w
        return Implies(
            Not(s.down(p)),
            And(
                Implies(s.has(p), s.last(p) == w),
                Implies(elsewhere, s.stage(p) != ATTEMPTING),
                Implies(And(elsewhere, s.stage(p) == ASKING), nothing_known(s, s.view(p))),
            ),
        )

    def earlier(p: Expr, x: Expr) -> Expr:
        return Implies(And(Not(s.down(p)), s.attempts(p, x)), Or(x == w, s.number(x) < s.number(w)))

    def told(p: Expr, q: Expr, x: Expr) -> Expr:
        return Implies(
            And(Not(s.down(p)), s.stage(p) == ASKING, s.member(s.view(p), q)),
            Implies(s.tells(s.view(p), q, x), Or(x == w, s.number(x) < s.number(w))),
        )

    return And(
        s.forall(["process"], bound, lambda p: [s.last(p), s.view(p), s.stage(p)]),
        s.forall(["process", "session"], earlier, lambda p, x: [s.attempts(p, x)]),
        s.forall(
            ["process", "process", "session"], told, lambda p, q, x: [s.tells(s.view(p), q, x)]
        ),
    )


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return all branches of all actions."""

    def asking(s: World, n: Expr) -> Expr:
        return And(Not(s.down(n)), s.stage(n) == ASKING)

    def kept(s: World, n: Expr, x: Expr, *, known: bool) -> Expr:
        """Tell whether n still remembers the attempt when it has decided."""
        w = s.view(n)
        later = s.number(x) > s.number(s.learned(w)) if known else True
        return And(s.attempts(n, x), later, Not(refuted(s, w, x)))

    def decided(s: World, n: Expr, stage: int, *, known: bool) -> Updates:
        w, tries = s.view(n), stage == ATTEMPTING

        def remembered(p: Expr, x: Expr) -> Expr:
            if (p == n) is False:  # in a state of the model, of which there are many to ask
                return s.attempts(p, x)
            mine = Or(tries and x == w, kept(s, n, x, known=known))
            return If(p == n, mine, s.attempts(p, x))

        found: Updates = {"stage": put(s.stage, n, stage), "attempts": remembered}
        if known:
            learns: Updates = {
                "has": put(s.has, n, True),
                "last": put(s.last, n, s.learned(w)),
            }
            found = merged(found, learns)
        if tries:
            found = merged(found, {"tried": put(s.tried, w, n, True)})
        return found

    def founds(s: World, n: Expr) -> Expr:
        w = s.view(n)
        free = nothing_else_goes_on(s, w) if basis.afresh else True
        return And(asking(s, n), founding(s, w), free)

    def attempted(s: World, n: Expr) -> Expr:
        w = s.view(n)
        all_have = s.forall(
            ["process"], lambda p: Implies(s.member(w, p), s.tried(w, p)), lambda p: [s.tried(w, p)]
        )
        return And(
            *(Not(s.down(n)), s.stage(n) == ATTEMPTING, s.live(w)),
            all_have if basis.two_rounds else True,
        )

    def forms(s: World, n: Expr) -> Updates:
        w = s.view(n)
        return {
            "stage": put(s.stage, n, PRIMARY),
            "has": put(s.has, n, True),
            "last": put(s.last, n, w),
            "attempts": lambda p, x: And(p != n, s.attempts(p, x)),
            "formed": put(s.formed, w, n, True),
            "primary": put(s.primary, w, True),
        }

    from_attempts = Transition(
        "Decide",
        "goes on from attempts",
        (_N,),
        lambda s, n: And(asking(s, n), continues_unknown(s, s.view(n))),
        lambda s, n: decided(s, n, ATTEMPTING, known=False),
    )
    return (
        *(() if basis.from_formed else (from_attempts,)),
        Transition(
            "NewView",
            "",
            (_W, ("q", "process")),
            new_view,
            lambda s, w, _: {
                "clock": lambda: s.born(w),
                "begun": put(s.begun, w, True),
                "view": lambda p: If(s.member(w, p), w, s.view(p)),
                "stage": lambda p: If(s.member(w, p), ASKING, s.stage(p)),
                "gapped": put(s.gapped, w, has_gap(s, w)),
                "later": lambda x: If(And(before(s, x, w), x == s.prev(w)), w, s.later(x)),
            },
        ),
        Transition(
            "Decide",
            "goes on",
            (_N,),
            lambda s, n: And(asking(s, n), continues(s, s.view(n), basis)),
            lambda s, n: decided(s, n, ATTEMPTING, known=True),
        ),
        Transition(
            "Decide",
            "founds",
            (_N,),
            founds,
            lambda s, n: merged(decided(s, n, ATTEMPTING, known=False), {"now": lambda: s.view(n)}),
        ),
        Transition(
            "Decide",
            "is refused, and knows",
            (_N,),
            lambda s, n: And(asking(s, n), knowing(s, s.view(n))),
            lambda s, n: decided(s, n, REFUSED, known=True),
        ),
        Transition(
            "Decide",
            "is refused, and knows of nothing",
            (_N,),
            lambda s, n: And(asking(s, n), nothing_known(s, s.view(n))),
            lambda s, n: decided(s, n, REFUSED, known=False),
        ),
        Transition("Form", "", (_N,), attempted, forms),
        Transition(
            "Crash",
            "",
            (_N,),
            lambda s, n: Not(s.down(n)),
            lambda s, n: {"down": put(s.down, n, True)},
        ),
    )
