"""The actions of SEQUENCER that send: Send, ReceiveForward and Resend."""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Or, Updates, World, merged

from .vocabulary import MEMBER, Basis, is_coordinator, running


def forward(s: World, n: Expr, k: Expr) -> Updates:
    """FORWARD of n's message k to the coordinator of its view, if that still runs."""
    to, view = s.coordinator(s.view(n)), s.view(n)
    return {
        "forwards": lambda c, a, q, v, d: Or(
            s.forwards(c, a, q, v, d),
            And(c == s.node(n), a == n, q == k, v == view, d == to, running(s, to)),
        )
    }


def multicast(s: World, n: Expr, a: Expr, k: Expr) -> Updates:
    """DATA of a's message k, by n in its view."""
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


def may_forward(basis: Basis, s: World, a: Expr, v: Expr) -> Expr:
    """MayForward of the spec: a is a member of view v."""
    return Implies(basis.rules.from_members, s.member(v, a))


def sending(basis: Basis) -> tuple[Transition, ...]:
    """Return Send, ReceiveForward and Resend under the given assumptions and repairs."""
    rules = basis.rules

    def latch_open(s: World, n: Expr) -> Expr:
        return Implies(basis.virtual_synchrony, s.view(n) == s.last_view())

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

    # `again`: another copy is still under way. The spec has none; see theory.py.
    forward_parameters = (
        ("n", "process"),
        ("c", "node"),
        ("a", "process"),
        ("k", "seqno"),
        ("v", "view"),
        ("again", "bool"),
    )

    def arrives(s: World, n: Expr, c: Expr, a: Expr, k: Expr, v: Expr) -> Expr:
        return And(running(s, n), s.forwards(c, a, k, v, n))

    def taken(s: World, n: Expr, c: Expr, a: Expr, k: Expr, v: Expr, again: Expr) -> Updates:
        def other(x: Expr, b: Expr, q: Expr, w: Expr, d: Expr) -> Expr:
            return Not(And(x == c, b == a, q == k, w == v, d == n))

        return {
            "forwards": lambda x, b, q, w, d: And(
                s.forwards(x, b, q, w, d), Or(again, other(x, b, q, w, d))
            )
        }

    def own(s: World, c: Expr, a: Expr) -> Expr:
        return Implies(rules.from_members, c == s.node(a))

    def sequenced(s: World, n: Expr, c: Expr, a: Expr, v: Expr) -> Expr:
        return And(
            own(s, c, a),
            Implies(rules.view_tag, v == s.view(n)),
            is_coordinator(s, n),
            may_forward(basis, s, a, s.view(n)),
        )

    def set_aside(s: World, n: Expr, c: Expr, a: Expr, v: Expr) -> Expr:
        return And(own(s, c, a), rules.view_tag, v > s.view(n))

    receive_early = Transition(
        "ReceiveForward",
        "of a later view",
        forward_parameters,
        lambda s, n, c, a, k, v, _again: And(arrives(s, n, c, a, k, v), set_aside(s, n, c, a, v)),
        lambda s, n, c, a, k, v, again: merged(
            taken(s, n, c, a, k, v, again),
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
        lambda s, n, c, a, k, v, _again: And(
            arrives(s, n, c, a, k, v),
            Not(set_aside(s, n, c, a, v)),
            Not(sequenced(s, n, c, a, v)),
        ),
        taken,
    )
    receive_sequenced = Transition(
        "ReceiveForward",
        "sequenced",
        forward_parameters,
        lambda s, n, c, a, k, v, _again: And(
            arrives(s, n, c, a, k, v), sequenced(s, n, c, a, v), latch_open(s, n)
        ),
        lambda s, n, c, a, k, v, again: merged(
            taken(s, n, c, a, k, v, again), multicast(s, n, a, k)
        ),
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
    return (
        send_as_coordinator,
        send_as_member,
        receive_early,
        receive_dropped,
        receive_sequenced,
        resend_as_coordinator,
        resend_as_member,
    )
