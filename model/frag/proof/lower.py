"""The actions of the layers below FRAG in `spec/Frag.tla`: SEQUENCER and the membership."""

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

from .words import (
    CRASHED,
    JOINING,
    Basis,
    Entry,
    Step,
    running,
)

_N = ("n", "process")
_M = ("m", "seqno")


def ordering(basis: Basis) -> tuple[Transition, ...]:
    """Return the branches of Sequence."""

    def may_order(s: World, n: Expr) -> Expr:
        return And(running(s, n), s.view(n) == s.last())

    def placed(s: World, f: Entry) -> Updates:
        """Put something at the end of the last log; say what becomes of those who read it."""
        v, i = s.last(), s.len(s.last())
        does = Step(s, basis, v, i, f)

        def here(w: Expr, j: Expr) -> Expr:
            return And(w == v, j == i + 1)

        def had(w: Expr, j: Expr, n: Expr, m: Expr) -> Expr:
            before = s.had(w, j, n, m)
            if here(w, j) is False:
                return before  # without what is false of most of a concrete world
            return If(here(w, j), does.had_next(n, m), before)

        def loaded(w: Expr, j: Expr, n: Expr) -> Expr:
            before = s.loaded(w, j, n)
            if here(w, j) is False:
                return before
            return If(here(w, j), does.loaded_next(n), before)

        def its(n: Expr, m: Expr) -> Expr:
            return And(n == f.source, m == f.number, does.completes)

        return {
            "len": put(s.len, v, i + 1),
            "giving": put(s.giving, v, i, f.giving),
            "source": put(s.source, v, i, f.source),
            "number": put(s.number, v, i, f.number),
            "of_epoch": put(s.of_epoch, v, i, f.epoch),
            "part": put(s.part, v, i, f.part),
            "had": had,
            "loaded": loaded,
            "nth": put(s.nth, v, i + 1, s.nth(v, i) + If(does.completes, 1, 0)),
            "done_view": lambda n, m: If(its(n, m), v, s.done_view(n, m)),
            "done_at": lambda n, m: If(its(n, m), i, s.done_at(n, m)),
        }

    def fragment(s: World, n: Expr, m: Expr, e: Expr, p: Expr) -> Updates:
        return merged(
            placed(s, Entry(False, n, m, e, p)),
            {
                "waits": put(s.waits, n, m, e, p, False),
                "log_view": put(s.log_view, n, m, e, p, s.last()),
                "log_at": put(s.log_at, n, m, e, p, s.len(s.last())),
            },
        )

    return (
        Transition(
            "Sequence",
            "fragment",
            (_N, _M, ("e", "view"), ("p", "part")),
            lambda s, n, m, e, p: And(may_order(s, n), s.waits(n, m, e, p)),
            fragment,
        ),
        Transition(
            "Sequence",
            "given up",
            (_N, _M),
            lambda s, n, m: And(may_order(s, n), s.given_up(n, m)),
            lambda s, n, m: placed(s, Entry(True, n, m, 0, 0)),
        ),
    )


# ---------------------------------------------------------------------- the membership


def membership(basis: Basis) -> tuple[Transition, ...]:
    """Return the branches of ViewChange, and Crash."""
    behind = (_N, ("k", "place"))
    joiners = (("joiners", "set"), ("j", "process"))

    def stays(s: World, n: Expr) -> Expr:
        return And(s.member(s.last(), n), s.status(n) != CRASHED)

    def may_change(s: World, n: Expr, k: Expr) -> Expr:
        """n stays, all that stay have the last view, and have read nothing from place k on."""

        def settled(n: Expr) -> Expr:
            return Implies(stays(s, n), And(s.view(n) == s.last(), s.at(n) <= k))

        return And(
            stays(s, n),
            s.forall(["process"], settled, lambda n: [s.member(s.last(), n), s.view(n)]),
            k <= s.len(s.last()),
        )

    def changed(s: World, k: Expr, joins: Function | None) -> Updates:
        """Decide the next view; what was ordered from place k on is ordered again."""
        v, w = s.last(), s.last() + 1
        anew = joins is not None

        def joined(n: Expr) -> Expr:
            return False if joins is None else joins(n)

        def inside(n: Expr) -> Expr:
            return Or(stays(s, n), joined(n))

        def cut(n: Expr, m: Expr, e: Expr, p: Expr) -> Expr:
            return And(s.log_view(n, m, e, p) == v, s.log_at(n, m, e, p) >= k)

        def undone(n: Expr, m: Expr) -> Expr:
            return And(s.done_view(n, m) == v, s.done_at(n, m) >= k)

        def forgotten(n: Expr) -> Expr:
            begins = anew and basis.begin_anew
            return True if begins else And(basis.forgets_departed, Not(inside(n)))

        def had(u: Expr, i: Expr, n: Expr, m: Expr) -> Expr:
            left = If(forgotten(n), 0, s.had(v, k, n, m))
            return If(And(u == w, i == 0), left, s.had(u, i, n, m))

        def loaded(u: Expr, i: Expr, n: Expr) -> Expr:
            left = If(forgotten(n), 0, s.loaded(v, k, n))
            return If(And(u == w, i == 0), left, s.loaded(u, i, n))

        return {
            "last": lambda: w,
            "member": lambda u, n: If(u == w, inside(n), s.member(u, n)),
            "joiner": lambda u, n: If(u == w, joined(n), s.joiner(u, n)),
            "anew": put(s.anew, w, anew),
            "began": put(s.began, w, w if anew and basis.begin_anew else s.began(v)),
            "len": lambda u: If(u == v, k, If(u == w, 0, s.len(u))),
            "waits": lambda n, m, e, p: Or(s.waits(n, m, e, p), And(stays(s, n), cut(n, m, e, p))),
            "log_view": lambda n, m, e, p: If(cut(n, m, e, p), 0, s.log_view(n, m, e, p)),
            "done_view": lambda n, m: If(undone(n, m), 0, s.done_view(n, m)),
            "had": had,
            "loaded": loaded,
            "nth": put(s.nth, w, 0, 0),
        }

    return (
        Transition(
            "ViewChange",
            "with joiners",
            (*behind, *joiners),
            lambda s, n, k, joins, j: And(
                may_change(s, n, k),
                joins(j),
                s.forall(
                    ["process"],
                    lambda p: Implies(joins(p), s.status(p) == JOINING),
                    lambda p: [joins(p)],
                ),
            ),
            lambda s, _, k, joins, __: changed(s, k, joins),
        ),
        Transition(
            "ViewChange",
            "without joiners",
            behind,
            may_change,
            lambda s, _, k: changed(s, k, None),
        ),
        Transition("Crash", "", (_N,), running, _crash),
    )


def _crash(s: World, n: Expr) -> Updates:
    return {
        "status": put(s.status, n, CRASHED),
        "view": put(s.view, n, 0),
        "epoch": put(s.epoch, n, 0),
        "at": put(s.at, n, 0),
        "sending": lambda p, m: And(p != n, s.sending(p, m)),
        "waits": lambda p, m, e, q: And(p != n, s.waits(p, m, e, q)),
        "here": lambda p, x, m: If(p == n, 0, s.here(p, x, m)),
        "load": lambda p, x: If(p == n, 0, s.load(p, x)),
        "heard": put(s.heard, n, 0),
        "amount": lambda p, v: If(p == n, 0, s.amount(p, v)),
    }
