"""FLUSH proved for any number of members, multicasts, flushes, views and crashes.

`theory()` is `spec/Flush.tla` in its first design, repaired, in first-order logic. Its actions have
the spec's names; tests/model/test_flush_inductive.py ties them to runs of the model.

The theory differs from the spec in these points, none of which excludes a run of the spec:

- Messages are remembered, not consumed. A message may arrive at any time after it was sent, and as
  often as it likes; the receiver's guards decide whether it counts. Only START is handled once, and
  not after a later one of the same requester, as FifoUnicast guarantees. No other message needs
  that guarantee.
- The digests of a flush are compared once. Rigid functions foretell the result (`most`, `holder`):
  a run in which they are wrong goes no further, but in every run of the spec they are right.
- A requester that suspects a participant gives its flush up and asks again in a separate step;
  giving up is possible at any time. RECONCILE may reach any process, even one that lacks nothing.
- The next view may be decided by any requester that has suspended all participants, whether it
  leads or not; and it may resume although a member that it left out is still in the view.
- block() and the policy MayOpenLatch are left out (only STOP opens a latch), and PassLatch is one
  step with Multicast. The changed design is left to TLC.

Every run of the repaired spec is a run here, with the messages as a history. Properties of all
reachable states here therefore hold in all reachable states of the spec.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from raincheck.model.proof.induction import Conjunct, Property, Theory
from raincheck.model.proof.logic import And, Expr, Function, Implies, World
from raincheck.model.proof.vocabulary import nothing

from .actions import transitions
from .invariant import INVARIANT
from .words import NO, RIGID, VOCABULARY, WITHOUT, YES, Basis, reads

__all__ = ["WITHOUT", "Basis", "basis_without", "theory"]

AXIOMS: Final = (
    Conjunct(
        "RankIsUnique",
        "No two members have the same place in the first view.",
        ("process", "process"),
        lambda s, a, b: Implies(s.rank(a) == s.rank(b), a == b),
        lambda s, a, b: [(s.rank(a), s.rank(b))],
    ),
)


def basis_without(names: Iterable[str]) -> Basis:
    """Return the basis without these assumptions or repairs of the spec; KeyError if unknown."""
    return replace(Basis(), **{WITHOUT[name]: False for name in names})


def survived(s: World, p: Expr, v: Expr) -> Expr:
    """p was in view v and has gone on to the next one."""
    return And(s.running(p), v >= 1, v < s.view(p))


def _virtual_synchrony(s: World) -> Expr:
    return s.forall(
        ["process", "process", "view", "process"],
        lambda p, q, v, c: Implies(
            And(survived(s, p, v), survived(s, q, v), s.member(v, c)),
            s.cut(p, v, c) == s.cut(q, v, c),
        ),
    )


def _same_view(s: World) -> Expr:
    """The first view at whose end n had number i of c is that of sending, or the present view."""

    def body(n: Expr, c: Expr, i: Expr, w: Expr) -> Expr:
        v = s.sent_in(c, i)
        return Implies(
            And(s.running(n), i >= 1, i <= s.position(n, c)),
            And(
                v <= s.view(n),
                Implies(v < s.view(n), i <= s.cut(n, v, c)),
                Implies(And(w >= 1, w < v, s.member(w, c)), i > s.cut(n, w, c)),
            ),
        )

    return s.forall(["process", "process", "place", "view"], body)


def _nothing_lost(s: World) -> Expr:
    return s.forall(
        ["process", "process", "view", "place"],
        lambda p, q, v, i: Implies(
            And(
                survived(s, p, v),
                survived(s, q, v),
                i >= 1,
                i <= s.length(p),
                s.sent_in(p, i) <= v,
            ),
            i <= s.cut(q, v, p),
        ),
    )


def _latched(s: World) -> Expr:
    return s.forall(
        ["process"],
        lambda p: Implies(And(s.running(p), s.view(p) < s.last()), s.latch(p)),
    )


def _still(s: World) -> Expr:
    def here(f: Expr, p: Expr) -> Expr:
        changing = And(s.began(f), s.active(f), s.running(s.requester(f)), s.suspended(f))
        return And(changing, s.part(f, p), s.running(p))

    def stands(f: Expr, p: Expr) -> Expr:
        return And(s.latch(p), s.taking(p), s.flush(p) == f, s.blocked(p) == YES)

    return And(
        s.forall(["flush", "process"], lambda f, p: Implies(here(f, p), stands(f, p))),
        s.forall(
            ["flush", "process", "process", "process"],
            lambda f, p, q, c: Implies(
                And(here(f, p), here(f, q), reads(s, p, c), reads(s, q, c)),
                s.position(p, c) == s.position(q, c),
            ),
        ),
    )


PROPERTIES: Final = (
    Property(
        "VirtualSynchrony",
        "The survivors of a view have received the same multicasts before they install the next.",
        _virtual_synchrony,
    ),
    Property(
        "SameView",
        "A multicast is received in the view in which it was sent.",
        _same_view,
    ),
    Property(
        "NothingLost",
        "A survivor of a view has received in it all that the other survivors sent.",
        _nothing_lost,
    ),
    Property(
        "LatchedUntilInstalled",
        "Nobody multicasts from the decision of a view until its installation.",
        _latched,
    ),
    Property(
        "Still",
        "While a view is being changed, nobody multicasts and all have received the same"
        " multicasts.",
        _still,
    ),
)


def initial(_: World) -> tuple[Expr, Mapping[str, Function]]:
    """Return Init of the spec: all are in the first view, and nothing has been sent."""
    values: dict[str, Function] = {
        name: nothing(symbol.result)
        for name, symbol in VOCABULARY.items()
        if symbol.result not in ("process", "flush")
    }
    values |= {
        "running": lambda _: True,
        "view": lambda _: 1,
        "blocked": lambda _: NO,
        "last": lambda: 1,
        "member": lambda v, _: v == 1,
    }
    return True, values


@cache  # a theory's transitions are compiled once, too, for all that follow runs with it
def theory(basis: Basis | None = None) -> Theory:
    """Return FLUSH over the given basis, by default with all assumptions and repairs."""
    return Theory(
        "flush",
        VOCABULARY,
        RIGID,
        AXIOMS,
        initial,
        transitions(basis or Basis()),
        INVARIANT,
        PROPERTIES,
        (),
        {"blocked": 3},
    )
