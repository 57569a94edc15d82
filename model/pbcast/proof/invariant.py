"""The inductive invariant of PBCAST's proof.

The first seven conjuncts are about views, and from whom a joiner descends, as in STABLE's proof.
The others say that what is gathered was delivered, and that so is what is purged.
"""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.descent import ADMITTED, DESCENT, admitted
from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Implies, Not, Or

INVARIANT: Final = (
    ADMITTED,
    *DESCENT,
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
