"""NAKACK proved for any number of members, multicasts, datagrams and views, and any window.

`theory()` is `spec/Nakack.tla` for the stream of one member, the source, in first-order logic. Its
actions have the spec's names; tests/model/test_nakack_inductive.py ties them to the model.

The theory differs from the spec in these points, each of which allows as much or more:

- One stream: apart from views, which are modelled here, no action on another stream reads or writes
  a member's part of it. So a property of an arbitrary source holds for all.
- The network holds everything ever sent: a datagram may arrive at any time, as often as it likes,
  in any order, or never. So sending again changes nothing, and requests need not be modelled; their
  receivers matter to progress only.
- A stranger may send any multicast of the source at any time; no view takes a stranger in, so
  nothing else that it sends under its own address is heeded.
- A member may hear of any number at any time. Windows are left out: a source may always send.
- The streams of departed members are left out: they are handed out and never read.
- A cut may lie beyond the survivors' streams; then nobody can install the view.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from raincheck.model.proof.induction import Property, Theory
from raincheck.model.proof.logic import And, Expr, Function, If, Implies, World
from raincheck.model.proof.vocabulary import nothing

from .actions import transitions
from .invariant import INVARIANT
from .words import (
    CRASHED,
    JOINING,
    MEMBER,
    RIGID,
    VOCABULARY,
    WITHOUT,
    Basis,
    basis_without,
    has_source,
    is_passed,
    running,
)

__all__ = ["WITHOUT", "Basis", "basis_without", "theory"]


# ---------------------------------------------------------------------- consequences


def contiguous(s: World) -> Expr:
    """A member delivers a sender's stream from where it joined: in order, without gaps, once."""
    return s.forall(
        ["process", "index"],
        lambda p, i: Implies(is_passed(s, p, i), s.passed_seqno(p, i) == s.begin(p) + i),
    )


def only_members(s: World) -> Expr:
    """A member delivers multicasts of members of its view only."""
    return s.forall(
        ["process", "index"],
        lambda p, i: Implies(is_passed(s, p, i), has_source(s, s.passed_in(p, i))),
    )


def sending_view(s: World) -> Expr:
    """A multicast is delivered in the view in which it was sent."""
    return s.forall(
        ["process", "index"],
        lambda p, i: Implies(
            is_passed(s, p, i),
            And(
                s.passed_in(p, i) == s.passed_tag(p, i),
                s.passed_tag(p, i) == s.sent_in(s.passed_seqno(p, i)),
            ),
        ),
    )


def no_creation(s: World) -> Expr:
    """Nothing is delivered that was not multicast."""
    return s.forall(
        ["process", "index"],
        lambda p, i: Implies(is_passed(s, p, i), s.passed_seqno(p, i) <= s.sent()),
    )


def agreement(s: World) -> Expr:
    """All members that go on from a view have delivered the same multicasts in it."""

    def went_on(p: Expr, v: Expr) -> Expr:
        return And(running(s, p), s.view(p) > v, s.in_view(v, p))

    def body(p: Expr, q: Expr, i: Expr) -> Expr:
        v = s.passed_in(p, i)
        j = s.passed_seqno(p, i) - s.begin(q)
        return Implies(
            And(is_passed(s, p, i), went_on(p, v), went_on(q, v)),
            And(
                is_passed(s, q, j),
                s.passed_seqno(q, j) == s.passed_seqno(p, i),
                s.passed_in(q, j) == v,
            ),
        )

    return s.forall(["process", "process", "index"], body)


def recoverable(s: World) -> Expr:
    """A multicast that a member delivered, or the live source sent, is kept for members that lack
    it.

    It is kept by a member that delivered it, or by the source.
    """

    def body(n: Expr, m: Expr, k: Expr) -> Expr:
        lacks = And(s.reads(n), k > s.delivered(n), s.in_view(s.view(m), n))
        had = And(s.reads(m), k > s.begin(m), k <= s.delivered(m))
        own = And(running(s, m), m == s.source(), k >= 1, k <= s.sent())
        return And(Implies(And(lacks, had), s.held(m, k)), Implies(And(lacks, own), s.held(m, k)))

    return s.forall(["process", "process", "seqno"], body)


def acks_are_true(s: World) -> Expr:
    """A part of Bounded: the source counts as acknowledged no more than was delivered."""
    return s.forall(
        ["process"],
        lambda p: Implies(
            And(
                running(s, s.source()),
                p != s.source(),
                s.in_view(s.view(s.source()), p),
                s.reads(p),
            ),
            s.acked(p) <= s.delivered(p),
        ),
    )


PROPERTIES: Final = tuple(
    Property(name, " ".join((formula.__doc__ or "").split()), formula)
    for name, formula in (
        ("Contiguous", contiguous),
        ("OnlyMembers", only_members),
        ("SendingView", sending_view),
        ("NoCreation", no_creation),
        ("Agreement", agreement),
        ("Recoverable", recoverable),
        ("AcksAreTrue", acks_are_true),
    )
)


def initial(s: World) -> tuple[Expr, Mapping[str, Function]]:
    """Return Init of the spec: the founders are in the first view, and nothing has been sent."""
    values: dict[str, Function] = {
        name: nothing(symbol.result) for name, symbol in VOCABULARY.items()
    }
    values |= {
        "status": lambda p: If(s.founder(p), MEMBER, JOINING),
        "view": lambda p: If(s.founder(p), 1, 0),
        "decided": lambda: 1,
        "in_view": lambda v, p: And(v == 1, s.founder(p)),
        "reads": lambda p: And(s.founder(p), s.founder(s.source())),
    }
    return True, values


@cache  # a theory's transitions are compiled once, too, for all that follow runs with it
def theory(basis: Basis | None = None) -> Theory:
    """Return NAKACK over the given basis, by default with all assumptions and repairs."""
    return Theory(
        "nakack",
        VOCABULARY,
        RIGID,
        (),
        initial,
        transitions(basis or Basis()),
        INVARIANT,
        PROPERTIES,
        ranges={"status": CRASHED + 1},
    )
