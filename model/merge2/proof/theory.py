"""Some of MERGE2's promises proved for any number of groups, members, merges and messages.

`theory()` is `spec/Merge2.tla` in first-order logic. Its actions have the spec's names.

It has OneViewPerMerge, OneCoordinator and InOrder. It differs from the spec in these points, each
of which allows more:

- Messages are remembered, not consumed: a request may come whenever its merge has been begun, the
  merged view whenever it is decided, RESUME and CANCEL at any time, as often as they like.
- Any process may be suspected at any time. A coordinator may take part again in a merge that it has
  given up. A leader may decide without answers, a view of any members and any digest.
- FLUSH suspends nobody, and a side may change its view during a merge. The next view of a side may
  have any members.
- A member may deliver what nobody has multicast, as long as it reads on.

Numbers of views, answers, latches, streams and cuts are left out. A view and a merge are
individuals of their own; a leader gives a merge a new name, where the spec uses a number again to
which nothing refers any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from raincheck.model.proof.induction import Conjunct, Property, Theory
from raincheck.model.proof.logic import And, Expr, Function, Implies, Not, World
from raincheck.model.proof.vocabulary import nothing

from .actions import transitions
from .invariant import INVARIANT, in_order, one_coordinator
from .words import RIGID, STAGES, VOCABULARY, WITHOUT, Basis, in_path

__all__ = ["WITHOUT", "Basis", "basis_without", "theory"]

AXIOMS: Final = (
    Conjunct(
        "BeginsApart",
        "No first view comes from a merge.",
        ("process",),
        lambda s, n: Not(s.merged(s.start(n))),
        lambda s, n: [s.start(n)],
    ),
)


def basis_without(names: Iterable[str]) -> Basis:
    """Return the basis without some parts, by the spec's names; KeyError if a name is unknown."""
    return replace(Basis(), **{WITHOUT[name]: False for name in names})


def one_view_per_merge(s: World) -> Expr:
    """One merge gives one view (R5)."""

    def same(n: Expr, p: Expr, i: Expr, j: Expr) -> Expr:
        v, w = s.path(n, i), s.path(p, j)
        both = And(in_path(s, n, i), in_path(s, p, j), s.merged(v), s.merged(w))
        return Implies(And(both, s.union(v) == s.union(w)), v == w)

    return s.forall(["process", "process", "index", "index"], same)


PROPERTIES: Final = (
    Property("OneViewPerMerge", "One merge gives one view.", one_view_per_merge),
    Property(
        "OneCoordinator",
        "A member is the coordinator if, and only if, it is the first in its view.",
        lambda s: s.forall(["process"], lambda n: one_coordinator(s, n)),
    ),
    Property(
        "InOrder",
        "Nothing is delivered again, or before something older of its sender.",
        lambda s: s.forall(["process", "index", "index"], lambda n, i, j: in_order(s, n, i, j)),
    ),
)


def initial(s: World) -> tuple[Expr, Mapping[str, Function]]:
    """Return Init of the spec: every process is in its first view, nothing has been sent."""
    values: dict[str, Function] = {
        name: nothing(symbol.result)
        for name, symbol in VOCABULARY.items()
        if symbol.result in ("bool", "number", "index")
    }
    values["running"] = lambda _: True
    values["view"] = s.start
    values["path"] = lambda n, _: s.start(n)
    values["count"] = lambda _: 1
    values["coordinates"] = lambda n: s.first(s.start(n)) == n
    return True, values


def theory(basis: Basis | None = None) -> Theory:
    """Return MERGE2 over the given basis, by default with all rules."""
    return Theory(
        "merge2",
        VOCABULARY,
        RIGID,
        AXIOMS,
        initial,
        transitions(basis or Basis()),
        INVARIANT,
        PROPERTIES,
        (),
        {"stage": len(STAGES)},
    )
