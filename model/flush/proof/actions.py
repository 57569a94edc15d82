"""The actions of `spec/Flush.tla` in its first design, for `theory.py`.

A message that was ever sent may arrive at any time, as often as it likes; the guards decide which
messages still count. Only START is handled in the order of one requester's attempts, and once.
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

from .words import CALLING, NO, YES, Basis, reads

_P = ("p", "process")
_C = ("c", "process")
_M = ("m", "process")
_F = ("f", "flush")


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return all branches of all actions."""
    return (
        *_multicasts(basis),
        *_participant(basis),
        *_requester(basis),
        *_membership(basis),
    )


def _multicasts(basis: Basis) -> tuple[Transition, ...]:
    def numbered(s: World, p: Expr) -> Updates:
        i = s.length(p) + 1
        return {
            "length": put(s.length, p, i),
            "position": put(s.position, p, p, i),
            "sent_in": put(s.sent_in, p, i, s.view(p)),
        }

    def receivable(s: World, p: Expr, c: Expr) -> Expr:
        fetched = And(s.fetching(p), s.position(p, c) < s.most(s.flush(p), c))
        return And(
            s.running(p),
            reads(s, p, c),
            s.position(p, c) < s.length(c),
            Or(Not(s.frozen(p, c)), fetched),
        )

    return (
        Transition(
            "Multicast",
            "",
            (_P,),
            lambda s, p: And(s.running(p), Implies(basis.number_at_latch, Not(s.latch(p)))),
            numbered,
        ),
        Transition(
            "ReceiveMulticast",
            "",
            (_P, _C),
            receivable,
            lambda s, p, c: {"position": put(s.position, p, c, s.position(p, c) + 1)},
        ),
    )


def _participant(basis: Basis) -> tuple[Transition, ...]:
    def start_heeded(s: World, p: Expr, f: Expr) -> Expr:
        r = s.requester(f)
        return And(
            s.running(p),
            s.began(f),
            s.part(f, p),
            Not(s.got(f, p)),
            Not(s.suspects(p, r)),
            Implies(basis.from_members, reads(s, p, r)),
        )

    def started(s: World, p: Expr, f: Expr) -> Updates:
        def gone(q: Expr, m: Expr) -> Expr:
            return And(q == p, reads(s, p, m), Not(s.part(f, m)))

        def taken_up(g: Expr, q: Expr) -> Expr:
            earlier = And(
                s.began(g), s.requester(g) == s.requester(f), s.attempt(g) <= s.attempt(f)
            )
            return Or(s.got(g, q), And(q == p, earlier))

        updates: dict[str, Function] = {
            "taking": put(s.taking, p, True),
            "flush": put(s.flush, p, f),
            "blocked": put(s.blocked, p, CALLING),
            "fetching": put(s.fetching, p, False),
            "suspects": lambda q, m: Or(s.suspects(q, m), gone(q, m)),
            "got": taken_up,
        }
        if basis.freeze:
            updates["frozen"] = lambda q, m: Or(s.frozen(q, m), gone(q, m))
        return updates

    def answered(s: World, p: Expr) -> Updates:
        f = s.flush(p)
        return {
            "blocked": put(s.blocked, p, YES),
            "latch": put(s.latch, p, True),
            "done": put(s.done, f, p, True),
            "digest": lambda g, q, c: If(
                And(g == f, q == p),
                If(reads(s, p, c), s.position(p, c), 0),
                s.digest(g, q, c),
            ),
        }

    def unblocked(s: World, p: Expr, _f: Expr) -> Updates:
        return {
            "taking": put(s.taking, p, False),
            "blocked": put(s.blocked, p, NO),
            "latch": put(s.latch, p, False),
            "fetching": put(s.fetching, p, False),
        }

    return (
        Transition("ReceiveStart", "", (_P, _F), start_heeded, started),
        Transition(
            "BlockOk",
            "",
            (_P,),
            lambda s, p: And(s.running(p), s.taking(p), s.blocked(p) == CALLING),
            answered,
        ),
        Transition(
            "ReceiveReconcile",
            "",
            (_P, _F),
            lambda s, p, f: And(
                s.running(p), s.compared(f), s.taking(p), s.blocked(p) == YES, s.flush(p) == f
            ),
            lambda s, p, _f: {"fetching": put(s.fetching, p, True)},
        ),
        Transition(
            "Reconciled",
            "",
            (_P,),
            lambda s, p: And(
                s.running(p),
                s.taking(p),
                s.fetching(p),
                s.forall(
                    ["process"],
                    lambda c: Implies(reads(s, p, c), s.position(p, c) >= s.most(s.flush(p), c)),
                    lambda c: [s.position(p, c), s.most(s.flush(p), c)],
                ),
            ),
            lambda s, p: {
                "fetching": put(s.fetching, p, False),
                "has_all": put(s.has_all, s.flush(p), p, True),
            },
        ),
        Transition(
            "ReceiveStop",
            "",
            (_P, _F),
            lambda s, p, f: And(
                s.running(p),
                s.stopped(f),
                s.taking(p),
                s.blocked(p) == YES,
                Implies(basis.flush_ids, s.flush(p) == f),
            ),
            unblocked,
        ),
    )


