"""InstallView and Crash of `spec/Total.tla`."""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Updates, World, merged, put

from .words import CRASHED, JOINING, MEMBER, Basis, done, running

_N = ("n", "process")
_W = ("w", "view")


def installing(basis: Basis) -> tuple[Transition, ...]:
    """Return the branches of InstallView."""

    def decided(s: World, n: Expr, w: Expr) -> Expr:
        """w is the last view: all that run have come to the one before, and nobody is beyond."""
        return And(
            s.member(w, n),
            w >= 2,
            s.forall(["process"], lambda q: s.latest(q) <= w, lambda q: [s.latest(q)]),
            s.forall(
                ["process"],
                lambda q: Implies(running(s, q), s.view(q) >= w - 1),
                lambda q: [s.view(q)],
            ),
        )

    def goes_on(s: World, n: Expr, w: Expr) -> Expr:
        """All members that run go on, and have received the same as n."""

        def alike(p: Expr) -> Expr:
            same = Implies(basis.virtual_synchrony, s.expected(p) == s.expected(n))
            return Implies(And(running(s, p), s.view(p) == s.view(n)), And(s.member(w, p), same))

        synchronised = s.forall(["process"], alike, lambda p: [s.view(p)])
        return And(running(s, n), w == s.view(n) + 1, decided(s, n, w), synchronised)

    def joins(s: World, n: Expr, w: Expr) -> Expr:
        """n is in no view before w, and not its first: those that go on come first."""
        new = s.forall(
            ["view"],
            lambda u: Implies(And(u >= 1, u < w), Not(s.member(u, n))),
            lambda u: [s.member(u, n)],
        )
        return And(s.status(n) == JOINING, decided(s, n, w), new)

    def leaves(s: World, n: Expr) -> Updates:
        v = s.view(n)
        return {
            "left": put(s.left, v, True),
            "leaver": put(s.leaver, v, n),
            "cut": put(s.cut, v, If(s.left(v), s.cut(v), s.expected(n) - 1)),
            "home": lambda p, m: If(
                And(p == n, m > s.base(n, v), m <= done(s, n)), v, s.home(p, m)
            ),
        }

    def installed(s: World, n: Expr, w: Expr, base: Expr) -> Updates:
        return {
            "view": put(s.view, n, w),
            "latest": put(s.latest, n, w),
            "base": put(s.base, n, w, base),
            "taken": lambda p, x: If(p == n, 0, s.taken(p, x)),
            "queued": lambda p, j: And(p != n, s.queued(p, j)),
            "kept": lambda p, j: And(p != n, s.kept(p, j)),
            "acks": lambda p, x: If(p == n, 0, s.acks(p, x)),
            "expected": put(s.expected, n, 1),
            "reached": put(s.reached, n, 1),
            "next_id": put(s.next_id, n, 0),
        }

    def begun(s: World, n: Expr, w: Expr, base: Expr) -> Updates:
        """Have the new sequencer broadcast its forwardTable."""
        more, k = s.seqno(n) - base, s.heard(n)

        def new(p: Expr, j: Expr) -> Expr:
            return And(p == n, j >= k, j < k + more)

        def its(v: Expr, i: Expr) -> Expr:
            return And(v == w, i >= 1, i <= more)

        return {
            **installed(s, n, w, base),
            "expected": put(s.expected, n, more + 1),
            "reached": put(s.reached, n, more + 1),
            "next_id": put(s.next_id, n, more + 1),
            "kept": lambda p, i: If(p == n, its(w, i), s.kept(p, i)),
            "kept_from": lambda p, i: If(And(p == n, its(w, i)), n, s.kept_from(p, i)),
            "kept_number": lambda p, i: If(And(p == n, its(w, i)), base + i, s.kept_number(p, i)),
            "place": lambda v, p, m: If(
                And(v == w, p == n, its(w, m - base)), m - base, s.place(v, p, m)
            ),
            "length": put(s.length, w, more),
            "log_from": lambda v, i: If(its(v, i), n, s.log_from(v, i)),
            "log_number": lambda v, i: If(its(v, i), base + i, s.log_number(v, i)),
            "count": lambda v, i, x: If(its(v, i), If(x == n, i, 0), s.count(v, i, x)),
            "heard": put(s.heard, n, k + more),
            "heard_from": lambda p, j: If(new(p, j), n, s.heard_from(p, j)),
            "heard_number": lambda p, j: If(new(p, j), base + 1 + j - k, s.heard_number(p, j)),
            "heard_view": lambda p, j: If(new(p, j), w, s.heard_view(p, j)),
            "heard_id": lambda p, j: If(new(p, j), 1 + j - k, s.heard_id(p, j)),
            "at": lambda p, v, i: If(And(p == n, its(v, i)), k + i - 1, s.at(p, v, i)),
        }

    def joined(s: World, n: Expr, w: Expr) -> Updates:
        return {"status": put(s.status, n, MEMBER), "first": put(s.first, n, w)}

    def first(s: World, n: Expr, w: Expr) -> Expr:
        return s.sequencer(w) == n

    return (
        Transition(
            "InstallView",
            "a member",
            (_N, _W),
            lambda s, n, w: And(goes_on(s, n, w), Not(first(s, n, w))),
            lambda s, n, w: merged(leaves(s, n), installed(s, n, w, done(s, n))),
        ),
        Transition(
            "InstallView",
            "the new sequencer",
            (_N, _W),
            lambda s, n, w: And(goes_on(s, n, w), first(s, n, w)),
            lambda s, n, w: merged(leaves(s, n), begun(s, n, w, done(s, n))),
        ),
        Transition(
            "InstallView",
            "a joiner",
            (_N, _W),
            lambda s, n, w: And(joins(s, n, w), Not(first(s, n, w))),
            lambda s, n, w: merged(joined(s, n, w), installed(s, n, w, 0)),
        ),
    )


def crashing() -> Transition:
    """Return Crash."""
    return Transition(
        "Crash",
        "",
        (_N,),
        running,
        lambda s, n: {
            "status": put(s.status, n, CRASHED),
            "view": put(s.view, n, 0),
            "expected": put(s.expected, n, 0),
            "next_id": put(s.next_id, n, 0),
            "taken": lambda p, x: If(p == n, 0, s.taken(p, x)),
            "queued": lambda p, j: And(p != n, s.queued(p, j)),
            "kept": lambda p, j: And(p != n, s.kept(p, j)),
            "acks": lambda p, x: If(p == n, 0, s.acks(p, x)),
        },
    )
