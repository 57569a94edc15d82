"""The vocabulary of RING_START's proof: variables of `spec/RingStart.tla`, and a history.

`theory.py` lists what the proof keeps, drops and over-approximates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, World
from raincheck.model.proof.vocabulary import Symbol, symbols

RIGID: Final = symbols("""
    member:     process -> bool
    first:      -> process                    # the member with the first name
    founder:    founding process -> bool      # it is one of the founders,
    life:       founding process -> number    # ... in this life
    voter:      quorum process -> bool        # a quorum is a majority of the members
    meet:       quorum quorum -> process      # in which two of them meet
    everybody:  -> quorum                     # all members
    to:         answer -> process             # who has asked for an answer that is late,
    by_whom:    answer -> process             # ... who has given it,
    told_life:  answer -> number              # ... in this life,
    told_stage: answer -> number              # ... at this stage,
    told_ring:  answer -> founding            # ... of this founding
""")
"""Processes, foundings, and majorities."""

SPEC: Final = symbols("""
    memory:      process -> number
    stage:       process -> number
    ring:        process -> founding
    heard:       process process -> bool      # the first one has heard the other,
    heard_life:  process process -> number    # ... which was in this life,
    heard_stage: process process -> number    # ... at this stage,
    heard_ring:  process process -> founding  # ... of this founding
    again:       process -> bool              # once[n] # {}
    once_life:   process process -> number    # in which life the other is in once[n]
    late:        answer -> bool               # it is under way,
    before:      answer -> bool               # ... and all were asked again since
    tried:       founding process -> bool
    spoken:      founding process -> bool
    gone:        founding process -> bool
""")
"""The variables of the spec. A founder is known by its founding and its name: these have its life.
"""

GHOST: Final = symbols("""
    proposed:    founding -> bool
    latest:      -> founding                  # the last that was proposed
    done:        founding -> bool             # it has been complete,
    by:          founding -> quorum           # ... with this majority
    kept:        -> quorum                    # who have never lost their memory, or are back
    was_life:    process -> number            # its life when the first member asked again,
    was_asking:  process -> bool              # ... and whether it was asking then
    strayed:     process -> bool              # it has recorded since what it was told before
""")

VOCABULARY: Final[Mapping[str, Symbol]] = {**SPEC, **GHOST}

STAGES: Final = ("asking", "left", "attempting", "member")
ASKING, LEFT, ATTEMPTING, MEMBER = range(len(STAGES))


@dataclass(frozen=True, slots=True)
class Basis:
    """The rules and assumptions on which the promises rest."""

    found_needs: bool = True
    asks_twice: bool = True
    asks_anew: bool = True
    records: bool = True
    lives: bool = True
    leaver_remembers: bool = True
    majority_keeps: bool = True
    majorities_meet: bool = True


WITHOUT: Final[Mapping[str, str]] = {
    "FoundNeeds": "found_needs",
    "AsksTwice": "asks_twice",
    "AsksAnew": "asks_anew",
    "Records": "records",
    "Lives": "lives",
    "LeaverRemembers": "leaver_remembers",
    "MajorityKeeps": "majority_keeps",
    "MajoritiesMeet": "majorities_meet",
}
"""The rules by their names in the spec. MajoritiesMeet is no constant of it: a majority is more
than half of the members.
"""


def asks(s: World, n: Expr) -> Expr:
    """n has recorded nothing."""
    return Or(s.stage(n) == ASKING, s.stage(n) == LEFT)


def holds(s: World, n: Expr) -> Expr:
    """n has recorded a founding, or is in a ring."""
    return Or(s.stage(n) == ATTEMPTING, s.stage(n) == MEMBER)


def is_founder(s: World, n: Expr, f: Expr) -> Expr:
    """n is a founder of f, in its present life: Address(n) is in it."""
    return And(s.founder(f, n), s.life(f, n) == s.memory(n))


def lost(s: World, p: Expr) -> Expr:
    """p has lost its memory, and is not back."""
    return And(s.memory(p) > 0, s.stage(p) == ASKING)


def quiet(s: World) -> Expr:
    """When the first member asked again, no member had recorded anything, nor has any since by an
    answer from before.
    """
    return s.forall(
        ["process"],
        lambda p: Implies(s.member(p), And(s.was_asking(p), Not(s.strayed(p)))),
        lambda p: [s.member(p)],
    )
