"""The sides of a theory's guards, and which of them explored edges have met.

A guard is a tree of conditions. A condition of a conjunction has to be seen false in an explored
state; an alternative of a disjunction has to be the only true one at an explored edge. A condition
that is never false might as well be missing, and an alternative that is never needed might as well
be forbidden: no run of the model would tell the difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final, NamedTuple

import z3

from .compiled import Bind, Function, Signed, Writer, truth
from .concrete import names_of
from .induction import Theory, Transition, parameters

TRIES: Final = 40
"""How many choices of a transition's parameters are tried in one state."""


class Side(NamedTuple):
    """One side of one condition of a transition's guard."""

    transition: str
    says: str
    wanted: tuple[Signed, ...]
    """It is met where all of these are so."""
    at_edges: bool
    """Whether an explored edge has to meet it, or any explored state."""


def sides_of(theory: Theory) -> dict[str, list[Side]]:
    """Return the sides of all guards, by transition."""
    world = theory.world()
    found = {}
    for each in theory.transitions:
        guard = each.guard(world, *parameters(each))
        parts = _sides(each.name, guard, True) if z3.is_expr(guard) else ()
        found[each.name] = list({side.says: side for side in parts}.values())
    return found


def asked(theory: Theory, transition: Transition, sides: Sequence[Side]) -> Bind:
    """Return what tells of each side whether a state meets it with the transition's parameters."""
    names = names_of(transition)
    return Writer(theory).bound([Function(names, truth(each.wanted)) for each in sides])


def drawn(
    transition: Transition, domain: Mapping[str, Any], draw: Random
) -> Iterator[tuple[Any, ...]]:
    """Yield some choices of the transition's parameters in a world of that domain."""
    for _ in range(TRIES if transition.parameters else 1):
        values: list[Any] = []
        for _, kind in transition.parameters:
            if kind == "set":
                chosen = [p for p in domain["process"] if draw.random() < 0.5]
                values.append(frozenset(chosen).__contains__)
            elif not domain[kind]:
                return
            else:
                values.append(draw.choice(domain[kind]))
        yield tuple(values)


def _sides(transition: str, term: Any, positive: bool) -> Iterator[Side]:
    """Yield the sides below a term that has to be true, or false if it is not positive."""
    joint, parts = _parts(term, positive)
    for i, (part, sign) in enumerate(parts):
        if joint:
            yield Side(transition, f"not {_words(part, sign)}", ((part, not sign),), False)
        else:
            others = [(part, not sign) for j, (part, sign) in enumerate(parts) if j != i]
            says = f"only {_words(part, sign)}"
            yield Side(transition, says, ((part, sign), *others), True)
        if len(_parts(part, sign)[1]) > 1:
            yield from _sides(transition, part, sign)


def _parts(term: Any, positive: bool) -> tuple[bool, list[tuple[Any, bool]]]:
    """Return whether the term is a conjunction, and its parts, each with its sign."""
    while z3.is_not(term):
        term, positive = term.children()[0], not positive
    if z3.is_implies(term):
        premise, conclusion = term.children()
        return not positive, [(premise, not positive), (conclusion, positive)]
    if z3.is_and(term) or z3.is_or(term):
        return z3.is_and(term) == positive, [(each, positive) for each in term.children()]
    return True, [(term, positive)]


def _words(term: Any, positive: bool) -> str:
    text = " ".join(re.sub(r"!(?!=)\d*", "", str(term)).split())
    return text if positive else f"Not({text})"
