"""The parts of which the transitions of RING_START's proof are made."""

from __future__ import annotations

from raincheck.model.proof.logic import And, Expr, Or, Updates, World, merged, put

from .words import ATTEMPTING, MEMBER, Basis, asks, is_founder

N = ("n", "process")
P = ("p", "process")
Q = ("q", "quorum")
F = ("f", "founding")
W = ("w", "answer")


def asked(s: World, n: Expr, p: Expr) -> Expr:
    """n asks, and p, another one of those that are asked, answers."""
    return And(s.stage(n) != MEMBER, s.member(p), p != n)


def forgets_answers(s: World, n: Expr) -> Updates:
    return {
        "heard": lambda m, p: And(m != n, s.heard(m, p)),
        "again": put(s.again, n, False),
        "late": lambda w: And(s.to(w) != n, s.late(w)),
    }


def recorded(s: World, n: Expr, f: Expr) -> Updates:
    """n has recorded the founding, or joins its ring."""
    mine = is_founder(s, n, f)
    return {
        "ring": put(s.ring, n, f),
        "tried": lambda g, p: Or(And(g == f, p == n, mine), s.tried(g, p)),
    }


def speaks(s: World, n: Expr, f: Expr) -> Updates:
    mine = is_founder(s, n, f)
    return {
        "stage": put(s.stage, n, MEMBER),
        "spoken": lambda g, p: Or(And(g == f, p == n, mine), s.spoken(g, p)),
    }


def anew(s: World, n: Expr, stage: int, basis: Basis) -> Updates:
    """n is somebody else; what it has said as a founder is gone with it."""
    founds = And(Or(s.stage(n) == ATTEMPTING, s.stage(n) == MEMBER), is_founder(s, n, s.ring(n)))
    return merged(
        forgets_answers(s, n),
        {
            "memory": put(s.memory, n, s.memory(n) + (1 if basis.lives else 0)),
            "stage": put(s.stage, n, stage),
            "gone": lambda g, p: Or(And(g == s.ring(n), p == n, founds), s.gone(g, p)),
        },
    )


def lapses(s: World, n: Expr, p: Expr, w: Expr, basis: Basis) -> Expr:
    """p, which has answered the first member, has asked anew since it was told this."""
    if not basis.asks_anew:
        return False
    return And(n == s.first(), asks(s, p), s.to(w) == p, s.before(w))
