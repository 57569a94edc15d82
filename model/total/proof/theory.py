"""Order and agreement of TOTAL, proved for any number of members, messages and views.

`theory()` is `spec/Total.tla` in first-order logic, as it is implemented. Its actions have the
spec's names.

It has TotalOrder, Agreement, Integrity and Fifo. It differs from the spec in these points, each
of which allows more:

- Messages are remembered, not consumed: a request may come whenever its sender has sent that
  message and been in the view, a broadcast whenever it has its id. So nothing is said of what is
  repeated, acknowledged, forgotten, announced or lost.
- What FLUSH blocks is blocked only once a member has gone on; the members of all views are given
  from the beginning, and any may be decided once all that run have come to the one before.

A member's forwardTable is what it has sent and not delivered, which the numbers say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from raincheck.model.proof.induction import Conjunct, Property, Theory
from raincheck.model.proof.logic import And, Expr, Function, If, Implies, World
from raincheck.model.proof.vocabulary import nothing

from .actions import transitions
from .invariant import INVARIANT
from .words import (
    JOINING,
    MEMBER,
    RIGID,
    STATUSES,
    VOCABULARY,
    WITHOUT,
    Basis,
    is_heard,
    running,
)

__all__ = ["WITHOUT", "Basis", "basis_without", "theory"]

AXIOMS: Final = (
    Conjunct(
        "SequencerIsMember",
        "The sequencer of a view is in it.",
        ("view",),
        lambda s, v: s.member(v, s.sequencer(v)),
        lambda s, v: [s.sequencer(v)],
    ),
)


def basis_without(names: Iterable[str]) -> Basis:
    """Return the basis without some parts, by the spec's names; KeyError if a name is unknown."""
    return replace(Basis(), **{WITHOUT[name]: False for name in names})


def _same(s: World, p: Expr, j: Expr, q: Expr, k: Expr) -> Expr:
    """What p has delivered at index j is what q has at index k."""
    return And(
        *(is_heard(s, p, j), is_heard(s, q, k), s.heard_from(p, j) == s.heard_from(q, k)),
        s.heard_number(p, j) == s.heard_number(q, k),
    )


def total_order(s: World) -> Expr:
    """Two members that both deliver two messages do so in the same order."""

    def ordered(p: Expr, q: Expr, i: Expr, k: Expr) -> Expr:
        premise = And(running(s, p), running(s, q), _same(s, p, i, q, k))
        if premise is False:  # in a state of the model, of which there are many to ask
            return True
        after = s.forall(
            ["index", "index"],
            lambda j, m: Implies(And(i < j, _same(s, p, j, q, m)), k < m),
        )
        return Implies(premise, after)

    return s.forall(["process", "process", "index", "index"], ordered)


def agreement(s: World) -> Expr:
    """The survivors of a view have delivered the same messages in it."""

    def survived(p: Expr, v: Expr) -> Expr:
        return And(running(s, p), v >= 1, v < s.view(p), s.member(v, p), s.member(v + 1, p))

    def alike(p: Expr, q: Expr, j: Expr) -> Expr:
        v = s.heard_view(p, j)
        return Implies(
            And(survived(p, v), survived(q, v), is_heard(s, p, j)),
            s.exists(["index"], lambda k: And(_same(s, p, j, q, k), s.heard_view(q, k) == v)),
        )

    return s.forall(["process", "process", "index"], alike)


def integrity(s: World) -> Expr:
    """Nothing is delivered twice, and only sent messages are delivered."""

    def once(p: Expr, i: Expr, j: Expr) -> Expr:
        sent = s.heard_number(p, i) <= s.seqno(s.heard_from(p, i))
        return And(Implies(is_heard(s, p, i), sent), Implies(_same(s, p, i, p, j), i == j))

    return s.forall(["process", "index", "index"], once)


def fifo(s: World) -> Expr:
    """Messages of one sender are delivered in the order in which it sent them."""

    def in_order(p: Expr, i: Expr, j: Expr) -> Expr:
        both = And(is_heard(s, p, i), is_heard(s, p, j), i < j)
        return Implies(
            And(both, s.heard_from(p, i) == s.heard_from(p, j)),
            s.heard_number(p, i) < s.heard_number(p, j),
        )

    return s.forall(["process", "index", "index"], in_order)


PROPERTIES: Final = (
    Property("TotalOrder", total_order.__doc__ or "", total_order),
    Property("Agreement", agreement.__doc__ or "", agreement),
    Property("Integrity", integrity.__doc__ or "", integrity),
    Property("Fifo", fifo.__doc__ or "", fifo),
)


def initial(s: World) -> tuple[Expr, Mapping[str, Function]]:
    """Return Init of the spec: the members of the first view have installed it."""
    values: dict[str, Function] = {
        name: nothing(symbol.result)
        for name, symbol in VOCABULARY.items()
        if symbol.result != "process"
    }

    def founding(yes: int, no: int) -> Function:
        return lambda n: If(s.member(1, n), yes, no)

    values["status"] = founding(MEMBER, JOINING)
    for name in ("view", "first", "latest", "expected"):
        values[name] = founding(1, 0)
    values["next_id"] = lambda n: If(s.sequencer(1) == n, 1, 0)
    return True, values


def theory(basis: Basis | None = None) -> Theory:
    """Return TOTAL over the given basis, by default with all rules."""
    return Theory(
        "total",
        VOCABULARY,
        RIGID,
        AXIOMS,
        initial,
        transitions(basis or Basis()),
        INVARIANT,
        PROPERTIES,
        (),
        {"status": len(STATUSES)},
    )
