"""The leader's decision once all have answered, and its installation of the view.

The actions `Suspended`, `InstallView` and `Finish` of `spec/Gms.tla`, for `actions.py`.
"""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, Updates, World, put

from .updates import install
from .words import FINISHING, FLUSHING, IDLE, INSTALLING, Basis, same_id

_P = ("p", "process")
_Q = ("q", "process")


def heard(s: World, r: Expr, p: Expr) -> Expr:
    """p has answered r's change, and is not gone since: its answer counts."""
    return And(s.answered(s.change(r), p), Not(s.gone(r, p)))


def deciding(basis: Basis) -> tuple[Transition, ...]:
    def complete(s: World, r: Expr) -> Expr:
        c = s.change(r)
        return And(
            s.running(r),
            s.phase(r) == FLUSHING,
            s.forall(
                ["process"],
                lambda p: Implies(s.part(c, p), Or(p == r, s.answered(c, p))),
                lambda p: [s.part(c, p)],
            ),
        )

    def nothing_else(s: World, r: Expr) -> Expr:
        c, v = s.change(r), s.view(r)

        def same(p: Expr) -> Expr:
            held = Implies(s.said_holds(c, p), same_id(s, s.said_held(c, p), v))
            return Implies(heard(s, r, p), And(same_id(s, s.said_view(c, p), v), held))

        return And(
            Implies(s.holds(r), same_id(s, s.held(r), v)),
            s.forall(["process"], same, lambda p: [s.answered(c, p)]),
        )

    def is_next(s: World, r: Expr) -> Expr:
        c, v = s.change(r), s.view(r)
        g = s.proposal(c)

        def right(m: Expr) -> Expr:
            stays = And(s.member(v, m), Not(s.gone(r, m)))
            return And(
                Implies(s.member(v, m), s.member(g, m) == stays),
                Implies(
                    And(s.member(g, m), Not(s.member(v, m))),
                    And(s.admitted(m) == s.number(g), s.admitter(m) == r),
                ),
                s.survivor(c, m) == And(m != r, stays),
            )

        return And(
            complete(s, r),
            Implies(basis.takeover, nothing_else(s, r)),
            s.number(g) == s.number(v) + 1,
            s.maker(g) == r,
            s.base(g) == v,
            Not(s.made(g)),
            s.forall(
                ["process"],
                right,
                lambda m: [s.member(g, m), s.member(v, m), s.survivor(c, m)],
            ),
        )

    def is_latest(s: World, r: Expr, w: Expr) -> Expr:
        c, v = s.change(r), s.view(r)
        g, n = s.proposal(c), s.number

        def no_later(p: Expr) -> Expr:
            held = Implies(s.said_holds(c, p), n(s.said_held(c, p)) <= n(g))
            return Implies(heard(s, r, p), And(n(s.said_view(c, p)) <= n(g), held))

        return And(
            complete(s, r),
            Or(
                g == v,
                And(s.holds(r), g == s.held(r)),
                And(heard(s, r, w), g == s.said_view(c, w)),
                And(heard(s, r, w), s.said_holds(c, w), g == s.said_held(c, w)),
            ),
            n(v) <= n(g),
            Implies(s.holds(r), n(s.held(r)) <= n(g)),
            s.forall(["process"], no_later, lambda p: [s.answered(c, p)]),
            s.forall(
                ["process"],
                lambda m: (
                    s.survivor(c, m) == And(m != r, s.part(c, m), Not(s.gone(r, m)), s.member(g, m))
                ),
                lambda m: [s.survivor(c, m), s.part(c, m), s.member(g, m)],
            ),
        )

    def proposed(s: World, r: Expr, *_: Expr) -> Updates:
        c = s.change(r)
        return {"proposed": put(s.proposed, c, True), "phase": put(s.phase, r, INSTALLING)}

    def decided(s: World, r: Expr) -> Updates:
        g = s.proposal(s.change(r))
        return {**proposed(s, r), "made": put(s.made, g, True), "choice": lambda: g}

    def may_install(s: World, r: Expr) -> Expr:
        c = s.change(r)
        n = s.number(s.proposal(c))
        return And(
            s.running(r),
            s.phase(r) == INSTALLING,
            Implies(
                basis.view_acks,
                s.forall(
                    ["process"],
                    lambda p: Implies(s.survivor(c, p), Or(s.gone(r, p), s.acked(p, n))),
                    lambda p: [s.survivor(c, p)],
                ),
            ),
        )

    def installed(s: World, r: Expr, new: bool) -> Updates:
        c = s.change(r)
        g = s.proposal(c)
        return {
            **(install(s, r, g) if new else {}),
            "phase": put(s.phase, r, FINISHING),
            "sent": put(s.sent, c, True),
            "responded": put(s.responded, g, Or(s.responded(g), s.maker(g) == r)),
        }

    return (
        Transition("Suspended", "the next view", (_P,), is_next, decided),
        Transition("Suspended", "a view again", (_P, _Q), is_latest, proposed),
        Transition(
            "Suspended",
            "for a transfer",
            (_P,),
            complete,
            lambda s, r: {"phase": put(s.phase, r, FINISHING)},
        ),
        Transition(
            "InstallView",
            "",
            (_P,),
            lambda s, r: And(
                may_install(s, r), Not(same_id(s, s.view(r), s.proposal(s.change(r))))
            ),
            lambda s, r: installed(s, r, True),
        ),
        Transition(
            "InstallView",
            "its own",
            (_P,),
            lambda s, r: And(may_install(s, r), same_id(s, s.view(r), s.proposal(s.change(r)))),
            lambda s, r: installed(s, r, False),
        ),
        Transition(
            "Finish",
            "",
            (_P,),
            lambda s, r: And(s.running(r), s.phase(r) == FINISHING),
            lambda s, r: {"phase": put(s.phase, r, IDLE)},
        ),
    )
