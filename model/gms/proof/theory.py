"""GMS proved: one sequence of views, for any number of members, views, changes and crashes.

`theory()` is `spec/Gms.tla` with all repairs, in first-order logic. Its actions have the spec's
names; tests/model/test_gms_inductive.py ties them to runs of the model.

The theory differs from the spec in these points, none of which excludes a run of the spec:

- A process of the theory is one admission: an address, and the view that admits it. For that view,
  a joiner that declines it (NOT_JOINED) has ended, as if it had crashed; if it is admitted again,
  that is another process. So nobody comes back, and one order (`rank`) is that of all views.
- PREPARE to an earlier admission of a member is no step here, because it would be ignored: one of
  the leader that admits the member again arrives before JOIN_RSP (FifoUnicast), and
  NothingFromBefore excludes those of others.
- Messages are remembered, not consumed. A message may arrive at any time after it was sent, and as
  often as it likes. Only PREPARE is handled once, and not after a later one of the same leader, as
  FifoUnicast guarantees. An acknowledgement counts for any leader and any view of that number.
- `gone` is the spec's, and there is no `suspects`: a member considers its suspects gone in the
  steps just before BeginChange. With AccurateSuspicion no suspect is ever heard again. LEAVE,
  NOT_JOINED and JOIN of a later life are such steps too.
- Rigid functions foretell the answers to a PREPARE and the proposal of a change: a run in which
  they are wrong goes no further, but in every run of the spec they are right.
- A change may end without waiting for the second acknowledgement (that a view is installed), on
  which no promise proved here rests. Among the known views of the greatest number the leader may
  take any, and it may propose its own again.
- A member that leaves, or learns that it is out (EXCLUDED, or a view without it), may crash
  instead.
- Streams, digests and latches are left out. IdempotentJoin and Readmit are left to TLC: without the
  first an address can be in a view twice (OncePerView), which the theory cannot express; without
  the second a joiner waits for ever.

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
from .words import RIGID, VOCABULARY, WITHOUT, Basis

__all__ = ["WITHOUT", "Basis", "basis_without", "theory"]

AXIOMS: Final = (
    Conjunct(
        "RankIsUnique",
        "No two members have the same rank.",
        ("process", "process"),
        lambda s, a, b: Implies(s.rank(a) == s.rank(b), a == b),
        lambda s, a, b: [(s.rank(a), s.rank(b))],
    ),
    Conjunct(
        "LaterAreLater",
        "A joiner ranks after all members.",
        ("process", "process"),
        lambda s, a, b: Implies(s.admitted(a) < s.admitted(b), s.rank(a) < s.rank(b)),
        lambda s, a, b: [(s.admitted(a), s.admitted(b)), (s.rank(a), s.rank(b))],
    ),
)


def basis_without(names: Iterable[str]) -> Basis:
    """Return the basis without these assumptions or repairs of the spec; KeyError if unknown."""
    return replace(Basis(), **{WITHOUT[name]: False for name in names})


def _single_sequence(s: World) -> Expr:
    return And(
        s.forall(
            ["group", "group"],
            lambda g, h: Implies(
                And(s.installed(g), s.installed(h), s.number(g) == s.number(h)), g == h
            ),
        ),
        s.forall(
            ["group", "group"],
            lambda g, h: Implies(s.step(g, h), s.number(h) == s.number(g) + 1),
        ),
    )


def _self_inclusion(s: World) -> Expr:
    return s.forall(["process"], lambda p: Implies(s.running(p), s.member(s.view(p), p)))


def _monotone(s: World) -> Expr:
    return s.forall(
        ["group", "group"], lambda g, h: Implies(s.step(g, h), s.number(g) < s.number(h))
    )


def _nobody_is_lost(s: World) -> Expr:
    return s.forall(
        ["process", "process"],
        lambda p, q: Implies(
            And(s.running(p), s.running(q), s.number(s.view(p)) >= s.number(s.view(q))),
            s.member(s.view(p), q),
        ),
    )


PROPERTIES: Final = (
    Property(
        "SingleSequenceOfViews",
        "Installed views have different numbers, and no number is left out.",
        _single_sequence,
    ),
    Property("SelfInclusion", "A member is in its own view.", _self_inclusion),
    Property("Monotone", "The numbers of a member's views grow.", _monotone),
    Property("NobodyIsLost", "No member is left out of a later view.", _nobody_is_lost),
)


def initial(s: World) -> tuple[Expr, Mapping[str, Function]]:
    """Return Init of the spec: the founders have installed the first view; nothing was sent."""
    values: dict[str, Function] = {
        name: nothing(symbol.result)
        for name, symbol in VOCABULARY.items()
        if symbol.result not in ("process", "group", "change")
    }
    values |= {
        "running": lambda p: s.member(s.first(), p),
        "view": lambda _: s.first(),
        "made": lambda g: g == s.first(),
        "installed": lambda g: g == s.first(),
        "top": s.first,
        "choice": s.first,
    }
    founders = s.forall(
        ["process"],
        lambda p: Implies(s.member(s.first(), p), s.admitted(p) == 1),
        lambda p: [s.member(s.first(), p)],
    )
    return And(s.number(s.first()) == 1, founders), values


@cache  # a theory's transitions are compiled once, too, for all that follow runs with it
def theory(basis: Basis | None = None) -> Theory:
    """Return GMS over the given basis, by default with all assumptions and repairs."""
    return Theory(
        "gms",
        VOCABULARY,
        RIGID,
        AXIOMS,
        initial,
        transitions(basis or Basis()),
        INVARIANT,
        PROPERTIES,
        (),
        {"phase": 4},
    )
