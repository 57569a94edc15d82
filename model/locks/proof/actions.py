"""The actions of `spec/Locks.tla` that change tables. Each branch of an action is a transition."""

from __future__ import annotations

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

from .words import Basis, behind, fence, good, good_behind, has_token, is_epoch

_N = ("n", "process")
_E = ("e", "epoch")


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return all branches of all actions."""
    return (
        *_arriving(basis),
        *_departing(basis),
        *_wanting(basis),
        _making(),
        _joining(),
        _crashing(),
    )


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
            "askers": lambda m, p: And(s.askers(m, p), Not(And(m == n, new))),
            "begun": put(s.begun, n, If(And(new, s.maker(e) == n), s.epoch(n), otherwise)),
        }

    def read(s: World, n: Expr) -> Updates:
        x = s.log(s.epoch(n), s.last(n) + 1)
        return {
            "base": put(s.base, n, good_behind(s, s.base(n), x, basis)),
            "table": put(s.table, n, behind(s, s.table(n), x)),
            "last": put(s.last, n, s.last(n) + 1),
            "askers": _heard(s, n, x),
        }

    def settled(s: World, n: Expr) -> Updates:
        keeps = good(s, n) if basis.chained else s.base(n) >= 1
        base = s.base(n) if basis.chained else s.epoch(n)
        return {
            "base": put(s.base, n, If(keeps, base, 0)),
            "reading": put(s.reading, n, False),
            "held": _kept(s, n, keeps, s.table(n)),
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
                came(s, n, e),
                {
                    "last": put(s.last, n, s.length(e)),
                    "base": put(s.base, n, 0),
                    "held": _kept(s, n, False, s.table(n)),
                },
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

    def posts(s: World, n: Expr, to: Expr, x: Expr) -> Expr:
        """x may be the post of n: what it does not say of the table is not told apart."""
        place = s.length(s.epoch(n)) + 1
        ahead = Not(place > s.last(n)) if basis.reads_on else False
        return And(
            leaves(s, n),
            s.written(x) == s.epoch(n),
            s.stands(x) == place,
            s.parent(x) == s.begun(n),
            Implies(And(s.lays(x), good(s, n)), s.laid(x) == s.table(n)),
            Implies(
                And(s.lays(x), Not(good(s, n))),
                And(s.laid(x) == s.empty(), Not(ahead), all_others_ask(s, n)),
            ),
            s.by(x) == n,
            Implies(s.asks(x), Not(Or(good(s, n), s.lays(x)))),
            s.forall(["request"], lambda r: may_end(s, n, x, r), lambda r: [s.ends(x, r)]),
            s.member(s.epoch(n), to),
        )

    def all_others_ask(s: World, n: Expr) -> Expr:
        def asks(p: Expr) -> Expr:
            return Implies(And(s.member(s.epoch(n), p), p != n), s.askers(n, p))

        if not basis.all_ask:
            return True
        return s.forall(["process"], asks, lambda p: [s.member(s.epoch(n), p)])

    def may_end(s: World, n: Expr, x: Expr, r: Expr) -> Expr:
        mine = And(s.owner(r) == n, Not(s.held(n, r)))
        return Implies(s.ends(x, r), Or(mine, Not(s.member(s.epoch(n), s.owner(r)))))

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
                "askers": _heard(s, n, x),
                "asked": lambda f, j, p: If(
                    And(f == e, j == i),
                    And(Not(s.lays(x)), Or(s.asked(e, i - 1, p), And(s.asks(x), p == n))),
                    s.asked(f, j, p),
                ),
                "when": lambda f, j, p: If(
                    And(f == e, j == i),
                    If(And(s.asks(x), p == n), i, s.when(e, i - 1, p)),
                    s.when(f, j, p),
                ),
                "held": _kept(
                    s,
                    n,
                    good_behind(s, s.base(n), x, basis) >= 1,
                    behind(s, s.table(n), x),
                ),
            },
        )

    return (
        Transition(
            "Depart",
            "silent",
            (_N, ("to", "process")),
            lambda s, n, to: And(leaves(s, n), s.begun(n) == 0, s.member(s.epoch(n), to)),
            goes,
        ),
        Transition("Depart", "with a post", (_N, ("to", "process"), ("x", "post")), posts, posted),
    )


def _heard(s: World, n: Expr, x: Expr) -> Function:
    """Who has said that it has no table, behind post x."""

    def heard(m: Expr, p: Expr) -> Expr:
        here = And(m == n, s.written(x) == s.epoch(n))
        said = And(Not(s.lays(x)), Or(s.askers(m, p), And(s.asks(x), p == s.by(x))))
        return If(here, said, s.askers(m, p))

    return heard


def _kept(s: World, n: Expr, good: Expr, table: Expr) -> Function:
    """What n has not lost, if it has this table, good or not."""

    def kept(m: Expr, r: Expr) -> Expr:
        return And(s.held(m, r), Or(m != n, And(good, s.holds(table, r))))

    return kept


def _wanting(basis: Basis) -> tuple[Transition, ...]:
    """n is told once that it holds, having read all that is posted; or it gives a lock back."""

    def may(s: World, n: Expr, r: Expr) -> Expr:
        e = s.epoch(n)
        fresh = And(e >= 1, s.base(n) == e, s.last(n) == s.length(e))
        holds = And(s.owner(r) == n, s.holds(s.table(n), r))
        return And(Not(s.reading(n)), fresh, holds, Not(s.told(r)))

    def told(s: World, n: Expr, r: Expr) -> Updates:
        then, place, turn = fence(s, s.table(n), r)
        epoch = s.epoch(n) if basis.epoch_when_told else then
        return {
            "held": put(s.held, n, r, True),
            "told": put(s.told, r, True),
            "told_in": put(s.told_in, r, epoch),
            "told_place": put(s.told_place, r, place),
            "told_turn": put(s.told_turn, r, turn),
            "late": put(s.late, r, s.epoch(n) != s.newest()),
            "earlier": lambda p, q: If(q == r, s.told(p), s.earlier(p, q)),
        }

    r = ("r", "request")
    return (
        Transition("Told", "", (_N, r), may, told),
        Transition(
            "Drop",
            "",
            (_N, r),
            lambda s, n, r: s.held(n, r),
            lambda s, n, r: {"held": put(s.held, n, r, False)},
        ),
    )


# ---------------------------------------------------------------------- the ring


def _making() -> Transition:
    """n makes the token anew from its copy; a token that is at n, or goes there, is lost."""

    def made(s: World, n: Expr, places: Expr, agree: Expr) -> Updates:
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
                "member": lambda e, p: If(e == new, Or(p == n, agree(p)), s.member(e, p)),
                "asked": lambda e, i, p: If(And(e == new, i <= size), False, s.asked(e, i, p)),
                "promised": put(s.promised, n, new),
                "maker": put(s.maker, new, n),
                "source": put(s.source, new, old),
                "copied": put(s.copied, new, size),
            },
        )

    return Transition(
        "Make",
        "",
        (_N, ("places", "set"), ("agree", "set")),
        lambda s, n, _places, _agree: And(Not(s.reading(n)), s.epoch(n) >= 1),
        made,
    )


def _joining() -> Transition:
    return Transition(
        "Join",
        "",
        (_N, _E),
        lambda s, n, e: And(is_epoch(s, e), Not(s.member(e, n))),
        lambda s, n, e: {"member": put(s.member, e, n, True)},
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
            "askers": lambda m, p: And(m != n, s.askers(m, p)),
            "held": lambda m, r: And(m != n, s.held(m, r)),
        },
    )
