"""The actions of `spec/Gms.tla`, repaired, for `theory.py`.

A message that was ever sent may arrive at any time, as often as it likes; the guards decide which
messages still count. Only PREPARE is handled in the order of one leader's attempts, and once.
"""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, Updates, World, put

from .deciding import deciding
from .updates import install
from .words import FLUSHING, IDLE, Basis, heeds, joins, knows, same_id

_P = ("p", "process")
_Q = ("q", "process")
_C = ("c", "change")
_G = ("g", "group")


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return all branches of all actions."""
    return (*_asking(), *deciding(basis), *_following(basis), *_lives(basis))


def _asking() -> tuple[Transition, ...]:
    def new(s: World, r: Expr, c: Expr) -> Expr:
        return And(
            s.running(r),
            s.requester(c) == r,
            Not(s.began(c)),
            s.of(c) == s.view(r),
            s.forall(
                ["change"],
                lambda d: Implies(
                    And(s.began(d), s.requester(d) == r), s.attempt(d) < s.attempt(c)
                ),
                lambda d: [s.began(d)],
            ),
        )

    def may_begin(s: World, r: Expr, c: Expr) -> Expr:
        return And(
            new(s, r, c),
            s.phase(r) == IDLE,
            s.member(s.view(r), r),
            s.forall(
                ["process"],
                lambda m: Implies(And(s.member(s.view(r), m), s.rank(m) < s.rank(r)), s.gone(r, m)),
                lambda m: [s.member(s.view(r), m)],
            ),
            s.forall(
                ["process"],
                lambda m: s.part(c, m) == And(s.member(s.view(r), m), Not(s.gone(r, m))),
                lambda m: [s.part(c, m), s.gone(r, m), s.member(s.view(r), m)],
            ),
        )

    def may_ask_again(s: World, r: Expr, c: Expr) -> Expr:
        d = s.change(r)
        return And(
            new(s, r, c),
            s.phase(r) == FLUSHING,
            s.forall(
                ["process"],
                lambda m: s.part(c, m) == And(s.part(d, m), Not(s.gone(r, m))),
                lambda m: [s.part(c, m), s.part(d, m), s.gone(r, m)],
            ),
        )

    def asked(s: World, r: Expr, c: Expr) -> Updates:
        return {"began": put(s.began, c, True), "change": put(s.change, r, c)}

    def begun(s: World, r: Expr, c: Expr) -> Updates:
        return {
            **asked(s, r, c),
            "phase": put(s.phase, r, FLUSHING),
            "promised": put(s.promised, r, r),
            "bound": put(s.bound, r, True),
            "led": put(s.led, r, True),
        }

    return (
        Transition("BeginChange", "", (_P, _C), may_begin, begun),
        Transition("FlushAgain", "", (_P, _C), may_ask_again, asked),
    )


def _following(basis: Basis) -> tuple[Transition, ...]:
    def prepared(s: World, p: Expr, c: Expr) -> Expr:
        r = s.requester(c)
        return And(
            s.running(p),
            s.began(c),
            s.part(c, p),
            p != r,
            Not(s.got(c, p)),
            knows(s, p, r),
            s.said_view(c, p) == s.view(p),
            s.said_holds(c, p) == s.holds(p),
            Implies(s.holds(p), s.said_held(c, p) == s.held(p)),
        )

    def promise(s: World, p: Expr, c: Expr) -> Updates:
        r, v = s.requester(c), s.view(p)

        def out(q: Expr, m: Expr) -> Expr:
            unknown = And(s.number(s.of(c)) < s.number(v), s.admitted(m) == s.number(v))
            return And(q == p, s.member(v, m), Not(s.part(c, m)), Not(unknown))

        def earlier(d: Expr) -> Expr:
            return And(s.began(d), s.requester(d) == r, s.attempt(d) <= s.attempt(c))

        return {
            "promised": put(s.promised, p, r),
            "bound": put(s.bound, p, True),
            "gone": lambda q, m: Or(s.gone(q, m), out(q, m)),
            "answered": put(s.answered, c, p, True),
            "got": lambda d, q: Or(s.got(d, q), And(q == p, earlier(d))),
        }

    def takes(s: World, p: Expr, c: Expr) -> Expr:
        g = s.proposal(c)
        return And(heeds(s, p, c), s.number(g) == s.number(s.view(p)) + 1, s.member(g, p))

    def hold(s: World, p: Expr, c: Expr) -> Updates:
        g = s.proposal(c)
        if not basis.held:
            return {**install(s, p, g), **acknowledged(s, p, c)}
        held = {"holds": put(s.holds, p, True), "held": put(s.held, p, g)}
        return {**held, **acknowledged(s, p, c)}

    def reached(s: World, p: Expr, c: Expr) -> Expr:
        r = s.requester(c)
        return And(s.running(p), s.sent(c), s.bound(p), s.promised(p) == r, p != r)

    def ready(s: World, p: Expr, c: Expr) -> Expr:
        return And(reached(s, p, c), s.holds(p), s.number(s.held(p)) == s.number(s.proposal(c)))

    def acknowledged(s: World, p: Expr, c: Expr) -> Updates:
        return {"acked": put(s.acked, p, s.number(s.proposal(c)), True)}

    def admissible(s: World, p: Expr, g: Expr) -> Expr:
        return And(s.responded(g), joins(s, g, p), Not(s.running(p)), Not(s.dead(p)))

    return (
        Transition("ReceivePrepare", "", (_P, _C), prepared, promise),
        Transition("ReceiveNewView", "", (_P, _C), takes, hold),
        Transition(
            "ReceiveNewView",
            "installed before",
            (_P, _C),
            lambda s, p, c: And(heeds(s, p, c), same_id(s, s.proposal(c), s.view(p))),
            acknowledged,
        ),
        Transition(
            "ReceiveInstall",
            "",
            (_P, _C),
            ready,
            lambda s, p, c: {**install(s, p, s.held(p)), **acknowledged(s, p, c)},
        ),
        Transition(
            "ReceiveInstall",
            "installed before",
            (_P, _C),
            lambda s, p, c: And(reached(s, p, c), s.number(s.view(p)) == s.number(s.proposal(c))),
            acknowledged,
        ),
        Transition(
            "ReceiveJoinRsp",
            "",
            (_P, _G),
            admissible,
            lambda s, p, g: {
                "running": put(s.running, p, True),
                "view": put(s.view, p, g),
                "holds": put(s.holds, p, False),
                "bound": put(s.bound, p, False),
                "phase": put(s.phase, p, IDLE),
                "gone": lambda q, m: And(s.gone(q, m), q != p),
            },
        ),
    )


def _lives(basis: Basis) -> tuple[Transition, ...]:
    return (
        Transition(
            "Suspect",
            "",
            (_P, _Q),
            lambda s, p, q: And(
                s.running(p),
                s.member(s.view(p), q),
                p != q,
                Implies(basis.accurate_suspicion, s.dead(q)),
            ),
            lambda s, p, q: {"gone": put(s.gone, p, q, True)},
        ),
        Transition(
            "Crash",
            "",
            (_P,),
            lambda s, p: Not(s.dead(p)),
            lambda s, p: {
                "running": put(s.running, p, False),
                "dead": put(s.dead, p, True),
            },
        ),
    )
