"""The invariant's conjuncts about the single order, and about deliveries."""

from __future__ import annotations

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Or, World

from .vocabulary import Basis, ended, in_part, is_heard, running


def order_conjuncts(basis: Basis) -> tuple[Conjunct, ...]:
    """receivedTable is a function of the order, so all readers decide alike."""
    prune = basis.rules.prune_table

    def step(s: World, v: Expr, i: Expr, a: Expr) -> Expr:
        before, k = s.top(v, i - 1, a), s.order_seqno(v, i)
        raised = And(a == s.order_from(v, i), k > before)
        return Implies(in_part(s, v, i), s.top(v, i, a) == If(raised, k, before))

    def is_fresh(s: World, v: Expr, i: Expr) -> Expr:
        newer = s.order_seqno(v, i) > s.top(v, i - 1, s.order_from(v, i))
        return Implies(in_part(s, v, i), s.fresh(v, i) == newer)

    def carried(s: World, a: Expr) -> Expr:
        last = s.last_view()
        kept = Or(not prune, s.member(last, a))
        at_end = s.top(last - 1, s.final(last - 1), a)
        return Implies(last >= 2, s.top(last, s.first(last), a) == If(kept, at_end, 0))

    def below(s: World, v: Expr, i: Expr, x: Expr) -> Expr:
        last, a = s.last_view(), s.order_from(v, i)
        here = And(s.first(last) <= x, x <= s.final(last), Or(v < last, i <= x))
        return Implies(
            And(in_part(s, v, i), here, s.member(last, a)), s.order_seqno(v, i) <= s.top(last, x, a)
        )

    def once(s: World, v: Expr, i: Expr, w: Expr, x: Expr) -> Expr:
        both = And(in_part(s, v, i), in_part(s, w, x), s.fresh(v, i), s.fresh(w, x))
        earlier = Or(v < w, And(v == w, i < x))
        same = s.order_from(v, i) == s.order_from(w, x)
        return Implies(And(both, earlier, same), s.order_seqno(v, i) < s.order_seqno(w, x))

    return (
        Conjunct(
            "SameTable",
            "receivedTable depends only on the view and on how far it has been read.",
            ("process", "process"),
            lambda s, p, a: Implies(
                running(s, p), s.received(p, a) == s.top(s.view(p), s.at(p), a)
            ),
            lambda s, p, a: [s.received(p, a)],
        ),
        Conjunct(
            "TableStep",
            "Reading one DATA raises its sender's entry, if its seqno is higher.",
            ("view", "place", "process"),
            step,
            lambda s, v, i, a: [(s.order_from(v, i), s.top(v, i, a))],
        ),
        Conjunct(
            "TableCarriedOver",
            "A view begins with the table that the one before ended with, pruned.",
            ("process",),
            carried,
            lambda s, a: [s.top(s.last_view(), s.first(s.last_view()), a)],
        ),
        Conjunct(
            "FreshIsAbove",
            "A DATA is fresh if its seqno is above its sender's entry.",
            ("view", "place"),
            is_fresh,
            lambda s, v, i: [s.fresh(v, i)],
        ),
        Conjunct(
            "TableIsAbove",
            "A present sender's entry is not below anything multicast for it before.",
            ("view", "place", "place"),
            below,
            lambda s, v, i, x: [(s.order_seqno(v, i), s.top(s.last_view(), x, s.order_from(v, i)))],
        ),
        Conjunct(
            "GoneSendersAreOver",
            "A sender of an earlier multicast that is no longer a member has ended.",
            ("view", "place"),
            lambda s, v, i: Implies(
                And(in_part(s, v, i), Not(s.member(s.last_view(), s.order_from(v, i)))),
                ended(s, s.order_from(v, i)),
            ),
            lambda s, v, i: [s.order_from(v, i)],
        ),
        Conjunct(
            "FreshOnce",
            "A later fresh DATA of one sender has a higher seqno, in all views.",
            ("view", "place", "view", "place"),
            once,
            lambda s, v, i, w, x: [(s.fresh(v, i), s.fresh(w, x))],
        ),
    )


