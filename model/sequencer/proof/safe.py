"""Safe delivery: its actions, and what it adds to those of the others.

In these formulas `heard` is what a process has received, in the order of its reception: what it has
delivered, up to `released`, and then what it holds. With agreed delivery the two are the same, and
none of these actions is taken; nothing else reads what they write. So what is proved of `heard`
with them is true of agreed delivery without them, and of a prefix of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Updates, World

from .vocabulary import is_coordinator, is_heard, present, running


def held_by(transitions: Iterable[Transition]) -> tuple[Transition, ...]:
    """Return these transitions with what they do to the variables of safe delivery."""
    return tuple(map(_also, transitions))


def _also(transition: Transition) -> Transition:
    match transition.name:
        case "InstallView":
            return _with(
                transition,
                (("x", "process"),),
                lambda s, _n, v, x: _is_coordinators(s, v, x),
                lambda s, n, _v, x: {
                    "released": lambda p: If(p == n, s.heard(n), s.released(p)),
                    "told": lambda p: If(p == n, s.position(n, x), s.told(p)),
                    "acked": lambda p, q: If(p == n, 0, s.acked(p, q)),
                },
            )
        case "Join":
            return _with(
                transition,
                (("x", "process"),),
                lambda s, n, x: _is_coordinators(s, s.answer_view(n), x),
                lambda s, n, x: {"told": lambda p: If(p == n, s.digest(n, x), s.told(p))},
            )
        case "Stop" | "Crash":
            return _with(transition, (), lambda _s, _n: True, _forgotten)
        case "Restart":
            return _with(
                transition,
                (),
                lambda _s, _n, _q: True,
                lambda s, n, q: {
                    "released": lambda p: If(p == n, 0, If(p == q, 0, s.released(p))),
                },
            )
    return transition


def _with(
    transition: Transition,
    parameters: tuple[tuple[str, str], ...],
    guard: Callable[..., Expr],
    updates: Callable[..., Updates],
) -> Transition:
    """Return the transition with more parameters, a condition, and further updates."""
    size = len(transition.parameters)

    def both(s: World, *values: Any) -> Expr:
        return And(transition.guard(s, *values[:size]), guard(s, *values))

    return Transition(
        transition.action,
        transition.case,
        (*transition.parameters, *parameters),
        both,
        lambda s, *values: {**transition.updates(s, *values[:size]), **updates(s, *values)},
    )


def _is_coordinators(s: World, v: Expr, x: Expr) -> Expr:
    """x is the present life of the node that coordinates view v."""
    return And(present(s, x), s.node(x) == s.node(s.coordinator(v)))


def _forgotten(s: World, n: Expr) -> Updates:
    return {
        "told": lambda p: If(p == n, 0, s.told(p)),
        "announced": lambda p: If(p == n, 0, s.announced(p)),
        "acked": lambda p, q: If(p == n, 0, s.acked(p, q)),
    }


def safe() -> tuple[Transition, ...]:
    """Return Acknowledge, ReceiveAck, Announce and ReceiveSafe."""
    acknowledge = Transition(
        "Acknowledge",
        "",
        (("n", "process"), ("x", "process")),
        lambda s, n, x: And(
            running(s, n),
            Not(is_coordinator(s, n)),
            _is_coordinators(s, s.view(n), x),
            s.position(n, x) > s.told(n),
        ),
        lambda s, n, x: {"told": lambda p: If(p == n, s.position(n, x), s.told(p))},
    )
    receive_ack = Transition(
        "ReceiveAck",
        "",
        (("n", "process"), ("x", "process")),
        lambda s, n, x: And(
            running(s, n),
            running(s, x),
            s.node(n) != s.node(x),
            is_coordinator(s, n),
            s.member(s.view(n), x),
            s.coordinator(s.view(x)) == n,
            s.told(x) > s.acked(n, x),
        ),
        lambda s, n, x: {
            "acked": lambda p, q: If(And(p == n, q == x), s.told(x), s.acked(p, q)),
        },
    )

    def all_have(s: World, n: Expr, i: Expr) -> Expr:
        """Every member of n's view is known to have received n's stream up to i."""
        others = s.forall(
            ["process"],
            lambda q: Implies(And(s.member(s.view(n), q), q != n), i <= s.acked(n, q)),
            lambda q: [s.acked(n, q), s.member(s.view(n), q)],
        )
        return And(others, i <= s.position(n, n))

    announce = Transition(
        "Announce",
        "",
        (("n", "process"), ("i", "place")),
        lambda s, n, i: And(
            running(s, n), is_coordinator(s, n), i > s.announced(n), all_have(s, n, i)
        ),
        lambda s, n, i: {"announced": lambda p: If(p == n, i, s.announced(p))},
    )

    def covered(s: World, n: Expr, c: Expr, r: Expr) -> Expr:
        """The messages that n holds up to its r-th have been announced."""

        def is_announced(j: Expr) -> Expr:
            waits = And(j > s.released(n), j <= r)
            return Implies(waits, s.heard_at(n, j) <= s.announced(c))

        return And(
            is_heard(s, n, r),
            r > s.released(n),
            s.forall(["index"], is_announced, lambda j: [s.heard_at(n, j)]),
        )

    receive_safe = Transition(
        "ReceiveSafe",
        "",
        (("n", "process"), ("c", "process"), ("r", "index")),
        lambda s, n, c, r: And(
            running(s, n), running(s, c), s.coordinator(s.view(n)) == c, covered(s, n, c, r)
        ),
        lambda s, n, _c, r: {"released": lambda p: If(p == n, r, s.released(p))},
    )
    return (acknowledge, receive_ack, announce, receive_safe)
