"""The actions of `spec/Stable.tla` that affect OnlyStablePurged.

Each branch of an action is a transition.
"""

from __future__ import annotations

from collections.abc import Callable

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import (
    And,
    Expr,
    Function,
    If,
    Implies,
    Not,
    Or,
    Updates,
    World,
    merged,
    put,
)

from .words import Basis, all_voted, empty, fresh, put_row

Guard = Callable[..., Expr]

_N = ("n", "process")
_P = ("p", "process")
_S = ("s", "process")
_C = ("c", "process")
_D = ("d", "digest")
_M = ("m", "stability")


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return all branches of all actions."""

    def ours(s: World, n: Expr, view: Expr) -> Expr:
        return s.view(n) == view if basis.vote_check else True

    def may_send(s: World, n: Expr) -> Expr:
        return And(s.running(n), Not(s.suspended(n)))

    def taken(s: World, n: Expr, p: Expr, at: Function, first: bool, last: bool) -> Updates:
        """Return the minimum with a vote of p, counted too unless counting is a step of its own."""

        def low(x: Expr) -> Expr:
            return at(x) if first else If(s.lowest(n, x) <= at(x), s.lowest(n, x), at(x))

        lowest = {"lowest": put_row(s.lowest, n, low)}
        if not basis.atomic_vote:
            return merged(
                lowest,
                {
                    "held": put(s.held, n, p, True),
                    "in_hand": lambda n2, p2, x: If(
                        And(n2 == n, p2 == p), low(x), s.in_hand(n2, p2, x)
                    ),
                },
            )
        counted: Updates = {"voted": put(s.voted, n, p, True)}
        if last:
            counted = merged(
                counted,
                {"pending": put(s.pending, n, True), "due": put_row(s.due, n, low)},
            )
        return merged(lowest, counted)

    def counts(s: World, n: Expr, p: Expr, first: bool, last: bool) -> Expr:
        return And(
            empty(s, n) if first else True,
            all_voted(s, n, p) if last else True,
        )

    def branches(action: str, more: tuple[tuple[str, str], ...], own: bool) -> list[Transition]:
        made = []
        for first in (True, False):
            for last in (True, False) if basis.atomic_vote else (False,):

                def guard(
                    s: World, n: Expr, d: Expr, *, first: bool = first, last: bool = last
                ) -> Expr:
                    if own:
                        told = s.forall(
                            ["process"],
                            lambda x: s.digest_at(d, x) == s.delivered(n, x),
                            lambda x: [s.digest_at(d, x)],
                        )
                        return And(
                            may_send(s, n),
                            Not(s.digest(d)),
                            s.digest_from(d) == n,
                            s.digest_view(d) == s.view(n),
                            told if basis.true_digests else True,
                            counts(s, n, n, first, last),
                        )
                    return And(
                        may_send(s, n),
                        s.digest(d),
                        ours(s, n, s.digest_view(d)),
                        counts(s, n, s.digest_from(d), first, last),
                    )

                def updates(
                    s: World, n: Expr, d: Expr, *, first: bool = first, last: bool = last
                ) -> Updates:
                    sent: Updates = {"digest": put(s.digest, d, True)} if own else {}
                    p = n if own else s.digest_from(d)
                    return merged(sent, taken(s, n, p, lambda x: s.digest_at(d, x), first, last))

                case = f"{'first' if first else 'later'}{', last' if last else ''}"
                made.append(Transition(action, case, (_N, *more), guard, updates))
        return made

    def purge(s: World, n: Expr, m: Expr) -> Updates:
        return {
            "purged": put_row(
                s.purged,
                n,
                lambda x: If(
                    And(s.member(s.view(n), x), s.purged(n, x) < s.stability_at(m, x)),
                    s.stability_at(m, x),
                    s.purged(n, x),
                ),
            )
        }

    def same_due(s: World, n: Expr, m: Expr) -> Expr:
        return And(
            s.pending(n),
            may_send(s, n),
            Not(s.stability(m)),
            s.stability_view(m) == s.view(n),
            s.forall(
                ["process"],
                lambda x: s.stability_at(m, x) == s.due(n, x),
                lambda x: [s.stability_at(m, x)],
            ),
        )

    def stability_arrives(s: World, n: Expr, m: Expr) -> Expr:
        return And(may_send(s, n), s.stability(m), ours(s, n, s.stability_view(m)))

    def installs(s: World, n: Expr, v: Expr) -> Updates:
        cleared = fresh(s, n) if basis.reset_on_view else {}
        return merged(
            cleared,
            {
                "view": put(s.view, n, v),
                "suspended": put(s.suspended, n, False),
                "cutting": put(s.cutting, n, False),
            },
        )

    def joins(s: World, n: Expr) -> Updates:
        return {
            **fresh(s, n),
            "view": put(s.view, n, s.joined(n)),
            "running": put(s.running, n, True),
            "suspended": put(s.suspended, n, False),
            "cutting": put(s.cutting, n, False),
            "purged": put_row(s.purged, n, lambda _: 0),
        }

    def may_decide(s: World, c: Expr, stays: Function, joiners: Function) -> Expr:
        def fits(p: Expr) -> Expr:
            return And(
                Implies(stays(p), And(s.member(s.last(), p), Not(joiners(p)))),
                Implies(joiners(p), And(s.joined(p) == 0, Not(s.running(p)), s.view(p) == 0)),
            )

        nobody = s.forall(["process"], lambda p: Not(joiners(p)), lambda p: [joiners(p)])
        return And(
            s.running(c),
            s.view(c) == s.last(),
            s.member(s.last(), c),
            stays(c),
            s.forall(["process"], fits, lambda p: [joiners(p), stays(p)]),
            Or(s.cutting(c), nobody),
        )

    def decided(s: World, c: Expr, stays: Function, joiners: Function) -> Updates:
        new = s.last() + 1
        return {
            "last": lambda: new,
            "member": lambda v, p: If(v == new, Or(stays(p), joiners(p)), s.member(v, p)),
            "joined": lambda p: If(joiners(p), new, s.joined(p)),
            "delivered": lambda p, x: If(joiners(p), s.cut(c, x), s.delivered(p, x)),
            "origin": lambda p, v: If(joiners(p), If(v < new, s.origin(c, v), p), s.origin(p, v)),
        }

    def suspends(s: World, n: Expr) -> Updates:
        taken_now: Updates = {
            "cutting": put(s.cutting, n, True),
            "cut": put_row(s.cut, n, lambda x: s.delivered(n, x)),
        }
        if not basis.suspend_on_join:
            return taken_now
        return merged(taken_now, fresh(s, n), {"suspended": put(s.suspended, n, True)})

    found = [
        *branches("SendDigest", (_D,), own=True),
        *branches("ReceiveDigest", (_D,), own=False),
        Transition(
            "SendStability",
            "",
            (_N, _M),
            same_due,
            lambda s, n, m: merged(
                purge(s, n, m), fresh(s, n), {"stability": put(s.stability, m, True)}
            ),
        ),
        Transition(
            "ReceiveStability",
            "covers",
            (_N, _M),
            stability_arrives,
            lambda s, n, m: merged(purge(s, n, m), fresh(s, n)),
        ),
        Transition("ReceiveStability", "does not", (_N, _M), stability_arrives, purge),
        Transition(
            "Suspend",
            "",
            (_N,),
            lambda s, n: And(
                s.running(n), s.view(n) == s.last(), s.member(s.last(), n), Not(s.cutting(n))
            ),
            suspends,
        ),
        Transition(
            "Resume",
            "",
            (_N,),
            lambda s, n: And(s.running(n), s.cutting(n), s.view(n) == s.last()),
            lambda s, n: {
                "cutting": put(s.cutting, n, False),
                "suspended": put(s.suspended, n, False),
            },
        ),
        Transition(
            "InstallView",
            "member",
            (_N,),
            lambda s, n: And(s.running(n), s.view(n) < s.last(), s.member(s.view(n) + 1, n)),
            lambda s, n: installs(s, n, s.view(n) + 1),
        ),
        Transition(
            "InstallView",
            "joiner",
            (_N,),
            lambda s, n: And(s.joined(n) > 0, s.view(n) == 0),
            joins,
        ),
        Transition(
            "Deliver",
            "",
            (_N, _S, ("at", "number")),
            lambda s, n, x, at: And(s.running(n), at >= s.delivered(n, x)),
            lambda s, n, x, at: {"delivered": put(s.delivered, n, x, at)},
        ),
        Transition(
            "Crash",
            "",
            (_N,),
            lambda s, n: s.running(n),
            lambda s, n: {
                "running": put(s.running, n, False),
                "cutting": put(s.cutting, n, False),
                "suspended": put(s.suspended, n, False),
            },
        ),
        Transition(
            "ViewChange",
            "",
            (_C, ("stays", "set"), ("joiners", "set")),
            may_decide,
            decided,
        ),
    ]
    if not basis.atomic_vote:

        def votes(s: World, n: Expr, p: Expr) -> Updates:
            return {"voted": put(s.voted, n, p, True), "held": put(s.held, n, p, False)}

        found += [
            Transition(
                "Vote",
                "more to come",
                (_N, _P),
                lambda s, n, p: And(s.running(n), s.held(n, p)),
                votes,
            ),
            Transition(
                "Vote",
                "last",
                (_N, _P),
                lambda s, n, p: And(s.running(n), s.held(n, p), all_voted(s, n, p)),
                lambda s, n, p: merged(
                    votes(s, n, p),
                    {
                        "pending": put(s.pending, n, True),
                        "due": put_row(s.due, n, lambda x: s.in_hand(n, p, x)),
                    },
                ),
            ),
        ]
    return tuple(found)
