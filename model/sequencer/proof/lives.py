"""The actions of SEQUENCER by which a process ends and its node comes back."""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Or, Updates, World

from .vocabulary import CRASHED, JOINING, LEAVING, LEFT, MEMBER, REPLACED, UNBORN, Basis, running


def lives(basis: Basis) -> tuple[Transition, ...]:
    """Return Leave, Stop, Crash and Restart under the given repairs."""
    rules = basis.rules

    leave = Transition(
        "Leave",
        "",
        (("n", "process"),),
        lambda s, n: s.status(n) == MEMBER,
        lambda s, n: {"status": lambda p: If(p == n, LEAVING, s.status(p))},
    )

    def over(s: World, n: Expr, status: int) -> Updates:
        return {
            "status": lambda p: If(p == n, status, s.status(p)),
            "view": lambda p: If(p == n, 0, s.view(p)),
            "seqno": lambda p: If(p == n, 0, s.seqno(p)),
            "forward_table": lambda p, k: And(p != n, s.forward_table(p, k)),
            "resend": lambda p, k: And(p != n, s.resend(p, k)),
            "received": lambda p, a: If(p == n, 0, s.received(p, a)),
            "early": lambda p, a, k, v: And(p != n, s.early(p, a, k, v)),
            "forwards": lambda c, a, k, v, d: And(d != n, s.forwards(c, a, k, v, d)),
            "position": lambda p, c: If(p == n, 0, s.position(p, c)),
            "answered": lambda p: And(p != n, s.answered(p)),
        }

    def drained(s: World, n: Expr) -> Expr:
        def read(p: Expr, d: Expr) -> Expr:
            waits = And(running(s, p), s.member(s.view(p), d), s.node(d) == s.node(n))
            return Implies(waits, s.position(p, n) == s.length(n))

        return And(
            s.forall(["seqno"], lambda k: Not(s.forward_table(n, k))),
            s.forall(["process", "process"], read),
            s.forall(["process"], lambda j: Implies(s.answered(j), s.digest(j, n) == s.length(n))),
        )

    stop = Transition(
        "Stop",
        "",
        (("n", "process"),),
        lambda s, n: And(s.status(n) == LEAVING, drained(s, n) if rules.drain_on_leave else True),
        lambda s, n: over(s, n, LEFT),
    )
    crash = Transition("Crash", "", (("n", "process"),), running, lambda s, n: over(s, n, CRASHED))

    def may_restart(s: World, n: Expr, q: Expr) -> Expr:
        def read(p: Expr) -> Expr:
            waits = And(running(s, p), s.member(s.view(p), n))
            return Implies(waits, s.position(p, n) == s.length(n))

        next_life = And(
            s.status(q) == UNBORN,
            s.node(q) == s.node(n),
            s.incarnation(q) == s.incarnation(n) + 1,
        )
        return And(
            Or(s.status(n) == LEFT, s.status(n) == CRASHED),
            next_life if rules.incarnations else q == n,
            s.forall(["process"], read, lambda p: [s.position(p, n)]),
            s.forall(["process"], lambda j: Not(s.answered(j)), lambda j: [s.answered(j)]),
        )

    def restarted(s: World, n: Expr, q: Expr) -> Updates:
        def either(p: Expr) -> Expr:
            return Or(p == n, p == q)

        return {
            "status": lambda p: If(p == q, JOINING, If(p == n, REPLACED, s.status(p))),
            "said": lambda p: If(p == q, s.said(n), s.said(p)),
            "heard": lambda p: If(either(p), 0, s.heard(p)),
            "length": lambda c: If(either(c), 0, s.length(c)),
            "position": lambda p, c: If(either(c), 0, s.position(p, c)),
            # history
            "base": lambda p: If(p == q, s.said(n), s.base(p)),
            "latest": lambda p, a: If(either(p), 0, s.latest(p, a)),
        }

    restart = Transition(
        "Restart", "", (("n", "process"), ("q", "process")), may_restart, restarted
    )
    return (leave, stop, crash, restart)
