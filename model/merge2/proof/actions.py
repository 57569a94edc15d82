"""The actions of `spec/Merge2.tla` up to the decision of a merge. Each branch is a transition.

An action that changes nothing of the vocabulary is none: ReceiveKnown, ReceiveFound and Lose.
"""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Or, Updates, World, put

from .words import (
    ANSWERED,
    FLUSHING,
    IDLE,
    INSTALLING,
    Basis,
    answers,
    at_the_cut,
    in_merge,
    leads,
    nobody_missing,
    side,
    stands,
    still,
)

N = ("n", "process")
P = ("p", "process")
U = ("u", "union")
V = ("v", "group")
R = ("r", "reply")


def at_stage(s: World, n: Expr, stage: int) -> Expr:
    """n runs, and is at that stage."""
    return And(s.running(n), s.stage(n) == stage)


def stage(s: World, n: Expr, stage: int) -> Updates:
    """Move n to that stage."""
    return {"stage": put(s.stage, n, stage)}


def holding(s: World, n: Expr, v: Expr) -> Updates:
    """Have the side of n hold the view ready."""

    def goes(w: Expr, x: Expr) -> Expr:
        return And(w == s.view(n), x == v)

    return {
        "holds": lambda p: Or(side(s, n, p), s.holds(p)),
        "held": lambda p: If(side(s, n, p), v, s.held(p)),
        "went": lambda w, x: Or(goes(w, x), s.went(w, x)),
        "cutoff": lambda w, x, p: If(goes(w, x), s.position(n, p), s.cutoff(w, x, p)),
    }


def made(s: World, v: Expr) -> Updates:
    """Have the view decided."""
    return {
        "made": put(s.made, v, True),
        "by_id": put(s.by_id, s.maker(v), s.number(v), v),
    }


def closed(s: World, n: Expr) -> Updates:
    """Have FLUSH suspend the side of n."""
    return {
        "latched": lambda p: Or(side(s, n, p), s.latched(p)),
        "latch": lambda p: If(side(s, n, p), n, s.latch(p)),
    }


def opened(s: World, n: Expr) -> Updates:
    """Have FLUSH let those go on that n has suspended, unless they hold a view ready."""
    return {"latched": lambda p: And(s.latched(p), Or(s.latch(p) != n, s.holds(p)))}


def deciding(basis: Basis) -> tuple[Transition, ...]:
    """Return the actions up to the decision."""
    return (*_beginning(basis), *_answering(basis), *_decisions(basis))


def _beginning(basis: Basis) -> tuple[Transition, ...]:
    def ready(s: World, n: Expr) -> Expr:
        waits = stands(s, n) if basis.after_resume else False
        return And(at_stage(s, n, IDLE), s.coordinates(n), Not(waits))

    def enters(s: World, n: Expr, u: Expr) -> Updates:
        return {
            **stage(s, n, FLUSHING),
            "merge": put(s.merge, n, u),
            "took": put(s.took, n, u, True),
        }

    def leads_it(s: World, n: Expr, u: Expr) -> Expr:
        return And(ready(s, n), s.leader(u) == n, Not(s.begun(u)) if basis.fresh else True)

    return (
        Transition(
            "Merge",
            "",
            (N, U, ("asked", "set")),
            lambda s, n, u, _: leads_it(s, n, u),
            lambda s, n, u, asked: {
                **enters(s, n, u),
                "begun": put(s.begun, u, True),
                "waiting": lambda p, q: If(p == n, asked(q), s.waiting(p, q)),
                "has": lambda p, r: And(p != n, s.has(p, r)),
            },
        ),
        Transition(
            "ReceiveMergeReq",
            "",
            (N, U),
            lambda s, n, u: And(
                ready(s, n),
                s.begun(u),
                s.rank(s.leader(u)) < s.rank(n),
                Not(s.took(n, u)) if basis.stays_out else True,
            ),
            enters,
        ),
    )


