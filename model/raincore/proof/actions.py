"""The actions of `spec/Raincore.tla`, repaired, for `theory.py`.

A message that was ever sent may arrive at any time and as often as it likes; a time-out and a
report of failure may come at any time. The guards decide what counts.
"""

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
    put,
)

from .words import Basis, between, follows, missed, reached

_N = ("n", "process")
_M = ("m", "process")
_E = ("e", "epoch")
_I = ("i", "seqno")
_P = ("p", "proposal")
_V = ("v", "proposal")
_L = ("later", "epoch")
_AT = ("index", "index")


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return all branches of all actions."""
    return (
        *_claims(basis),
        *_arrivals(basis),
        *_holders(basis),
        *_failures(basis),
        *_adversary(basis),
    )


def idle(s: World, n: Expr) -> Expr:
    """n is up, and does not hold the token."""
    return And(Not(s.down(n)), Not(s.eating(n)))


def elected(s: World, n: Expr, v: Expr, basis: Basis) -> Expr:
    """n's claim has come back, granted by the processes in v, which are a quorum."""

    def by(claim: Expr) -> Expr:
        return s.forall(
            ["process"],
            lambda x: Implies(s.member(v, x), s.granted(claim, x)),
            lambda x: [s.member(v, x)],
        )

    e = s.wanted(n)
    # In the text, the answer to any earlier claim of n would do.
    earlier = s.exists(["epoch"], lambda c: And(s.owner(c) == n, s.claimed(c), by(c)))
    return And(
        Not(s.down(n)),
        s.claiming(n),
        Implies(basis.own_promise, s.promised(n) == e),
        by(e) if basis.fresh_attempts else earlier,
        Implies(basis.majority, enough(s, n, v)),
    )


def of_granters(s: World, n: Expr, p: Expr, v: Expr) -> Expr:
    """p is a list of members that have granted n's claim, including all voters."""
    return And(
        Or(p == s.copy(n), And(Not(s.made(p)), s.parent(p) == s.copy(n))),
        s.forall(
            ["process"],
            lambda x: And(
                Implies(s.member(p, x), s.granted(s.wanted(n), x)),
                Implies(s.member(v, x), Or(s.member(p, x), x == n)),
                Implies(And(s.calm(), s.member(s.copy(n), x), Not(s.member(p, x))), s.down(x)),
            ),
            lambda x: [s.member(p, x), s.member(v, x)],
        ),
    )


def enough(s: World, n: Expr, v: Expr) -> Expr:
    """The processes in v are a quorum of the settled list of n's copy and of all after it."""
    return s.forall(
        ["proposal"],
        lambda w: Implies(between(s, s.base(n), w, s.copy(n)), s.quorum(v, w)),
        lambda w: [s.anc(w, s.copy(n))],
    )


def knows(s: World, e: Expr, p: Expr) -> Expr:
    """p comes after everything that was settled before e: see NothingIsMissed."""
    return s.forall(
        ["proposal", "epoch"],
        lambda q, d: Implies(And(s.settled(q, d), d < e), s.anc(q, p)),
        lambda q, d: [s.settled(q, d)],
    )


def _nearest(s: World, e: Expr, later: Expr) -> Expr:
    """`later` is the first epoch after e that has begun, if there is one."""
    return s.forall(
        ["epoch"],
        lambda d: Implies(And(s.begun(d), d > e), And(s.begun(later), later > e, later <= d)),
        lambda d: [s.begun(d)],
    )


def _common(s: World, voters: Expr, low: Expr, others: Expr, anchor: Expr) -> Expr:
    """Some process voted both times: each had a quorum of the higher of the settled lists."""
    return s.meet(voters, others, If(s.anc(low, anchor), anchor, low))


