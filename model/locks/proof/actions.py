"""The actions of `spec/Locks.tla` that change tables. Each branch of an action is a transition."""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import (
    And,
    Expr,
    If,
    Implies,
    Not,
    Or,
    Updates,
    World,
    merged,
    put,
)

from .words import Basis, behind, good, good_behind, has_token, is_epoch

_N = ("n", "process")
_E = ("e", "epoch")


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return all branches of all actions."""
    return (*_arriving(basis), *_departing(basis), _making(), _crashing())


# ---------------------------------------------------------------------- Arrive


def _arriving(basis: Basis) -> tuple[Transition, ...]:
    def comes(s: World, n: Expr, e: Expr) -> Expr:
        here = And(s.at(e) == n, Not(s.arrived(e)), Not(s.lost(e)))
        return And(is_epoch(s, e), here, e >= s.promised(n), Not(s.reading(n)))

    def came(s: World, n: Expr, e: Expr) -> Updates:
        new = e != s.epoch(n)
        otherwise = If(new, 0, s.begun(n)) if basis.begins_own else s.begun(n)
        return {
            "arrived": put(s.arrived, e, True),
            "placed": put(s.placed, e, n, True),
            "promised": put(s.promised, n, e),
            "size": put(s.size, n, s.length(e)),
            "epoch": put(s.epoch, n, e),
            "begun": put(s.begun, n, If(And(new, s.maker(e) == n), s.epoch(n), otherwise)),
        }

    def read(s: World, n: Expr) -> Updates:
        x = s.log(s.epoch(n), s.last(n) + 1)
        return {
            "base": put(s.base, n, good_behind(s, s.base(n), x, basis)),
            "table": put(s.table, n, behind(s, s.table(n), x)),
            "last": put(s.last, n, s.last(n) + 1),
        }

    def settled(s: World, n: Expr) -> Updates:
        keeps = good(s, n) if basis.chained else s.base(n) >= 1
        base = s.base(n) if basis.chained else s.epoch(n)
        return {
            "base": put(s.base, n, If(keeps, base, 0)),
            "reading": put(s.reading, n, False),
        }

    return (
        Transition(
            "Arrive",
            "with a place",
            (_N, _E),
            lambda s, n, e: And(comes(s, n, e), s.placed(e, n)),
            lambda s, n, e: merged(came(s, n, e), {"reading": put(s.reading, n, True)}),
        ),
        Transition(
            "Arrive",
            "one post",
            (_N,),
            lambda s, n: And(s.reading(n), s.last(n) < s.length(s.epoch(n))),
            read,
        ),
        Transition(
            "Arrive",
            "all is read",
            (_N,),
            lambda s, n: And(s.reading(n), s.last(n) >= s.length(s.epoch(n))),
            settled,
        ),
        Transition(
            "Arrive",
            "without a place",
            (_N, _E),
            lambda s, n, e: And(comes(s, n, e), Not(s.placed(e, n))),
            lambda s, n, e: merged(
                came(s, n, e), {"last": put(s.last, n, s.length(e)), "base": put(s.base, n, 0)}
            ),
        ),
    )


# ---------------------------------------------------------------------- Depart


def _departing(basis: Basis) -> tuple[Transition, ...]:
    def leaves(s: World, n: Expr) -> Expr:
        return And(has_token(s, n, s.epoch(n)), Not(s.reading(n)))

    def goes(s: World, n: Expr, to: Expr) -> Updates:
        e = s.epoch(n)
        return {"at": put(s.at, e, to), "arrived": put(s.arrived, e, False)}

    def posts(s: World, n: Expr, _to: Expr, x: Expr) -> Expr:
        """x may be the post of n: what it does not say of the table is not told apart."""
        place = s.length(s.epoch(n)) + 1
        ahead = Not(place > s.last(n)) if basis.reads_on else False
        return And(
            leaves(s, n),
            s.written(x) == s.epoch(n),
            s.parent(x) == s.begun(n),
            Implies(And(s.lays(x), good(s, n)), s.laid(x) == s.table(n)),
            Implies(And(s.lays(x), Not(good(s, n))), And(s.laid(x) == s.empty(), Not(ahead))),
        )

    def posted(s: World, n: Expr, to: Expr, x: Expr) -> Updates:
        e = s.epoch(n)
        i = s.length(e) + 1
        return merged(
            goes(s, n, to),
            {
                "length": put(s.length, e, i),
                "log": put(s.log, e, i, x),
                "chain": put(s.chain, e, i, good_behind(s, s.chain(e, i - 1), x, basis)),
                "truth": put(s.truth, e, i, behind(s, s.truth(e, i - 1), x)),
                "base": put(s.base, n, good_behind(s, s.base(n), x, basis)),
                "table": put(s.table, n, behind(s, s.table(n), x)),
                "last": put(s.last, n, If(s.last(n) > i, s.last(n), i)),
                "size": put(s.size, n, i),
                "begun": put(s.begun, n, 0),
            },
        )

    return (
        Transition(
            "Depart",
            "silent",
            (_N, ("to", "process")),
            lambda s, n, _to: And(leaves(s, n), s.begun(n) == 0),
            goes,
        ),
        Transition("Depart", "with a post", (_N, ("to", "process"), ("x", "post")), posts, posted),
    )


# ---------------------------------------------------------------------- the ring


def _making() -> Transition:
    """n makes the token anew from its copy; a token that is at n, or goes there, is lost."""

    def made(s: World, n: Expr, places: Expr) -> Updates:
        new, old, size = s.newest() + 1, s.epoch(n), s.size(n)

        def of(name: str) -> Updates:
            function = getattr(s, name)
            return {
                name: lambda e, i: If(And(e == new, i <= size), function(old, i), function(e, i))
            }

        return merged(
            of("log"),
            of("chain"),
            of("truth"),
            {
                "newest": lambda: new,
                "length": put(s.length, new, size),
                "at": put(s.at, new, n),
                "arrived": put(s.arrived, new, False),
                "lost": lambda e: And(e != new, Or(s.lost(e), s.at(e) == n)),
                "placed": lambda e, p: If(e == new, Or(p == n, places(p)), s.placed(e, p)),
                "promised": put(s.promised, n, new),
                "maker": put(s.maker, new, n),
                "source": put(s.source, new, old),
                "copied": put(s.copied, new, size),
            },
        )

    return Transition(
        "Make",
        "",
        (_N, ("places", "set")),
        lambda s, n, _places: And(Not(s.reading(n)), s.epoch(n) >= 1),
        made,
    )


def _crashing() -> Transition:
    return Transition(
        "Crash",
        "",
        (_N,),
        lambda s, n: Not(s.reading(n)),
        lambda s, n: {
            "lost": lambda e: Or(s.lost(e), And(s.at(e) == n, s.arrived(e))),
            "begun": put(s.begun, n, 0),
            "base": put(s.base, n, 0),
        },
    )
