"""The actions of `spec/Total.tla`. Each branch of an action is a transition.

An action that changes nothing of the vocabulary is none: all timers, what they send, and losses.
"""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import (
    And,
    Expr,
    If,
    Implies,
    Not,
    Or,
    Updates,
    World,
    merged,
    put,
)

from .words import CRASHED, JOINING, MEMBER, Basis, been, done, leads, logged, running

_N = ("n", "process")
_W = ("w", "view")


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return all branches of all actions."""
    return (*_sending(basis), _receiving(), *_installing(basis), _crashing())


def _open(s: World, n: Expr) -> Expr:
    """Nobody has gone on from the view of n: FLUSH has let no one go, and so blocks no one."""
    return Not(s.left(s.view(n)))


# ---------------------------------------------------------------------- the sequencer


def _appended(s: World, n: Expr, p: Expr, m: Expr) -> Updates:
    """Have the sequencer n give p's message m the next id, and deliver it."""
    v, i, k = s.view(n), s.next_id(n), s.heard(n)
    return {
        "length": put(s.length, v, i),
        "log_from": put(s.log_from, v, i, p),
        "log_number": put(s.log_number, v, i, m),
        "count": lambda w, j, x: If(
            And(w == v, j == i), s.count(v, i - 1, x) + If(x == p, 1, 0), s.count(w, j, x)
        ),
        "next_id": put(s.next_id, n, i + 1),
        "expected": put(s.expected, n, i + 1),
        "heard": put(s.heard, n, k + 1),
        "heard_from": put(s.heard_from, n, k, p),
        "heard_number": put(s.heard_number, n, k, m),
        "heard_view": put(s.heard_view, n, k, v),
        "heard_id": put(s.heard_id, n, k, i),
        "at": put(s.at, n, v, i, k),
    }


def _sending(basis: Basis) -> tuple[Transition, ...]:
    def sent(s: World, n: Expr) -> Updates:
        return {"seqno": put(s.seqno, n, s.seqno(n) + 1)}

    def comes(s: World, n: Expr, p: Expr, m: Expr) -> Expr:
        """A request of p for its message m may arrive: it has sent it in this view."""
        v = s.view(n)
        tag = m - s.base(p, v)
        return And(
            *(leads(s, n), _open(s, n), p != n, been(s, p, v)),
            *(tag >= 1, m <= s.seqno(p)),
            Implies(basis.tags, tag == s.taken(n, p) + 1),
        )

    return (
        Transition(
            "Send",
            "a request",
            (_N,),
            lambda s, n: And(running(s, n), s.sequencer(s.view(n)) != n),
            sent,
        ),
        Transition(
            "Send",
            "a broadcast",
            (_N,),
            lambda s, n: And(leads(s, n), _open(s, n)),
            lambda s, n: merged(sent(s, n), _appended(s, n, n, s.seqno(n) + 1)),
        ),
        Transition(
            "ReceiveRequest",
            "taken",
            (_N, ("p", "process"), ("m", "seqno")),
            comes,
            lambda s, n, p, m: merged(
                _appended(s, n, p, m), {"taken": put(s.taken, n, p, s.taken(n, p) + 1)}
            ),
        ),
    )


# ---------------------------------------------------------------------- the others


def _receiving() -> Transition:
    """The broadcast with id i arrives at n, which then expects e.

    That is at most the id after the last one, for nothing else is queued than what was broadcast.
    """

    def has(s: World, n: Expr, i: Expr, j: Expr) -> Expr:
        return Or(s.queued(n, j), j == i)

    def comes(s: World, n: Expr, i: Expr, e: Expr) -> Expr:
        return And(
            *(running(s, n), _open(s, n), logged(s, s.view(n), i)),
            *(s.expected(n) <= i, Not(s.queued(n, i)), Not(has(s, n, i, e))),
            *(s.expected(n) <= e, e <= s.length(s.view(n)) + 1),
            s.forall(
                ["place"],
                lambda j: Implies(And(s.expected(n) <= j, j < e), has(s, n, i, j)),
                lambda j: [s.queued(n, j)],
            ),
        )

    def taken(s: World, n: Expr, i: Expr, e: Expr) -> Updates:
        v, old, k = s.view(n), s.expected(n), s.heard(n)

        def new(p: Expr, j: Expr) -> Expr:
            return And(p == n, j >= k, j < k + e - old)

        return {
            "queued": lambda p, j: If(p == n, And(j >= e, has(s, n, i, j)), s.queued(p, j)),
            "expected": put(s.expected, n, e),
            "heard": put(s.heard, n, k + e - old),
            "heard_from": lambda p, j: If(
                new(p, j), s.log_from(v, old + j - k), s.heard_from(p, j)
            ),
            "heard_number": lambda p, j: If(
                new(p, j), s.log_number(v, old + j - k), s.heard_number(p, j)
            ),
            "heard_view": lambda p, j: If(new(p, j), v, s.heard_view(p, j)),
            "heard_id": lambda p, j: If(new(p, j), old + j - k, s.heard_id(p, j)),
            "at": lambda p, w, j: If(
                And(p == n, w == v, j >= old, j < e), k + j - old, s.at(p, w, j)
            ),
        }

    return Transition("ReceiveBcast", "", (_N, ("i", "place"), ("e", "place")), comes, taken)


# ---------------------------------------------------------------------- views


def _installing(basis: Basis) -> tuple[Transition, ...]:
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
        }

    def installed(s: World, n: Expr, w: Expr, base: Expr) -> Updates:
        return {
            "view": put(s.view, n, w),
            "latest": put(s.latest, n, w),
            "base": put(s.base, n, w, base),
            "taken": lambda p, x: If(p == n, 0, s.taken(p, x)),
            "queued": lambda p, j: And(p != n, s.queued(p, j)),
            "expected": put(s.expected, n, 1),
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
            "next_id": put(s.next_id, n, more + 1),
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


def _crashing() -> Transition:
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
        },
    )