def _new(s: World, n: Expr, e: Expr, i: Expr, p: Expr, v: Expr) -> dict[str, Function]:
    """The holder n gives the token of e the list p, under number i."""
    return {
        "copy": put(s.copy, n, p),
        "seq": put(s.seq, n, i),
        "made": put(s.made, p, True),
        "last": put(s.last, e, p),
        "top": put(s.top, e, i),
        "at": put(s.at, e, i, p),
        "on": put(s.on, p, e, True),
        "held": put(s.held, p, e, n, True),
        "votes": put(s.votes, p, e, v),
        "low": put(s.low, p, e, s.base(n)),
        "lowest": put(s.lowest, p, e, s.since(n)),
        "ate": put(s.ate, e, i, n, True),
        "sure": put(s.sure, n, False),
    }


def _claims(basis: Basis) -> tuple[Transition, ...]:
    def claimed(s: World, n: Expr, e: Expr) -> Updates:
        return {
            "sure": put(s.sure, n, False),
            "claiming": put(s.claiming, n, True),
            "wanted": put(s.wanted, n, e),
            "promised": put(s.promised, n, e),
            "claimed": put(s.claimed, e, True),
            "source": put(s.source, e, s.epoch(n)),
            "place": put(s.place, e, s.seq(n)),
            "found": put(s.found, e, s.copy(n)),
            "anchor": put(s.anchor, e, s.base(n)),
            "anchored": put(s.anchored, e, s.since(n)),
            "granted": put(s.granted, e, n, True),
        }

    def grantable(s: World, n: Expr, e: Expr) -> Expr:
        return And(
            Not(s.down(n)),
            s.claimed(e),
            Implies(basis.holder_vetoes, Not(s.eating(n))),
            e > s.promised(n),
            Or(s.epoch(n) < s.source(e), And(s.epoch(n) == s.source(e), s.seq(n) <= s.place(e))),
        )

    def regenerates(s: World, n: Expr, p: Expr, v: Expr, later: Expr) -> Expr:
        e = s.wanted(n)
        return And(
            elected(s, n, v, basis),
            of_granters(s, n, p, v),
            knows(s, e, s.copy(n)) if basis.majority and basis.fresh_attempts else True,
            _nearest(s, e, later),
        )

    def regenerated(s: World, n: Expr, p: Expr, v: Expr, later: Expr) -> Updates:
        e, base = s.wanted(n), s.base(n)

        def witness(q: Expr, d: Expr) -> Expr:
            old = _common(s, s.votes(q, d), s.low(q, d), v, base)
            new = _common(s, v, base, s.ballot(later), s.anchor(later))
            kept = If(missed(s, q, d), s.witness(q, d), old)
            return If(And(q == p, d == e), new, If(d < e, kept, s.witness(q, d)))

        return {
            **_new(s, n, e, s.seq(n), p, v),
            "begun": put(s.begun, e, True),
            "first": put(s.first, e, p),
            "ballot": put(s.ballot, e, v),
            "eating": put(s.eating, n, True),
            "epoch": put(s.epoch, n, e),
            "claiming": put(s.claiming, n, False),
            "witness": witness,
        }

    return (
        Transition(
            "Receive911",
            "asks to claim",
            (_N, _E),
            lambda s, n, e: And(idle(s, n), s.has(n), s.owner(e) == n, e > s.promised(n)),
            claimed,
        ),
        Transition(
            "Receive911",
            "grants",
            (_N, _E),
            grantable,
            lambda s, n, e: {
                "promised": put(s.promised, n, e),
                "granted": put(s.granted, e, n, True),
            },
        ),
        Transition("Receive911", "regenerates", (_N, _P, _V, _L), regenerates, regenerated),
        Transition(
            "HungryTimeout",
            "",
            (_N,),
            idle,
            lambda s, n: {
                "sure": put(s.sure, n, False),
                "claiming": put(s.claiming, n, False),
            },
        ),
        Transition(
            "Gap",
            "",
            (_N,),
            lambda s, n: And(Not(s.down(n)), s.eating(n)),
            lambda s, n: {"sure": put(s.sure, n, False)},
        ),
    )


