"""The actions of UNICAST between one sender and one receiver, with the spec's names."""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Or, Updates, World

from .words import Basis, least, most


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return every action under these repairs, one transition for each branch of it."""
    return (*_sending(basis), *_receiving(basis), *_ending(basis))


def _wire(basis: Basis, connection: Expr) -> Expr:
    return 1 if basis.rules.connection_ids == "none" else connection


def _sent(basis: Basis, s: World, connection: Expr, low: Expr, high: Expr) -> Updates:
    """The messages low + 1 .. high of the sender's connection leave."""
    return {
        "data": lambda c, k, life, talk, number: Or(
            s.data(c, k, life, talk, number),
            And(
                c == _wire(basis, connection),
                low < k,
                k <= high,
                life == s.life(),
                talk == connection,
                number == k,
            ),
        )
    }


def _pushed(basis: Basis, s: World, seqno: Expr, acked: Expr, confirmed: Expr) -> Expr:
    """Return how far the window lets the sender go."""
    base = confirmed if basis.rules.consumed_window else acked
    return most(s.out(), least(seqno, base + s.window()))


def _sending(basis: Basis) -> tuple[Transition, ...]:
    rules = basis.rules

    def went_on(s: World) -> Updates:
        seqno = s.seqno() + 1
        out = _pushed(basis, s, seqno, s.acked(), s.confirmed())
        return {
            "seqno": lambda: seqno,
            "out": lambda: out,
            **_sent(basis, s, s.connection(), s.out(), out),
        }

    begins = Transition(
        "Send",
        "begins a connection",
        (("c", "number"),),
        lambda s, c: And(Not(s.sending()), c > s.connections()),
        lambda s, c: {
            "sending": lambda: True,
            "connections": lambda: c,
            "connection": lambda: c,
            "seqno": lambda: 1,
            "acked": lambda: 0,
            "out": lambda: 1,
            "confirmed": lambda: 0,
            **_sent(basis, s, c, 0, 1),
        },
    )
    goes_on = Transition("Send", "goes on", (), lambda s: s.sending(), went_on)

    def counts(s: World, c: Expr, a: Expr, b: Expr) -> Expr:
        of_it = Implies(rules.ack_connection, c == _wire(basis, s.connection()))
        return And(s.ack(c, a, b), s.sending(), of_it, a <= s.out())

    def acknowledged(s: World, _c: Expr, a: Expr, b: Expr) -> Updates:
        acked = most(s.acked(), a)
        confirmed = most(s.confirmed(), least(b, a))
        out = _pushed(basis, s, s.seqno(), acked, confirmed)
        return {
            "acked": lambda: acked,
            "confirmed": lambda: confirmed,
            "out": lambda: out,
            **_sent(basis, s, s.connection(), s.out(), out),
        }

    receive_ack = Transition(
        "ReceiveAck",
        "counts",
        (("c", "number"), ("a", "seqno"), ("b", "seqno")),
        counts,
        acknowledged,
    )
    stale_ack = Transition(
        "ReceiveAck",
        "stale",
        (("c", "number"), ("a", "seqno"), ("b", "seqno")),
        lambda s, c, a, b: And(s.ack(c, a, b), Not(counts(s, c, a, b))),
        lambda _s, _c, _a, _b: {},
    )
    again = Transition(
        "Retransmit",
        "again",
        (),
        lambda s: And(rules.timer, s.sending(), s.acked() < s.out()),
        lambda _s: {},
    )
    probe = Transition(
        "Retransmit",
        "probe",
        (),
        lambda s: And(
            rules.timer and rules.probe, s.sending(), s.acked() == s.out(), s.out() < s.seqno()
        ),
        lambda s: {
            "out": lambda: s.out() + 1,
            **_sent(basis, s, s.connection(), s.out(), s.out() + 1),
        },
    )
    timed = (again, probe) if rules.timer and rules.probe else (again,) if rules.timer else ()
    return (begins, goes_on, receive_ack, stale_ack, *timed)


