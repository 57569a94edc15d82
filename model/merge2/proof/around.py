"""The steps of the layers around MERGE2 in `spec/Merge2.tla`, and a crash."""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, Updates, World, put

from .actions import N, V, closed, holding, made
from .words import IDLE, Basis, at_the_cut, free, same_id, side, still


def around(basis: Basis) -> tuple[Transition, ...]:
    """Return the steps of the layers around, and a crash."""

    def next_view(s: World, n: Expr, v: Expr) -> Expr:
        def stays(p: Expr) -> Expr:
            return s.inside(v, p) == side(s, n, p)

        f = s.first(s.view(n))
        leads_change = And(s.running(n), Implies(side(s, n, f), f == n), s.first(v) == n)
        identified = And(Not(s.merged(v)), s.maker(v) == n, s.number(v) == s.number(s.view(n)) + 1)
        members = s.forall(["process"], stays, lambda p: [s.inside(v, p), s.view(p)])
        idle = free(s, n) if basis.frozen else True
        cut = at_the_cut(s, n) if basis.virtual_synchrony else True
        no_digest = s.forall(["process"], lambda p: s.digest(v, p) == 0, lambda p: [s.digest(v, p)])
        return And(leads_change, still(s, n), idle, cut, identified, members, no_digest)

    def reads(s: World, n: Expr, x: Expr) -> Expr:
        number = s.position(n, x) + 1

        def has_it(q: Expr) -> Expr:
            return And(side(s, n, q), s.position(q, x) >= number)

        v, w = s.said(x, number), s.view(n)
        its_view = same_id(s, v, w) if basis.checks_view else s.number(v) <= s.number(w)
        somebody = Or(s.running(x), s.exists(["process"], has_it))
        sent = And(s.running(n), s.inside(w, x), number <= s.spoken(x))
        return And(sent, somebody, its_view)

    def delivers(s: World, n: Expr, x: Expr) -> Updates:
        j, number = s.heard(n), s.position(n, x) + 1
        return {
            "heard_view": put(s.heard_view, n, j, s.view(n)),
            "did": put(s.did, n, x, number, True),
            "hears": put(s.hears, n, x, number, s.view(n), True),
            "position": put(s.position, n, x, number),
            "heard": put(s.heard, n, j + 1),
            "heard_from": put(s.heard_from, n, j, x),
            "heard_number": put(s.heard_number, n, j, number),
        }

    return (
        Transition(
            "ViewChange",
            "",
            (N, V),
            next_view,
            lambda s, n, v: {
                **holding(s, n, v),
                **closed(s, n),
                **made(s, v),
            },
        ),
        Transition(
            "Multicast",
            "",
            (N,),
            lambda s, n: And(s.running(n), Not(s.latched(n))),
            lambda s, n: {
                "spoken": put(s.spoken, n, s.spoken(n) + 1),
                "said": put(s.said, n, s.spoken(n) + 1, s.view(n)),
                "spoke": put(s.spoke, n, s.view(n), True),
            },
        ),
        Transition("Deliver", "", (N, ("x", "process")), reads, delivers),
        Transition(
            "Crash",
            "",
            (N,),
            lambda s, n: s.running(n),
            lambda s, n: {
                "running": put(s.running, n, False),
                "coordinates": put(s.coordinates, n, False),
                "stage": put(s.stage, n, IDLE),
                "holds": put(s.holds, n, False),
                "latched": put(s.latched, n, False),
            },
        ),
    )
