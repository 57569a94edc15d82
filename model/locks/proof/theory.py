"""LOCKS' tables, proved faithful and in order for any number of members, names, posts and epochs.

`theory()` is what `spec/Locks.tla` says of tables, in first-order logic, as it is implemented. Its
actions have the spec's names. It has Faithful, and NobodyPasses, by an axiom that `tables.py`
proves. It differs from the spec in these points, each of which allows more.

- A table is a value, and a post makes another value of it; its lines are not told apart, nor what
  posts want and end. A member may lay its table down whether anybody has asked or not, and an empty
  one if its own is not good and it has not read further than the posts go.
- A member reads the posts of a token one by one; nothing else happens to it meanwhile.
- The token may be made anew by any member at any time, from its own copy, whoever agrees. Only its
  own promise counts, and only tokens that it has, or that go to it, are lost then.
- A token may go to any process, and a process has a place in the mail of a new token if it is said
  so. Who is on the list does not matter, so Join is no step; neither are Recover, Want and Drop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from raincheck.model.proof.induction import Conjunct, Property, Theory
from raincheck.model.proof.logic import And, Expr, Function, If, Implies, Not, World
from raincheck.model.proof.vocabulary import nothing

from .actions import transitions
from .invariant import invariant
from .words import RIGID, VOCABULARY, WITHOUT, Basis

__all__ = ["WITHOUT", "Basis", "basis_without", "theory"]


def basis_without(names: Iterable[str]) -> Basis:
    """Return the basis without some parts, by the spec's names; KeyError if a name is unknown."""
    return replace(Basis(), **{WITHOUT[name]: False for name in names})


def _faithful(s: World) -> Expr:
    def true(n: Expr) -> Expr:
        e, i = s.base(n), s.size(n)
        return Implies(
            And(Not(s.reading(n)), e >= 1, e == s.epoch(n)),
            And(s.chain(e, i) == e, s.truth(e, i) == s.table(n)),
        )

    return s.forall(["process"], true)


def axioms(basis: Basis) -> tuple[Conjunct, ...]:
    """Return what `tables.py` proves of tables."""
    found = (
        Conjunct(
            "EmptyInOrder",
            "In the empty table nobody has passed another.",
            (),
            lambda s: s.in_order(s.empty()),
        ),
        Conjunct(
            "ChangedInOrder",
            "If nobody has passed another in a table, nobody has behind a post.",
            ("table", "post"),
            lambda s, t, x: Implies(s.in_order(t), s.in_order(s.changed(t, x))),
            lambda s, t, x: [s.changed(t, x)],
        ),
    )
    return found if basis.in_order else found[:1]


PROPERTIES: Final = (
    Property(
        "Faithful",
        "A good table is all that was posted, up to what the member has had.",
        _faithful,
    ),
    Property(
        "NobodyPasses",
        "Nobody holds a name before another that asked earlier and that it is in the way of.",
        lambda s: s.forall(["process"], lambda n: s.in_order(s.table(n))),
    ),
)


def initial(s: World) -> tuple[Expr, Mapping[str, Function]]:
    """Return Init of the spec."""
    values: dict[str, Function] = {
        name: nothing(symbol.result)
        for name, symbol in VOCABULARY.items()
        if symbol.result in ("bool", "epoch", "place")
    }
    values["newest"] = lambda: 1
    for name in ("epoch", "base"):
        values[name] = lambda n: If(s.founder(n), 1, 0)
    values["promised"] = lambda _: 1
    values["at"] = lambda _: s.first()
    values["placed"] = lambda e, n: And(e == 1, s.founder(n))
    values["chain"] = lambda e, i: If(And(e == 1, i == 0), 1, 0)
    values["truth"] = lambda *_: s.empty()
    values["table"] = lambda *_: s.empty()
    return True, values


def theory(basis: Basis | None = None) -> Theory:
    """Return LOCKS over the given basis, by default with all rules."""
    rests = basis or Basis()
    return Theory(
        "locks",
        VOCABULARY,
        RIGID,
        axioms(rests),
        initial,
        transitions(rests),
        invariant(rests),
        PROPERTIES,
    )