def _answering(basis: Basis) -> tuple[Transition, ...]:
    def answer(s: World, n: Expr, r: Expr) -> Expr:
        def members(p: Expr) -> Expr:
            return s.there(r, p) == side(s, n, p)

        def read(p: Expr) -> Expr:
            return s.upto(r, p) == s.position(n, p)

        own = And(s.of(r) == s.merge(n), s.by(r) == n, s.at(r) == s.view(n))
        there = s.forall(["process"], members, lambda p: [s.there(r, p), s.view(p)])
        return And(own, there, s.forall(["process"], read, lambda p: [s.upto(r, p)]))

    def suspended(s: World, n: Expr) -> Expr:
        synchronous = basis.flush and basis.virtual_synchrony
        return And(still(s, n), at_the_cut(s, n) if synchronous else True)

    def flushed(s: World, n: Expr, r: Expr) -> Updates:
        u = s.merge(n)
        return {
            **stage(s, n, ANSWERED),
            **(closed(s, n) if basis.flush else {}),
            "cut": lambda p, x: If(side(s, n, p), x == u, s.cut(p, x)),
            "waiting": put(s.waiting, n, n, And(Not(leads(s, n)), s.waiting(n, n))),
            "has": put(s.has, n, r, Or(leads(s, n), s.has(n, r))),
            "sent": put(s.sent, r, Or(Not(leads(s, n)), s.sent(r))),
        }

    def awaits(s: World, n: Expr, c: Expr) -> Expr:
        return And(s.running(n), answers(s, n), leads(s, n), s.waiting(n, c))

    def inside(s: World, n: Expr, r: Expr) -> Expr:
        def of_sender(q: Expr) -> Expr:
            return And(s.has(n, q), s.by(q) == s.by(r))

        awaited = And(answers(s, n), s.waiting(n, s.by(r)))
        counted = Or(awaited, s.exists(["reply"], of_sender))
        return And(in_merge(s, n, s.of(r)), counted)

    return (
        Transition(
            "Flushed",
            "",
            (N, R),
            lambda s, n, r: And(at_stage(s, n, FLUSHING), suspended(s, n), answer(s, n, r)),
            flushed,
        ),
        Transition(
            "Resend",
            "an answer",
            (N, R),
            lambda s, n, r: And(at_stage(s, n, ANSWERED), Not(leads(s, n)), answer(s, n, r)),
            lambda s, _, r: {"sent": put(s.sent, r, True)},
        ),
        Transition(
            "ReceiveMergeRsp",
            "an answer",
            (N, R),
            lambda s, n, r: And(awaits(s, n, s.by(r)), s.sent(r), s.of(r) == s.merge(n)),
            lambda s, n, r: {
                "waiting": put(s.waiting, n, s.by(r), False),
                "has": put(s.has, n, r, True),
            },
        ),
        Transition(
            "ReceiveMergeRsp",
            "a rejection",
            (N, P),
            awaits,
            lambda s, n, p: {"waiting": put(s.waiting, n, p, False)},
        ),
        Transition(
            "ReceiveMergeRsp",
            "too late",
            (N, R),
            lambda s, n, r: And(
                s.running(n),
                s.leader(s.of(r)) == n,
                s.sent(r),
                Not(inside(s, n, r)),
            ),
            lambda s, _, r: {"told": put(s.told, s.of(r), s.by(r), True)},
        ),
    )


def _decisions(basis: Basis) -> tuple[Transition, ...]:
    def may_decide(s: World, n: Expr) -> Expr:
        return And(at_stage(s, n, ANSWERED), leads(s, n), nobody_missing(s, n))

    def union_of_answers(s: World, n: Expr, v: Expr) -> Expr:
        def in_an_answer(p: Expr) -> Expr:
            has_it = s.exists(["reply"], lambda r: And(s.has(n, r), s.there(r, p)))
            return Implies(s.inside(v, p), has_it)

        def in_it(r: Expr, p: Expr) -> Expr:
            return Implies(And(s.has(n, r), s.there(r, p)), s.inside(v, p))

        def below(r: Expr) -> Expr:
            return Implies(s.has(n, r), s.number(s.at(r)) < s.number(v))

        def counts(r: Expr, p: Expr) -> Expr:
            return Implies(s.has(n, r), s.upto(r, p) <= s.digest(v, p))

        def is_counted(p: Expr) -> Expr:
            return s.exists(["reply"], lambda r: And(s.has(n, r), s.digest(v, p) == s.upto(r, p)))

        return And(
            of_this(s, n, v),
            s.forall(["reply", "process"], counts, lambda r, p: [(s.has(n, r), s.digest(v, p))]),
            s.forall(["process"], is_counted, lambda p: [s.digest(v, p)]),
            s.forall(["process"], in_an_answer, lambda p: [s.inside(v, p)]),
            s.forall(["reply", "process"], in_it, lambda r, p: [(s.has(n, r), s.there(r, p))]),
            s.forall(["reply"], below, lambda r: [s.has(n, r)]),
        )

    def of_this(s: World, n: Expr, v: Expr) -> Expr:
        def behind(p: Expr) -> Expr:
            return Implies(s.inside(v, p), s.rank(s.first(v)) <= s.rank(p))

        maker = s.maker(v) == (n if basis.id_of_leader else s.first(v))
        by_rank = s.forall(["process"], behind, lambda p: [s.inside(v, p)])
        return And(s.merged(v), s.union(v) == s.merge(n), maker, by_rank)

    def sides(s: World, n: Expr, c: Expr) -> Expr:
        return s.exists(["reply"], lambda r: And(s.has(n, r), s.by(r) == c))

    return (
        Transition(
            "Decide",
            "nothing",
            (N,),
            may_decide,
            lambda s, n: {
                **stage(s, n, IDLE),
                **opened(s, n),
                "told": lambda u, c: Or(And(u == s.merge(n), c != n), s.told(u, c)),
            },
        ),
        Transition(
            "Decide",
            "a view",
            (N, V, R),
            lambda s, n, v, own: And(
                may_decide(s, n), s.has(n, own), s.by(own) == n, union_of_answers(s, n, v)
            ),
            lambda s, n, v, _: {
                **stage(s, n, INSTALLING),
                **holding(s, n, v),
                "waiting": lambda p, c: If(p == n, sides(s, n, c), s.waiting(p, c)),
                "decided": put(s.decided, s.merge(n), True),
                "result": put(s.result, s.merge(n), v),
                "into": lambda u, c: If(u == s.merge(n), sides(s, n, c), s.into(u, c)),
                **made(s, v),
                "counted": lambda r: Or(s.has(n, r), s.counted(r)),
            },
        ),
    )
