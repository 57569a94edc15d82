"""STATE TRANSFER proved for any number of members, messages, chunks and transfers.

`theory()` is the part of `spec/StateTransfer.tla` on which SameCut rests, in first-order logic. Its
actions have the spec's names; tests/model/test_state_transfer_inductive.py ties them to the model.

The theory differs from the spec in these points, each of which allows more:

- FLUSH is left out: any process may send, and anything may be delivered, at any time. So SameCut
  rests neither on Flushed nor on LatchStays.
- UNICAST promises nothing: a chunk that was ever sent may arrive at any time, as often as it likes,
  in any order; a damaged one, with arbitrary contents, may arrive at any time as well. So SameCut
  does not rest on FifoUnicast.
- A provider may send any chunk of its state to any process at any time, under any number: requests,
  credit, the leader's queue and its waiting are left out.
- GO may arrive at any time, from any process; a joiner then begins wherever it says. A requester
  may ask any provider next, and may give up whenever it may ask another one.

Each state of the spec has a state here, with the chunks ever sent as a history. Properties of all
reachable states here therefore hold in all reachable states of the spec. The assumption OneSequence
is built in: a message is a number, and so is a cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from raincheck.model.proof.induction import Conjunct, Property, Theory
from raincheck.model.proof.logic import And, Expr, Function, Implies, Not, Or, World
from raincheck.model.proof.vocabulary import nothing

from .actions import transitions
from .words import FETCHING, IDLE, PHASES, RIGID, SETTING, VOCABULARY, WITHOUT, Basis, active

__all__ = ["WITHOUT", "Basis", "basis_without", "theory"]

AXIOMS: Final = (
    Conjunct("StatesHaveParts", "A state has at least one chunk.", (), lambda s: s.total() >= 1),
)


def basis_without(names: Iterable[str]) -> Basis:
    """Return the basis without some repairs, by the spec's names; KeyError if a name is unknown."""
    return replace(Basis(), **{WITHOUT[name]: False for name in names})


INVARIANT: Final = (
    Conjunct(
        "ChunksTell",
        "The number of messages in a sound chunk is that of its cut.",
        ("process", "process", "number", "index", "place", "place"),
        lambda s, p, r, t, k, c, a: Implies(s.chunk(p, r, t, k, c, a), And(a == c, k >= 1)),
        lambda s, p, r, t, k, c, a: [s.chunk(p, r, t, k, c, a)],
    ),
    Conjunct(
        "Counted",
        "A requester that is fetching has handed up all chunks before the next one.",
        ("process",),
        lambda s, n: Implies(
            s.phase(n) == FETCHING,
            And(s.handed(n) + 1 == s.next(n), s.handed(n) >= 0, s.handed(n) < s.total()),
        ),
        lambda s, n: [s.phase(n)],
    ),
    Conjunct(
        "Whole",
        "A requester that sets its state was handed all of it.",
        ("process",),
        lambda s, n: Implies(s.phase(n) == SETTING, s.handed(n) == s.total()),
        lambda s, n: [s.phase(n)],
    ),
    Conjunct(
        "HandedRight",
        "A requester was handed sound chunks of its provider and its cut, in order.",
        ("process", "index"),
        lambda s, n, i: Implies(
            And(active(s, n), i >= 1, i <= s.handed(n)),
            And(
                s.handed_by(n, i) == s.provider(n),
                s.handed_number(n, i) == i,
                s.handed_at(n, i) == s.cut(n),
                s.handed_sound(n, i),
            ),
        ),
        lambda s, n, i: [
            s.handed_by(n, i),
            s.handed_number(n, i),
            s.handed_at(n, i),
            s.handed_sound(n, i),
        ],
    ),
    Conjunct(
        "Held",
        "A requester delivers nothing after its cut until its state is set.",
        ("process",),
        lambda s, n: Implies(active(s, n), And(s.joined(n), s.position(n) == s.cut(n))),
        lambda s, n: [s.phase(n)],
    ),
    Conjunct(
        "Applied",
        "An application has applied what was in its state, and no more than was delivered.",
        ("process",),
        lambda s, n: And(s.base(n) >= 0, s.base(n) <= s.applied(n), s.applied(n) <= s.position(n)),
        lambda s, n: [s.applied(n), s.base(n)],
    ),
    Conjunct(
        "StateWhole",
        "A state that is set is complete, and its owner is a member.",
        ("process",),
        lambda s, n: And(
            s.state(n) >= 0,
            Implies(s.state(n) != 0, s.state(n) == s.total()),
            Implies(Not(s.joined(n)), And(s.state(n) == 0, s.base(n) == 0)),
        ),
        lambda s, n: [s.state(n), s.base(n)],
    ),
    Conjunct(
        "StateRight",
        "A state that is set consists of sound chunks of one provider and one cut, in order.",
        ("process", "index"),
        lambda s, n, i: Implies(
            And(i >= 1, i <= s.state(n)),
            And(
                s.state_by(n, i) == s.owner(n),
                s.state_number(n, i) == i,
                s.state_at(n, i) == s.base(n),
                s.state_sound(n, i),
            ),
        ),
        lambda s, n, i: [
            s.state_by(n, i),
            s.state_number(n, i),
            s.state_at(n, i),
            s.state_sound(n, i),
        ],
    ),
)


def _same_cut(s: World) -> Expr:
    """Every applied message is either in each chunk or was applied after it, never both."""

    def within(n: Expr, i: Expr, m: Expr) -> Expr:
        return And(m >= 1, m <= s.state_at(n, i))

    def after(n: Expr, m: Expr) -> Expr:
        return And(s.base(n) < m, m <= s.applied(n))

    def once(n: Expr, i: Expr, m: Expr) -> Expr:
        known = And(m >= 1, m <= s.applied(n))
        either = Or(within(n, i, m), after(n, m))
        return Implies(
            And(i >= 1, i <= s.state(n)),
            And(
                Not(And(within(n, i, m), after(n, m))),
                Implies(known, either),
                Implies(either, known),
            ),
        )

    def whole(n: Expr, i: Expr) -> Expr:
        return Implies(
            And(i >= 1, i <= s.state(n)),
            And(
                s.state(n) == s.total(),
                s.state_number(n, i) == i,
                s.state_sound(n, i),
                s.state_by(n, i) == s.state_by(n, 1),
            ),
        )

    return And(
        s.forall(["process", "index", "place"], once),
        s.forall(["process", "index"], whole),
    )


PROPERTIES: Final = (
    Property(
        "SameCut",
        "A state is complete and of one provider, and every message is either in it or applied"
        " after it.",
        _same_cut,
    ),
)


def initial(s: World) -> tuple[Expr, Mapping[str, Function]]:
    """Return Init of the spec: nobody has asked, nothing has been sent."""
    values: dict[str, Function] = {
        name: nothing(symbol.result)
        for name, symbol in VOCABULARY.items()
        if symbol.result in ("number", "bool")
    }
    values["phase"] = lambda _: IDLE
    values["next"] = lambda _: 1
    values["joined"] = lambda n: s.founder(n)
    return True, values


@cache  # a theory's transitions are compiled once, too, for all that follow runs with it
def theory(basis: Basis | None = None) -> Theory:
    """Return state transfer over the given basis, by default with all repairs."""
    return Theory(
        "state_transfer",
        VOCABULARY,
        RIGID,
        AXIOMS,
        initial,
        transitions(basis or Basis()),
        INVARIANT,
        PROPERTIES,
        (),
        {"phase": len(PHASES)},
    )
