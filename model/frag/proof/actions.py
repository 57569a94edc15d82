"""The actions of `spec/Frag.tla`. Each branch of an action is a transition.

Those of the layers below are in `lower.py`.
"""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import (
    And,
    Expr,
    If,
    Implies,
    Not,
    Updates,
    World,
    merged,
    put,
)

from .lower import membership, ordering
from .words import (
    JOINING,
    MEMBER,
    Basis,
    drops,
    entry,
    is_last,
    running,
)

_N = ("n", "process")
_M = ("m", "seqno")
_I = ("i", "place")


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return all branches of all actions."""
    return (
        *_sending(basis),
        *_reading(basis),
        *_installing(basis),
        *ordering(basis),
        *membership(basis),
    )


# ---------------------------------------------------------------------- the sender


def _sending(basis: Basis) -> tuple[Transition, ...]:
    def may_send(s: World, n: Expr, m: Expr) -> Expr:
        return And(running(s, n), s.sending(n, m), s.out(n, m) < s.size(n, m))

    def sent(s: World, n: Expr, k: Expr) -> Updates:
        m = s.count(n) + 1
        return {
            "sending": put(s.sending, n, m, True),
            "out": put(s.out, n, m, 0),
            "count": put(s.count, n, m),
            "size": put(s.size, n, m, k),
        }

    def sent_on(s: World, n: Expr, m: Expr) -> Updates:
        part = s.out(n, m)
        updates = {
            "waits": put(s.waits, n, m, s.epoch(n), part, True),
            "out": put(s.out, n, m, part + 1),
        }
        if basis.until_delivered:
            return updates
        return {**updates, "sending": put(s.sending, n, m, part + 1 != s.size(n, m))}

    return (
        Transition(
            "Send",
            "",
            (_N, ("k", "part")),
            lambda s, n, k: And(running(s, n), k >= 1),
            sent,
        ),
        Transition("SendFragment", "", (_N, _M), may_send, sent_on),
        Transition(
            "GiveUp",
            "",
            (_N, _M),
            may_send,
            lambda s, n, m: {
                "sending": put(s.sending, n, m, False),
                "given_up": put(s.given_up, n, m, True),
            },
        ),
    )


# ---------------------------------------------------------------------- the receivers


def _reading(basis: Basis) -> tuple[Transition, ...]:
    """What n reads at place i of the log of its view: the next one, if all read in one order."""

    def reads(s: World, n: Expr, i: Expr) -> Expr:
        place = i == s.at(n) if basis.one_sequence else i >= 0
        return And(running(s, n), place, i < s.len(s.view(n)))

    def comes(s: World, n: Expr, i: Expr) -> Expr:
        f = entry(s, s.view(n), i)
        return And(reads(s, n, i), Not(f.giving), s.member(s.view(n), f.source))

    def dropped(s: World, n: Expr, i: Expr) -> Expr:
        f = entry(s, s.view(n), i)
        here, load = s.here(n, f.source, f.number), s.load(n, f.source)
        return drops(s, basis, f, s.epoch(n), here, load)

    def completes(s: World, n: Expr, i: Expr) -> Expr:
        return is_last(s, entry(s, s.view(n), i))

    def goes_on(s: World, n: Expr) -> Updates:
        return {"at": put(s.at, n, s.at(n) + 1)}

    def keeps(s: World, n: Expr, i: Expr) -> Updates:
        _, x, m, e, p = entry(s, s.view(n), i)
        here, load = s.here(n, x, m), s.load(n, x)
        return merged(
            goes_on(s, n),
            {
                "here": put(s.here, n, x, m, p + 1),
                "load": put(s.load, n, x, If(here == 0, load + s.size(x, m), load)),
                "piece_epoch": put(s.piece_epoch, n, x, m, here, e),
                "piece_part": put(s.piece_part, n, x, m, here, p),
            },
        )

    def forgets(s: World, n: Expr, i: Expr) -> Updates:
        _, x, m, _, _ = entry(s, s.view(n), i)
        here, load = s.here(n, x, m), s.load(n, x)
        return merged(
            goes_on(s, n),
            {
                "here": put(s.here, n, x, m, 0),
                "load": put(s.load, n, x, If(here > 0, load - s.size(x, m), load)),
            },
        )

    def delivers(s: World, n: Expr, i: Expr) -> Updates:
        v, j = s.view(n), s.heard(n)
        _, x, m, e, p = entry(s, v, i)
        here = s.here(n, x, m)

        def epoch(n2: Expr, j2: Expr, q: Expr) -> Expr:
            got = If(q == here, e, s.piece_epoch(n, x, m, q))
            return If(And(n2 == n, j2 == j), got, s.heard_epoch(n2, j2, q))

        def part(n2: Expr, j2: Expr, q: Expr) -> Expr:
            got = If(q == here, p, s.piece_part(n, x, m, q))
            return If(And(n2 == n, j2 == j), got, s.heard_part(n2, j2, q))

        return merged(
            forgets(s, n, i),
            {
                "heard": put(s.heard, n, j + 1),
                "heard_from": put(s.heard_from, n, j, x),
                "heard_number": put(s.heard_number, n, j, m),
                "heard_view": put(s.heard_view, n, j, v),
                "heard_at": put(s.heard_at, n, j, i),
                "heard_parts": put(s.heard_parts, n, j, here + 1),
                "heard_epoch": epoch,
                "heard_part": part,
                "rank": put(s.rank, n, j, s.amount(n, v)),
                "amount": put(s.amount, n, v, s.amount(n, v) + 1),
                "sending": lambda n2, m2: And(
                    Not(And(x == n, n2 == n, m2 == m)), s.sending(n2, m2)
                ),
            },
        )

    return (
        Transition(
            "ReceiveFragment",
            "dropped",
            (_N, _I),
            lambda s, n, i: And(comes(s, n, i), dropped(s, n, i)),
            lambda s, n, _: goes_on(s, n),
        ),
        Transition(
            "ReceiveFragment",
            "kept",
            (_N, _I),
            lambda s, n, i: And(comes(s, n, i), Not(dropped(s, n, i)), Not(completes(s, n, i))),
            keeps,
        ),
        Transition(
            "ReceiveFragment",
            "delivered",
            (_N, _I),
            lambda s, n, i: And(comes(s, n, i), Not(dropped(s, n, i)), completes(s, n, i)),
            delivers,
        ),
        Transition(
            "ReceiveGiveUp",
            "",
            (_N, _I),
            lambda s, n, i: And(reads(s, n, i), s.giving(s.view(n), i)),
            forgets,
        ),
    )


def _installing(basis: Basis) -> tuple[Transition, ...]:
    def installed(s: World, n: Expr, v: Expr, joiners: bool) -> Updates:
        begins = joiners and basis.begin_anew

        def gone(x: Expr) -> Expr:
            return True if begins else And(basis.forgets_departed, Not(s.member(v, x)))

        updates: Updates = {
            "view": put(s.view, n, v),
            "at": put(s.at, n, 0),
            "epoch": put(s.epoch, n, v if begins else If(s.epoch(n) == 0, v, s.epoch(n))),
            "here": lambda p, x, m: If(And(p == n, gone(x)), 0, s.here(p, x, m)),
            "load": lambda p, x: If(And(p == n, gone(x)), 0, s.load(p, x)),
        }
        if not begins:
            return updates
        return {**updates, "out": lambda p, m: If(p == n, 0, s.out(p, m))}

    def next_one(s: World, n: Expr, joiners: bool) -> Expr:
        v = s.view(n)
        return And(
            running(s, n),
            v < s.last(),
            Implies(basis.virtual_synchrony, s.at(n) == s.len(v)),
            s.anew(v + 1) if joiners else Not(s.anew(v + 1)),
        )

    return (
        Transition(
            "InstallView",
            "with joiners",
            (_N,),
            lambda s, n: next_one(s, n, True),
            lambda s, n: installed(s, n, s.view(n) + 1, True),
        ),
        Transition(
            "InstallView",
            "without joiners",
            (_N,),
            lambda s, n: next_one(s, n, False),
            lambda s, n: installed(s, n, s.view(n) + 1, False),
        ),
        Transition(
            "InstallView",
            "a joiner",
            (_N, ("v", "view")),
            lambda s, n, v: And(s.status(n) == JOINING, s.joiner(v, n)),
            lambda s, n, v: merged(installed(s, n, v, True), {"status": put(s.status, n, MEMBER)}),
        ),
    )