def heard_conjuncts() -> tuple[Conjunct, ...]:
    """A process has delivered exactly the fresh DATA that it has read, in order."""

    def source(s: World, p: Expr, j: Expr) -> Expr:
        v, i = s.heard_view(p, j), s.heard_at(p, j)
        return Implies(
            And(running(s, p), is_heard(s, p, j)),
            And(
                v <= s.view(p),
                in_part(s, v, i),
                Implies(v == s.view(p), i <= s.at(p)),
                s.fresh(v, i),
                s.heard_from(p, j) == s.order_from(v, i),
                s.heard_seqno(p, j) == s.order_seqno(v, i),
                s.index_of(p, v, i) == j,
            ),
        )

    def in_order(s: World, p: Expr, j: Expr, x: Expr) -> Expr:
        v, w = s.heard_view(p, j), s.heard_view(p, x)
        later = Or(v < w, And(v == w, s.heard_at(p, j) < s.heard_at(p, x)))
        both = And(is_heard(s, p, j), is_heard(s, p, x), j < x)
        return Implies(And(running(s, p), both), later)

    def all_heard(s: World, p: Expr, v: Expr, i: Expr) -> Expr:
        j = s.index_of(p, v, i)
        read = And(v <= s.view(p), Implies(v == s.view(p), i <= s.at(p)))
        fresh = And(in_part(s, v, i), s.fresh(v, i))
        return Implies(
            And(running(s, p), s.member(v, p), read, fresh),
            And(is_heard(s, p, j), s.heard_view(p, j) == v, s.heard_at(p, j) == i),
        )

    def table_covers(s: World, p: Expr, j: Expr) -> Expr:
        a = s.heard_from(p, j)
        there = And(running(s, p), is_heard(s, p, j), s.member(s.view(p), a))
        return Implies(there, s.heard_seqno(p, j) <= s.received(p, a))

    def rising(s: World, p: Expr, j: Expr, x: Expr) -> Expr:
        a, b = s.heard_from(p, j), s.heard_from(p, x)
        both = And(is_heard(s, p, j), is_heard(s, p, x), j < x, s.node(a) == s.node(b))
        return Implies(
            both,
            If(
                a == b,
                s.heard_seqno(p, j) < s.heard_seqno(p, x),
                s.incarnation(a) < s.incarnation(b),
            ),
        )

    def latest(s: World, p: Expr, j: Expr) -> Expr:
        a = s.heard_from(p, j)
        last = s.latest(p, a)
        return Implies(
            is_heard(s, p, j), And(j <= last, last <= s.heard(p), s.heard_from(p, last) == a)
        )

    def entry(s: World, p: Expr, a: Expr) -> Expr:
        last = s.latest(p, a)
        there = And(running(s, p), s.member(s.view(p), a))
        return And(
            Or(last == 0, And(is_heard(s, p, last), s.heard_from(p, last) == a)),
            Implies(And(there, last >= 1), s.heard_seqno(p, last) == s.received(p, a)),
            Implies(And(running(s, p), last == 0, s.founder(p)), s.received(p, a) == 0),
        )

    def gapless(s: World, p: Expr, j: Expr) -> Expr:
        b, a, k = s.before(p, j), s.heard_from(p, j), s.heard_seqno(p, j)
        return Implies(
            is_heard(s, p, j),
            And(
                b >= 0,
                b < j,
                Implies(b == 0, Or(k == 1, Not(s.founder(p)))),
                Implies(b > 0, And(s.heard_from(p, b) == a, k == s.heard_seqno(p, b) + 1)),
            ),
        )

    def nothing_between(s: World, p: Expr, j: Expr, x: Expr) -> Expr:
        both = And(is_heard(s, p, j), is_heard(s, p, x), s.before(p, j) < x, x < j)
        return Implies(both, s.heard_from(p, x) != s.heard_from(p, j))

    return (
        Conjunct(
            "HeardFromTheOrder",
            "A running process has delivered only fresh DATA, of parts that it has read.",
            ("process", "index"),
            source,
            lambda s, p, j: [s.heard_from(p, j)],
        ),
        Conjunct(
            "HeardInOrder",
            "A process delivers in the order of views and places.",
            ("process", "index", "index"),
            in_order,
            lambda s, p, j, x: [(s.heard_from(p, j), s.heard_from(p, x))],
        ),
        Conjunct(
            "AllIsHeard",
            "A running process has delivered every fresh DATA of the parts that it has read.",
            ("process", "view", "place"),
            all_heard,
            lambda s, p, v, i: [(s.member(v, p), s.fresh(v, i))],
        ),
        Conjunct(
            "TableCoversHeard",
            "A sender's entry in receivedTable is not below any seqno delivered of it.",
            ("process", "index"),
            table_covers,
            lambda s, p, j: [s.heard_from(p, j)],
        ),
        Conjunct(
            "GoneStayGone",
            "A sender that was delivered and has left the view is in no later view.",
            ("process", "index"),
            lambda s, p, j: Implies(
                And(
                    running(s, p),
                    is_heard(s, p, j),
                    Not(s.member(s.view(p), s.heard_from(p, j))),
                ),
                Not(s.member(s.last_view(), s.heard_from(p, j))),
            ),
            lambda s, p, j: [s.heard_from(p, j)],
        ),
        Conjunct(
            "HeardRises",
            "A later delivery of one sender has a higher seqno; a later delivery of one node has"
            " the same life or a later one.",
            ("process", "index", "index"),
            rising,
            lambda s, p, j, x: [(s.heard_from(p, j), s.heard_from(p, x))],
        ),
        Conjunct(
            "LatestIsLast",
            "`latest` is the last delivery of that sender.",
            ("process", "index"),
            latest,
            lambda s, p, j: [s.heard_from(p, j)],
        ),
        Conjunct(
            "TableIsLatest",
            "A member's entry is the seqno of its latest delivery; a founder's begins at 0.",
            ("process", "process"),
            entry,
            lambda s, p, a: [s.latest(p, a)],
        ),
        Conjunct(
            "HeardWithoutGap",
            "A delivery follows the latest one of its sender before it.",
            ("process", "index"),
            gapless,
            lambda s, p, j: [s.heard_from(p, j), s.before(p, j)],
        ),
        Conjunct(
            "NothingBetween",
            "No delivery of a sender lies between one and its predecessor.",
            ("process", "index", "index"),
            nothing_between,
            lambda s, p, j, x: [(s.heard_from(p, j), s.heard_from(p, x))],
        ),
    )
