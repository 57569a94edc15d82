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

from .views import crashing, installing
from .words import Basis, been, leads, logged, running

_N = ("n", "process")


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return all branches of all actions."""
    return (*_sending(basis), _receiving(), _acknowledging(), *installing(basis), crashing())


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
        "place": put(s.place, v, p, m, i),
        "next_id": put(s.next_id, n, i + 1),
        "expected": put(s.expected, n, i + 1),
        "reached": put(s.reached, n, i + 1),
        "kept": put(s.kept, n, i, True),
        "kept_from": put(s.kept_from, n, i, p),
        "kept_number": put(s.kept_number, n, i, m),
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

    That is at most the id after the last one, for nothing else is queued than what was broadcast
    (QueueIsOfTheLog); so what it takes from its queue is written here as what the log has.
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
            "queued_from": put(s.queued_from, n, i, s.log_from(v, i)),
            "queued_number": put(s.queued_number, n, i, s.log_number(v, i)),
            "expected": put(s.expected, n, e),
            "reached": put(s.reached, n, e),
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


def _acknowledging() -> Transition:
    """An acknowledgement of p arrives at n, which forgets the ids up to f.

    Of whoever is gone from the view, any may be under way.
    """

    def known(s: World, n: Expr, p: Expr, i: Expr, q: Expr) -> Expr:
        return If(q == p, i, s.acks(n, q))

    def comes(s: World, n: Expr, p: Expr, i: Expr, f: Expr) -> Expr:
        v = s.view(n)
        return And(
            *(leads(s, n), p != n, been(s, p, v), s.acks(n, p) < i),
            Implies(s.view(p) == v, i < s.expected(p)),
            s.forall(
                ["process"],
                lambda q: Implies(And(s.member(v, q), q != n), f <= known(s, n, p, i, q)),
                lambda q: [s.member(v, q), s.acks(n, q)],
            ),
        )

    return Transition(
        "ReceiveCumSeqAck",
        "",
        (_N, ("p", "process"), ("i", "place"), ("f", "place")),
        comes,
        lambda s, n, p, i, f: {
            "acks": put(s.acks, n, p, i),
            "kept": lambda q, j: And(s.kept(q, j), Or(q != n, j > f)),
        },
    )
