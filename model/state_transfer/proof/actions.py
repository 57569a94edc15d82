"""The actions of `spec/StateTransfer.tla` that affect SameCut.

Each branch of an action is a transition. "Tried" of the spec (asking another provider, or giving
up) is a branch of every action that may do so.
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

from .words import ASKING, FAILED, FETCHING, IDLE, SET, SETTING, Basis

Guard = Callable[..., Expr]

_N = ("n", "process")
_P = ("p", "process")
_S = ("s", "process")


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return all branches of all actions."""
    return (
        Transition(
            "Ask",
            "",
            (_N,),
            lambda s, n: Or(s.phase(n) == IDLE, s.phase(n) == SET, s.phase(n) == FAILED),
            lambda s, n: {"phase": put(s.phase, n, ASKING)},
        ),
        Transition(
            "Ask",
            "nobody leads",
            (_N,),
            lambda s, n: Or(s.phase(n) == IDLE, s.phase(n) == SET, s.phase(n) == FAILED),
            lambda s, n: {"phase": put(s.phase, n, FAILED)},
        ),
        *_go(basis),
        *_chunk(basis),
        *_tried("ReceiveRefuse", (), lambda s, n: s.phase(n) == FETCHING, basis),
        *_tried("TimeOut", (), lambda s, n: s.phase(n) == FETCHING, basis),
        *_tried("Suspect", (), lambda s, n: s.phase(n) == FETCHING, basis),
        Transition(
            "Suspect",
            "asks again",
            (_N,),
            lambda s, n: Or(s.phase(n) == ASKING, s.phase(n) == FETCHING),
            lambda s, n: {"phase": put(s.phase, n, ASKING)},
        ),
        Transition(
            "Suspect",
            "nobody leads",
            (_N,),
            lambda s, n: Or(s.phase(n) == ASKING, s.phase(n) == FETCHING),
            lambda s, n: {"phase": put(s.phase, n, FAILED)},
        ),
        *_set(basis),
        Transition(
            "Read",
            "",
            (_N, ("r", "process"), ("t", "number"), ("k", "index")),
            lambda s, n, _r, _t, k: And(
                k >= 1,
                k <= s.total(),
                Implies(basis.applied_first, s.applied(n) == s.position(n)),
            ),
            _read,
        ),
        Transition("Crash", "", (_N,), lambda *_: True, _crash),
        Transition("Send", "", (), lambda _: True, lambda s: {"sent": lambda: s.sent() + 1}),
        Transition(
            "Deliver",
            "",
            (_N,),
            lambda s, n: And(
                s.joined(n),
                s.position(n) < s.sent(),
                Implies(
                    basis.hold_messages, Not(Or(s.phase(n) == FETCHING, s.phase(n) == SETTING))
                ),
            ),
            lambda s, n: {"position": put(s.position, n, s.position(n) + 1)},
        ),
        Transition(
            "Apply",
            "",
            (_N,),
            lambda s, n: s.applied(n) < s.position(n),
            lambda s, n: {"applied": put(s.applied, n, s.applied(n) + 1)},
        ),
    )


def _fetching(s: World, n: Expr, p: Expr, basis: Basis) -> dict[str, Function]:
    """Return the updates with which n asks p and forgets an earlier provider's chunks."""
    updates = {
        "phase": put(s.phase, n, FETCHING),
        "provider": put(s.provider, n, p),
        "attempt": put(s.attempt, n, s.attempt(n) + 1),
        "next": put(s.next, n, 1),
    }
    if basis.one_reading:
        updates["handed"] = put(s.handed, n, 0)
    return updates


def _tried(
    action: str, more: tuple[tuple[str, str], ...], guard: Guard, basis: Basis, suffix: str = ""
) -> tuple[Transition, ...]:
    """Return the branches in which another provider is asked, or there is none."""
    return (
        Transition(
            action,
            f"another provider{suffix}",
            (_N, *more, _P),
            lambda s, n, *values: guard(s, n, *values[:-1]),
            lambda s, n, *values: _fetching(s, n, values[-1], basis),
        ),
        Transition(
            action,
            f"nobody is left{suffix}",
            (_N, *more),
            guard,
            lambda s, n, *_: {"phase": put(s.phase, n, FAILED)},
        ),
    )


def _go(basis: Basis) -> tuple[Transition, ...]:
    """GO: a joiner begins at the cut that it names, a member where it is."""

    def waits(s: World, n: Expr) -> Expr:
        return Or(s.phase(n) == ASKING, s.phase(n) == FETCHING)

    def entered(s: World, n: Expr, c: Expr) -> dict[str, Function]:
        return {
            "joined": put(s.joined, n, True),
            "position": put(s.position, n, c),
            "applied": put(s.applied, n, c),
        }

    cut = ("c", "place")

    def enters(s: World, n: Expr, c: Expr) -> Expr:
        return And(Not(s.joined(n)), c >= 0)

    def begun(s: World, n: Expr, p: Expr, c: Expr) -> Updates:
        return merged(_fetching(s, n, p, basis), {"cut": put(s.cut, n, c)})

    def given_up(s: World, n: Expr, c: Expr) -> Updates:
        return {"phase": put(s.phase, n, FAILED), "cut": put(s.cut, n, c)}

    return (
        Transition(
            "ReceiveGo",
            "a member",
            (_N, _P),
            lambda s, n, _p: And(s.joined(n), waits(s, n)),
            lambda s, n, p: begun(s, n, p, s.position(n)),
        ),
        Transition(
            "ReceiveGo",
            "a member, nobody is left",
            (_N,),
            lambda s, n: And(s.joined(n), waits(s, n)),
            lambda s, n: given_up(s, n, s.position(n)),
        ),
        Transition(
            "ReceiveGo",
            "a joiner",
            (_N, _P, cut),
            lambda s, n, _p, c: And(enters(s, n, c), waits(s, n)),
            lambda s, n, p, c: merged(begun(s, n, p, c), entered(s, n, c)),
        ),
        Transition(
            "ReceiveGo",
            "a joiner, nobody is left",
            (_N, cut),
            lambda s, n, c: And(enters(s, n, c), waits(s, n)),
            lambda s, n, c: merged(given_up(s, n, c), entered(s, n, c)),
        ),
        Transition(
            "ReceiveGo",
            "a joiner that waits no more",
            (_N, cut),
            lambda s, n, c: And(enters(s, n, c), Not(waits(s, n))),
            entered,
        ),
    )


