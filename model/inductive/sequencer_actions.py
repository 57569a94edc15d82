"""The actions of `spec/Sequencer.tla` as guards and updates.

An action has the spec's name. Where the spec says CASE or IF, each branch is a transition of its
own. Below a comment "history" come the history variables, which no guard reads.
"""

from __future__ import annotations

from collections.abc import Callable

from .induction import Transition
from .logic import And, Expr, If, Implies, Not, Or, Updates, World, merged
from .sequencer_vocabulary import (
    CRASHED,
    JOINING,
    LEAVING,
    LEFT,
    MEMBER,
    REPLACED,
    UNBORN,
    Basis,
    is_coordinator,
    present,
    running,
)


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Every action of the spec, under the given assumptions and repairs."""
    vs, rules = basis.virtual_synchrony, basis.rules

    def latch_open(s: World, n: Expr) -> Expr:
        return Implies(vs, s.view(n) == s.last_view())

    # ------------------------------------------------------------------ what messages do

    def forward(s: World, n: Expr, k: Expr) -> Updates:
        to, view = s.coordinator(s.view(n)), s.view(n)
        return {
            "forwards": lambda a, q, v, d: Or(
                s.forwards(a, q, v, d),
                And(a == n, q == k, v == view, d == to, running(s, to)),
            )
        }

    def multicast(s: World, n: Expr, a: Expr, k: Expr) -> Updates:
        v, last, i = s.view(n), s.length(n), s.length(n) + 1

        def here(c: Expr, x: Expr) -> Expr:
            return And(c == n, x == i)

        def there(w: Expr, x: Expr) -> Expr:
            return And(w == v, x == i)

        def top(w: Expr, x: Expr, b: Expr) -> Expr:
            raised = And(b == a, k > s.top(v, last, b))
            return If(there(w, x), If(raised, k, s.top(v, last, b)), s.top(w, x, b))

        return {
            "length": lambda c: If(c == n, i, s.length(c)),
            "data_from": lambda c, x: If(here(c, x), a, s.data_from(c, x)),
            "data_seqno": lambda c, x: If(here(c, x), k, s.data_seqno(c, x)),
            "data_view": lambda c, x: If(here(c, x), v, s.data_view(c, x)),
            # history
            "final": lambda w: If(w == v, i, s.final(w)),
            "order_from": lambda w, x: If(there(w, x), a, s.order_from(w, x)),
            "order_seqno": lambda w, x: If(there(w, x), k, s.order_seqno(w, x)),
            "fresh": lambda w, x: If(there(w, x), k > s.top(v, last, a), s.fresh(w, x)),
            "top": top,
        }

    # ------------------------------------------------------------------ Send

    def may_send(s: World, n: Expr) -> Expr:
        idle = s.forall(["seqno"], lambda k: Not(s.resend(n, k)), lambda k: [s.resend(n, k)])
        return And(s.status(n) == MEMBER, Implies(rules.hold_sends, idle))

    def numbered(s: World, n: Expr, *, kept: bool) -> Updates:
        k = s.seqno(n) + 1
        table = {
            "forward_table": lambda p, q: Or(s.forward_table(p, q), And(p == n, q == k)),
        }
        return {
            "seqno": lambda p: If(p == n, k, s.seqno(p)),
            "said": lambda p: If(p == n, s.said(n) + 1, s.said(p)),
            **(table if kept else {}),
            # history
            "sent": lambda p: If(p == n, s.sent(n) + 1, s.sent(p)),
        }

    send_as_coordinator = Transition(
        "Send",
        "as coordinator",
        (("n", "process"),),
        lambda s, n: And(may_send(s, n), is_coordinator(s, n), latch_open(s, n)),
        lambda s, n: merged(
            numbered(s, n, kept=rules.own_table), multicast(s, n, n, s.seqno(n) + 1)
        ),
    )
    send_as_member = Transition(
        "Send",
        "as member",
        (("n", "process"),),
        lambda s, n: And(may_send(s, n), Not(is_coordinator(s, n))),
        lambda s, n: merged(numbered(s, n, kept=True), forward(s, n, s.seqno(n) + 1)),
    )

    # ------------------------------------------------------------------ ReceiveForward

    # `again`: another copy is still under way. The spec has none; see sequencer.py.
    forward_parameters = (
        ("n", "process"),
        ("a", "process"),
        ("k", "seqno"),
        ("v", "view"),
        ("again", "bool"),
    )

    def arrives(s: World, n: Expr, a: Expr, k: Expr, v: Expr) -> Expr:
        return And(running(s, n), s.forwards(a, k, v, n))

    def taken(s: World, n: Expr, a: Expr, k: Expr, v: Expr, again: Expr) -> Updates:
        return {
            "forwards": lambda b, q, w, d: And(
                s.forwards(b, q, w, d), Or(again, Not(And(b == a, q == k, w == v, d == n)))
            )
        }

    def sequenced(s: World, n: Expr, v: Expr) -> Expr:
        return And(Implies(rules.view_tag, v == s.view(n)), is_coordinator(s, n))

    def set_aside(s: World, n: Expr, v: Expr) -> Expr:
        return And(rules.view_tag, v > s.view(n))

    receive_early = Transition(
        "ReceiveForward",
        "of a later view",
        forward_parameters,
        lambda s, n, a, k, v, again: And(arrives(s, n, a, k, v), set_aside(s, n, v)),
        lambda s, n, a, k, v, again: merged(
            taken(s, n, a, k, v, again),
            {
                "early": lambda p, b, q, w: Or(
                    s.early(p, b, q, w), And(p == n, b == a, q == k, w == v)
                )
            },
        ),
    )
    receive_dropped = Transition(
        "ReceiveForward",
        "dropped",
        forward_parameters,
        lambda s, n, a, k, v, again: And(
            arrives(s, n, a, k, v), Not(set_aside(s, n, v)), Not(sequenced(s, n, v))
        ),
        taken,
    )
    receive_sequenced = Transition(
        "ReceiveForward",
        "sequenced",
        forward_parameters,
        lambda s, n, a, k, v, again: And(
            arrives(s, n, a, k, v), sequenced(s, n, v), latch_open(s, n)
        ),
        lambda s, n, a, k, v, again: merged(taken(s, n, a, k, v, again), multicast(s, n, a, k)),
    )

    # ------------------------------------------------------------------ ReceiveData

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
            # history
            "heard_at": lambda p, x: If(here(p, x), i, s.heard_at(p, x)),
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
        lambda s, n, c, d: merged(consumed(s, n, c), passed_up(s, n, c)),
    )
    receive_duplicate = Transition(
        "ReceiveData",
        "discarded",
        data_parameters,
        lambda s, n, c, d: And(next_data(s, n, c, d), Not(is_new(s, n, c))),
        lambda s, n, c, d: consumed(s, n, c),
    )

    # ------------------------------------------------------------------ InstallView

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

        def told(j: Expr) -> Expr:
            return And(answers, s.status(j) == JOINING, s.joiner(v, j))

        entry = table if rules.join_policy == "table" else lambda a: 0
        return {
            "view": lambda p: If(p == n, v, s.view(p)),
            "received": lambda p, a: If(p == n, table(a), s.received(p, a)),
            "resend": lambda p, k: If(And(p == n, again), s.forward_table(p, k), s.resend(p, k)),
            "answered": lambda j: Or(s.answered(j), told(j)),
            "answer_view": lambda j: If(told(j), v, s.answer_view(j)),
            "answer_table": lambda j, a: If(told(j), entry(a), s.answer_table(j, a)),
            "digest": lambda j, c: If(told(j), s.position(n, c), s.digest(j, c)),
            # history
            "at": lambda p: If(p == n, s.first(v), s.at(p)),
        }

    install = Transition(
        "InstallView", "", (("n", "process"), ("v", "view")), may_install, installed
    )
    # The second half of InstallView at the new coordinator: once for each FORWARD in `early`.
    install_waiting = Transition(
        "InstallView",
        "early sequenced",
        (("n", "process"), ("a", "process"), ("k", "seqno")),
        lambda s, n, a, k: And(
            running(s, n), is_coordinator(s, n), latch_open(s, n), s.early(n, a, k, s.view(n))
        ),
        multicast,
    )

    # ------------------------------------------------------------------ Join, Resend, Leave

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

    def head(s: World, n: Expr, k: Expr) -> Expr:
        lowest = s.forall(
            ["seqno"], lambda q: Implies(s.resend(n, q), k <= q), lambda q: [s.resend(n, q)]
        )
        return And(running(s, n), s.resend(n, k), lowest)

    def tail(s: World, n: Expr, k: Expr) -> Updates:
        return {"resend": lambda p, q: And(s.resend(p, q), Not(And(p == n, q == k)))}

    resend_as_coordinator = Transition(
        "Resend",
        "as coordinator",
        (("n", "process"), ("k", "seqno")),
        lambda s, n, k: And(head(s, n, k), is_coordinator(s, n), latch_open(s, n)),
        lambda s, n, k: merged(tail(s, n, k), multicast(s, n, n, k)),
    )
    resend_as_member = Transition(
        "Resend",
        "as member",
        (("n", "process"), ("k", "seqno")),
        lambda s, n, k: And(head(s, n, k), Not(is_coordinator(s, n))),
        lambda s, n, k: merged(tail(s, n, k), forward(s, n, k)),
    )
    leave = Transition(
        "Leave",
        "",
        (("n", "process"),),
        lambda s, n: s.status(n) == MEMBER,
        lambda s, n: {"status": lambda p: If(p == n, LEAVING, s.status(p))},
    )

    # ------------------------------------------------------------------ Stop, Crash, Restart

    def over(s: World, n: Expr, status: int) -> Updates:
        return {
            "status": lambda p: If(p == n, status, s.status(p)),
            "view": lambda p: If(p == n, 0, s.view(p)),
            "seqno": lambda p: If(p == n, 0, s.seqno(p)),
            "forward_table": lambda p, k: And(p != n, s.forward_table(p, k)),
            "resend": lambda p, k: And(p != n, s.resend(p, k)),
            "received": lambda p, a: If(p == n, 0, s.received(p, a)),
            "early": lambda p, a, k, v: And(p != n, s.early(p, a, k, v)),
            "forwards": lambda a, k, v, d: And(d != n, s.forwards(a, k, v, d)),
            "position": lambda p, c: If(p == n, 0, s.position(p, c)),
            "answered": lambda p: And(p != n, s.answered(p)),
        }

    def drained(s: World, n: Expr) -> Expr:
        def read(p: Expr, d: Expr) -> Expr:
            waits = And(running(s, p), s.member(s.view(p), d), s.node(d) == s.node(n))
            return Implies(waits, s.position(p, n) == s.length(n))

        return And(
            s.forall(["seqno"], lambda k: Not(s.forward_table(n, k))),
            s.forall(["process", "process"], read),
            s.forall(["process"], lambda j: Implies(s.answered(j), s.digest(j, n) == s.length(n))),
        )

    stop = Transition(
        "Stop",
        "",
        (("n", "process"),),
        lambda s, n: And(
            s.status(n) == LEAVING, drained(s, n) if rules.drain_on_leave else True
        ),
        lambda s, n: over(s, n, LEFT),
    )
    crash = Transition("Crash", "", (("n", "process"),), running, lambda s, n: over(s, n, CRASHED))

    def may_restart(s: World, n: Expr, q: Expr) -> Expr:
        def read(p: Expr) -> Expr:
            waits = And(running(s, p), s.member(s.view(p), n))
            return Implies(waits, s.position(p, n) == s.length(n))

        next_life = And(
            s.status(q) == UNBORN,
            s.node(q) == s.node(n),
            s.incarnation(q) == s.incarnation(n) + 1,
        )
        return And(
            Or(s.status(n) == LEFT, s.status(n) == CRASHED),
            next_life if rules.incarnations else q == n,
            s.forall(["process"], read, lambda p: [s.position(p, n)]),
            s.forall(["process"], lambda j: Not(s.answered(j)), lambda j: [s.answered(j)]),
        )

    def restarted(s: World, n: Expr, q: Expr) -> Updates:
        def either(p: Expr) -> Expr:
            return Or(p == n, p == q)

        return {
            "status": lambda p: If(p == q, JOINING, If(p == n, REPLACED, s.status(p))),
            "said": lambda p: If(p == q, s.said(n), s.said(p)),
            "heard": lambda p: If(either(p), 0, s.heard(p)),
            "length": lambda c: If(either(c), 0, s.length(c)),
            "position": lambda p, c: If(either(c), 0, s.position(p, c)),
            # history
            "base": lambda p: If(p == q, s.said(n), s.base(p)),
            "latest": lambda p, a: If(either(p), 0, s.latest(p, a)),
        }

    restart = Transition(
        "Restart", "", (("n", "process"), ("q", "process")), may_restart, restarted
    )

    # ------------------------------------------------------------------ the membership service

    def settled(s: World) -> Expr:
        last = s.last_view()

        def everybody(n: Expr) -> Expr:
            waiting = And(s.status(n) == JOINING, s.joiner(last, n))
            return And(
                Implies(And(running(s, n), s.member(last, n)), s.view(n) == last),
                Implies(
                    waiting, And(Not(s.answered(n)), Not(running(s, s.coordinator(last))))
                ),
            )

        return s.forall(["process"], everybody, lambda n: [s.status(n)])

    def may_cut(s: World, c: Expr, new: Expr, x: Expr, cut: Expr) -> Expr:
        """new is the next coordinator, x the present life of the old one's node, c."""
        held = s.forall(
            ["process"],
            lambda n: Implies(
                And(running(s, n), s.member(s.last_view(), n)), s.position(n, x) <= cut
            ),
            lambda n: [s.position(n, x)],
        )
        return And(
            present(s, x),
            s.node(x) == s.node(c),
            If(And(vs, new != c), And(0 <= cut, held, cut <= s.length(x)), cut == s.length(x)),
        )

    def decided(
        s: World, new: Expr, x: Expr, cut: Expr, member: Callable[[Expr], Expr], joins: Expr
    ) -> Updates:
        last, v, c = s.last_view(), s.last_view() + 1, s.coordinator(s.last_view())

        def length(p: Expr) -> Expr:
            return If(p == x, cut, s.length(p))

        def final(w: Expr) -> Expr:
            return If(w == v, length(new), If(And(w == last, x == c), cut, s.final(w)))

        def top(w: Expr, i: Expr, a: Expr) -> Expr:
            kept = Or(not rules.prune_table, member(a))
            return If(
                And(w == v, i == length(new)),
                If(kept, s.top(last, final(last), a), 0),
                s.top(w, i, a),
            )

        return {
            "last_view": lambda: v,
            "member": lambda w, p: If(w == v, member(p), s.member(w, p)),
            "coordinator": lambda w: If(w == v, new, s.coordinator(w)),
            "joiner": lambda w, p: If(w == v, joins(p), s.joiner(w, p)),
            "length": length,
            # history
            "first": lambda w: If(w == v, length(new), s.first(w)),
            "final": final,
            "top": top,
        }

    def may_change(s: World, new: Expr, x: Expr, cut: Expr, joins: Expr) -> Expr:
        last, c = s.last_view(), s.coordinator(s.last_view())
        gone = s.exists(["process"], lambda p: And(s.member(last, p), Not(running(s, p))))
        asking = s.forall(
            ["process"],
            lambda p: Implies(joins(p), s.status(p) == JOINING),
            lambda p: [joins(p), s.status(p)],
        )
        return And(
            settled(s),
            s.member(last, new),
            running(s, new),
            Implies(And(s.member(last, c), running(s, c)), new == c),
            asking,
            Or(gone, s.exists(["process"], joins)),
            may_cut(s, c, new, x, cut),
        )

    def changed(s: World, new: Expr, x: Expr, cut: Expr, joins: Expr) -> Updates:
        def member(p: Expr) -> Expr:
            return Or(And(s.member(s.last_view(), p), running(s, p)), joins(p))

        return decided(s, new, x, cut, member, joins)

    view_change = Transition(
        "ViewChange",
        "",
        (("new", "process"), ("x", "process"), ("cut", "place"), ("joins", "set")),
        may_change,
        changed,
    )

    def may_demote(s: World, new: Expr, x: Expr, cut: Expr) -> Expr:
        last, c = s.last_view(), s.coordinator(s.last_view())
        all_alive = s.forall(
            ["process"],
            lambda p: Implies(s.member(last, p), running(s, p)),
            lambda p: [s.member(last, p)],
        )
        return And(
            settled(s), all_alive, s.member(last, new), new != c, may_cut(s, c, new, x, cut)
        )

    demote = Transition(
        "Demote",
        "",
        (("new", "process"), ("x", "process"), ("cut", "place")),
        may_demote,
        lambda s, new, x, cut: decided(
            s, new, x, cut, lambda p: s.member(s.last_view(), p), lambda p: False
        ),
    )
    return (
        send_as_coordinator,
        send_as_member,
        receive_early,
        receive_dropped,
        receive_sequenced,
        receive_new,
        receive_duplicate,
        install,
        install_waiting,
        join,
        resend_as_coordinator,
        resend_as_member,
        leave,
        stop,
        crash,
        restart,
        view_change,
        demote,
    )
