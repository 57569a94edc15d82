"""The inductive invariant of TOTAL's proof: what members have delivered, queued and kept."""

from __future__ import annotations

from typing import Final

from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Function, If, Implies, Not, Or, World

from .words import been, is_heard, leads, logged, running


def _heard(s: World, n: Expr, j: Expr) -> Expr:
    v, i = s.heard_view(n, j), s.heard_id(n, j)
    return Implies(
        is_heard(s, n, j),
        And(
            *(been(s, n, v), logged(s, v, i)),
            *(s.heard_from(n, j) == s.log_from(v, i), s.heard_number(n, j) == s.log_number(v, i)),
            Implies(v == s.latest(n), i < s.reached(n)),
            Implies(v < s.latest(n), And(s.left(v), i <= s.cut(v))),
        ),
    )


def _entry(s: World) -> tuple[Function, ...]:
    """Return what is known of a delivery."""
    return s.heard_view, s.heard_id, s.heard_from, s.heard_number


def _in_order(s: World, n: Expr, j: Expr, k: Expr) -> Expr:
    v, w = s.heard_view(n, j), s.heard_view(n, k)
    return Implies(
        And(is_heard(s, n, j), is_heard(s, n, k), j < k),
        Or(v < w, And(v == w, s.heard_id(n, j) < s.heard_id(n, k))),
    )


def _without_gap(s: World, n: Expr, j: Expr, k: Expr) -> Expr:
    i = s.heard_id(n, k)
    same = s.heard_view(n, j) == s.heard_view(n, k)
    return Implies(
        And(is_heard(s, n, j), is_heard(s, n, k), j < k),
        If(same, i - s.heard_id(n, j) == k - j, i <= k - j),
    )


def _all(s: World, n: Expr, v: Expr, i: Expr) -> Expr:
    k = s.at(n, v, i)
    return Implies(
        And(been(s, n, v), i >= 1, If(v == s.latest(n), i < s.reached(n), i <= s.cut(v))),
        And(is_heard(s, n, k), s.heard_view(n, k) == v, s.heard_id(n, k) == i),
    )


def _in_a_row(s: World, n: Expr, j: Expr) -> Expr:
    i, left = s.heard_id(n, j), s.heard(n) - j
    return Implies(
        is_heard(s, n, j),
        And(
            i <= j + 1,
            If(s.heard_view(n, j) == s.latest(n), s.reached(n) - i == left, s.reached(n) <= left),
        ),
    )


def _of_the_log(s: World, n: Expr, i: Expr, sender: Expr, number: Expr) -> Expr:
    """The place i of the log of n's view has a broadcast, and it is that one of the sender's."""
    v = s.view(n)
    return And(logged(s, v, i), sender == s.log_from(v, i), number == s.log_number(v, i))


def _queued(s: World, n: Expr, i: Expr) -> Expr:
    mine = _of_the_log(s, n, i, s.queued_from(n, i), s.queued_number(n, i))
    return Implies(s.queued(n, i), And(running(s, n), mine))


def _kept(s: World, n: Expr, i: Expr) -> Expr:
    mine = _of_the_log(s, n, i, s.kept_from(n, i), s.kept_number(n, i))
    return Implies(s.kept(n, i), And(leads(s, n), mine))


def _acknowledged(s: World, n: Expr, p: Expr) -> Expr:
    v = s.view(n)
    return Implies(
        And(leads(s, n), s.acks(n, p) > 0),
        And(been(s, p, v), Implies(s.view(p) == v, s.acks(n, p) < s.expected(p))),
    )


def _forgotten(s: World, n: Expr, i: Expr, p: Expr) -> Expr:
    v = s.view(n)
    return Implies(
        And(leads(s, n), logged(s, v, i), Not(s.kept(n, i)), s.member(v, p), p != n),
        i <= s.acks(n, p),
    )


def _placed(s: World, v: Expr, p: Expr, m: Expr) -> Expr:
    i, base = s.place(v, p, m), s.base(p, v)
    return Implies(
        And(been(s, p, v), base < m, m <= base + s.count(v, s.length(v), p)),
        And(logged(s, v, i), s.log_from(v, i) == p, s.log_number(v, i) == m),
    )


def _home(s: World, p: Expr, v: Expr, m: Expr) -> Expr:
    h = s.home(p, m)
    return Implies(
        And(been(s, p, v), m >= 1, m <= s.base(p, v)),
        And(
            *(been(s, p, h), h < v, s.left(h), s.base(p, h) < m),
            m <= s.base(p, h) + s.count(h, s.cut(h), p),
        ),
    )


