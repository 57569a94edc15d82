"""The vocabulary of MERGE2's proof: variables of `spec/Merge2.tla`, and a history.

`theory.py` lists what the proof keeps, drops and over-approximates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from raincheck.model.proof.logic import And, Expr, World
from raincheck.model.proof.vocabulary import Symbol, symbols

RIGID: Final = symbols("""
    leader:       union -> process                        # of a merge
    start:        process -> group                        # FirstView(n)
    first:        group -> process                        # First(v)
    merged:       group -> bool                           # v.merge # NoMerge
    union:        group -> union                          # v.merge
    inside:       group process -> bool                   # p \\in Members(v)
    digest:       group process -> number                 # the digest with which v is installed
""")
"""What never changes: a view and a merge are what they are."""

SPEC: Final = symbols("""
    running:      process -> bool
    view:         process -> group
    coordinates:  process -> bool
    stage:        process -> number
    merge:        process -> union                        # where the stage is not IDLE
    holds:        process -> bool                         # held[n] # <<>>
    held:         process -> group                        # held[n][1].view
    position:     process process -> number
    count:        process -> index                        # Len(path[n])
    path:         process index -> group                  # path[n][index + 1]
    heard:        process -> index                        # Len(delivered[n])
    heard_from:   process index -> process
    heard_number: process index -> number
    decided:      union -> bool
    result:       union -> group                          # the view of a decided merge
""")
"""The variables of the spec. Its sequences begin at 1, the indices here at 0."""

GHOST: Final = symbols("""
    begun:        union -> bool
""")
"""The history: the merges that a leader has begun."""

VOCABULARY: Final[Mapping[str, Symbol]] = {**SPEC, **GHOST}

STAGES: Final = ("idle", "flushing", "answered", "installing", "installed", "cancelled")
IDLE, FLUSHING, ANSWERED, INSTALLING, INSTALLED, CANCELLED = range(6)


@dataclass(frozen=True, slots=True)
class Basis:
    """The rules."""

    promotes: bool = True
    fresh: bool = True


WITHOUT: Final[Mapping[str, str]] = {"Promotes": "promotes", "Fresh": "fresh"}
"""The parts that a basis can do without: a rule of the spec, and that a merge has a new number."""


def leads(s: World, n: Expr) -> Expr:
    """Tell whether n leads the merge that it takes part in."""
    return s.leader(s.merge(n)) == n


def in_path(s: World, n: Expr, i: Expr) -> Expr:
    """n has installed a view at that index."""
    return And(i >= 0, i < s.count(n))


def is_heard(s: World, n: Expr, j: Expr) -> Expr:
    """n has delivered a message at that index."""
    return And(j >= 0, j < s.heard(n))
