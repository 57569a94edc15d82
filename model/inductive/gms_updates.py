"""What the actions of GMS change, for `gms_actions.py` and `gms_deciding.py`."""

from __future__ import annotations

from .logic import And, Expr, Function, If, Implies, Updates, World


def put(function: Function, key: Expr, value: Expr) -> Function:
    """The function with another value at one argument."""
    return lambda x: If(x == key, value, function(x))


def put2(function: Function, first: Expr, second: Expr, value: Expr) -> Function:
    """The function of two arguments with another value at one pair."""
    return lambda x, y: If(And(x == first, y == second), value, function(x, y))


def install(s: World, p: Expr, g: Expr) -> Updates:
    """Install(n, v) of the spec."""
    return {
        "view": put(s.view, p, g),
        "holds": put(s.holds, p, And(s.holds(p), s.number(s.held(p)) > s.number(g))),
        "gone": lambda q, m: And(
            s.gone(q, m),
            Implies(q == p, And(s.member(g, m), s.admitted(m) != s.number(g))),
        ),
        "step": put2(s.step, s.view(p), g, True),
        "installed": put(s.installed, g, True),
        "top": lambda: If(s.number(g) > s.number(s.top()), g, s.top()),
    }
