"""The inductive invariant of PBCAST's proof.

The first seven conjuncts are about views, and from whom a joiner descends, as in STABLE's proof.
The others say that what is gathered was delivered, and that so is what is purged.
"""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, World


def admitted(s: World, q: Expr) -> Expr:
    """q is a member, was one, or is about to be."""
    return s.joined(q) > 0


INVARIANT: Final = (
    Conjunct(
        "Admitted",
        "A member of a decided view was admitted with it or before.",
        ("view", "process"),
        lambda s, v, q: Implies(
            s.member(v, q), And(v >= 1, v <= s.last(), s.joined(q) >= 1, s.joined(q) <= v)
        ),
        lambda s, v, q: [s.member(v, q)],
    ),
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
    Conjunct(
        "OriginHasLeft",
        "The origin of another process in a view sees no gossip of it any more: it has left the"
        " view, or ended.",
        ("process", "view"),
        lambda s, q, v: Implies(
            And(admitted(s, q), v >= 1, s.origin(q, v) != q),
            Or(Not(s.running(s.origin(q, v))), s.view(s.origin(q, v)) > v),
        ),
        lambda s, q, v: [s.origin(q, v)],
    ),
    Conjunct(
        "CopiesOfViews",
        "Who has seen a gossip has installed its view.",
        ("copy", "process"),
        lambda s, c, p: Implies(
            And(s.known(c), s.seen(c, p)),
            And(s.of_view(c) >= 1, s.of_view(c) <= s.last(), s.view(p) >= s.of_view(c)),
        ),
        lambda s, c, p: [(s.known(c), s.seen(c, p))],
    ),
    Conjunct(
        "GatheredHolds",
        "Who has seen a gossip, and every process that descends from it, has delivered the lowest"
        " that the gossip has gathered.",
        ("copy", "process", "process"),
        lambda s, c, q, x: Implies(
            And(s.known(c), admitted(s, q), s.seen(c, s.origin(q, s.of_view(c)))),
            s.lowest(c, x) <= s.delivered(q, x),
        ),
        lambda s, c, q, x: [(s.known(c), s.delivered(q, x)), (s.lowest(c, x), s.joined(q))],
    ),
    Conjunct(
        "PurgedHolds",
        "Every member of a member's view and of all later ones has delivered what that member"
        " purged.",
        ("process", "view", "process", "process"),
        lambda s, n, w, q, x: Implies(
            And(s.running(n), s.member(w, q), w >= s.view(n)),
            s.purged(n, x) <= s.delivered(q, x),
        ),
        lambda s, n, w, q, x: [(s.purged(n, x), s.delivered(q, x), s.member(w, q))],
    ),
    Conjunct(
        "Counts",
        "Nobody has delivered less than nothing.",
        ("process", "process"),
        lambda s, q, x: s.delivered(q, x) >= 0,
        lambda s, q, x: [s.delivered(q, x)],
    ),
)
