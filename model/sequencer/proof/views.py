"""The actions of the membership service: ViewChange and Demote."""

from __future__ import annotations

from collections.abc import Callable

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Or, Updates, World

from .vocabulary import JOINING, Basis, present, running


def views(basis: Basis) -> tuple[Transition, ...]:
    """Return ViewChange and Demote under the given assumptions and repairs."""
    vs, rules = basis.virtual_synchrony, basis.rules

    def settled(s: World) -> Expr:
        last = s.last_view()

        def everybody(n: Expr) -> Expr:
            waiting = And(s.status(n) == JOINING, s.joiner(last, n))
            return And(
                Implies(And(running(s, n), s.member(last, n)), s.view(n) == last),
                Implies(waiting, And(Not(s.answered(n)), Not(running(s, s.coordinator(last))))),
            )

        return s.forall(["process"], everybody, lambda n: [s.status(n)])

    def may_cut(s: World, c: Expr, new: Expr, x: Expr, cut: Expr) -> Expr:
        """Tell whether the stream of c, the former coordinator, may be cut there.

        `new` is the next coordinator, `x` the present life of c's node.
        """
        held = s.forall(
            ["process"],
            lambda n: Implies(
                And(running(s, n), s.member(s.last_view(), n)), s.position(n, x) <= cut
            ),
            lambda n: [s.position(n, x)],
        )
        return And(
            present(s, x),
            s.node(x) == s.node(c),
            If(And(vs, new != c), And(cut >= 0, held, cut <= s.length(x)), cut == s.length(x)),
        )

    def decided(
        s: World, new: Expr, x: Expr, cut: Expr, member: Callable[[Expr], Expr], joins: Expr
    ) -> Updates:
        last, v, c = s.last_view(), s.last_view() + 1, s.coordinator(s.last_view())

        def length(p: Expr) -> Expr:
            return If(p == x, cut, s.length(p))

        def final(w: Expr) -> Expr:
            return If(w == v, length(new), If(And(w == last, x == c), cut, s.final(w)))

        def top(w: Expr, i: Expr, a: Expr) -> Expr:
            kept = Or(not rules.prune_table, member(a))
            return If(
                And(w == v, i == length(new)),
                If(kept, s.top(last, final(last), a), 0),
                s.top(w, i, a),
            )

        return {
            "last_view": lambda: v,
            "member": lambda w, p: If(w == v, member(p), s.member(w, p)),
            "coordinator": lambda w: If(w == v, new, s.coordinator(w)),
            "joiner": lambda w, p: If(w == v, joins(p), s.joiner(w, p)),
            "length": length,
            # history
            "first": lambda w: If(w == v, length(new), s.first(w)),
            "final": final,
            "top": top,
        }

    def may_change(s: World, new: Expr, x: Expr, cut: Expr, joins: Expr) -> Expr:
        last, c = s.last_view(), s.coordinator(s.last_view())
        gone = s.exists(["process"], lambda p: And(s.member(last, p), Not(running(s, p))))
        asking = s.forall(
            ["process"],
            lambda p: Implies(joins(p), And(s.status(p) == JOINING, Not(s.stranger(s.node(p))))),
            lambda p: [joins(p), s.status(p)],
        )
        return And(
            settled(s),
            s.member(last, new),
            running(s, new),
            Implies(And(s.member(last, c), running(s, c)), new == c),
            asking,
            Or(gone, s.exists(["process"], joins)),
            may_cut(s, c, new, x, cut),
        )

    def changed(s: World, new: Expr, x: Expr, cut: Expr, joins: Expr) -> Updates:
        def member(p: Expr) -> Expr:
            return Or(And(s.member(s.last_view(), p), running(s, p)), joins(p))

        return decided(s, new, x, cut, member, joins)

    view_change = Transition(
        "ViewChange",
        "",
        (("new", "process"), ("x", "process"), ("cut", "place"), ("joins", "set")),
        may_change,
        changed,
    )

    def may_demote(s: World, new: Expr, x: Expr, cut: Expr) -> Expr:
        last, c = s.last_view(), s.coordinator(s.last_view())
        all_alive = s.forall(
            ["process"],
            lambda p: Implies(s.member(last, p), running(s, p)),
            lambda p: [s.member(last, p)],
        )
        return And(settled(s), all_alive, s.member(last, new), new != c, may_cut(s, c, new, x, cut))

    demote = Transition(
        "Demote",
        "",
        (("new", "process"), ("x", "process"), ("cut", "place")),
        may_demote,
        lambda s, new, x, cut: decided(
            s, new, x, cut, lambda p: s.member(s.last_view(), p), lambda _p: False
        ),
    )
    return (view_change, demote)
