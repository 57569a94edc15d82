"""RING_START's safety proved for any number of members, joining processes, lives and foundings.

`theory()` is `spec/RingStart.tla` in first-order logic, as it is implemented, without an operator's
word: nobody is started with found=True. Its actions have the spec's names.

It has OneFounding, OneRing, OneSpeaker and Recorded. It differs from the spec in these points. All
but the first allow more.

- found=True is never said (NoWord). So nothing is founded by S3, and RecordStands is not needed.
- Any number of answers may be late. The consequences of the answers are drawn in steps of their
  own, at any time; of a late one perhaps never.
- A process that is down answers and is answered, too. So Start is no step, and Close is Crash. A
  process may lose its memory at any time, whether it has a file or not: Lose stands for that, too.
- Members are not counted. A majority is any set of which MajoritiesMeet is true, an axiom
  that PRIMARY's `majorities.py` proves of votes: here each member has one.
- The first member may ask all of them again as often as it likes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from raincheck.model.proof.induction import Conjunct, Property, Theory
from raincheck.model.proof.logic import And, Expr, Function, Implies, Not, World
from raincheck.model.proof.vocabulary import nothing

from .actions import transitions
from .invariant import INVARIANT
from .words import MEMBER, RIGID, STAGES, VOCABULARY, WITHOUT, Basis, is_founder

__all__ = ["WITHOUT", "Basis", "basis_without", "theory"]


def basis_without(names: Iterable[str]) -> Basis:
    """Return the basis without some parts, by the spec's names; KeyError if a name is unknown."""
    return replace(Basis(), **{WITHOUT[name]: False for name in names})


def _meet(s: World, q: Expr, r: Expr) -> Expr:
    p = s.meet(q, r)
    return And(s.voter(q, p), s.voter(r, p), s.member(p))


MAJORITIES: Final = Conjunct(
    "MajoritiesMeet",
    "Two majorities of the members have a member in common.",
    ("quorum", "quorum"),
    _meet,
    lambda s, q, r: [s.meet(q, r)],
)


def axioms(basis: Basis) -> tuple[Conjunct, ...]:
    """Return what is true of every run."""
    first = Conjunct("FirstIsMember", "The first member is one.", (), lambda s: s.member(s.first()))
    return (first, MAJORITIES) if basis.majorities_meet else (first,)


def _one_founding(s: World) -> Expr:
    return s.forall(
        ["founding", "founding", "process", "process"],
        lambda f, g, p, q: Implies(And(s.spoken(f, p), s.spoken(g, q)), f == g),
    )


def _one_ring(s: World) -> Expr:
    return s.forall(
        ["process", "process"],
        lambda n, p: Implies(
            And(s.stage(n) == MEMBER, s.stage(p) == MEMBER), s.ring(n) == s.ring(p)
        ),
    )


def _one_speaker(s: World) -> Expr:
    return s.forall(
        ["process"],
        lambda n: Implies(
            And(s.stage(n) == MEMBER, is_founder(s, n, s.ring(n))), Not(s.gone(s.ring(n), n))
        ),
    )


def _recorded(s: World) -> Expr:
    return s.forall(
        ["founding", "process", "process"],
        lambda f, p, v: Implies(And(s.spoken(f, p), s.voter(s.by(f), v)), s.tried(f, v)),
    )


PROPERTIES: Final = (
    Property("OneFounding", "At most one ring of this name is ever founded.", _one_founding),
    Property(
        "OneRing", "Processes that are in a ring of this name are in the same one.", _one_ring
    ),
    Property(
        "OneSpeaker",
        "Nobody speaks as a founder without the memory of what that one has said.",
        _one_speaker,
    ),
    Property(
        "Recorded",
        "Nobody speaks in a ring before a majority of the members has recorded its founding.",
        _recorded,
    ),
)


def initial(s: World) -> tuple[Expr, Mapping[str, Function]]:
    """Return Init of the spec."""
    values: dict[str, Function] = {
        name: nothing(symbol.result)
        for name, symbol in VOCABULARY.items()
        if symbol.result in ("bool", "number")
    }
    values["kept"] = s.everybody
    return True, values


@cache  # a theory's transitions are compiled once, too, for all that follow runs with it
def theory(basis: Basis | None = None) -> Theory:
    """Return RING_START over the given basis, by default with all rules and assumptions."""
    rests = basis or Basis()
    return Theory(
        "ring_start",
        VOCABULARY,
        RIGID,
        axioms(rests),
        initial,
        transitions(rests),
        INVARIANT,
        PROPERTIES,
        (),
        dict.fromkeys(("stage", "heard_stage", "told_stage"), len(STAGES)),
    )
