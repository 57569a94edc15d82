"""The actions of SEQUENCER that take in multicasts and views."""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Or, Updates, World, merged

from .sending import may_forward, multicast
from .vocabulary import JOINING, MEMBER, Basis, is_coordinator, present, running


def receiving(basis: Basis) -> tuple[Transition, ...]:
    """Return ReceiveData, InstallView and Join under the given assumptions and repairs."""
    vs, rules = basis.virtual_synchrony, basis.rules

    def latch_open(s: World, n: Expr) -> Expr:
        return Implies(basis.virtual_synchrony, s.view(n) == s.last_view())

    def next_data(s: World, n: Expr, c: Expr, d: Expr) -> Expr:
        """c's next DATA may be taken; d is the member of n's view that has c's node."""
        i = s.position(n, c) + 1
        a, k = s.data_from(c, i), s.data_seqno(c, i)
        unknown = And(rules.join_policy == "any", s.received(n, a) == 0)
        return And(
            running(s, n),
            present(s, c),
            s.member(s.view(n), d),
            s.node(d) == s.node(c),
            i <= s.length(c),
            Implies(rules.view_tag, s.data_view(c, i) <= s.view(n)),
            Implies(vs, s.data_view(c, i) == s.view(n)),
            Implies(rules.exact_next, Or(k <= s.received(n, a) + 1, unknown)),
        )

    def is_new(s: World, n: Expr, c: Expr) -> Expr:
        i = s.position(n, c) + 1
        return s.data_seqno(c, i) > s.received(n, s.data_from(c, i))

    def consumed(s: World, n: Expr, c: Expr) -> Updates:
        i = s.position(n, c) + 1
        a, k = s.data_from(c, i), s.data_seqno(c, i)

        def other(p: Expr, q: Expr) -> Expr:
            return Not(And(p == n, a == n, q == k))

        return {
            "position": lambda p, x: If(And(p == n, x == c), i, s.position(p, x)),
            "forward_table": lambda p, q: And(s.forward_table(p, q), other(p, q)),
            "resend": lambda p, q: And(s.resend(p, q), other(p, q)),
            # history
            "at": lambda p: If(p == n, i, s.at(p)),
        }

    def passed_up(s: World, n: Expr, c: Expr) -> Updates:
        i, j, v = s.position(n, c) + 1, s.heard(n) + 1, s.view(n)
        a, k = s.data_from(c, i), s.data_seqno(c, i)

        def here(p: Expr, x: Expr) -> Expr:
            return And(p == n, x == j)

        def slot(p: Expr, w: Expr, x: Expr) -> Expr:
            return And(p == n, w == v, x == i)

        return {
            "received": lambda p, b: If(And(p == n, b == a), k, s.received(p, b)),
            "heard": lambda p: If(p == n, j, s.heard(p)),
            "heard_from": lambda p, x: If(here(p, x), a, s.heard_from(p, x)),
            "heard_seqno": lambda p, x: If(here(p, x), k, s.heard_seqno(p, x)),
            "heard_view": lambda p, x: If(here(p, x), v, s.heard_view(p, x)),
            "heard_at": lambda p, x: If(here(p, x), i, s.heard_at(p, x)),
            # history
            "index_of": lambda p, w, x: If(slot(p, w, x), j, s.index_of(p, w, x)),
            "before": lambda p, x: If(here(p, x), s.latest(n, a), s.before(p, x)),
            "latest": lambda p, b: If(And(p == n, b == a), j, s.latest(p, b)),
        }

    data_parameters = (("n", "process"), ("c", "process"), ("d", "process"))
    receive_new = Transition(
        "ReceiveData",
        "delivered",
        data_parameters,
        lambda s, n, c, d: And(next_data(s, n, c, d), is_new(s, n, c)),
        lambda s, n, c, _d: merged(consumed(s, n, c), passed_up(s, n, c)),
    )
    receive_duplicate = Transition(
        "ReceiveData",
        "discarded",
        data_parameters,
        lambda s, n, c, d: And(next_data(s, n, c, d), Not(is_new(s, n, c))),
        lambda s, n, c, _d: consumed(s, n, c),
    )

    def may_install(s: World, n: Expr, v: Expr) -> Expr:
        def all_read(c: Expr, d: Expr, i: Expr) -> Expr:
            of_old = And(s.member(s.view(n), d), s.node(d) == s.node(c))
            unread = And(of_old, s.position(n, c) < i, i <= s.length(c))
            return Implies(unread, s.data_view(c, i) >= v)

        return And(
            running(s, n),
            v == s.view(n) + 1,
            s.view(n) < s.last_view(),
            s.member(v, n),
            Implies(
                vs,
                s.forall(
                    ["process", "process", "place"],
                    all_read,
                    lambda c, d, i: [(s.data_view(c, i), s.member(s.view(n), d))],
                ),
            ),
        )

    def installed(s: World, n: Expr, v: Expr) -> Updates:
        answers, old = s.coordinator(v) == n, s.coordinator(s.view(n))
        again = Or(rules.resend_always, old != s.coordinator(v))

        def table(a: Expr) -> Expr:
            return If(Or(not rules.prune_table, s.member(v, a)), s.received(n, a), 0)

        def joins(j: Expr) -> Expr:
            return And(answers, s.status(j) == JOINING, s.joiner(v, j))

        entry = table if rules.join_policy == "table" else lambda _a: 0
        return {
            "view": lambda p: If(p == n, v, s.view(p)),
            "received": lambda p, a: If(p == n, table(a), s.received(p, a)),
            "resend": lambda p, k: If(And(p == n, again), s.forward_table(p, k), s.resend(p, k)),
            "answered": lambda j: Or(s.answered(j), joins(j)),
            "answer_view": lambda j: If(joins(j), v, s.answer_view(j)),
            "answer_table": lambda j, a: If(joins(j), entry(a), s.answer_table(j, a)),
            "digest": lambda j, c: If(joins(j), s.position(n, c), s.digest(j, c)),
            # history
            "at": lambda p: If(p == n, s.first(v), s.at(p)),
        }

    install = Transition(
        "InstallView", "", (("n", "process"), ("v", "view")), may_install, installed
    )
    # The second half of InstallView at the new coordinator, once for each FORWARD in `early`.
    install_waiting = Transition(
        "InstallView",
        "early sequenced",
        (("n", "process"), ("a", "process"), ("k", "seqno")),
        lambda s, n, a, k: And(
            running(s, n),
            is_coordinator(s, n),
            latch_open(s, n),
            s.early(n, a, k, s.view(n)),
            may_forward(basis, s, a, s.view(n)),
        ),
        multicast,
    )

    join = Transition(
        "Join",
        "",
        (("n", "process"),),
        lambda s, n: And(s.status(n) == JOINING, s.answered(n)),
        lambda s, n: {
            "status": lambda p: If(p == n, MEMBER, s.status(p)),
            "view": lambda p: If(p == n, s.answer_view(n), s.view(p)),
            "received": lambda p, a: If(p == n, s.answer_table(n, a), s.received(p, a)),
            "position": lambda p, c: If(p == n, s.digest(n, c), s.position(p, c)),
            "answered": lambda p: And(p != n, s.answered(p)),
            # history
            "at": lambda p: If(p == n, s.first(s.answer_view(n)), s.at(p)),
        },
    )
    return (receive_new, receive_duplicate, install, install_waiting, join)
