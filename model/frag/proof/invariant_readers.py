"""Of members: the part of FRAG's invariant that says what they have read, keep and delivered."""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, World

from .words import (
    Basis,
    completes,
    has_read,
    is_heard,
    ordered,
    running,
)

READERS: Final = (
    Conjunct(
        "NothingIsHeard",
        "Who does not run has delivered nothing.",
        ("process",),
        lambda s, n: And(s.heard(n) >= 0, Implies(Not(running(s, n)), s.heard(n) == 0)),
        lambda s, n: [s.heard(n)],
    ),
    Conjunct(
        "InTheLog",
        "A member is at some place of the log of its view.",
        ("process",),
        lambda s, n: Implies(running(s, n), And(s.at(n) >= 0, s.at(n) <= s.len(s.view(n)))),
        lambda s, n: [s.at(n)],
    ),
    Conjunct(
        "SameKept",
        "Members that are at the same place keep the same fragments: those of the log.",
        ("process", "process", "seqno"),
        lambda s, n, x, m: Implies(
            running(s, n), s.here(n, x, m) == s.had(s.view(n), s.at(n), x, m)
        ),
        lambda s, n, x, m: [s.here(n, x, m)],
    ),
    Conjunct(
        "SameLoad",
        "They keep messages of the same number of parts.",
        ("process", "process"),
        lambda s, n, x: Implies(running(s, n), s.load(n, x) == s.loaded(s.view(n), s.at(n), x)),
        lambda s, n, x: [s.load(n, x)],
    ),
    Conjunct(
        "KeptInOrder",
        "The fragments kept of a message are its first ones, in order, of the epoch.",
        ("process", "process", "seqno", "part"),
        lambda s, n, x, m, q: Implies(
            And(running(s, n), q >= 0, q < s.here(n, x, m)),
            And(s.piece_part(n, x, m, q) == q, s.piece_epoch(n, x, m, q) == s.epoch(n)),
        ),
        lambda s, n, x, m, q: [s.piece_part(n, x, m, q), s.piece_epoch(n, x, m, q)],
    ),
)
"""What is true of a member at its place."""


def deliveries(basis: Basis) -> tuple[Conjunct, ...]:
    """Return what is true of all that a member has delivered."""
    return (
        Conjunct(
            "HeardFromTheLog",
            "What a member has delivered is completed where it has read, and has its rank there.",
            ("process", "index"),
            lambda s, n, j: Implies(is_heard(s, n, j), _is_of_log(s, basis, n, j)),
            lambda s, n, j: [
                s.heard_from(n, j),
                s.heard_number(n, j),
                s.heard_view(n, j),
                s.heard_at(n, j),
                s.rank(n, j),
            ],
        ),
        Conjunct(
            "HeardWhole",
            "What a member has delivered has as many parts as its message.",
            ("process", "index"),
            lambda s, n, j: Implies(
                is_heard(s, n, j),
                s.heard_parts(n, j) == s.size(s.heard_from(n, j), s.heard_number(n, j)),
            ),
            lambda s, n, j: [s.heard_parts(n, j)],
        ),
        Conjunct(
            "HeardParts",
            "They are in order, and of the epoch of the view.",
            ("process", "index", "part"),
            lambda s, n, j, q: Implies(
                And(is_heard(s, n, j), q >= 0, q < s.heard_parts(n, j)),
                And(
                    s.heard_part(n, j, q) == q,
                    s.heard_epoch(n, j, q) == s.began(s.heard_view(n, j)),
                ),
            ),
            lambda s, n, j, q: [s.heard_part(n, j, q), s.heard_epoch(n, j, q)],
        ),
        Conjunct(
            "HeardInOrder",
            "A member has delivered in the order of the logs.",
            ("process", "index", "index"),
            lambda s, n, j, k: Implies(
                And(is_heard(s, n, j), is_heard(s, n, k), j < k),
                Or(
                    s.heard_view(n, j) < s.heard_view(n, k),
                    And(
                        s.heard_view(n, j) == s.heard_view(n, k),
                        s.heard_at(n, j) < s.heard_at(n, k),
                    ),
                ),
            ),
            lambda s, n, j, k: [(s.heard_at(n, j), s.heard_at(n, k))],
        ),
        Conjunct(
            "AllIsHeard",
            "A member has delivered as many messages of a view as are completed where it has read.",
            ("process", "view"),
            lambda s, n, v: And(
                Implies(And(running(s, n), v == s.view(n)), s.amount(n, v) == s.nth(v, s.at(n))),
                Implies(
                    And(running(s, n), v < s.view(n), s.member(v, n)),
                    s.amount(n, v) == s.nth(v, s.len(v)),
                ),
                Implies(Or(v > s.view(n), Not(running(s, n))), s.amount(n, v) == 0),
            ),
            lambda s, n, v: [s.amount(n, v)],
        ),
    )


def _is_of_log(s: World, basis: Basis, n: Expr, j: Expr) -> Expr:
    v, i = s.heard_view(n, j), s.heard_at(n, j)
    return And(
        v >= 1,
        ordered(s, v, i),
        has_read(s, n, v, i),
        completes(s, basis, v, i),
        s.heard_from(n, j) == s.source(v, i),
        s.heard_number(n, j) == s.number(v, i),
        s.rank(n, j) == s.nth(v, i),
    )
