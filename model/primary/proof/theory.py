"""PRIMARY's safety proved for any number of members, votes, views, crashes and lives.

`theory()` is `spec/Primary.tla` in first-order logic, as it is implemented. Its actions have the
spec's names.

It has OneAtANumber, OneChain, OneActive, OneHistory and Recorded. It differs from the spec in these
points. All but the last allow more.

- A process is one life of a node, and runs from the beginning until it crashes; before its first
  view it remembers nothing. So Restart is no step.
- A view is installed by all its members in one step: in the spec nothing else happens meanwhile.
- Votes are not counted. What a majority is, is any relation of which MajoritiesMeet is true, an
  axiom that `majorities.py` proves of votes. So SetVotes is no step.
- Any asking member may be refused, and a number may be any that is large enough.
- What a view's members tell is foretold, and must be what they remember when they come to it. So is
  what P3 to P6 make of it; where that does not fit, nobody can decide.
- A history begins where no running process knows of a primary view, attempts another view, or has
  told an attempt with a larger number. That is what VotesAsExpected and OperatorKnows are for. In
  the spec an operator may found beside a primary view that the members of the new one know, too;
  there OneHistory is not true, and nothing is proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from raincheck.model.proof.induction import Conjunct, Property, Theory
from raincheck.model.proof.logic import And, Expr, Function, Implies, Not, Or, World
from raincheck.model.proof.vocabulary import nothing

from .actions import transitions
from .invariant import INVARIANT, one_between, shares
from .words import (
    PRIMARY,
    RIGID,
    STAGES,
    VOCABULARY,
    WITHOUT,
    Basis,
    before,
    continues,
    continues_unknown,
    covered,
    founding,
    has_gap,
    knows_so_far,
)

__all__ = ["WITHOUT", "Basis", "basis_without", "theory"]


def basis_without(names: Iterable[str]) -> Basis:
    """Return the basis without some parts, by the spec's names; KeyError if a name is unknown."""
    return replace(Basis(), **{WITHOUT[name]: False for name in names})


def _majorities(s: World, a: Expr, b: Expr, x: Expr) -> Expr:
    p = s.meet(a, b, x)
    return Implies(
        And(s.quorum(a, x), s.quorum(b, x)), And(s.member(a, p), s.member(b, p), s.member(x, p))
    )


MAJORITIES: Final = Conjunct(
    "MajoritiesMeet",
    "Two majorities of a primary view have one of its members in common.",
    ("session", "session", "session"),
    _majorities,
    lambda s, a, b, x: [(s.quorum(a, x), s.quorum(b, x))],
)


def axioms(basis: Basis) -> tuple[Conjunct, ...]:
    """Return what is true of every run: how its views are named, and what is foretold of them."""
    found = (
        Conjunct(
            "BornOnce",
            "No two views are the same one of the run.",
            ("session", "session"),
            lambda s, x, y: Implies(s.born(x) == s.born(y), x == y),
            lambda s, x, y: [(s.born(x), s.born(y))],
        ),
        Conjunct(
            "LiveAreAttempted",
            "A live session goes on or founds.",
            ("session",),
            lambda s, x: Implies(
                s.live(x),
                Or(
                    *(continues(s, x, basis), founding(s, x)),
                    False if basis.from_formed else continues_unknown(s, x),
                ),
            ),
            lambda s, x: [s.giver(x)],
        ),
        Conjunct(
            "KeeperIsMember",
            "The keeper of a live session is a member of it.",
            ("session",),
            lambda s, x: Implies(s.live(x), s.member(x, s.keeper(x))),
            lambda s, x: [s.live(x)],
        ),
        Conjunct(
            "Covers",
            "If a session is told in another one, somebody has told it.",
            ("session", "process", "session"),
            lambda s, t, p, x: Implies(
                And(s.member(t, p), Or(s.tells(t, p, x), knows_so_far(s, t, p, x))),
                covered(s, t, x),
            ),
            lambda s, t, p, x: [
                (s.tells(t, p, x), s.giver(t)),
                (s.told(t, p), s.live(x), s.giver(t)),
            ],
        ),
        Conjunct(
            "Gaps",
            "If a live session is not told of one before, there is a first one of which it is not.",
            ("session", "session"),
            lambda s, x, t: Implies(
                And(before(s, x, t), Not(covered(s, t, x))),
                And(has_gap(s, t), s.born(s.gap(t)) <= s.born(x)),
            ),
            lambda s, x, t: [(s.live(x), s.gap(t))],
        ),
        Conjunct(
            "GapIsNotTold",
            "... and of that one it is not told.",
            ("session",),
            lambda s, t: And(
                Implies(has_gap(s, t), Not(covered(s, t, s.gap(t)))),
                s.born(s.prev(s.gap(t))) <= s.born(s.gap(t)),
            ),
            lambda s, t: [s.gap(t)],
        ),
        Conjunct(
            "Previous",
            "If there are live sessions before another one, one is the last of them.",
            ("session", "session"),
            lambda s, x, t: Implies(
                before(s, x, t), And(before(s, s.prev(t), t), s.born(s.prev(t)) >= s.born(x))
            ),
            lambda s, x, t: [(s.live(x), s.prev(t))],
        ),
    )
    return (*found, MAJORITIES) if basis.majorities_meet else found