def _chunk(basis: Basis) -> tuple[Transition, ...]:
    """CHUNK: one that was sent, or a damaged one with arbitrary contents."""
    sent = (_N, _S, ("t", "number"), ("k", "index"), ("c", "place"), ("a", "place"))

    def mine(s: World, n: Expr, p: Expr, t: Expr) -> Expr:
        expected = And(p == s.provider(n), t == s.attempt(n))
        return And(s.phase(n) == FETCHING, Implies(basis.transfer_ids, expected))

    def fits(s: World, n: Expr, k: Expr, c: Expr, sound: bool) -> Expr:
        return And(
            Implies(basis.check_cut, c == s.cut(n)),
            Implies(basis.check_chunk, And(k == s.next(n), sound)),
        )

    def taken(s: World, n: Expr, k: Expr, by: Expr, number: Expr, at: Expr, sound: bool) -> Updates:
        i = s.handed(n) + 1

        def appended(function: Function, value: Expr) -> Function:
            return lambda m, j: If(And(m == n, j == i), value, function(m, j))

        return {
            "next": put(s.next, n, s.next(n) + 1),
            "phase": put(s.phase, n, If(k == s.total(), SETTING, FETCHING)),
            "handed": put(s.handed, n, i),
            "handed_by": appended(s.handed_by, by),
            "handed_number": appended(s.handed_number, number),
            "handed_at": appended(s.handed_at, at),
            "handed_sound": appended(s.handed_sound, sound),
        }

    unchecked = Transition(
        "ReceiveChunk",
        "damaged and handed up",
        (*sent, ("b", "process"), ("j", "index")),
        lambda s, n, p, t, k, c, *_: And(
            mine(s, n, p, t), fits(s, n, k, c, False), k >= 1, k <= s.total()
        ),
        lambda s, n, _p, _t, k, _c, a, b, j: taken(s, n, k, b, j, a, False),
    )
    return (
        Transition(
            "ReceiveChunk",
            "handed up",
            sent,
            lambda s, n, p, t, k, c, a: And(
                mine(s, n, p, t), s.chunk(p, n, t, k, c, a), fits(s, n, k, c, True)
            ),
            lambda s, n, p, _t, k, _c, a: taken(s, n, k, p, k, a, True),
        ),
        *(() if basis.check_chunk else (unchecked,)),
        *_tried("ReceiveChunk", (), lambda s, n: s.phase(n) == FETCHING, basis),
    )


def _set(basis: Basis) -> tuple[Transition, ...]:
    def ready(s: World, n: Expr) -> Expr:
        return Implies(basis.applied_first, s.applied(n) == s.position(n))

    def done(s: World, n: Expr) -> Updates:
        def copied(state: Function, handed: Function) -> Function:
            return lambda m, i: If(m == n, handed(m, i), state(m, i))

        return {
            "phase": put(s.phase, n, SET),
            "state": put(s.state, n, s.handed(n)),
            "state_by": copied(s.state_by, s.handed_by),
            "state_number": copied(s.state_number, s.handed_number),
            "state_at": copied(s.state_at, s.handed_at),
            "state_sound": copied(s.state_sound, s.handed_sound),
            "base": put(s.base, n, s.applied(n)),
            "owner": put(s.owner, n, s.provider(n)),
        }

    return (
        Transition(
            "StateSet",
            "",
            (_N,),
            lambda s, n: And(s.phase(n) == SETTING, ready(s, n)),
            done,
        ),
        Transition(
            "StateSet",
            "failed",
            (_N,),
            lambda s, n: And(Or(s.phase(n) == SETTING, s.phase(n) == FETCHING), ready(s, n)),
            lambda s, n: {"phase": put(s.phase, n, FAILED)},
        ),
    )


def _read(s: World, n: Expr, r: Expr, t: Expr, k: Expr) -> Updates:
    """From now on part k of n's state at its position is for ever under way to r."""

    def chunk(p: Expr, q: Expr, u: Expr, j: Expr, c: Expr, a: Expr) -> Expr:
        new = And(p == n, q == r, u == t, j == k, c == s.position(n), a == s.applied(n))
        return Or(s.chunk(p, q, u, j, c, a), new)

    return {"chunk": chunk}


def _crash(s: World, n: Expr) -> Updates:
    """Return the updates with which n forgets its part as a requester; its application is gone."""
    return {
        "phase": put(s.phase, n, IDLE),
        "attempt": put(s.attempt, n, 0),
        "cut": put(s.cut, n, 0),
        "next": put(s.next, n, 1),
    }