def _arrivals(basis: Basis) -> tuple[Transition, ...]:
    def taken(s: World, n: Expr, e: Expr, i: Expr) -> Expr:
        return And(
            Not(s.down(n)),
            s.sent(e, i),
            s.to(e, i) == n,
            s.member(s.at(e, i), n),
            Not(reached(s, n, e, i)),
            Implies(basis.promises, e >= s.promised(n)),
            Or(Not(s.eating(n)), e > s.epoch(n)),
        )

    def eats(s: World, n: Expr, e: Expr, i: Expr) -> dict[str, Function]:
        p = s.at(e, i)
        return {
            "eating": put(s.eating, n, True),
            "claiming": put(s.claiming, n, False),
            "promised": put(s.promised, n, If(e > s.promised(n), e, s.promised(n))),
            "has": put(s.has, n, True),
            "epoch": put(s.epoch, n, e),
            "seq": put(s.seq, n, i),
            "copy": put(s.copy, n, p),
            "held": put(s.held, p, e, n, True),
            "ate": put(s.ate, e, i, n, True),
        }

    def takes(s: World, n: Expr, e: Expr, i: Expr) -> Updates:
        return {
            **eats(s, n, e, i),
            "base": put(s.base, n, s.carried(e, i)),
            "since": put(s.since, n, s.carrying(e, i)),
            "sure": put(s.sure, n, And(s.sure(n), follows(s, n, s.at(e, i)))),
        }

    def is_last(s: World, n: Expr, e: Expr, i: Expr) -> Expr:
        p = s.at(e, i)
        return And(
            taken(s, n, e, i),
            Implies(
                basis.seen_by_all,
                s.forall(
                    ["process"],
                    lambda x: Implies(s.member(p, x), Or(x == n, s.held(p, e, x))),
                    lambda x: [s.member(p, x), s.held(p, e, x)],
                ),
            ),
        )

    def settles(s: World, n: Expr, e: Expr, i: Expr) -> Updates:
        p = s.at(e, i)
        return {
            **eats(s, n, e, i),
            "base": put(s.base, n, p),
            "since": put(s.since, n, e),
            "settled": put(s.settled, p, e, True),
            "sure": put(s.sure, n, True),
            "assured": put(s.assured, n, e),
        }

    def commits(s: World, n: Expr, index: Expr) -> Updates:
        p = s.copy(n)
        k = s.depth(p) if basis.bound_index else index
        return {
            "base": put(s.base, n, p),
            "since": put(s.since, n, s.assured(n)),
            "entry": put(s.entry, n, k, p, s.assured(n), True),
        }

    return (
        Transition("ReceiveToken", "", (_N, _E, _I), taken, takes),
        Transition("ReceiveToken", "the last one to hold it", (_N, _E, _I), is_last, settles),
        Transition(
            "ReceiveToken",
            "commits",
            (_N, _AT),
            lambda s, n, _: And(s.eating(n), s.sure(n)),
            commits,
        ),
        Transition(
            "ReceiveToken",
            "fills a hole",
            (_N, _P, _E),
            lambda s, n, p, e: And(Not(s.down(n)), s.settled(p, e), s.member(p, n)),
            lambda s, n, p, e: {"entry": put(s.entry, n, s.depth(p), p, e, True)},
        ),
    )


