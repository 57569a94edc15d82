"""The inductive invariant of STABLE's proof.

Every conjunct says the same of another quantity (a digest, a vote, a minimum, a STABILITY, a
purge): it covers no more than the descendants of its voters have delivered, and no more than is
promised to future descendants.
"""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, World


def admitted(s: World, q: Expr) -> Expr:
    """q is a member, was one, or is about to be."""
    return s.joined(q) > 0


def _descends(s: World, q: Expr, v: Expr) -> Expr:
    """q has delivered, or was given, everything that all members of view v have delivered."""
    return And(admitted(s, q), s.member(v, s.origin(q, v)))


INVARIANT: Final = (
    Conjunct(
        "Admitted",
        "Members of decided views were admitted, at the latest with them.",
        ("view", "process"),
        lambda s, v, q: Implies(
            s.member(v, q), And(v >= 1, v <= s.last(), s.joined(q) >= 1, s.joined(q) <= v)
        ),
        lambda s, v, q: [s.member(v, q)],
    ),
    Conjunct(
        "Joined",
        "Nobody is admitted with a view that is not decided, nor not yet admitted and there.",
        ("process",),
        lambda s, q: And(
            s.joined(q) >= 0,
            s.joined(q) <= s.last(),
            Implies(s.joined(q) == 0, And(s.view(q) == 0, Not(s.running(q)))),
            s.last() >= 1,
        ),
        lambda s, q: [s.joined(q)],
    ),
    Conjunct(
        "InItsView",
        "Who runs is in its view.",
        ("process",),
        lambda s, n: Implies(
            s.running(n),
            And(s.view(n) >= 1, s.view(n) <= s.last(), s.member(s.view(n), n)),
        ),
        lambda s, n: [s.running(n), s.view(n)],
    ),
    Conjunct(
        "NotYetBegun",
        "Who is admitted and has no view yet is in the one that admitted it, and not running.",
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
        "Nobody descends from who has no view yet.",
        ("process", "view"),
        lambda s, q, v: Implies(
            And(admitted(s, q), v >= 1, s.origin(q, v) != q), s.view(s.origin(q, v)) >= 1
        ),
        lambda s, q, v: [s.origin(q, v)],
    ),
    Conjunct(
        "OwnOrigin",
        "From its first view on a process is its own origin.",
        ("process", "view"),
        lambda s, q, v: Implies(And(admitted(s, q), v >= s.joined(q)), s.origin(q, v) == q),
        lambda s, q, v: [s.origin(q, v)],
    ),
    Conjunct(
        "OriginIsMember",
        "Whoever is in a view has an origin in each view before it.",
        ("view", "process", "view"),
        lambda s, w, q, v: Implies(
            And(s.member(w, q), v >= 1, v <= w), s.member(v, s.origin(q, v))
        ),
        lambda s, w, q, v: [(s.member(w, q), s.origin(q, v))],
    ),
    Conjunct(
        "OriginHasVoted",
        "Who was origin in a view is past it, gone, or suspended: it votes in it no more.",
        ("process", "view"),
        lambda s, q, v: Implies(
            And(admitted(s, q), v >= 1, s.origin(q, v) != q),
            Or(
                Not(s.running(s.origin(q, v))),
                s.view(s.origin(q, v)) > v,
                And(
                    s.view(s.origin(q, v)) == v,
                    s.suspended(s.origin(q, v)),
                    s.cutting(s.origin(q, v)),
                ),
            ),
        ),
        lambda s, q, v: [s.origin(q, v)],
    ),
    Conjunct(
        "Suspended",
        "Who has promised its digest is running and suspended.",
        ("process",),
        lambda s, c: Implies(s.cutting(c), And(s.running(c), s.suspended(c))),
        lambda s, c: [s.cutting(c), s.suspended(c)],
    ),
    Conjunct(
        "DigestsOfMembers",
        "Digests that were sent are of members of their views.",
        ("digest",),
        lambda s, d: Implies(
            s.digest(d),
            And(
                s.member(s.digest_view(d), s.digest_from(d)),
                s.view(s.digest_from(d)) >= 1,
                Implies(s.running(s.digest_from(d)), s.digest_view(d) <= s.view(s.digest_from(d))),
            ),
        ),
        lambda s, d: [s.digest(d)],
    ),
    Conjunct(
        "DigestsHold",
        "What a digest says its sender has delivered, and all who descend from it have too.",
        ("digest", "process", "process"),
        lambda s, d, q, x: Implies(
            And(s.digest(d), admitted(s, q), s.origin(q, s.digest_view(d)) == s.digest_from(d)),
            s.digest_at(d, x) <= s.delivered(q, x),
        ),
        lambda s, d, q, x: [(s.digest(d), s.delivered(q, x)), (s.digest_at(d, x), s.joined(q))],
    ),
    Conjunct(
        "DigestsPromised",
        "It is in what is promised to joiners.",
        ("digest", "process", "process"),
        lambda s, d, c, x: Implies(
            And(
                s.digest(d),
                s.cutting(c),
                s.digest_view(d) <= s.view(c),
                s.origin(c, s.digest_view(d)) == s.digest_from(d),
            ),
            s.digest_at(d, x) <= s.cut(c, x),
        ),
        lambda s, d, c, x: [(s.digest(d), s.cut(c, x)), (s.digest_at(d, x), s.cutting(c))],
    ),
    Conjunct(
        "VotesHold",
        "The minimum is not above what a voter, or who descends from it, has delivered.",
        ("process", "process", "process"),
        lambda s, n, q, x: Implies(
            And(s.running(n), admitted(s, q), s.voted(n, s.origin(q, s.view(n)))),
            s.lowest(n, x) <= s.delivered(q, x),
        ),
        lambda s, n, q, x: [(s.lowest(n, x), s.delivered(q, x))],
    ),
    Conjunct(
        "VotesPromised",
        "Nor above what is promised to joiners.",
        ("process", "process", "process"),
        lambda s, n, c, x: Implies(
            And(
                s.running(n),
                s.cutting(c),
                s.view(n) <= s.view(c),
                s.voted(n, s.origin(c, s.view(n))),
            ),
            s.lowest(n, x) <= s.cut(c, x),
        ),
        lambda s, n, c, x: [(s.lowest(n, x), s.cut(c, x))],
    ),
    Conjunct(
        "DueHolds",
        "What is to be declared stable all who descend from the view have delivered.",
        ("process", "process", "process"),
        lambda s, n, q, x: Implies(
            And(s.running(n), s.pending(n), _descends(s, q, s.view(n))),
            s.due(n, x) <= s.delivered(q, x),
        ),
        lambda s, n, q, x: [(s.due(n, x), s.delivered(q, x))],
    ),
    Conjunct(
        "DuePromised",
        "It is in what is promised to joiners.",
        ("process", "process", "process"),
        lambda s, n, c, x: Implies(
            And(
                s.running(n),
                s.pending(n),
                s.cutting(c),
                s.view(n) <= s.view(c),
                _descends(s, c, s.view(n)),
            ),
            s.due(n, x) <= s.cut(c, x),
        ),
        lambda s, n, c, x: [(s.due(n, x), s.cut(c, x))],
    ),
    Conjunct(
        "StableInView",
        "STABILITY is of a decided view.",
        ("stability",),
        lambda s, m: Implies(
            s.stability(m), And(s.stability_view(m) >= 1, s.stability_view(m) <= s.last())
        ),
        lambda s, m: [s.stability(m)],
    ),
    Conjunct(
        "StableHolds",
        "What is declared stable all who descend from the view have delivered.",
        ("stability", "process", "process"),
        lambda s, m, q, x: Implies(
            And(s.stability(m), _descends(s, q, s.stability_view(m))),
            s.stability_at(m, x) <= s.delivered(q, x),
        ),
        lambda s, m, q, x: [(s.stability_at(m, x), s.delivered(q, x))],
    ),
    Conjunct(
        "StablePromised",
        "It is in what is promised to joiners.",
        ("stability", "process", "process"),
        lambda s, m, c, x: Implies(
            And(
                s.stability(m),
                s.cutting(c),
                s.stability_view(m) <= s.view(c),
                _descends(s, c, s.stability_view(m)),
            ),
            s.stability_at(m, x) <= s.cut(c, x),
        ),
        lambda s, m, c, x: [(s.stability_at(m, x), s.cut(c, x))],
    ),
    Conjunct(
        "PurgedHolds",
        "What is purged every member of that view and of all later ones has delivered.",
        ("process", "view", "process", "process"),
        lambda s, n, w, q, x: Implies(
            And(s.running(n), s.member(w, q), w >= s.view(n)),
            s.purged(n, x) <= s.delivered(q, x),
        ),
        lambda s, n, w, q, x: [(s.purged(n, x), s.delivered(q, x), s.member(w, q))],
    ),
    Conjunct(
        "PurgedPromised",
        "It is in what is promised to joiners.",
        ("process", "process", "process"),
        lambda s, n, c, x: Implies(
            And(s.running(n), s.cutting(c), s.view(n) <= s.view(c)),
            s.purged(n, x) <= s.cut(c, x),
        ),
        lambda s, n, c, x: [(s.purged(n, x), s.cut(c, x))],
    ),
    Conjunct(
        "Counts",
        "Nothing is delivered less than not at all.",
        ("process", "process"),
        lambda s, q, x: And(s.delivered(q, x) >= 0, Implies(s.cutting(q), s.cut(q, x) >= 0)),
        lambda s, q, x: [s.delivered(q, x), s.cut(q, x)],
    ),
)
