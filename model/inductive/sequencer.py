"""SEQUENCER proved for any number of members, messages, views and lives."""

from __future__ import annotations

from collections.abc import Mapping

from .induction import Conjunct, Theory
from .logic import And, Expr, Function, If, Implies, World
from .sequencer_actions import transitions
from .sequencer_invariant import invariant
from .sequencer_properties import PROPERTIES
from .sequencer_vocabulary import JOINING, MEMBER, RIGID, UNBORN, VOCABULARY, Basis

AXIOMS = (
    Conjunct(
        "AddressIsUnique",
        "A node and a life of it are one process.",
        ("process", "process"),
        lambda s, a, b: Implies(
            And(s.node(a) == s.node(b), s.incarnation(a) == s.incarnation(b)), a == b
        ),
        lambda s, a, b: [(s.node(a), s.node(b))],
    ),
    Conjunct(
        "FoundersComeFirst",
        "A founder is its node's first life.",
        ("process",),
        lambda s, p: And(
            s.incarnation(p) >= 0, Implies(s.founder(p), s.incarnation(p) == 0)
        ),
        lambda s, p: [s.incarnation(p)],
    ),
)
"""What is true of nodes and lives, whatever happens."""


def initial(s: World) -> tuple[Expr, Mapping[str, Function]]:
    """Init of the spec: the founders are the members of view 1, everybody else asks to join."""

    def status(p: Expr) -> Expr:
        return If(s.founder(p), MEMBER, If(s.incarnation(p) == 0, JOINING, UNBORN))

    values: dict[str, Function] = {
        name: _empty(symbol.result)
        for name, symbol in VOCABULARY.items()
        if symbol.result in ("number", "bool")
    }
    values |= {
        "status": status,
        "view": lambda p: If(s.founder(p), 1, 0),
        "last_view": lambda: 1,
        "member": lambda v, p: And(v == 1, s.founder(p)),
    }
    # Functions to processes have no empty value; what they are is not looked at, but for
    # the first view's coordinator.
    return s.founder(s.coordinator(1)), values


def _empty(result: str) -> Function:
    value: Expr = False if result == "bool" else 0
    return lambda *_: value


def theory(basis: Basis | None = None) -> Theory:
    """SEQUENCER over the given basis: all assumptions and repairs, unless told otherwise."""
    basis = basis or Basis()
    return Theory(
        "sequencer",
        VOCABULARY,
        RIGID,
        AXIOMS,
        initial,
        transitions(basis),
        invariant(basis),
        PROPERTIES,
    )
