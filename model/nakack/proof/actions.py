"""The actions of NAKACK on the stream of one member, with the spec's names."""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Or, Updates, World

from .words import CRASHED, JOINING, MEMBER, Basis, has_source, most, running


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return every action, one transition for each branch of it."""
    return (
        *_sending(basis),
        *_receiving(basis),
        *_acknowledging(basis),
        *_views(basis),
        *_adversary(basis),
    )


def _sending(basis: Basis) -> tuple[Transition, ...]:
    def may(s: World) -> Expr:
        me = s.source()
        return And(
            running(s, me),
            s.reads(me),
            Implies(basis.virtual_synchrony, s.view(me) == s.decided()),
        )

    def multicast(s: World) -> Updates:
        me, k = s.source(), s.sent() + 1
        now = s.view(me)
        return {
            "sent": lambda: k,
            "sent_in": lambda j: If(j == k, now, s.sent_in(j)),
            "data": lambda j, v: Or(s.data(j, v), And(j == k, v == now)),
            "held": lambda p, j: Or(s.held(p, j), And(p == me, j == k)),
            "tag": lambda p, j: If(And(p == me, j == k), now, s.tag(p, j)),
            "heard": lambda p: If(p == me, k, s.heard(p)),
        }

    def counts(s: World, p: Expr, k: Expr) -> Expr:
        me = s.source()
        return And(running(s, me), p != me, s.in_view(s.view(me), p), s.acks(p, k), k <= s.sent())

    return (
        Transition("Multicast", "", (), may, multicast),
        Transition(
            "ReceiveAlive",
            "at the source",
            (("p", "process"), ("k", "seqno")),
            counts,
            lambda s, p, k: {"acked": lambda q: If(q == p, most(s.acked(q), k), s.acked(q))},
        ),
    )


def _receiving(basis: Basis) -> tuple[Transition, ...]:
    def kept(s: World, p: Expr, k: Expr, v: Expr) -> Expr:
        late = And(basis.freezing, s.frozen(p), k > s.heard(p))
        new = And(k > s.delivered(p), Not(s.held(p, k)))
        handed = Or(s.data(k, v), And(s.forged(k, v), p != s.source(), not basis.from_members))
        return And(running(s, p), s.reads(p), handed, new, Not(late))

    def keep(s: World, p: Expr, k: Expr, v: Expr) -> Updates:
        return {
            "held": lambda q, j: Or(s.held(q, j), And(q == p, j == k)),
            "tag": lambda q, j: If(And(q == p, j == k), v, s.tag(q, j)),
            "heard": lambda q: If(q == p, most(s.heard(q), k), s.heard(q)),
        }

    def begun_again(s: World, p: Expr, k: Expr, v: Expr) -> Updates:
        return {
            "reads": lambda q: Or(q == p, s.reads(q)),
            "delivered": lambda q: If(q == p, 0, s.delivered(q)),
            "held": lambda q, j: If(q == p, j == k, s.held(q, j)),
            "tag": lambda q, j: If(q == p, v, s.tag(q, j)),
            "heard": lambda q: If(q == p, k, s.heard(q)),
            "frozen": lambda q: And(q != p, s.frozen(q)),
        }

    def ready(s: World, p: Expr) -> Expr:
        k = s.delivered(p) + 1
        in_time = Implies(basis.view_tag, s.tag(p, k) <= s.view(p))
        return And(running(s, p), s.reads(p), s.held(p, k), in_time)

    def deliver(s: World, p: Expr) -> Updates:
        k, i = s.delivered(p) + 1, s.passed(p) + 1

        def here(q: Expr, j: Expr) -> Expr:
            return And(q == p, j == i)

        return {
            "delivered": lambda q: If(q == p, k, s.delivered(q)),
            "passed": lambda q: If(q == p, i, s.passed(q)),
            "passed_seqno": lambda q, j: If(here(q, j), k, s.passed_seqno(q, j)),
            "passed_tag": lambda q, j: If(here(q, j), s.tag(p, k), s.passed_tag(q, j)),
            "passed_in": lambda q, j: If(here(q, j), s.view(p), s.passed_in(q, j)),
        }

    datagram = (("p", "process"), ("k", "seqno"), ("v", "view"))
    stranger = Transition(
        "ReceiveData",
        "of a non-member",
        datagram,
        lambda s, p, k, v: And(running(s, p), Not(s.reads(p)), p != s.source(), s.data(k, v)),
        begun_again,
    )
    return (
        Transition("ReceiveData", "kept", datagram, kept, keep),
        *(() if basis.members_only else (stranger,)),
        Transition(
            "HeardOf",
            "or a sign of life",
            (("p", "process"), ("k", "seqno")),
            lambda s, p, k: And(
                running(s, p),
                s.reads(p),
                p != s.source(),
                Or(Not(s.frozen(p)), not basis.freezing),
                k >= s.heard(p),
            ),
            lambda s, p, k: {"heard": lambda q: If(q == p, k, s.heard(q))},
        ),
        Transition("Deliver", "", (("p", "process"),), ready, deliver),
        Transition(
            "Acknowledge",
            "",
            (("p", "process"),),
            lambda s, p: And(running(s, p), s.reads(p)),
            lambda s, p: {"acks": lambda q, j: Or(s.acks(q, j), And(q == p, j == s.delivered(p)))},
        ),
    )


def _acknowledging(basis: Basis) -> tuple[Transition, ...]:
    def stable(s: World, p: Expr, k: Expr) -> Expr:
        def voted(m: Expr) -> Expr:
            vote = And(s.view(m) >= s.view(p), Implies(s.reads(m), k <= s.delivered(m)))
            joined = s.status(m) != JOINING
            return Implies(s.in_view(s.view(p), m), And(joined, Implies(running(s, m), vote)))

        everybody = s.forall(["process"], voted) if basis.safe_purge else True
        return And(running(s, p), s.reads(p), everybody)

    def purged(s: World, p: Expr, k: Expr) -> Updates:
        up = If(k < s.delivered(p), k, s.delivered(p)) if basis.keep_undelivered else k
        return {"held": lambda q, j: And(s.held(q, j), Or(q != p, j > up))}

    def may_freeze(s: World, p: Expr, a: Expr) -> Expr:
        here = s.forall(["seqno"], lambda k: Implies(And(k > s.delivered(p), k <= a), s.held(p, k)))
        return And(
            running(s, p),
            s.status(s.source()) == CRASHED,
            s.reads(p),
            s.view(p) == s.decided(),
            Not(s.frozen(p)),
            a >= s.delivered(p),
            Not(s.held(p, a + 1)),
            here,
        )

    def frozen(s: World, p: Expr, a: Expr) -> Updates:
        now: Updates = {"frozen": lambda q: Or(q == p, s.frozen(q))}
        if not basis.freezing:
            return now
        return {
            **now,
            "heard": lambda q: If(q == p, a, s.heard(q)),
            "held": lambda q, j: And(s.held(q, j), Or(q != p, j <= a)),
        }

    return (
        Transition("Purge", "", (("p", "process"), ("k", "seqno")), stable, purged),
        Transition("Freeze", "", (("p", "process"), ("a", "seqno")), may_freeze, frozen),
        Transition(
            "Fetch",
            "",
            (("p", "process"),),
            lambda s, p: And(running(s, p), s.reads(p), p != s.source(), s.view(p) < s.decided()),
            lambda s, p: {
                "heard": lambda q: If(q == p, most(s.heard(q), s.cut(s.view(p) + 1)), s.heard(q))
            },
        ),
    )


def _views(basis: Basis) -> tuple[Transition, ...]:
    def may_install(s: World, p: Expr) -> Expr:
        coming = s.view(p) + 1
        complete = Implies(s.reads(p), s.delivered(p) >= s.cut(coming))
        return And(
            running(s, p),
            s.view(p) < s.decided(),
            s.in_view(coming, p),
            Implies(basis.virtual_synchrony, complete),
        )

    def install(s: World, p: Expr) -> Updates:
        coming, me = s.view(p) + 1, s.source()
        new = And(has_source(s, coming), Not(s.reads(p)))

        def joins(q: Expr) -> Expr:
            return And(s.in_view(coming, q), Not(s.in_view(s.view(p), q)))

        return {
            "view": lambda q: If(q == p, coming, s.view(q)),
            "reads": lambda q: If(q == p, has_source(s, coming), s.reads(q)),
            **_begun(s, p, new, 0),
            "acked": lambda q: If(And(p == me, joins(q)), s.delivered(p), s.acked(q)),
        }

    def first(at: Expr) -> Expr:
        return at if basis.digest_means_delivered else If(at > 0, at - 1, 0)

    def join(s: World, p: Expr) -> Updates:
        v = s.decided()
        return {
            "status": lambda q: If(q == p, MEMBER, s.status(q)),
            "view": lambda q: If(q == p, v, s.view(q)),
            "reads": lambda q: If(q == p, has_source(s, v), s.reads(q)),
            **_begun(s, p, has_source(s, v), first(s.cut(v))),
            "begin": lambda q: If(And(q == p, has_source(s, v)), s.cut(v), s.begin(q)),
            "acked": lambda q: If(p == s.source(), 0, s.acked(q)),
        }

    def change(s: World, c: Expr, new: Expr) -> Expr:
        v, me = s.decided(), s.source()

        def stays(n: Expr) -> Expr:
            return And(s.in_view(v, n), running(s, n))

        def member(n: Expr) -> Expr:
            settled = Implies(
                s.in_view(v, n),
                And(s.status(n) != JOINING, Implies(running(s, n), s.view(n) == v)),
            )
            chosen = new(n) == Or(stays(n), And(new(n), s.status(n) == JOINING))
            return And(settled, chosen)

        def has_all(n: Expr, k: Expr) -> Expr:
            lacking = And(stays(n), k > s.delivered(n), k <= s.sent())
            return Implies(lacking, s.held(n, k))

        def ends(n: Expr) -> Expr:
            gap = s.exists(
                ["seqno"],
                lambda k: And(k > s.delivered(n), k <= c + 1, Not(s.held(n, k))),
            )
            within = And(s.delivered(n) <= c, gap if basis.cut_by_arrived else True)
            here = s.forall(["seqno"], lambda k: has_all(n, k))
            whole = here if basis.cut_by_arrived else s.delivered(n) >= s.sent()
            ended = Or(s.frozen(n), And(c == s.sent(), whole))
            return Implies(stays(n), And(ended, within))

        flushed = s.forall(["process", "seqno"], has_all) if basis.virtual_synchrony else True
        live = And(c == s.sent(), flushed)
        dead = And(s.forall(["process"], ends), c >= 0)
        alive = running(s, me)
        cut = If(has_source(s, v), And(Implies(alive, live), Implies(Not(alive), dead)), c == 0)
        return And(s.forall(["process"], member), cut)

    return (
        Transition("InstallView", "", (("p", "process"),), may_install, install),
        Transition(
            "Join",
            "",
            (("p", "process"),),
            lambda s, p: And(s.status(p) == JOINING, s.in_view(s.decided(), p)),
            join,
        ),
        Transition(
            "Crash",
            "",
            (("p", "process"),),
            running,
            lambda s, p: {
                "status": lambda q: If(q == p, CRASHED, s.status(q)),
                "reads": lambda q: And(q != p, s.reads(q)),
                "passed": lambda q: If(q == p, 0, s.passed(q)),
            },
        ),
        Transition(
            "ViewChange",
            "",
            (("c", "seqno"), ("new", "set")),
            change,
            lambda s, c, new: {
                "decided": lambda: s.decided() + 1,
                "in_view": lambda v, n: If(v == s.decided() + 1, new(n), s.in_view(v, n)),
                "cut": lambda v: If(v == s.decided() + 1, c, s.cut(v)),
            },
        ),
    )


def _adversary(basis: Basis) -> tuple[Transition, ...]:
    """Return what makes datagrams that nobody has sent; as a member's, where it can have its
    address or alter its datagrams.
    """
    datagram = (("k", "seqno"), ("v", "view"))
    as_strangers = Transition(
        "Forge",
        "a multicast",
        datagram,
        lambda _s, _k, _v: True,
        lambda s, k, v: {"forged": lambda j, w: Or(s.forged(j, w), And(j == k, w == v))},
    )
    as_members = tuple(
        transition
        for action, kept in (("Forge", basis.true_sources), ("Corrupt", basis.datagrams_unaltered))
        if not kept
        for transition in (
            Transition(
                action,
                "a member's multicast",
                datagram,
                lambda _s, _k, _v: True,
                lambda s, k, v: {"data": lambda j, w: Or(s.data(j, w), And(j == k, w == v))},
            ),
            Transition(
                action,
                "an acknowledgement",
                (("p", "process"), ("k", "seqno")),
                lambda _s, _p, _k: True,
                lambda s, p, k: {"acks": lambda q, j: Or(s.acks(q, j), And(q == p, j == k))},
            ),
        )
    )
    return (as_strangers, *as_members)


def _begun(s: World, p: Expr, new: Expr, at: Expr) -> Updates:
    """Begun(at) of the spec at p, if the stream is new there."""

    def here(q: Expr) -> Expr:
        return And(q == p, new)

    return {
        "delivered": lambda q: If(here(q), at, s.delivered(q)),
        "held": lambda q, j: And(s.held(q, j), Not(here(q))),
        "heard": lambda q: If(here(q), at, s.heard(q)),
        "frozen": lambda q: And(s.frozen(q), Not(here(q))),
        "begin": lambda q: If(here(q), 0, s.begin(q)),
    }
