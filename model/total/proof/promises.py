"""What is proved of TOTAL: the safety properties of `spec/Total.tla`, by their names there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from raincheck.model.proof.induction import Property
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Or, World

from .words import is_heard, leads, running


def _same(s: World, p: Expr, j: Expr, q: Expr, k: Expr) -> Expr:
    """What p has delivered at index j is what q has at index k."""
    return And(
        *(is_heard(s, p, j), is_heard(s, q, k), s.heard_from(p, j) == s.heard_from(q, k)),
        s.heard_number(p, j) == s.heard_number(q, k),
    )


def total_order(s: World) -> Expr:
    """Two members that both deliver two messages do so in the same order."""

    def ordered(p: Expr, q: Expr, i: Expr, k: Expr) -> Expr:
        premise = And(running(s, p), running(s, q), _same(s, p, i, q, k))
        if premise is False:  # in a state of the model, of which there are many to ask
            return True
        after = s.forall(
            ["index", "index"],
            lambda j, m: Implies(And(i < j, _same(s, p, j, q, m)), k < m),
        )
        return Implies(premise, after)

    return s.forall(["process", "process", "index", "index"], ordered)


def agreement(s: World) -> Expr:
    """The survivors of a view have delivered the same messages in it."""

    def survived(p: Expr, v: Expr) -> Expr:
        return And(running(s, p), v >= 1, v < s.view(p), s.member(v, p), s.member(v + 1, p))

    def alike(p: Expr, q: Expr, j: Expr) -> Expr:
        v = s.heard_view(p, j)
        return Implies(
            And(survived(p, v), survived(q, v), is_heard(s, p, j)),
            s.exists(["index"], lambda k: And(_same(s, p, j, q, k), s.heard_view(q, k) == v)),
        )

    return s.forall(["process", "process", "index"], alike)


def integrity(s: World) -> Expr:
    """Nothing is delivered twice, and only sent messages are delivered."""

    def once(p: Expr, i: Expr, j: Expr) -> Expr:
        sent = s.heard_number(p, i) <= s.seqno(s.heard_from(p, i))
        return And(Implies(is_heard(s, p, i), sent), Implies(_same(s, p, i, p, j), i == j))

    return s.forall(["process", "index", "index"], once)


def fifo(s: World) -> Expr:
    """Messages of one sender are delivered in the order in which it sent them."""

    def in_order(p: Expr, i: Expr, j: Expr) -> Expr:
        both = And(is_heard(s, p, i), is_heard(s, p, j), i < j)
        return Implies(
            And(both, s.heard_from(p, i) == s.heard_from(p, j)),
            s.heard_number(p, i) < s.heard_number(p, j),
        )

    return s.forall(["process", "index", "index"], in_order)


def prefix(s: World) -> Expr:
    """Of two members in a view, one has delivered a prefix of the other's messages."""

    def begins(p: Expr, i: Expr) -> Expr:
        """It is the first that p delivers in a view."""
        return And(is_heard(s, p, i), Or(i == 0, s.heard_view(p, i - 1) != s.heard_view(p, i)))

    def alike(p: Expr, q: Expr, i: Expr, k: Expr) -> Expr:
        v = s.heard_view(p, i)
        premise = And(begins(p, i), begins(q, k), s.heard_view(q, k) == v)
        if premise is False:
            return True
        return Implies(
            premise,
            s.forall(
                ["index"],
                lambda d: Implies(
                    And(
                        d >= 0,
                        is_heard(s, p, i + d),
                        is_heard(s, q, k + d),
                        s.heard_view(p, i + d) == v,
                        s.heard_view(q, k + d) == v,
                    ),
                    _same(s, p, i + d, q, k + d),
                ),
            ),
        )

    return s.forall(["process", "process", "index", "index"], alike)


def no_creation(s: World) -> Expr:
    """The sequencer keeps only messages that were sent, by members of its view."""

    def true(n: Expr, i: Expr) -> Expr:
        p = s.kept_from(n, i)
        sent = And(s.kept_number(n, i) <= s.seqno(p), s.member(s.view(n), p))
        return Implies(And(running(s, n), s.kept(n, i)), sent)

    return s.forall(["process", "place"], true)


