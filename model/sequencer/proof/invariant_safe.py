"""The invariant's conjuncts about safe delivery: what is delivered every survivor has received."""

from __future__ import annotations

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Or, World

from .vocabulary import JOINING, REPLACED, UNBORN, in_part, is_heard, is_released, running


def safe_conjuncts() -> tuple[Conjunct, ...]:
    """Acknowledged, announced, and delivered: each is received by all members of the view."""

    def has(s: World, q: Expr, i: Expr) -> Expr:
        """q, if it runs, has read the last view's part up to place i; it is not still to come."""
        there = And(s.view(q) == s.last_view(), i <= s.at(q))
        return And(s.status(q) != JOINING, s.status(q) != UNBORN, Implies(running(s, q), there))

    def leads(s: World, c: Expr) -> Expr:
        last = s.last_view()
        return And(c == s.coordinator(last), running(s, c), s.view(c) == last)

    def told(s: World, p: Expr) -> Expr:
        there = And(running(s, p), s.status(s.coordinator(s.view(p))) != REPLACED)
        return Implies(there, s.told(p) <= s.at(p))

    def acked(s: World, q: Expr) -> Expr:
        last = s.last_view()
        c = s.coordinator(last)
        known = And(leads(s, c), s.member(last, q), s.acked(c, q) > s.first(last))
        return Implies(known, has(s, q, s.acked(c, q)))

    def announced(s: World, q: Expr) -> Expr:
        last = s.last_view()
        c = s.coordinator(last)
        said = And(leads(s, c), s.member(last, q), s.announced(c) > s.first(last))
        return Implies(said, has(s, q, s.announced(c)))

    def own(s: World, p: Expr) -> Expr:
        return And(
            s.announced(p) >= 0,
            Implies(running(s, p), s.announced(p) <= s.position(p, p)),
            Or(running(s, p), s.announced(p) == 0),
        )

    def in_the_order(s: World, p: Expr, j: Expr) -> Expr:
        v, i = s.heard_view(p, j), s.heard_at(p, j)
        return Implies(
            is_released(s, p, j),
            And(
                in_part(s, v, i),
                s.member(v, p),
                s.fresh(v, i),
                s.heard_from(p, j) == s.order_from(v, i),
                s.heard_seqno(p, j) == s.order_seqno(v, i),
            ),
        )

    def in_order(s: World, p: Expr, j: Expr, x: Expr) -> Expr:
        v, w = s.heard_view(p, j), s.heard_view(p, x)
        later = Or(v < w, And(v == w, s.heard_at(p, j) < s.heard_at(p, x)))
        both = And(is_released(s, p, j), is_released(s, p, x), j < x)
        return Implies(both, later)

    def received(s: World, p: Expr, j: Expr, q: Expr) -> Expr:
        last = s.last_view()
        here = And(is_released(s, p, j), s.heard_view(p, j) == last, s.member(last, q))
        return Implies(here, has(s, q, s.heard_at(p, j)))

    def old(s: World, p: Expr, j: Expr) -> Expr:
        earlier = And(running(s, p), is_heard(s, p, j), s.heard_view(p, j) < s.view(p))
        return Implies(earlier, j <= s.released(p))

    return (
        Conjunct(
            "ToldIsRead",
            "A member has acknowledged no more of its view's part than it has read.",
            ("process",),
            told,
            lambda s, p: [s.told(p)],
        ),
        Conjunct(
            "AckedIsRead",
            "What a coordinator knows to be acknowledged in the last view, that member has read.",
            ("process",),
            acked,
            lambda s, q: [s.acked(s.coordinator(s.last_view()), q)],
        ),
        Conjunct(
            "AnnouncedIsOwn",
            "A coordinator has announced no more of its stream than it has read itself.",
            ("process",),
            own,
            lambda s, p: [s.announced(p)],
        ),
        Conjunct(
            "AnnouncedIsRead",
            "What is announced in the last view, every member of it has read.",
            ("process",),
            announced,
            lambda s, q: [s.member(s.last_view(), q)],
        ),
        Conjunct(
            "ReleasedIsHeard",
            "Only what has been received is delivered.",
            ("process",),
            lambda s, p: And(s.released(p) >= 0, s.released(p) <= s.heard(p)),
            lambda s, p: [s.released(p)],
        ),
        Conjunct(
            "ReleasedIsKept",
            "What any process has delivered, even a crashed one, is in the order for ever.",
            ("process", "index"),
            in_the_order,
            lambda s, p, j: [s.heard_from(p, j), s.heard_at(p, j)],
        ),
        Conjunct(
            "ReleasedInOrder",
            "A process has delivered in the order of views and places, even a crashed one.",
            ("process", "index", "index"),
            in_order,
            lambda s, p, j, x: [(s.heard_from(p, j), s.heard_from(p, x))],
        ),
        Conjunct(
            "ReleasedIsRead",
            "What is delivered in the last view, every member of it has read.",
            ("process", "index", "process"),
            received,
            lambda s, p, j, q: [(s.heard_at(p, j), s.member(s.last_view(), q))],
        ),
        Conjunct(
            "OldViewsAreReleased",
            "What a process has received in earlier views it has delivered.",
            ("process", "index"),
            old,
            lambda s, p, j: [s.heard_view(p, j)],
        ),
    )
