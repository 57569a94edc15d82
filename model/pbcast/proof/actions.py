"""The actions of `spec/Pbcast.tla` that affect OnlyStablePurged.

Each branch of an action is a transition.
"""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import (
    And,
    Expr,
    Function,
    If,
    Implies,
    Not,
    Or,
    Updates,
    World,
    merged,
    put,
)

from .words import Basis, put_row

_N = ("n", "process")
_M = ("m", "copy")
_K = ("k", "copy")
_C = ("c", "copy")


def _smaller(x: Expr, y: Expr) -> Expr:
    return If(x <= y, x, y)


def all_have_seen(s: World, c: Expr) -> Expr:
    """The not-seen list of the copy is empty."""
    return s.forall(
        ["process"],
        lambda p: Implies(s.member(s.of_view(c), p), s.seen(c, p)),
        lambda p: [s.member(s.of_view(c), p), s.seen(c, p)],
    )


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return all branches of all actions."""

    def begins(s: World, n: Expr, c: Expr) -> Expr:
        return And(
            s.running(n),
            s.of_view(c) == s.view(n),
            s.forall(["process"], lambda p: s.seen(c, p) == (p == n), lambda p: [s.seen(c, p)]),
            s.forall(
                ["process"],
                lambda x: And(
                    s.digest(c, x) == s.delivered(n, x), s.lowest(c, x) == s.delivered(n, x)
                ),
                lambda x: [s.digest(c, x), s.lowest(c, x)],
            ),
        )

    def merges(s: World, n: Expr, m: Expr, k: Expr, c: Expr) -> Expr:
        """Tell whether c is what n knows with copy m, where it has known k; m again for nothing."""

        def low(x: Expr) -> Expr:
            least = _smaller(s.lowest(m, x), s.lowest(k, x))
            return _smaller(least, s.delivered(n, x)) if basis.gathers else least

        return And(
            s.running(n),
            s.known(m),
            s.known(k),
            s.of_view(m) == s.view(n) if basis.view_check else True,
            s.of_view(k) == s.of_view(m),
            s.of_view(c) == s.of_view(m),
            s.forall(
                ["process"],
                lambda p: s.seen(c, p) == Or(s.seen(m, p), s.seen(k, p), p == n),
                lambda p: [s.seen(c, p)],
            ),
            s.forall(
                ["process"],
                lambda x: And(s.digest(c, x) == s.digest(m, x), s.lowest(c, x) == low(x)),
                lambda x: [s.digest(c, x), s.lowest(c, x)],
            ),
        )

    def purges(s: World, n: Expr, c: Expr) -> Updates:
        def at(x: Expr) -> Expr:
            stable = s.lowest(c, x) if basis.gathers else s.digest(c, x)
            left = _smaller(stable, s.delivered(n, x)) - s.lag(n)
            return If(left > s.purged(n, x), left, s.purged(n, x))

        return {"purged": put_row(s.purged, n, at)}

    def knows(s: World, *named: Expr) -> Updates:
        return {"known": put(s.known, named[-1], True)}

    def may_decide(s: World, n: Expr, stays: Function, joiners: Function) -> Expr:
        def fits(p: Expr) -> Expr:
            return And(
                Implies(stays(p), And(s.member(s.last(), p), Not(joiners(p)))),
                Implies(joiners(p), And(s.joined(p) == 0, Not(s.running(p)), s.view(p) == 0)),
            )

        return And(
            s.running(n),
            s.view(n) == s.last(),
            s.member(s.last(), n),
            stays(n),
            s.forall(["process"], fits, lambda p: [joiners(p), stays(p)]),
        )

    def decided(s: World, n: Expr, stays: Function, joiners: Function) -> Updates:
        new = s.last() + 1
        installed: Updates = {"view": put(s.view, n, new)} if basis.cut_of_a_member else {}
        return merged(
            installed,
            {
                "last": lambda: new,
                "member": lambda v, p: If(v == new, Or(stays(p), joiners(p)), s.member(v, p)),
                "joined": lambda p: If(joiners(p), new, s.joined(p)),
                "delivered": lambda p, x: If(joiners(p), s.delivered(n, x), s.delivered(p, x)),
                "origin": lambda p, v: If(
                    joiners(p), If(v < new, s.origin(n, v), p), s.origin(p, v)
                ),
            },
        )

    return (
        Transition("SendGossip", "", (_N, _C), begins, knows),
        Transition(
            "ReceiveGossip",
            "some are left",
            (_N, _M, _K, _C),
            merges,
            knows,
        ),
        Transition(
            "ReceiveGossip",
            "all have seen it",
            (_N, _M, _K, _C),
            lambda s, n, m, k, c: And(merges(s, n, m, k, c), all_have_seen(s, c)),
            lambda s, n, *copies: merged(knows(s, *copies), purges(s, n, copies[-1])),
        ),
        Transition(
            "Deliver",
            "",
            (_N, ("s", "process"), ("at", "number")),
            lambda s, n, x, at: And(s.running(n), at >= s.delivered(n, x)),
            lambda s, n, x, at: {"delivered": put(s.delivered, n, x, at)},
        ),
        Transition(
            "InstallView",
            "member",
            (_N,),
            lambda s, n: And(s.running(n), s.view(n) < s.last(), s.member(s.view(n) + 1, n)),
            lambda s, n: {"view": put(s.view, n, s.view(n) + 1)},
        ),
        Transition(
            "InstallView",
            "joiner",
            (_N,),
            lambda s, n: And(s.joined(n) > 0, s.view(n) == 0),
            lambda s, n: {
                "view": put(s.view, n, s.joined(n)),
                "running": put(s.running, n, True),
                "purged": put_row(s.purged, n, lambda _: 0),
            },
        ),
        Transition(
            "InstallView",
            "coordinator",
            (_N, ("stays", "set"), ("joiners", "set")),
            may_decide,
            decided,
        ),
        Transition(
            "Crash",
            "",
            (_N,),
            lambda s, n: s.running(n),
            lambda s, n: {"running": put(s.running, n, False)},
        ),
    )
