"""PBCAST proved for any number of members, messages, views and gossips, and for any lag.

`theory()` is the part of `spec/Pbcast.tla` on which OnlyStablePurged rests, in first-order logic.
Its actions have the spec's names (Deliver stands for Multicast, Arrive, ReceiveResponse and
Deliver; InstallView has a branch for each of three who do it).

The theory differs from the spec in these points, each of which allows more:

- Copies are never used up: any of them may arrive at any time, as often as it likes, in any order,
  or never. So nothing rests on loss, Duplication, Places, or on who sends a gossip again to whom.
- A copy has no origin and no number, and any two copies of a view may be merged by anybody,
  whatever that one has known or forgotten. So nothing rests on Merges, Latest and the cache.
- Anything may be delivered at any time, and any number of messages at once. So nothing rests on who
  is asked for what.
- Any member of the last view may decide the next one, as soon as it has installed that, and may
  leave out anybody alive; a joiner may begin as soon as its view is decided.
- Whoever has seen a gossip may act as if others had not, and purge nothing.

Two assumptions are built in: nobody comes back, because a process is one life of a node; and
SingleSequenceOfViews, because a view is a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from raincheck.model.proof.induction import Conjunct, Property, Theory
from raincheck.model.proof.logic import And, Expr, Function, If, Implies, Or, World
from raincheck.model.proof.vocabulary import nothing

from .actions import transitions
from .invariant import INVARIANT
from .words import RIGID, VOCABULARY, WITHOUT, Basis

__all__ = ["WITHOUT", "Basis", "basis_without", "theory"]


def basis_without(names: Iterable[str]) -> Basis:
    """Return the basis without some repairs, by the spec's names; KeyError if a name is unknown."""
    return replace(Basis(), **{WITHOUT[name]: False for name in names})


AXIOMS: Final = (
    Conjunct(
        "Lags",
        "A lag is at least 0.",
        ("process",),
        lambda s, n: s.lag(n) >= 0,
        lambda s, n: [s.lag(n)],
    ),
)


def _only_stable_purged(s: World) -> Expr:
    """The promise for members of the purger's view that run, and for those about to join it."""

    def delivered(n: Expr, p: Expr, x: Expr) -> Expr:
        joining = And(
            s.joined(p) == s.last(), s.view(p) == 0, s.member(s.last(), n), s.member(s.last(), p)
        )
        served = Or(And(s.running(p), s.member(s.view(n), p)), joining)
        return Implies(And(s.running(n), served), s.purged(n, x) <= s.delivered(p, x))

    return s.forall(["process", "process", "process"], delivered)


PROPERTIES: Final = (
    Property(
        "OnlyStablePurged",
        "A message is purged only when every member of the view has delivered it, and every process"
        " about to join was promised a digest that covers it.",
        _only_stable_purged,
    ),
)


def initial(s: World) -> tuple[Expr, Mapping[str, Function]]:
    """Return Init of the spec: the founders are in the first view, nothing has been sent."""
    values: dict[str, Function] = {
        name: nothing(symbol.result)
        for name, symbol in VOCABULARY.items()
        if symbol.result in ("number", "bool")
    }
    values["running"] = lambda n: s.founder(n)
    values["view"] = lambda n: _one_if(s.founder(n))
    values["joined"] = lambda n: _one_if(s.founder(n))
    values["last"] = lambda: 1
    values["member"] = lambda v, n: And(v == 1, s.founder(n))
    values["origin"] = lambda n, _: n
    return True, values


def _one_if(condition: Expr) -> Expr:
    return If(condition, 1, 0)


@cache  # a theory's transitions are compiled once, too, for all that follow runs with it
def theory(basis: Basis | None = None) -> Theory:
    """Return PBCAST over the given basis, by default with all repairs."""
    return Theory(
        "pbcast",
        VOCABULARY,
        RIGID,
        AXIOMS,
        initial,
        transitions(basis or Basis()),
        INVARIANT,
        PROPERTIES,
    )