def _before(s: World, n: Expr, j: Expr) -> Expr:
    p, m = s.heard_from(n, j), s.heard_number(n, j) - 1
    v = s.heard_view(n, j)
    h = If(m > s.base(p, v), v, s.home(p, m))
    k = s.at(n, h, s.place(h, p, m))
    return Implies(
        And(is_heard(s, n, j), m >= 1, s.first(n) <= h),
        And(is_heard(s, n, k), k < j, s.heard_from(n, k) == p, s.heard_number(n, k) == m),
    )


DELIVERED: Final = (
    Conjunct(
        "Heard",
        "What is delivered was broadcast under its id; of a view that was left, up to the cut.",
        ("process", "index"),
        _heard,
        lambda s, n, j: [each(n, j) for each in _entry(s)],
        lambda s, n, j: [s.heard_view(n, j) < s.latest(n), j < s.heard(n)],
    ),
    Conjunct(
        "HeardInOrder",
        "It is delivered in the order of views and ids.",
        ("process", "index", "index"),
        _in_order,
        lambda s, n, j, k: [(s.heard_view(n, j), s.heard_view(n, k))],
    ),
    Conjunct(
        "HeardAll",
        "A member has delivered all ids below the one that it expects, and up to each cut.",
        ("process", "view", "place"),
        _all,
        lambda s, n, v, i: [s.at(n, v, i), (s.log_from(v, i), s.view(n))],
        serves=("HeardBefore",),
    ),
    Conjunct(
        "HeardSoFar",
        "A member has delivered at least as many messages as ids of its latest view.",
        ("process",),
        lambda s, n: Implies(s.first(n) >= 1, s.reached(n) <= s.heard(n) + 1),
        lambda s, n: [s.reached(n), s.heard(n)],
        serves=("InARow",),
    ),
    Conjunct(
        "InARow",
        "What it has delivered of its latest view are the last so many of its messages.",
        ("process", "index"),
        _in_a_row,
        lambda s, n, j: [s.heard_id(n, j)],
        serves=("HeardWithoutGap",),
    ),
    Conjunct(
        "HeardWithoutGap",
        "It has delivered the ids of each view in a row, from the first on.",
        ("process", "index", "index"),
        _without_gap,
        lambda s, n, j, k: [(s.heard_view(n, j), s.heard_view(n, k))],
        serves=("Prefix",),
    ),
    Conjunct(
        "InItsViews",
        "A process installs views that contain it.",
        ("process", "view"),
        lambda s, n, v: Implies(been(s, n, v), s.member(v, n)),
        lambda s, n, v: [s.member(v, n)],
        serves=("NoCreation", "InView", "Recoverable"),
    ),
    Conjunct(
        "QueueIsOfTheLog",
        "What waits for a lower id was broadcast under its own.",
        ("process", "place"),
        _queued,
        lambda s, n, i: [s.queued(n, i), s.queued_from(n, i)],
        serves=("UniqueIds",),
    ),
    Conjunct(
        "HistoryIsOfTheLog",
        "Only a sequencer keeps broadcasts, and they are its view's.",
        ("process", "place"),
        _kept,
        lambda s, n, i: [s.kept(n, i)],
        serves=("UniqueIds", "NoCreation", "Forgotten"),
    ),
    Conjunct(
        "Acknowledged",
        "Whoever is in the view of a sequencer has delivered what it has acknowledged to it.",
        ("process", "process"),
        _acknowledged,
        lambda s, n, p: [s.acks(n, p)],
        serves=("Forgotten", "Recoverable"),
    ),
    Conjunct(
        "Forgotten",
        "A sequencer forgets what all other members have acknowledged, and nothing else.",
        ("process", "place", "process"),
        _forgotten,
        lambda s, n, i, p: [(s.kept(n, i), s.acks(n, p)), (s.queued(p, i), s.next_id(n))],
        serves=("Recoverable",),
    ),
    Conjunct(
        "Placed",
        "Each message of a process in the log of a view has its place there.",
        ("view", "process", "seqno"),
        _placed,
        lambda s, v, p, m: [s.place(v, p, m)],
        serves=("Home", "HeardBefore"),
    ),
    Conjunct(
        "Home",
        "What a process had delivered of its own when it installed a view is in an earlier one.",
        ("process", "view", "seqno"),
        _home,
        lambda s, p, v, m: [(s.home(p, m), s.base(p, v))],
        serves=("HeardBefore",),
    ),
    Conjunct(
        "HeardBefore",
        "With a message the one before of its sender is delivered, unless that is in an earlier"
        " view than the receiver's first.",
        ("process", "index"),
        _before,
        lambda s, n, j: [s.heard_number(n, j)],
        lambda s, n, j: [j < s.heard(n)],
        serves=("GapFree",),
    ),
)