def _receiving(basis: Basis) -> tuple[Transition, ...]:
    rules = basis.rules
    content = (("life", "number"), ("talk", "number"), ("number", "number"))
    datagram = (("c", "number"), ("k", "seqno"), *content)

    def stale(s: World, c: Expr) -> Expr:
        older = And(rules.connection_ids == "newer", s.receiving(), c < s.from_here())
        return Or(c <= s.closed(), older)

    def anew(s: World, c: Expr) -> Expr:
        other = And(rules.connection_ids != "none", c != s.from_here())
        return Or(Not(s.receiving()), other)

    def kept(s: World, c: Expr, x: Expr) -> Expr:
        return And(Not(anew(s, c)), s.buffered(x))

    def arrived(s: World, c: Expr) -> Expr:
        return If(anew(s, c), 0, s.arrived())

    def consumed(s: World, c: Expr) -> Expr:
        return If(anew(s, c), 0, s.consumed())

    def dropped(s: World, c: Expr, k: Expr) -> Expr:
        if rules.duplicates == "exact":
            duplicate = Or(k <= arrived(s, c), kept(s, c, k))
        else:
            above = s.exists(["seqno"], lambda x: And(kept(s, c, x), k <= x))
            duplicate = Or(k <= arrived(s, c), above)
        base = consumed(s, c) if rules.consumed_window else arrived(s, c)
        return Or(duplicate, k > base + s.window())

    def taken(s: World, c: Expr) -> Updates:
        return {
            "receiving": lambda: True,
            "from_here": lambda: If(anew(s, c), c, s.from_here()),
            "arrived": lambda: arrived(s, c),
            "consumed": lambda: consumed(s, c),
            "buffered": lambda x: kept(s, c, x),
        }

    def reaches(s: World, k: Expr, m: Expr) -> Expr:
        """Once k is in the buffer, m is the highest seqno up to which all have arrived."""

        def there(x: Expr) -> Expr:
            return Or(s.buffered(x), x == k)

        between = s.forall(
            ["seqno"],
            lambda x: Implies(And(s.arrived() < x, x <= m), there(x)),
            lambda x: [s.buffered(x)],
        )
        # It says no more than `between`, but names `buffered(m)` to Z3.
        last = Implies(s.arrived() < m, there(m))
        return And(s.arrived() <= m, last, between, Not(there(m + 1)))

    receive_stale = Transition(
        "Receive",
        "stale",
        datagram,
        lambda s, c, k, life, talk, number: And(s.data(c, k, life, talk, number), stale(s, c)),
        lambda *_: {},
    )
    receive_dropped = Transition(
        "Receive",
        "dropped",
        datagram,
        lambda s, c, k, life, talk, number: And(
            s.data(c, k, life, talk, number), Not(stale(s, c)), dropped(s, c, k)
        ),
        lambda s, c, *_: taken(s, c),
    )

    def written(s: World, k: Expr, life: Expr, talk: Expr, number: Expr) -> Updates:
        return {
            "buffer_life": lambda x: If(x == k, life, s.buffer_life(x)),
            "buffer_talk": lambda x: If(x == k, talk, s.buffer_talk(x)),
            "buffer_number": lambda x: If(x == k, number, s.buffer_number(x)),
        }

    def may_keep(s: World, c: Expr, k: Expr, life: Expr, talk: Expr, number: Expr) -> Expr:
        return And(s.data(c, k, life, talk, number), Not(stale(s, c)), Not(dropped(s, c, k)))

    # Separate transitions, so that each reads the buffer in every case or in none, as Z3 needs.
    receive_first = Transition(
        "Receive",
        "first",
        datagram,
        lambda s, c, k, life, talk, number: And(may_keep(s, c, k, life, talk, number), anew(s, c)),
        lambda s, c, k, life, talk, number: {
            "receiving": lambda: True,
            "from_here": lambda: c,
            "arrived": lambda: If(k == 1, 1, 0),
            "consumed": lambda: 0,
            "buffered": lambda x: x == k,
            **written(s, k, life, talk, number),
        },
    )
    receive_kept = Transition(
        "Receive",
        "kept",
        (*datagram, ("m", "seqno")),
        lambda s, c, k, life, talk, number, m: And(
            may_keep(s, c, k, life, talk, number), Not(anew(s, c)), reaches(s, k, m)
        ),
        lambda s, _c, k, life, talk, number, m: {
            "arrived": lambda: m,
            "buffered": lambda x: Or(s.buffered(x), x == k),
            **written(s, k, life, talk, number),
        },
    )

    def passed_up(s: World) -> Updates:
        k, last = s.consumed() + 1, s.heard() + 1
        talk, number = s.buffer_talk(k), s.buffer_number(k)
        return {
            "consumed": lambda: k,
            "buffered": lambda x: And(s.buffered(x), x != k),
            "heard": lambda: last,
            "heard_life": lambda i: If(i == last, s.buffer_life(k), s.heard_life(i)),
            "heard_talk": lambda i: If(i == last, talk, s.heard_talk(i)),
            "heard_number": lambda i: If(i == last, number, s.heard_number(i)),
            # history
            "place": lambda t, x: If(And(t == talk, x == number), last, s.place(t, x)),
        }

    consume = Transition(
        "Consume",
        "",
        (),
        lambda s: And(s.receiving(), s.consumed() < s.arrived()),
        passed_up,
    )
    acknowledge = Transition(
        "Acknowledge",
        "",
        (),
        lambda s: s.receiving(),
        lambda s: {
            "ack": lambda c, a, b: Or(
                s.ack(c, a, b),
                And(c == s.from_here(), a == s.arrived(), b == s.consumed()),
            )
        },
    )
    return receive_stale, receive_dropped, receive_first, receive_kept, consume, acknowledge


def _ending(basis: Basis) -> tuple[Transition, ...]:
    by_sender = Transition(
        "Forget",
        "by the sender",
        (),
        lambda s: s.sending(),
        lambda _s: {"sending": lambda: False},
    )
    by_receiver = Transition(
        "Forget",
        "by the receiver",
        (),
        lambda s: s.receiving(),
        lambda s: {
            "receiving": lambda: False,
            **({"closed": lambda: s.from_here()} if basis.rules.remember_closed else {}),
        },
    )
    # A new address belongs to another pair of processes; the old one takes no more steps.
    restart = Transition(
        "Restart",
        "under the old address",
        (),
        lambda _s: True,
        lambda s: {
            "life": lambda: s.life() + 1,
            "connections": lambda: 0,
            "sending": lambda: False,
        },
    )
    return (by_sender, by_receiver, *(() if basis.rules.incarnations else (restart,)))
