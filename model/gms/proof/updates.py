"""The updates of GMS's actions, for `actions.py` and `deciding.py`."""

from __future__ import annotations

from raincheck.model.proof.logic import And, Expr, If, Implies, Updates, World, put


def install(s: World, p: Expr, g: Expr) -> Updates:
    """Install(n, v) of the spec."""
    return {
        "view": put(s.view, p, g),
        "holds": put(s.holds, p, And(s.holds(p), s.number(s.held(p)) > s.number(g))),
        "gone": lambda q, m: And(
            s.gone(q, m),
            Implies(q == p, And(s.member(g, m), s.admitted(m) != s.number(g))),
        ),
        "step": put(s.step, s.view(p), g, True),
        "installed": put(s.installed, g, True),
        "top": lambda: If(s.number(g) > s.number(s.top()), g, s.top()),
    }
