"""UNICAST proved for any number of messages, connections and datagrams, and any window.

`theory()` is `spec/Unicast.tla` between one sending and one receiving process, in first-order
logic. Its actions have the spec's names; tests/model/test_unicast_inductive.py ties them to the
model.

The theory differs from the spec in these points, each of which allows as much or more:

- One pair: no other action reads or writes a connection's two ends and the datagrams between them,
  so a property of an arbitrary pair holds for all. A pair is two lives of processes: with
  Incarnations a process that comes back has another address and is of another pair, and a crash
  only ends the run. Messages to a receiver's former life are then addressed to another process,
  which is NothingStale's first half.
- The network holds everything ever sent: a datagram may arrive at any time, as often as it likes,
  in any order, or never. So sending again changes nothing, and missing messages need not be named.
- An acknowledgement may be sent at any time, and a connection may begin with any larger id: the
  process has connections to others too.
- `place` is a history variable: it is written and never read by a guard.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from raincheck.model.proof.induction import Conjunct, Property, Theory
from raincheck.model.proof.logic import And, Expr, Function, Implies, Or, World

from .actions import transitions
from .invariant import INVARIANT, same_connection
from .words import RIGID, VOCABULARY, WITHOUT, Basis, basis_without, is_heard, same_talk

__all__ = ["WITHOUT", "Basis", "basis_without", "theory"]

AXIOMS: Final = (
    Conjunct("WindowIsOpen", "A window is at least one message.", (), lambda s: s.window() >= 1),
)


# ---------------------------------------------------------------------- consequences


def reliable_fifo_unicast(s: World) -> Expr:
    """The messages consumed of a connection are a prefix of those sent on it.

    Each is the first or follows the one before, and none comes twice.
    """

    def gap_free(i: Expr) -> Expr:
        before = s.exists(
            ["index"],
            lambda j: And(
                j >= 1, j < i, same_talk(s, i, j), s.heard_number(j) == s.heard_number(i) - 1
            ),
        )
        return Implies(is_heard(s, i), Or(s.heard_number(i) == 1, before))

    def in_order(i: Expr, j: Expr) -> Expr:
        both = And(is_heard(s, i), is_heard(s, j), i < j, same_talk(s, i, j))
        return Implies(both, s.heard_number(i) < s.heard_number(j))

    return And(s.forall(["index"], gap_free), s.forall(["index", "index"], in_order))


def nothing_stale(s: World) -> Expr:
    """After a message of a later connection none of an older one or a former life is consumed."""

    def later(i: Expr, j: Expr) -> Expr:
        same_life = And(s.heard_life(i) == s.heard_life(j), s.heard_talk(i) <= s.heard_talk(j))
        both = And(is_heard(s, i), is_heard(s, j), i < j)
        return Implies(both, Or(s.heard_life(i) < s.heard_life(j), same_life))

    return s.forall(["index", "index"], later)


def bounded_buffers(s: World) -> Expr:
    """A receiver keeps messages of one window only."""
    return s.forall(
        ["seqno"],
        lambda k: Implies(
            And(s.receiving(), s.buffered(k)),
            And(s.consumed() < k, k <= s.consumed() + s.window()),
        ),
    )


def window_kept(s: World) -> Expr:
    """A sender has at most one window of messages out that it does not know to be consumed, and
    a probe."""
    return Implies(s.sending(), s.out() <= s.confirmed() + s.window() + 1)


def kept_until_arrived(s: World) -> Expr:
    """Messages that a sender no longer keeps have arrived, unless the receiver has closed."""
    on_it = And(same_connection(s), s.arrived() >= s.acked(), s.consumed() >= s.confirmed())
    return Implies(And(s.sending(), s.acked() > 0), Or(s.closed() >= s.connection(), on_it))


PROPERTIES: Final = tuple(
    Property(name, " ".join((formula.__doc__ or "").split()), formula)
    for name, formula in (
        ("ReliableFifoUnicast", reliable_fifo_unicast),
        ("NothingStale", nothing_stale),
        ("BoundedBuffers", bounded_buffers),
        ("WindowKept", window_kept),
        ("KeptUntilArrived", kept_until_arrived),
    )
)


def initial(_s: World) -> tuple[Expr, Mapping[str, Function]]:
    """Return Init of the spec: no connections, nothing under way."""
    empty: dict[str, Expr] = {"bool": False, "number": 0}

    def constant(value: Expr) -> Function:
        return lambda *_: value

    return True, {
        name: constant(empty[symbol.result])
        for name, symbol in VOCABULARY.items()
        if symbol.result in empty
    }


@cache  # a theory's transitions are compiled once, too, for all that follow runs with it
def theory(basis: Basis | None = None) -> Theory:
    """Return UNICAST over the given basis, by default with all repairs."""
    basis = basis or Basis()
    return Theory(
        "unicast",
        VOCABULARY,
        RIGID,
        AXIOMS,
        initial,
        transitions(basis),
        INVARIANT,
        PROPERTIES,
    )
