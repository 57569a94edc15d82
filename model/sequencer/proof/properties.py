"""The promises of SEQUENCER as formulas: the twins of the properties in `spec/Sequencer.tla`."""

from __future__ import annotations

from raincheck.model.proof.induction import Property
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, World

from .vocabulary import is_heard, is_released, present, running


def _payload(s: World, p: Expr, j: Expr) -> Expr:
    return s.base(s.heard_from(p, j)) + s.heard_seqno(p, j)


def _identical(s: World, p: Expr, j: Expr, q: Expr, x: Expr) -> Expr:
    """Identity of the spec: the same node, and the same number in its application."""
    same_node = s.node(s.heard_from(p, j)) == s.node(s.heard_from(q, x))
    return And(same_node, _payload(s, p, j) == _payload(s, q, x))


def total_order(s: World) -> Expr:
    """Two running members that both deliver two messages do so in the same order."""

    def ordered(p: Expr, q: Expr, j1: Expr, j2: Expr, x1: Expr, x2: Expr) -> Expr:
        if And(running(s, p), is_heard(s, p, j1), is_heard(s, q, x1), j1 < j2) is False:
            return True  # in a state of the model, most instances need not be looked at further
        heard = And(is_heard(s, p, j1), is_heard(s, p, j2), is_heard(s, q, x1), is_heard(s, q, x2))
        same = And(_identical(s, p, j1, q, x1), _identical(s, p, j2, q, x2))
        return Implies(And(running(s, p), running(s, q), heard, same, j1 < j2), x1 < x2)

    return s.forall(["process", "process", "index", "index", "index", "index"], ordered)


def agreement(s: World) -> Expr:
    """The survivors of a view have delivered the same messages in it."""

    def survived(p: Expr, v: Expr) -> Expr:
        return And(running(s, p), v < s.view(p), s.member(v, p), s.member(v + 1, p))

    def also_heard(p: Expr, q: Expr, v: Expr, j: Expr) -> Expr:
        there = s.exists(
            ["index"],
            lambda x: And(is_heard(s, q, x), s.heard_view(q, x) == v, _identical(s, p, j, q, x)),
        )
        heard = And(is_heard(s, p, j), s.heard_view(p, j) == v)
        known = And(v >= 1, v <= s.last_view())
        return Implies(And(known, survived(p, v), survived(q, v), heard), there)

    return s.forall(["process", "process", "view", "index"], also_heard)


def integrity(s: World) -> Expr:
    """Nothing is delivered twice, and only sent messages are delivered."""

    def once(p: Expr, j: Expr, x: Expr) -> Expr:
        both = And(is_heard(s, p, j), is_heard(s, p, x), j < x)
        return Implies(both, Not(_identical(s, p, j, p, x)))

    def was_said(p: Expr, j: Expr, c: Expr) -> Expr:
        of_it = And(is_heard(s, p, j), present(s, c), s.node(c) == s.node(s.heard_from(p, j)))
        return Implies(of_it, And(_payload(s, p, j) >= 1, _payload(s, p, j) <= s.said(c)))

    return And(
        s.forall(["process", "index", "index"], once),
        s.forall(["process", "index", "process"], was_said),
    )


def fifo(s: World) -> Expr:
    """Messages of one sender are delivered in the order in which it sent them."""

    def ordered(p: Expr, j: Expr, x: Expr) -> Expr:
        both = And(is_heard(s, p, j), is_heard(s, p, x), j < x)
        same = s.node(s.heard_from(p, j)) == s.node(s.heard_from(p, x))
        return Implies(And(both, same), _payload(s, p, j) < _payload(s, p, x))

    return s.forall(["process", "index", "index"], ordered)


def gap_free(s: World) -> Expr:
    """No member delivers a message without the one that its sender sent before."""

    def first(p: Expr, j: Expr) -> Expr:
        earlier = s.exists(
            ["index"],
            lambda x: And(x >= 1, x < j, s.heard_from(p, x) == s.heard_from(p, j)),
        )
        return Implies(is_heard(s, p, j), Or(earlier, s.heard_seqno(p, j) == 1, Not(s.founder(p))))

    def following(p: Expr, j: Expr, x: Expr) -> Expr:
        between = s.exists(
            ["index"], lambda y: And(j < y, y < x, s.heard_from(p, y) == s.heard_from(p, x))
        )
        both = And(is_heard(s, p, j), is_heard(s, p, x), j < x)
        same = s.heard_from(p, j) == s.heard_from(p, x)
        return Implies(And(both, same), Or(between, s.heard_seqno(p, x) == s.heard_seqno(p, j) + 1))

    return And(
        s.forall(["process", "index"], first), s.forall(["process", "index", "index"], following)
    )


def fresh(s: World) -> Expr:
    """A joiner does not deliver what a present member delivered before it joined."""

    def joined(p: Expr, q: Expr, j: Expr, x: Expr) -> Expr:
        both = And(running(s, p), running(s, q), is_heard(s, p, j), is_heard(s, q, x))
        same = _identical(s, p, j, q, x)
        return Implies(And(both, same), s.member(s.heard_view(q, x), p))

    return s.forall(["process", "process", "index", "index"], joined)


def in_view(s: World) -> Expr:
    """A message is delivered only in a view that contains the receiver."""

    def there(p: Expr, j: Expr) -> Expr:
        v = s.heard_view(p, j)
        return Implies(is_heard(s, p, j), And(v >= 1, v <= s.last_view(), s.member(v, p)))

    return s.forall(["process", "index"], there)


def uniform_total_order(s: World) -> Expr:
    """Safe delivery: two members, even crashed ones, deliver two messages in the same order."""

    def ordered(p: Expr, q: Expr, j1: Expr, j2: Expr, x1: Expr, x2: Expr) -> Expr:
        if And(is_released(s, p, j1), is_released(s, q, x1), j1 < j2) is False:
            return True
        mine = And(is_released(s, p, j1), is_released(s, p, j2))
        theirs = And(is_released(s, q, x1), is_released(s, q, x2))
        same = And(_identical(s, p, j1, q, x1), _identical(s, p, j2, q, x2))
        return Implies(And(mine, theirs, same, j1 < j2), x1 < x2)

    return s.forall(["process", "process", "index", "index", "index", "index"], ordered)


def uniform_agreement(s: World) -> Expr:
    """Safe delivery: a survivor of a view has delivered what any member delivered in it."""

    def also_heard(p: Expr, q: Expr, v: Expr, j: Expr) -> Expr:
        there = s.exists(
            ["index"],
            lambda x: And(is_released(s, q, x), s.heard_view(q, x) == v, _identical(s, p, j, q, x)),
        )
        survived = And(running(s, q), v < s.view(q), s.member(v, q), s.member(v + 1, q))
        heard = And(is_released(s, p, j), s.heard_view(p, j) == v)
        known = And(v >= 1, v <= s.last_view())
        return Implies(And(known, survived, heard), there)

    return s.forall(["process", "process", "view", "index"], also_heard)


PROPERTIES = tuple(
    Property(name, (formula.__doc__ or "").strip(), formula)
    for name, formula in (
        ("TotalOrder", total_order),
        ("Agreement", agreement),
        ("Integrity", integrity),
        ("Fifo", fifo),
        ("GapFree", gap_free),
        ("Fresh", fresh),
        ("InView", in_view),
        ("UniformTotalOrder", uniform_total_order),
        ("UniformAgreement", uniform_agreement),
    )
)