def _holders(basis: Basis) -> tuple[Transition, ...]:
    def changes(s: World, n: Expr, p: Expr, v: Expr, later: Expr) -> Expr:
        return And(
            s.eating(n),
            Not(s.made(p)),
            s.parent(p) == s.copy(n),
            s.forall(
                ["process"],
                lambda x: And(
                    Implies(s.member(v, x), Or(s.member(p, x), x == n)),
                    Implies(And(s.calm(), s.member(s.copy(n), x)), s.member(p, x)),
                ),
                lambda x: [s.member(v, x), s.member(p, x), s.member(s.copy(n), x)],
            ),
            Implies(basis.majority and basis.changes_by_majority, enough(s, n, v)),
            _nearest(s, s.epoch(n), later),
        )

    def changed(s: World, n: Expr, p: Expr, v: Expr, later: Expr) -> Updates:
        e = s.epoch(n)
        new = _common(s, v, s.base(n), s.ballot(later), s.anchor(later))
        return {
            **_new(s, n, e, s.seq(n) + 1, p, v),
            "witness": put(s.witness, p, e, new),
        }

    def passed(s: World, n: Expr, m: Expr) -> Updates:
        e, i = s.epoch(n), s.seq(n) + 1
        return {
            "eating": put(s.eating, n, False),
            "seq": put(s.seq, n, i),
            "top": put(s.top, e, i),
            "at": put(s.at, e, i, s.copy(n)),
            "sent": put(s.sent, e, i, True),
            "to": put(s.to, e, i, m),
            "carried": put(s.carried, e, i, s.base(n)),
            "carrying": put(s.carrying, e, i, s.since(n)),
        }

    def all_held(s: World, n: Expr) -> Expr:
        p, e = s.copy(n), s.epoch(n)
        return And(
            s.eating(n),
            s.member(p, n),
            Implies(
                basis.seen_by_all,
                s.forall(
                    ["process"],
                    lambda x: Implies(s.member(p, x), s.held(p, e, x)),
                    lambda x: [s.member(p, x), s.held(p, e, x)],
                ),
            ),
        )

    return (
        Transition("EatingTimeout", "changes the list", (_N, _P, _V, _L), changes, changed),
        Transition("EatingTimeout", "passes", (_N, _M), lambda s, n, _: s.eating(n), passed),
        Transition(
            "EatingTimeout",
            "alone",
            (_N,),
            all_held,
            lambda s, n: {
                "base": put(s.base, n, s.copy(n)),
                "since": put(s.since, n, s.epoch(n)),
                "settled": put(s.settled, s.copy(n), s.epoch(n), True),
                "sure": put(s.sure, n, True),
                "assured": put(s.assured, n, s.epoch(n)),
            },
        ),
    )


def _failures(basis: Basis) -> tuple[Transition, ...]:
    fell = {"eating": False, "sure": False, "claiming": False}

    def stopped(s: World, n: Expr, *, down: bool) -> Updates:
        updates: dict[str, Function] = {
            name: put(getattr(s, name), n, value) for name, value in fell.items()
        }
        return {**updates, "down": put(s.down, n, down)}

    found = [
        Transition(
            "Crash",
            "",
            (_N,),
            lambda s, n: Not(s.down(n)),
            lambda s, n: stopped(s, n, down=True),
        ),
        Transition(
            "Recover",
            "",
            (_N,),
            lambda s, n: And(s.down(n), Not(s.calm())),
            lambda s, n: stopped(s, n, down=False),
        ),
    ]
    if not basis.failure_claims:
        found.append(
            Transition(
                "TokenUndelivered",
                "",
                (_N,),
                lambda s, n: And(idle(s, n), s.has(n), s.sent(s.epoch(n), s.seq(n))),
                lambda s, n: {"eating": put(s.eating, n, True)},
            )
        )
    if not basis.incarnations:
        found.append(
            Transition(
                "Forget",
                "",
                (_N,),
                lambda s, n: And(s.down(n), Not(s.calm())),
                lambda s, n: {
                    **stopped(s, n, down=False),
                    "promised": put(s.promised, n, 0),
                    "has": put(s.has, n, False),
                    "epoch": put(s.epoch, n, 0),
                    "seq": put(s.seq, n, 0),
                },
            )
        )
    return tuple(found)


def _adversary(basis: Basis) -> tuple[Transition, ...]:
    """Return what makes tokens that nobody has sent, where they are handed up."""
    kept = {
        "Forge": basis.from_members and basis.true_sources,
        "Corrupt": basis.datagrams_unaltered,
    }
    return tuple(
        Transition(
            action,
            "a token",
            (_N, _E, _I),
            lambda _s, _n, _e, _i: True,
            lambda s, n, e, i: {"sent": put(s.sent, e, i, True), "to": put(s.to, e, i, n)},
        )
        for action, is_kept in kept.items()
        if not is_kept
    )