def _requester(basis: Basis) -> tuple[Transition, ...]:
    def may_ask(s: World, r: Expr, f: Expr) -> Expr:
        leads = s.forall(
            ["process"],
            lambda m: Implies(And(reads(s, r, m), s.rank(m) < s.rank(r)), s.suspects(r, m)),
            lambda m: [s.rank(m), s.suspects(r, m)],
        )
        new = s.forall(
            ["flush"],
            lambda g: Implies(
                And(s.began(g), s.requester(g) == r),
                And(Not(s.active(g)), s.attempt(g) < s.attempt(f)),
            ),
            lambda g: [s.requester(g)],
        )
        return And(
            s.running(r),
            s.requester(f) == r,
            Not(s.began(f)),
            new,
            Implies(basis.one_queue, leads),
        )

    def asked(s: World, r: Expr, f: Expr) -> Updates:
        return {
            "began": put(s.began, f, True),
            "active": put(s.active, f, True),
            "since": put(s.since, f, s.last()),
            "from_view": put(s.from_view, f, s.view(r)),
            "part": lambda g, m: If(
                g == f, And(reads(s, r, m), Not(s.suspects(r, m))), s.part(g, m)
            ),
        }

    def wanted(s: World, f: Expr, p: Expr) -> Expr:
        """Tell whether the answer of p is awaited. In the text, a suspect's is not."""
        heeded = True if basis.restart else Not(s.suspects(s.requester(f), p))
        return And(s.part(f, p), heeded)

    def comparable(s: World, f: Expr) -> Expr:
        def found(c: Expr) -> Expr:
            h = s.holder(f, c)
            return And(s.part(f, h), s.done(f, h), s.digest(f, h, c) == s.most(f, c))

        return And(
            s.began(f),
            s.active(f),
            s.running(s.requester(f)),
            Not(s.compared(f)),
            s.forall(
                ["process"],
                lambda p: Implies(wanted(s, f, p), s.done(f, p)),
                lambda p: [s.part(f, p), s.done(f, p)],
            ),
            s.forall(
                ["process", "process"],
                lambda p, c: Implies(
                    And(s.part(f, p), s.done(f, p)), s.digest(f, p, c) <= s.most(f, c)
                ),
                lambda p, c: [s.digest(f, p, c)],
            ),
            s.forall(["process"], found, lambda c: [s.most(f, c), s.holder(f, c)]),
        )

    def reconciled(s: World, f: Expr) -> Expr:
        def has(p: Expr) -> Expr:
            lacks_nothing = s.forall(
                ["process"],
                lambda c: Implies(reads(s, p, c), s.digest(f, p, c) == s.most(f, c)),
                lambda c: [s.digest(f, p, c), s.most(f, c)],
            )
            return Implies(wanted(s, f, p), Or(s.has_all(f, p), lacks_nothing))

        return And(
            s.began(f),
            s.active(f),
            s.running(s.requester(f)),
            s.compared(f),
            Implies(
                basis.reconcile,
                s.forall(["process"], has, lambda p: [s.part(f, p), s.has_all(f, p)]),
            ),
        )

    def may_resume(s: World, f: Expr) -> Expr:
        settled = s.forall(
            ["process"],
            lambda p: Implies(And(s.running(p), s.member(s.last(), p)), s.view(p) == s.last()),
            lambda p: [s.running(p), s.view(p)],
        )
        return And(
            s.began(f),
            s.active(f),
            s.running(s.requester(f)),
            s.suspended(f),
            Implies(basis.acks_before_resume, settled),
        )

    return (
        Transition("Suspend", "", (_P, _F), may_ask, asked),
        Transition(
            "ReceiveCompleted",
            "the last one",
            (_F,),
            comparable,
            lambda s, f: {"compared": put(s.compared, f, True)},
        ),
        Transition(
            "ReceiveReconciled",
            "the last one",
            (_F,),
            reconciled,
            lambda s, f: {"suspended": put(s.suspended, f, True)},
        ),
        Transition(
            "Resume",
            "",
            (_F,),
            may_resume,
            lambda s, f: {
                "stopped": put(s.stopped, f, True),
                "active": put(s.active, f, False),
            },
        ),
    )


