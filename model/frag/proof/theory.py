"""FRAG proved for any number of members, messages, fragments and views.

`theory()` is `spec/Frag.tla` in first-order logic. Its actions have the spec's names.

The theory differs from the spec in these points, each of which allows more:

- Any fragment that a member has sent may be ordered next, and that a message is given up may be
  ordered at any time, as often as it likes. So nothing here rests on Fifo.
- A member may have any number of messages under way (MaySend): a receiver drops what exceeds the
  window. Any number of views may be decided, also without a reason, and what no survivor has read
  may always be lost. The last member may crash.

How many parts a message has is written once, in `size`: the fragments and tables of the spec repeat
it. The pieces of a message are as many as there are `here`. PartsOf and In, which the spec defines
by recursion, are kept up to date by it: `load`, and `amount` and `rank`.

Three assumptions are built in: SingleSequenceOfViews, because a view is a number and a process
lives once; that SEQUENCER orders what a member has sent once; and that it loses nothing that a
survivor has read, which is the guard of ViewChange. The proof can do without OneSequence or
VirtualSynchrony, and then fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from raincheck.model.proof.induction import Conjunct, Property, Theory
from raincheck.model.proof.logic import And, Expr, Function, If, Implies, Not, World
from raincheck.model.proof.vocabulary import nothing

from .actions import transitions
from .invariant import invariant
from .words import JOINING, MEMBER, RIGID, STATUSES, VOCABULARY, WITHOUT, Basis, is_heard, running

__all__ = ["WITHOUT", "Basis", "basis_without", "theory"]

AXIOMS: Final = (Conjunct("WindowIsOpen", "A window is no debt.", (), lambda s: s.window() >= 0),)


def basis_without(names: Iterable[str]) -> Basis:
    """Return the basis without some parts, by the spec's names; KeyError if a name is unknown."""
    return replace(Basis(), **{WITHOUT[name]: False for name in names})


# ---------------------------------------------------------------------- the promises


def whole(s: World) -> Expr:
    """What is delivered has all parts of its message, in order, each once, of one epoch."""

    def of_message(n: Expr, j: Expr) -> Expr:
        size = s.size(s.heard_from(n, j), s.heard_number(n, j))
        return Implies(is_heard(s, n, j), s.heard_parts(n, j) == size)

    def in_order(n: Expr, j: Expr, q: Expr) -> Expr:
        epoch = s.heard_epoch(n, j, q)
        return Implies(
            And(is_heard(s, n, j), q >= 0, q < s.heard_parts(n, j)),
            And(
                s.heard_part(n, j, q) == q,
                epoch == s.heard_epoch(n, j, 0),
                epoch >= 1,
                epoch <= s.last(),
            ),
        )

    return And(
        s.forall(["process", "index"], of_message),
        s.forall(["process", "index", "part"], in_order),
    )


def _identical(s: World, n: Expr, j: Expr, p: Expr, k: Expr) -> Expr:
    """Two deliveries are of the same message."""
    return And(
        is_heard(s, n, j),
        is_heard(s, p, k),
        s.heard_from(n, j) == s.heard_from(p, k),
        s.heard_number(n, j) == s.heard_number(p, k),
    )


def no_duplicates(s: World) -> Expr:
    """No member delivers a message twice."""
    return s.forall(
        ["process", "index", "index"],
        lambda n, j, k: Implies(_identical(s, n, j, n, k), j == k),
    )


def one_view(s: World) -> Expr:
    """No two members deliver a message in different views."""
    return s.forall(
        ["process", "process", "index", "index"],
        lambda n, p, j, k: Implies(
            _identical(s, n, j, p, k), s.heard_view(n, j) == s.heard_view(p, k)
        ),
    )


def _at_one_place(s: World, n: Expr, p: Expr, j: Expr, k: Expr) -> Expr:
    """Two deliveries have the same place in In(n, v) and In(p, v), for a view v of n and p."""
    v = s.heard_view(n, j)
    return And(
        is_heard(s, n, j),
        is_heard(s, p, k),
        s.heard_view(p, k) == v,
        s.rank(n, j) == s.rank(p, k),
        s.member(v, n),
        s.member(v, p),
    )


