"""SEQUENCER proved for any number of members, messages, views and lives."""

from __future__ import annotations

from collections.abc import Mapping

from .induction import Conjunct, Theory
from .logic import And, Expr, Function, If, Implies, Not, Or, World
from .sequencer_actions import transitions
from .sequencer_invariant import invariant
from .sequencer_properties import PROPERTIES
from .sequencer_vocabulary import (
    JOINING,
    MEMBER,
    REPLACED,
    RIGID,
    UNBORN,
    VOCABULARY,
    Basis,
    running,
)

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
        lambda s, p: And(s.incarnation(p) >= 0, Implies(s.founder(p), s.incarnation(p) == 0)),
        lambda s, p: [s.incarnation(p)],
    ),
)
"""What is true of nodes and lives, whatever happens."""

PLAUSIBLE = (
    Conjunct(
        "FoundersAreTheFirstView",
        "The founders are the members of view 1.",
        ("process",),
        lambda s, p: And(s.member(1, p) == s.founder(p), Not(s.joiner(1, p))),
    ),
    Conjunct(
        "MembersComeFromSomewhere",
        "Who is in a view was in the one before, or joins with it.",
        ("view", "process"),
        lambda s, v, p: Implies(
            And(v >= 2, v <= s.last_view(), s.member(v, p)),
            Or(s.member(v - 1, p), s.joiner(v, p)),
        ),
    ),
    Conjunct(
        "LivesFollowOneAnother",
        "A later life has one before it, and a first life has begun.",
        ("process",),
        lambda s, p: If(
            s.incarnation(p) == 0,
            s.status(p) != UNBORN,
            s.exists(
                ["process"],
                lambda q: And(s.node(q) == s.node(p), s.incarnation(q) + 1 == s.incarnation(p)),
            ),
        ),
    ),
    Conjunct(
        "OnlyMembersHaveTables",
        "Who does not run has no view, no tables and no FORWARDs.",
        ("process", "process", "seqno", "view"),
        lambda s, p, a, k, v: Implies(
            Not(running(s, p)),
            And(
                s.view(p) == 0,
                s.seqno(p) == 0,
                s.received(p, a) == 0,
                s.position(p, a) == 0,
                Not(Or(s.forward_table(p, k), s.resend(p, k))),
                Not(Or(s.early(p, a, k, v), s.forwards(a, k, v, p))),
                Implies(s.status(p) == REPLACED, And(s.heard(p) == 0, s.length(p) == 0)),
            ),
        ),
    ),
    Conjunct(
        "TablesAreFull",
        "An entry of receivedTable was multicast; what a process sent it holds or has delivered.",
        ("process", "process", "seqno"),
        lambda s, p, a, k: Implies(
            And(running(s, p), s.last_view() == 1),
            And(
                Implies(s.received(p, a) > 0, s.latest(p, a) > 0),
                Implies(
                    And(k >= 1, k <= s.seqno(p)),
                    Or(s.forward_table(p, k), k <= s.received(p, p)),
                ),
            ),
        ),
    ),
)


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
        PLAUSIBLE,
    )
