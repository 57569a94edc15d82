"""Some of MERGE2's promises proved for any number of groups, members, merges and messages.

`theory()` is `spec/Merge2.tla` in first-order logic. Its actions have the spec's names.

It has OneViewPerId, Monotone, OneViewPerMerge, MembersAreThere (without wrong suspicions),
AcksBeforeResume, OneCoordinator and InOrder. It differs from the spec in these points, each of
which allows more:

- Messages are remembered, not consumed: a request may come whenever its merge has been begun, an
  answer whenever it was sent, the merged view whenever it is decided; INSTALLED, RESUME and CANCEL
  whenever and as often as they like, once they were sent. A rejection may come at any time.
- Any process may be suspected at any time; `doubted` says that one was that runs. MembersAreThere
  is promised where that has not happened.
- A leader asks whom it likes, and its merged view may have any larger number and any digest.
- At the cut nobody needs to have delivered anything, and a member may deliver what nobody has
  multicast, as long as it reads on.
- A leader that has installed the view never keeps its side busy.

Streams are left out, and with them what is promised of them beside InOrder. A view, a merge and an
answer are individuals of their own; a leader gives a merge a new name, where the spec uses a number
again to which nothing refers any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from raincheck.model.proof.induction import Conjunct, Property, Theory
from raincheck.model.proof.logic import And, Expr, Function, Implies, Not, World
from raincheck.model.proof.vocabulary import nothing

from .actions import deciding
from .cuts import CUTS, members_are_there
from .endings import around, ending, installing
from .invariant import INVARIANT, in_order, one_coordinator
from .latches import LATCHES, acks_before_resume
from .views import VIEWS, grows
from .words import RIGID, STAGES, VOCABULARY, WITHOUT, Basis, in_path

__all__ = ["WITHOUT", "Basis", "basis_without", "theory"]

AXIOMS: Final = (
    Conjunct(
        "BeginsApart",
        "No first view comes from a merge; it has its id from who made it, and all of its members.",
        ("process",),
        lambda s, n: And(
            Not(s.merged(s.start(n))),
            s.inside(s.start(n), n),
            s.number(s.start(n)) == 1,
            s.start(s.maker(s.start(n))) == s.start(n),
        ),
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


def one_view_per_id(s: World) -> Expr:
    """No two members, dead ones included, ever install different views under one view id."""

    def same(n: Expr, p: Expr, i: Expr, j: Expr) -> Expr:
        v, w = s.path(n, i), s.path(p, j)
        one_id = And(s.number(v) == s.number(w), s.maker(v) == s.maker(w))
        return Implies(And(in_path(s, n, i), in_path(s, p, j), one_id), v == w)

    return s.forall(["process", "process", "index", "index"], same)


def monotone(s: World) -> Expr:
    """A member is in its view, and the numbers of its views grow."""

    def last(n: Expr) -> Expr:
        return And(s.inside(s.view(n), n), s.path(n, s.count(n) - 1) == s.view(n))

    numbers = s.forall(["process", "index"], lambda n, i: grows(s, n, i))
    return And(s.forall(["process"], last), numbers)


PROPERTIES: Final = (
    Property("OneViewPerId", "One id, one view.", one_view_per_id),
    Property("Monotone", "A member is in its view, whose number grows.", monotone),
    Property("OneViewPerMerge", "One merge gives one view.", one_view_per_merge),
    Property(
        "MembersAreThere",
        "A merged view consists of those that have answered, which are in their cuts.",
        lambda s: s.forall(["process", "process"], lambda n, p: members_are_there(s, n, p)),
    ),
    Property(
        "AcksBeforeResume",
        "Nobody goes on in a merged view before all that run among its members have installed it.",
        lambda s: s.forall(["process", "process"], lambda n, p: acks_before_resume(s, n, p)),
    ),
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
    values["held"] = s.start
    values["been"] = lambda n, v: s.start(n) == v
    values["made"] = lambda v: s.start(s.maker(v)) == v
    values["coordinates"] = lambda n: s.first(s.start(n)) == n
    return True, values


def theory(basis: Basis | None = None) -> Theory:
    """Return MERGE2 over the given basis, by default with all rules."""
    basis = basis or Basis()
    return Theory(
        "merge2",
        VOCABULARY,
        RIGID,
        AXIOMS,
        initial,
        (*deciding(basis), *installing(basis), *ending(), *around(basis)),
        (*INVARIANT, *VIEWS, *LATCHES, *CUTS),
        PROPERTIES,
        (),
        {"stage": len(STAGES)},
    )
