"""The inductive invariant of STABLE's proof.

Every conjunct says the same of another quantity (a digest, a vote, a minimum, a STABILITY, a
purge): it covers no more than the descendants of its voters have delivered, and no more than is
promised to future descendants.
"""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.descent import ADMITTED, DESCENT, admitted
from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, World


def _descends(s: World, q: Expr, v: Expr) -> Expr:
    """q has delivered, or was given, everything that all members of view v have delivered."""
    return And(admitted(s, q), s.member(v, s.origin(q, v)))


INVARIANT: Final = (
    ADMITTED,
    Conjunct(
        "Joined",
        "A process is admitted with a decided view only, and a running process is admitted.",
        ("process",),
        lambda s, q: And(
            s.joined(q) >= 0,
            s.joined(q) <= s.last(),
            Implies(s.joined(q) == 0, And(s.view(q) == 0, Not(s.running(q)))),
            s.last() >= 1,
        ),
        lambda s, q: [s.joined(q)],
    ),
    *DESCENT,
    Conjunct(
        "OriginHasVoted",
        "The origin of another process in a view votes in it no more: it has left it, ended, or"
        " is suspended.",
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
        "A member that has promised its digest to a joiner is running and suspended.",
        ("process",),
        lambda s, c: Implies(s.cutting(c), And(s.running(c), s.suspended(c))),
        lambda s, c: [s.cutting(c), s.suspended(c)],
    ),
    Conjunct(
        "DigestsOfMembers",
        "The sender of a digest is a member of the digest's view.",
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
        "The sender of a digest, and every process that descends from it, has delivered what the"
        " digest claims.",
        ("digest", "process", "process"),
        lambda s, d, q, x: Implies(
            And(s.digest(d), admitted(s, q), s.origin(q, s.digest_view(d)) == s.digest_from(d)),
            s.digest_at(d, x) <= s.delivered(q, x),
        ),
        lambda s, d, q, x: [(s.digest(d), s.delivered(q, x)), (s.digest_at(d, x), s.joined(q))],
    ),
    Conjunct(
        "DigestsPromised",
        "A promise to a joiner covers every digest of the members from which the promiser"
        " descends.",
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
        "A voter, and every process that descends from it, has delivered everything up to the"
        " minimum.",
        ("process", "process", "process"),
        lambda s, n, q, x: Implies(
            And(s.running(n), admitted(s, q), s.voted(n, s.origin(q, s.view(n)))),
            s.lowest(n, x) <= s.delivered(q, x),
        ),
        lambda s, n, q, x: [(s.lowest(n, x), s.delivered(q, x))],
    ),
    Conjunct(
        "VotesPromised",
        "A promise to a joiner covers the minimum of the votes.",
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
        "Every process that descends from the view has delivered what is about to be declared"
        " stable.",
        ("process", "process", "process"),
        lambda s, n, q, x: Implies(
            And(s.running(n), s.pending(n), _descends(s, q, s.view(n))),
            s.due(n, x) <= s.delivered(q, x),
        ),
        lambda s, n, q, x: [(s.due(n, x), s.delivered(q, x))],
    ),
    Conjunct(
        "DuePromised",
        "A promise to a joiner covers what is about to be declared stable.",
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
        "STABILITY names a decided view.",
        ("stability",),
        lambda s, m: Implies(
            s.stability(m), And(s.stability_view(m) >= 1, s.stability_view(m) <= s.last())
        ),
        lambda s, m: [s.stability(m)],
    ),
    Conjunct(
        "StableHolds",
        "Every process that descends from the view has delivered what is declared stable.",
        ("stability", "process", "process"),
        lambda s, m, q, x: Implies(
            And(s.stability(m), _descends(s, q, s.stability_view(m))),
            s.stability_at(m, x) <= s.delivered(q, x),
        ),
        lambda s, m, q, x: [(s.stability_at(m, x), s.delivered(q, x))],
    ),
    Conjunct(
        "StablePromised",
        "A promise to a joiner covers what is declared stable.",
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
        "PurgedPromised",
        "A promise to a joiner covers what was purged.",
        ("process", "process", "process"),
        lambda s, n, c, x: Implies(
            And(s.running(n), s.cutting(c), s.view(n) <= s.view(c)),
            s.purged(n, x) <= s.cut(c, x),
        ),
        lambda s, n, c, x: [(s.purged(n, x), s.cut(c, x))],
    ),
    Conjunct(
        "DigestsInTheirView",
        "The sender of a digest has installed the digest's view.",
        ("digest",),
        lambda s, d: Implies(s.digest(d), s.view(s.digest_from(d)) >= s.digest_view(d)),
        lambda s, d: [s.digest(d)],
    ),
    Conjunct(
        "VotersHaveInstalled",
        "A process that has voted has installed the view in which its vote counts.",
        ("process", "process"),
        lambda s, n, p: Implies(And(s.running(n), s.voted(n, p)), s.view(p) >= s.view(n)),
        lambda s, n, p: [s.voted(n, p)],
    ),
    Conjunct(
        "DueIsOfAll",
        "All members of a view have installed it when something is about to be declared stable.",
        ("process", "process"),
        lambda s, n, p: Implies(
            And(s.running(n), s.pending(n), s.member(s.view(n), p)), s.view(p) >= s.view(n)
        ),
        lambda s, n, p: [(s.pending(n), s.member(s.view(n), p))],
    ),
    Conjunct(
        "StableIsOfAll",
        "All members of a view have installed it when something is declared stable in it.",
        ("stability", "process"),
        lambda s, m, p: Implies(
            And(s.stability(m), s.member(s.stability_view(m), p)),
            s.view(p) >= s.stability_view(m),
        ),
        lambda s, m, p: [(s.stability(m), s.member(s.stability_view(m), p))],
    ),
    Conjunct(
        "Counts",
        "Counts of deliveries, also promised ones, are at least 0.",
        ("process", "process"),
        lambda s, q, x: And(s.delivered(q, x) >= 0, Implies(s.cutting(q), s.cut(q, x) >= 0)),
        lambda s, q, x: [s.delivered(q, x), s.cut(q, x)],
    ),
)
