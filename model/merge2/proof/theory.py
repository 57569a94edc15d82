"""MERGE2's promises of safety proved for any number of groups, members, merges and messages.

`theory()` is `spec/Merge2.tla` in first-order logic. Its actions have the spec's names.

It has every safety promise but FewMerges, MembersAreThere and AllOrNothing without wrong
suspicions. It differs from the spec in these points, each of which allows more:

- Messages are remembered, not consumed: a request may come whenever its merge has been begun, an
  answer whenever it was sent, the merged view whenever it is decided; INSTALLED, RESUME and CANCEL
  whenever and as often as they like, once they were sent. A rejection may come at any time.
- Any process may be suspected at any time; `doubted` says that one was that runs. MembersAreThere
  and AllOrNothing are promised where that has not happened.
- A leader asks whom it likes, and its merged view may have any larger number.

A view, a merge and an answer are individuals of their own; a leader gives a merge a new name, where
the spec uses a number again to which nothing refers any more. A stream and a delivery have views
where the spec has their ids, and compare the ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from raincheck.model.proof.induction import Conjunct, Property, Theory
from raincheck.model.proof.logic import And, Expr, Function, If, Implies, Not, Or, World
from raincheck.model.proof.vocabulary import nothing

from .actions import deciding
from .around import around
from .cuts import CUTS, members_are_there
from .endings import ending, installing
from .invariant import INVARIANT, one_coordinator
from .latches import LATCHES, acks_before_resume
from .streams import STREAMS, in_order
from .together import TOGETHER
from .views import VIEWS, grows
from .whole import WHOLE
from .words import (
    RIGID,
    STAGES,
    VOCABULARY,
    WITHOUT,
    Basis,
    in_merge,
    in_path,
    is_heard,
    same_id,
    side,
)

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
    Conjunct(
        "BeginsAtNothing",
        "A first view has no digest.",
        ("process", "process"),
        lambda s, n, x: s.digest(s.start(n), x) == 0,
        lambda s, n, x: [s.digest(s.start(n), x)],
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


def one_view(s: World) -> Expr:
    """No two members deliver one message in different views."""

    def same(n: Expr, p: Expr, i: Expr, j: Expr) -> Expr:
        one = And(
            s.heard_from(n, i) == s.heard_from(p, j), s.heard_number(n, i) == s.heard_number(p, j)
        )
        both = And(is_heard(s, n, i), is_heard(s, p, j), one)
        return Implies(both, same_id(s, s.heard_view(n, i), s.heard_view(p, j)))

    return s.forall(["process", "process", "index", "index"], same)


def same_messages(s: World) -> Expr:
    """Members that go on together from a view to the next have delivered the same in it."""

    def same(n: Expr, p: Expr, i: Expr, j: Expr) -> Expr:
        v = s.path(n, i)
        gone = And(in_path(s, n, i), in_path(s, n, i + 1), in_path(s, p, j), in_path(s, p, j + 1))
        together = And(gone, v == s.path(p, j), s.path(n, i + 1) == s.path(p, j + 1))
        if together is False:
            return True
        both = s.forall(
            ["process", "place"], lambda x, k: s.hears(n, x, k, v) == s.hears(p, x, k, v)
        )
        return Implies(together, both)

    return s.forall(["process", "process", "index", "index"], same)


def at_the_cut(s: World) -> Expr:
    """In a merged view, members read each other's streams from where it begins (R7)."""

    def from_its_beginning(n: Expr, x: Expr, k: Expr) -> Expr:
        v = s.view(n)
        together = And(s.running(n), s.running(x), v == s.view(x), s.merged(v))
        of_it = same_id(s, s.said(x, k), v)
        read = If(k <= s.position(n, x), Implies(of_it, s.did(n, x, k)), of_it)
        return Implies(And(together, k >= 1, k <= s.spoken(x)), read)

    return s.forall(["process", "process", "place"], from_its_beginning)


def all_or_nothing(s: World) -> Expr:
    """If no coordinator of a merge that is decided crashes, all of its sides install its view."""

    def has_it(u: Expr, p: Expr) -> Expr:
        def is_to_install(c: Expr) -> Expr:
            return And(s.into(u, c), side(s, c, p), in_merge(s, c, u))

        v = s.result(u)
        ready = Or(s.been(p, v), And(s.holds(p), s.held(p) == v))
        return Or(Not(s.running(p)), ready, s.exists(["process"], is_to_install))

    def whole(u: Expr) -> Expr:
        all_run = s.forall(["process"], lambda c: Implies(s.into(u, c), s.running(c)))
        asked = And(s.decided(u), all_run, Not(s.doubted()))
        return Implies(
            asked,
            s.forall(["process"], lambda p: Implies(s.inside(s.result(u), p), has_it(u, p))),
        )

    return s.forall(["union"], whole)


PROPERTIES: Final = (
    Property("OneView", "No two members deliver one message in different views.", one_view),
    Property("SameMessages", "Who goes on together has delivered the same.", same_messages),
    Property("AtTheCut", "In a merged view, streams are read from where it begins.", at_the_cut),
    Property("AllOrNothing", "All sides of a merge install its view.", all_or_nothing),
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
        if symbol.result in ("bool", "number", "index", "place")
    }
    values["running"] = lambda _: True
    values["view"] = s.start
    values["path"] = lambda n, _: s.start(n)
    values["count"] = lambda _: 1
    values["held"] = s.start
    values["been"] = lambda n, v: s.start(n) == v
    values["by_id"] = lambda n, _: s.start(n)
    values["made"] = lambda v: s.start(s.maker(v)) == v
    values["coordinates"] = lambda n: s.first(s.start(n)) == n
    return True, values


@cache  # a theory's transitions are compiled once, too, for all that follow runs with it
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
        (*INVARIANT, *VIEWS, *LATCHES, *CUTS, *STREAMS, *TOGETHER, *WHOLE),
        PROPERTIES,
        (),
        {"stage": len(STAGES)},
    )
