"""Order and agreement of TOTAL, proved for any number of members, messages and views.

`theory()` is `spec/Total.tla` in first-order logic, as it is implemented. Its actions have the
spec's names.

It has the safety that is promised (`promises.py`). It differs from the spec in these points, each
of which allows more:

- Messages are remembered, not consumed: a request may come whenever its sender has sent that
  message and been in the view, a broadcast whenever it has its id, an acknowledgement whenever its
  sender has delivered that id or is gone from the view. So nothing is said of what is repeated,
  announced or lost.
- A sequencer that has an acknowledgement forgets what all have acknowledged, or less.
- What FLUSH blocks is blocked only once a member has gone on; the members of all views are given
  from the beginning, and any may be decided once all that run have come to the one before.

A member's forwardTable is what it has sent and not delivered, which the numbers say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from raincheck.model.proof.induction import Conjunct, Theory
from raincheck.model.proof.logic import Expr, Function, If, World
from raincheck.model.proof.vocabulary import nothing

from .actions import transitions
from .invariant import INVARIANT
from .promises import PROPERTIES
from .words import JOINING, MEMBER, RIGID, STATUSES, VOCABULARY, WITHOUT, Basis

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
    for name in ("view", "first", "latest", "expected", "reached"):
        values[name] = founding(1, 0)
    values["next_id"] = lambda n: If(s.sequencer(1) == n, 1, 0)
    return True, values


@cache  # a theory's transitions are compiled once, too, for all that follow runs with it
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
