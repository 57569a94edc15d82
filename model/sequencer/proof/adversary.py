"""The actions of SEQUENCER's adversary: Forge, and Corrupt where contents are not true."""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Or, World

from .vocabulary import Basis, present, running


def adversary(basis: Basis) -> tuple[Transition, ...]:
    """Return what makes FORWARDs that nobody has sent, with any sender, seqno and view."""

    def may_forge(s: World, n: Expr, x: Expr, c: Expr) -> Expr:
        return And(
            s.stranger(s.node(x)),
            present(s, x),
            running(s, n),
            Implies(basis.true_sources, c == s.node(x)),
        )

    forge = Transition(
        "Forge",
        "",
        (
            *(("n", "process"), ("x", "process"), ("c", "node")),
            *(("a", "process"), ("k", "seqno"), ("v", "view")),
        ),
        lambda s, n, x, c, _a, _k, _v: may_forge(s, n, x, c),
        lambda s, n, x, c, a, k, v: {
            "forwards": lambda y, b, q, w, d: Or(
                s.forwards(y, b, q, w, d), And(y == c, b == a, q == k, w == v, d == n)
            ),
            "said": lambda p: If(p == x, s.said(p) + 1, s.said(p)),
            # history
            "base": lambda p: If(p == x, s.base(p) + 1, s.base(p)),
        },
    )
    corrupt = Transition(
        "Corrupt",
        "",
        (
            *(("n", "process"), ("c", "node"), ("a", "process"), ("k", "seqno"), ("v", "view")),
            *(("b", "process"), ("q", "seqno"), ("w", "view")),
        ),
        lambda s, n, c, a, k, v, _b, _q, _w: s.forwards(c, a, k, v, n),
        lambda s, n, c, a, k, v, b, q, w: {
            "forwards": lambda y, e, m, u, d: Or(
                And(y == c, e == b, m == q, u == w, d == n),
                And(
                    s.forwards(y, e, m, u, d),
                    Not(And(y == c, e == a, m == k, u == v, d == n)),
                ),
            )
        },
    )
    return (forge,) if basis.true_contents else (forge, corrupt)
