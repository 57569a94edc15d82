"""STABLE proved for any number of members, messages, views, rounds and lives.

`theory()` is the part of `spec/Stable.tla` on which OnlyStablePurged rests, in first-order logic.
Its actions have the spec's names (Deliver stands for Multicast, Arrive and Fetch; ViewChange for
Exclude too).

The theory differs from the spec in these points, each of which allows more:

- Datagrams are never used up: any of them may arrive at any time, as often as it likes, in any
  order, or never. So nothing rests on a limit of Overtaking, Duplication or loss.
- Anything may be delivered at any time, and any number of messages at once. Of NAKACK only two
  facts are left: the deliveries of a process never decrease, and its digests tell what it has
  delivered (TrueDigests).
- A vote counts again and again; a late one (DropLate) is counted too; another member's STABILITY
  may or may not replace a process's own, whatever it covers (CancelCovered); foreign digests may
  exist and are ignored. A process purges as STABILITY says, whether it has delivered those messages
  or not.
- Any member of the last view may promise a digest to joiners, several at once; any process may be
  left out of a view alive; a joiner may begin as soon as its view is decided.

Three assumptions are built in: Incarnations, because a process is one life of a node and nobody
comes back; SingleSequenceOfViews, because a view is a number; and CutOfAMember, in the guard of
ViewChange.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from raincheck.model.proof.induction import Property, Theory
from raincheck.model.proof.logic import And, Expr, Function, If, Implies, Or, World
from raincheck.model.proof.vocabulary import nothing

from .actions import transitions
from .invariant import INVARIANT
from .words import RIGID, VOCABULARY, WITHOUT, Basis

__all__ = ["WITHOUT", "Basis", "basis_without", "theory"]


def basis_without(names: Iterable[str]) -> Basis:
    """Return the basis without some repairs, by the spec's names; KeyError if a name is unknown."""
    return replace(Basis(), **{WITHOUT[name]: False for name in names})


def _only_stable_purged(s: World) -> Expr:
    """The promise for members of the purger's view, and for those in the last view with it."""

    def delivered(n: Expr, p: Expr, x: Expr) -> Expr:
        served = Or(s.member(s.view(n), p), And(s.member(s.last(), n), s.member(s.last(), p)))
        return Implies(And(s.running(n), served), s.purged(n, x) <= s.delivered(p, x))

    return s.forall(["process", "process", "process"], delivered)


PROPERTIES: Final = (
    Property(
        "OnlyStablePurged",
        "A message is purged only when every member of the view has delivered it, or was promised"
        " a digest that covers it.",
        _only_stable_purged,
    ),
)


def initial(s: World) -> tuple[Expr, Mapping[str, Function]]:
    """Return Init of the spec: the founders are in the first view, nothing has been sent."""
    values: dict[str, Function] = {
        name: nothing(symbol.result)
        for name, symbol in VOCABULARY.items()
        if symbol.result in ("number", "bool") and name not in ("digest_at", "stability_at")
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
    """Return STABLE over the given basis, by default with all repairs."""
    return Theory(
        "stable",
        VOCABULARY,
        RIGID,
        (),
        initial,
        transitions(basis or Basis()),
        INVARIANT,
        PROPERTIES,
    )
