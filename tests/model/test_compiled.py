"""Compiled guards, updates and theorems say what the plain ones say, of states that nobody made."""

from collections.abc import Sequence
from itertools import product
from random import Random
from typing import Any

import pytest
import z3

from raincheck.conformance.protocols.registry import protocols
from raincheck.model.proof.claims import proof_in
from raincheck.model.proof.concrete import Frame, Table, Tables
from raincheck.model.proof.induction import Theory, Transition
from raincheck.model.proof.logic import (
    And,
    Function,
    If,
    Implies,
    Not,
    Or,
    is_number,
)
from raincheck.model.proof.places import places
from raincheck.model.proof.ties import Theorems

PROOFS = sorted(name for name, record in protocols().items() if record.offers("proof"))
STATES = 6
NOBODY = 0


class _Domain(dict[str, Sequence[Any]]):
    """Two processes or three numbers; so a successor may be outside."""

    def __init__(self) -> None:
        super().__init__(bool=(False, True))

    def __missing__(self, kind: str) -> Sequence[Any]:
        self[kind] = [0, 1, 2] if is_number(kind) else [0, 1]
        return self[kind]


DOMAIN = _Domain()


def random_table(kinds: Sequence[str], result: str, draw: Random) -> Table:
    """Values at some places, one place of them outside the domain."""
    places = [*product(*(DOMAIN[kind] for kind in kinds)), (7,) * len(kinds)]
    some = draw.choice((0.1, 0.5, 0.9))
    return {at: draw.choice(DOMAIN[result]) for at in places if draw.random() < some}


def random_state(theory: Theory, draw: Random) -> tuple[Frame, Tables]:
    """A state that need not be one of any run, in a world that need not satisfy the axioms."""
    rigid: dict[str, Function] = {}
    for name, (kinds, result) in theory.rigid.items():
        table = random_table(kinds, result, draw)
        usual = DOMAIN[result][0]
        rigid[name] = lambda *at, table=table, usual=usual: table.get(at, usual)
    tables = {
        name: random_table(kinds, result, draw) for name, (kinds, result) in theory.symbols.items()
    }
    return Frame(theory, DOMAIN, rigid, lambda *_: True, NOBODY), tables


def chosen(transition: Transition, draw: Random) -> tuple[Any, ...]:
    """Some values for its parameters."""
    return tuple(
        frozenset(p for p in DOMAIN["process"] if draw.random() < 0.5).__contains__
        if kind == "set"
        else draw.choice(DOMAIN[kind])
        for _, kind in transition.parameters
    )


def theory_of(protocol: str) -> Theory:
    return proof_in(protocols()[protocol].module("proof")).theory()


@pytest.mark.parametrize("protocol", PROOFS)
def test_guards_and_updates_are_those_of_the_plain_reading(protocol: str) -> None:
    theory, draw = theory_of(protocol), Random(1)
    enabled = 0
    for _ in range(STATES):
        frame, tables = random_state(theory, draw)
        s = frame.world(tables)
        for each in theory.transitions:
            values = chosen(each, draw)
            guard = each.guard(s, *values)
            assert frame.allows(each, s, values) is guard, each.name
            assert frame.after(each, s, values) == frame.applied(
                tables, each.updates(s, *values)
            ), each.name
            free = [name for name, kind in each.parameters if kind != "set"][:2]
            known = {
                name: [value]
                for (name, _), value in zip(each.parameters, values, strict=True)
                if name not in free
            }
            found = list(frame.possible(each, s, known))
            assert found == [at for at in frame.choices(each, known) if each.guard(s, *at)]
            enabled += len(found)
    assert enabled


@pytest.mark.parametrize("protocol", PROOFS)
def test_theorems_are_those_of_the_plain_reading(protocol: str) -> None:
    theory, draw = theory_of(protocol), Random(2)
    code = Theorems(theory)
    for _ in range(STATES):
        frame, tables = random_state(theory, draw)
        s = frame.world(tables)
        for each in theory.properties:
            assert code.true(each.name, s) is each.formula(s), each.name


X, Y, P = z3.Ints("x y p")
F = z3.Function("f", z3.IntSort(), z3.IntSort(), z3.BoolSort())
G = z3.Function("g", z3.IntSort(), z3.IntSort(), z3.IntSort())


@pytest.mark.parametrize(
    ("term", "name", "found"),
    [
        (F(X, Y), "f", []),
        (Or(F(X, Y), And(X == P, Y == P + 1)), "f", [{0: P, 1: P + 1}]),
        (
            Or(And(X == P, Y == P), And(F(X, Y), Not(And(X == 3, Y == 4)))),
            "f",
            [{0: 3, 1: 4}, {0: P, 1: P}],
        ),
        (And(F(X, Y), Implies(X == P, Y > 3)), "f", [{0: P}]),
        (If(X == P, 0, G(X, Y)), "g", [{0: P}]),
        (If(Or(X == P, Y == P), 0, G(X, Y)), "g", [{0: P}, {1: P}]),
        (If(Not(X == P), G(X, Y), 1), "g", [{0: P}]),
        (If(X == Y, 0, G(X, Y)), "g", None),
        (If(X == P, 0, G(Y, X)), "g", None),
        (If(X > P, 0, G(X, Y)), "g", None),
        (Not(F(X, Y)), "f", None),
    ],
)
def test_an_update_visits_the_places_that_it_can_change(
    term: Any, name: str, found: list[dict[int, Any]] | None
) -> None:
    mine = places(term, name, [X, Y])

    assert mine == found if found is None else _text(mine) == _text(found)


def _text(found: list[dict[int, Any]] | None) -> list[list[str]]:
    return [sorted(f"{i}: {value}" for i, value in each.items()) for each in found or ()]