def gap_free(s: World) -> Expr:
    """No member delivers a message without the one that its sender sent before.

    The exception is the first message of a sender that a joiner delivers.
    """

    def follows(n: Expr, j: Expr, i: Expr) -> Expr:
        """The last message of its sender that n delivers before j, if any, is at i - 1."""
        p, m = s.heard_from(n, j), s.heard_number(n, j)
        if And(is_heard(s, n, j), i >= 0, i <= j) is False:
            return True

        def other(k: Expr) -> Expr:
            return Implies(And(i <= k, k < j), s.heard_from(n, k) != p)

        return Implies(
            And(
                *(is_heard(s, n, j), i >= 0, i <= j, Or(i == 0, s.heard_from(n, i - 1) == p)),
                s.forall(["index"], other, lambda k: [s.heard_from(n, k)]),
            ),
            If(i == 0, Or(m == 1, Not(s.member(1, n))), m == s.heard_number(n, i - 1) + 1),
        )

    return s.forall(["process", "index", "index"], follows)


def in_view(s: World) -> Expr:
    """A message is delivered only in a view that contains the receiver."""

    def inside(n: Expr, j: Expr) -> Expr:
        v = s.heard_view(n, j)
        return Implies(is_heard(s, n, j), And(v >= 1, s.member(v, n)))

    return s.forall(["process", "index"], inside)


def unique_ids(s: World) -> Expr:
    """In a view no two messages have the same id, wherever they have come to."""

    def delivered(p: Expr, q: Expr, i: Expr, j: Expr) -> Expr:
        both = And(is_heard(s, p, i), is_heard(s, q, j), s.heard_view(p, i) == s.heard_view(q, j))
        return Implies(And(both, s.heard_id(p, i) == s.heard_id(q, j)), _same(s, p, i, q, j))

    def held(p: Expr, q: Expr, i: Expr) -> Expr:
        """A broadcast of that id in a queue or a history, and another one."""
        mine = ((s.queued, s.queued_from, s.queued_number), (s.kept, s.kept_from, s.kept_number))
        return Implies(
            s.view(p) == s.view(q),
            And(
                *(
                    Implies(
                        And(has(p, i), also(q, i)),
                        And(sender(p, i) == whose(q, i), number(p, i) == other(q, i)),
                    )
                    for has, sender, number in mine
                    for also, whose, other in mine
                )
            ),
        )

    return And(
        s.forall(["process", "process", "index", "index"], delivered),
        s.forall(["process", "process", "place"], held),
    )


def recoverable(s: World) -> Expr:
    """The sequencer can send again all that a member can still need."""

    def can(n: Expr, p: Expr, i: Expr) -> Expr:
        needs = And(running(s, n), s.sequencer(s.view(n)) == p, s.view(n) == s.view(p))
        missing = And(s.expected(n) > 0, s.expected(n) <= i, i < s.next_id(p))

        def keeps(q: Expr) -> Expr:
            return And(running(s, q), s.view(q) == s.view(n), s.kept(q, i))

        return Implies(
            And(leads(s, p), needs, missing), Or(s.queued(n, i), s.exists(["process"], keeps))
        )

    return s.forall(["process", "process", "place"], can)


def _property(name: str, formula: Callable[[World], Expr], *by: str) -> Property:
    """Return the promise of that name; what it says is the first sentence of its docstring."""
    return Property(name, (formula.__doc__ or "").partition("\n")[0], formula, by)


_ORDER: Final = (
    *("Lives", "NotBefore", "LogOfMembers", "CountRises", "CountIsSent", "Left", "GoesOn"),
    *("BasesRise", "SameCut", "Heard", "HeardInOrder"),
)
"""What says that a sender's numbers rise along what anybody delivers."""

PROPERTIES: Final = (
    _property("TotalOrder", total_order, *_ORDER),
    _property("Prefix", prefix, "Lives", "Heard", "HeardInOrder", "InARow", "HeardWithoutGap"),
    _property("Agreement", agreement, "Lives", "NotBefore", "Heard", "HeardAll"),
    _property("Integrity", integrity, *_ORDER),
    _property("NoCreation", no_creation),
    _property("Fifo", fifo, *_ORDER),
    _property("GapFree", gap_free, *_ORDER, "Home", "HeardBefore"),
    _property("InView", in_view),
    _property("UniqueIds", unique_ids),
    _property("Recoverable", recoverable),
)