def _two(s: World, x: Expr, y: Expr) -> Expr:
    return And(s.primary(x), s.primary(y), s.history(x) == s.history(y))


def _one_at_a_number(s: World) -> Expr:
    return s.forall(
        ["session", "session"],
        lambda x, y: Implies(And(_two(s, x, y), s.number(x) == s.number(y)), x == y),
    )


def _one_chain(s: World) -> Expr:
    return s.forall(
        ["session", "session"],
        lambda x, y: Implies(
            And(_two(s, x, y), s.number(x) < s.number(y), Not(one_between(s, x, y))),
            shares(s, x, y),
        ),
    )


def _one_active(s: World) -> Expr:
    def left(x: Expr, y: Expr, h: Expr) -> Expr:
        return Implies(
            And(_two(s, x, y), x != y, s.number(x) <= s.number(y), s.quorum(h, x)),
            s.exists(
                ["process"],
                lambda p: And(s.member(h, p), s.member(x, p), Or(s.down(p), s.view(p) != x)),
            ),
        )

    return s.forall(["session", "session", "session"], left)


def _one_history(s: World) -> Expr:
    def holds(p: Expr) -> Expr:
        return And(Not(s.down(p)), s.stage(p) == PRIMARY)

    return s.forall(
        ["process", "process"],
        lambda p, q: Implies(And(holds(p), holds(q)), s.history(s.last(p)) == s.history(s.last(q))),
    )


def _recorded(s: World) -> Expr:
    return s.forall(
        ["session", "process"],
        lambda x, p: Implies(And(s.primary(x), s.member(x, p)), s.tried(x, p)),
    )


PROPERTIES: Final = (
    Property(
        "OneAtANumber", "At most one primary view of a history has a number.", _one_at_a_number
    ),
    Property(
        "OneChain",
        "A primary view and the one before it in its history have a member in common.",
        _one_chain,
    ),
    Property(
        "OneActive",
        "Of every majority of a primary view, somebody has left it once a later one is primary.",
        _one_active,
    ),
    Property(
        "OneHistory",
        "Processes that take their views for primary are of one history.",
        _one_history,
    ),
    Property(
        "Recorded",
        "Nobody is primary before all members have recorded that they attempt it.",
        _recorded,
    ),
)


def initial(s: World) -> tuple[Expr, Mapping[str, Function]]:
    """Return Init of the spec."""
    values: dict[str, Function] = {
        name: nothing(symbol.result)
        for name, symbol in VOCABULARY.items()
        if symbol.result not in ("process", "session")
    }
    return s.forall(["session"], lambda x: s.born(x) > 0, lambda x: [s.born(x)]), values


@cache  # a theory's transitions are compiled once, too, for all that follow runs with it
def theory(basis: Basis | None = None) -> Theory:
    """Return PRIMARY over the given basis, by default with all rules and assumptions."""
    rests = basis or Basis()
    return Theory(
        "primary",
        VOCABULARY,
        RIGID,
        axioms(rests),
        initial,
        transitions(rests),
        INVARIANT,
        PROPERTIES,
        (),
        {"stage": len(STAGES)},
    )
