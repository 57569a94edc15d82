"""Views, and from whom a joiner descends: conjuncts where joiners are promised digests.

A joiner is promised what the member that admits it has: its *origin* in the views before its first
one. The theories that use them have the symbols member, joined, last, view, running and origin.
"""

from __future__ import annotations

from typing import Final

from .induction import Conjunct
from .logic import And, Expr, Implies, Not, World


def admitted(s: World, q: Expr) -> Expr:
    """q is a member, was one, or is about to be."""
    return s.joined(q) > 0


ADMITTED: Final = Conjunct(
    "Admitted",
    "A member of a decided view was admitted with it or before.",
    ("view", "process"),
    lambda s, v, q: Implies(
        s.member(v, q), And(v >= 1, v <= s.last(), s.joined(q) >= 1, s.joined(q) <= v)
    ),
    lambda s, v, q: [s.member(v, q)],
)
DESCENT: Final = (
    Conjunct(
        "InItsView",
        "A running process is a member of its own view.",
        ("process",),
        lambda s, n: Implies(
            s.running(n),
            And(s.view(n) >= 1, s.view(n) <= s.last(), s.member(s.view(n), n)),
        ),
        lambda s, n: [s.running(n), s.view(n)],
    ),
    Conjunct(
        "NotYetBegun",
        "A process that was admitted and has no view yet is in the view that admitted it, and not"
        " running.",
        ("process",),
        lambda s, q: And(
            s.view(q) >= 0,
            Implies(s.view(q) == 0, Not(s.running(q))),
            Implies(And(admitted(s, q), s.view(q) == 0), s.member(s.joined(q), q)),
        ),
        lambda s, q: [s.view(q), s.joined(q)],
    ),
    Conjunct(
        "OriginsHaveBegun",
        "A process descends only from a process that has installed a view.",
        ("process", "view"),
        lambda s, q, v: Implies(
            And(admitted(s, q), v >= 1, s.origin(q, v) != q), s.view(s.origin(q, v)) >= 1
        ),
        lambda s, q, v: [s.origin(q, v)],
    ),
    Conjunct(
        "OwnOrigin",
        "A process is its own origin from its first view on.",
        ("process", "view"),
        lambda s, q, v: Implies(And(admitted(s, q), v >= s.joined(q)), s.origin(q, v) == q),
        lambda s, q, v: [s.origin(q, v)],
    ),
    Conjunct(
        "OriginIsMember",
        "A member of a view has an origin in each earlier view.",
        ("view", "process", "view"),
        lambda s, w, q, v: Implies(
            And(s.member(w, q), v >= 1, v <= w), s.member(v, s.origin(q, v))
        ),
        lambda s, w, q, v: [(s.member(w, q), s.origin(q, v))],
    ),
)