def _same_part(s: World, n: Expr, p: Expr, j: Expr, k: Expr, q: Expr) -> Expr:
    """Two deliveries are of the same message, and have the same part q."""
    return And(
        _identical(s, n, j, p, k),
        s.heard_parts(n, j) == s.heard_parts(p, k),
        Implies(
            And(q >= 0, q < s.heard_parts(n, j)),
            And(
                s.heard_part(n, j, q) == s.heard_part(p, k, q),
                s.heard_epoch(n, j, q) == s.heard_epoch(p, k, q),
            ),
        ),
    )


def total_order(s: World) -> Expr:
    """Members deliver the same in the same order in a view, as far as they have come."""
    return s.forall(
        ["process", "process", "index", "index", "part"],
        lambda n, p, j, k, q: Implies(_at_one_place(s, n, p, j, k), _same_part(s, n, p, j, k, q)),
    )


def same_messages(s: World) -> Expr:
    """Members that go on from a view to the next have delivered the same in it."""

    def left(n: Expr, p: Expr, v: Expr) -> Expr:
        return And(running(s, n), running(s, p), v < s.view(n), v < s.view(p))

    def as_many(n: Expr, p: Expr, v: Expr) -> Expr:
        both = And(left(n, p, v), s.member(v, n), s.member(v, p))
        return Implies(both, s.amount(n, v) == s.amount(p, v))

    def same(n: Expr, p: Expr, j: Expr, k: Expr, q: Expr) -> Expr:
        both = And(_at_one_place(s, n, p, j, k), left(n, p, s.heard_view(n, j)))
        return Implies(both, _same_part(s, n, p, j, k, q))

    return And(
        s.forall(["process", "process", "view"], as_many),
        s.forall(["process", "process", "index", "index", "part"], same),
    )


def given_up_is_gone(s: World) -> Expr:
    """Nobody delivers what its sender has given up."""
    return s.forall(
        ["process", "index"],
        lambda n, j: Implies(
            is_heard(s, n, j), Not(s.given_up(s.heard_from(n, j), s.heard_number(n, j)))
        ),
    )


def bounded(s: World) -> Expr:
    """A member keeps fragments of members only, and of each of them no more than a window."""
    return And(
        s.forall(
            ["process", "process", "seqno"],
            lambda n, x, m: Implies(
                And(running(s, n), s.here(n, x, m) > 0), s.member(s.view(n), x)
            ),
        ),
        s.forall(
            ["process", "process"],
            lambda n, x: Implies(running(s, n), s.load(n, x) <= s.window()),
        ),
    )


PROPERTIES: Final = (
    Property(
        "Whole",
        "What is delivered has all parts of its message, in order, each once, of one epoch.",
        whole,
    ),
    Property("NoDuplicates", "No member delivers a message twice.", no_duplicates),
    Property("OneView", "No two members deliver a message in different views.", one_view),
    Property(
        "TotalOrder",
        "Members deliver the same messages in the same order in a view, as far as they have come.",
        total_order,
    ),
    Property(
        "SameMessages",
        "Members that go on from a view to the next have delivered the same messages in it.",
        same_messages,
    ),
    Property("GivenUpIsGone", "Nobody delivers what its sender has given up.", given_up_is_gone),
    Property(
        "Bounded",
        "A member keeps fragments of members only, and of each of them no more than a window.",
        bounded,
    ),
)


def initial(s: World) -> tuple[Expr, Mapping[str, Function]]:
    """Return Init of the spec: the founders are in the first view, nothing has been sent."""
    values: dict[str, Function] = {
        name: nothing(symbol.result)
        for name, symbol in VOCABULARY.items()
        if symbol.result != "process"
    }
    values["status"] = lambda n: If(s.founder(n), MEMBER, JOINING)
    values["view"] = values["epoch"] = lambda n: If(s.founder(n), 1, 0)
    values["last"] = lambda: 1
    values["member"] = lambda v, n: And(v == 1, s.founder(n))
    values["began"] = lambda v: If(v == 1, 1, 0)
    return True, values


@cache  # a theory's transitions are compiled once, too, for all that follow runs with it
def theory(basis: Basis | None = None) -> Theory:
    """Return FRAG over the given basis, by default with all rules and assumptions."""
    basis = basis or Basis()
    return Theory(
        "frag",
        VOCABULARY,
        RIGID,
        AXIOMS,
        initial,
        transitions(basis),
        invariant(basis),
        PROPERTIES,
        (),
        {"status": len(STATUSES)},
    )