def _membership(basis: Basis) -> tuple[Transition, ...]:
    def suspect(s: World, p: Expr, m: Expr) -> Expr:
        return And(
            s.running(p),
            p != m,
            reads(s, p, m),
            Implies(basis.accurate_suspicions, Not(s.running(m))),
        )

    def installable(s: World, p: Expr) -> Expr:
        return And(s.running(p), s.view(p) < s.last(), s.member(s.view(p) + 1, p))

    def installed(s: World, p: Expr) -> Updates:
        v = s.view(p) + 1

        def kept(function: Function) -> Function:
            return lambda q, m: And(function(q, m), Or(q != p, s.member(v, m)))

        return {
            "view": put(s.view, p, v),
            "cut": lambda q, w, c: If(
                And(q == p, w == s.view(p)), s.position(p, c), s.cut(q, w, c)
            ),
            "suspects": kept(s.suspects),
            "frozen": kept(s.frozen),
        }

    def decidable(s: World, f: Expr) -> Expr:
        r = s.requester(f)
        settled = s.forall(
            ["process"],
            lambda p: Implies(And(s.running(p), s.member(s.last(), p)), s.view(p) == s.last()),
            lambda p: [s.running(p), s.view(p)],
        )
        return And(
            s.began(f),
            s.active(f),
            s.running(r),
            s.member(s.last(), r),
            s.suspended(f),
            settled,
        )

    def decided(s: World, f: Expr) -> Updates:
        new, r = s.last() + 1, s.requester(f)
        return {
            "last": lambda: new,
            "member": lambda v, m: If(
                v == new, And(s.member(s.last(), m), Not(s.suspects(r, m))), s.member(v, m)
            ),
            "ender": put(s.ender, s.last(), f),
            "ends": lambda v, c: If(v == s.last(), s.most(f, c), s.ends(v, c)),
        }

    return (
        Transition(
            "Suspect",
            "",
            (_P, _M),
            suspect,
            lambda s, p, m: {"suspects": put(s.suspects, p, m, True)},
        ),
        Transition(
            "Suspect",
            "gives up its flush",
            (_F,),
            lambda s, f: And(s.began(f), s.active(f)),
            lambda s, f: {"active": put(s.active, f, False)},
        ),
        Transition("InstallView", "", (_P,), installable, installed),
        Transition(
            "Crash",
            "",
            (_P,),
            lambda s, p: s.running(p),
            lambda s, p: {"running": put(s.running, p, False)},
        ),
        Transition("ViewChange", "", (_F,), decidable, decided),
    )
