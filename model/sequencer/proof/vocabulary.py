"""The vocabulary of SEQUENCER's proof: the variables of `spec/Sequencer.tla` as functions.

`theory.py` lists what the proof keeps, drops and over-approximates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from raincheck.model.proof.logic import And, Expr, Or, World
from raincheck.model.proof.vocabulary import Symbol, symbols
from raincheck.model.sequencer.handlers import Rules

RIGID: Final = symbols("""
    node:        process -> node
    incarnation: process -> number
    founder:     process -> bool
    stranger:    node -> bool
""")
"""Symbols that never change. A process is an address of the spec: a node and one of its lives."""

SPEC: Final = symbols("""
    status:        process -> number
    view:          process -> number
    seqno:         process -> number
    said:          process -> number
    forward_table: process seqno -> bool
    resend:        process seqno -> bool
    received:      process process -> number          # receivedTable; 0 where there is no entry
    early:         process process seqno view -> bool # the keeper; sender, seqno, view
    heard:         process -> number                  # Len(delivered) + Len(held)
    heard_from:    process index -> process           # delivered[index].message.from
    heard_seqno:   process index -> number
    heard_view:    process index -> number
    heard_at:      process index -> number            # held[index].place, and where it was before
    released:      process -> number                  # how much of that is delivered, not held
    told:          process -> number
    acked:         process process -> number          # heard, at the coordinator; 0 if not at all
    announced:     process -> number
    forwards:      node process seqno view process -> bool # source; sender, seqno, view; to whom
    length:        process -> number                  # Len(stream)
    data_from:     process place -> process           # stream[place].message.from
    data_seqno:    process place -> number
    data_view:     process place -> number
    position:      process process -> number          # of the reader in the other's stream
    answered:      process -> bool                    # joinRsp is not empty
    answer_view:   process -> number
    answer_table:  process process -> number
    digest:        process process -> number
    last_view:     -> number                          # Len(views)
    member:        view process -> bool
    coordinator:   view -> process
    joiner:        view process -> bool
""")
"""The variables of the spec."""

OF_SAFE: Final = ("heard_at", "released", "told", "acked", "announced")
"""The variables of safe delivery; with agreed delivery nothing is said of them."""

GHOST: Final = symbols("""
    base:       process -> number              # what its node had said before, or made up
    sent:       process -> number              # how many messages the process ever sent
    at:         process -> number              # how far it has read the stream of its view
    first:      view -> number                 # where the view's part of its stream begins
    final:      view -> number                 # where it ends, as far as is known
    order_from: view place -> process          # what was multicast there, for ever
    order_seqno: view place -> number
    fresh:      view place -> bool             # nobody's duplicate
    top:        view place process -> number   # a reader's receivedTable at this place
    index_of:   process view place -> number   # and back
    latest:     process process -> number      # the last index at which that sender was heard
    before:     process index -> number        # `latest` of its sender when it was delivered
""")
"""History variables: actions write them, no guard reads them, so they restrict nothing."""

VOCABULARY: Final[Mapping[str, Symbol]] = {**SPEC, **GHOST}

UNBORN, JOINING, MEMBER, LEAVING, LEFT, CRASHED, REPLACED = range(7)
STATUS: Final = ("unborn", "joining", "member", "leaving", "left", "crashed", "replaced")
"""The spec's values, and the status of a life before it begins and after its node has come back."""


@dataclass(frozen=True, slots=True)
class Basis:
    """The basis of a proof: the assumptions about the layers below, and the repairs."""

    virtual_synchrony: bool = True
    rules: Rules = field(default_factory=Rules)
    true_sources: bool = True
    true_contents: bool = True


REPAIRS: Final[Mapping[str, tuple[str, bool | str]]] = {
    "ViewTag": ("view_tag", False),
    "HoldSends": ("hold_sends", False),
    "ResendAlways": ("resend_always", False),
    "OwnTable": ("own_table", False),
    "ExactNext": ("exact_next", False),
    "JoinPolicy": ("join_policy", "one"),
    "Incarnations": ("incarnations", False),
    "PruneTable": ("prune_table", False),
    "DrainOnLeave": ("drain_on_leave", False),
    "FromMembers": ("from_members", False),
}
"""The spec's constants, each with its name in the model and its value when it is undone."""

ASSUMPTIONS: Final[Mapping[str, str]] = {
    "VirtualSynchrony": "virtual_synchrony",
    "TrueSources": "true_sources",
    "TrueContents": "true_contents",
}
"""The spec's assumptions, each with its name in a basis."""

WITHOUT: Final = (*ASSUMPTIONS, *REPAIRS)
"""The parts that a basis can do without, by the spec's names."""


def basis_without(names: Iterable[str]) -> Basis:
    """Return the basis without an assumption or repairs, by the spec's names; KeyError if none."""
    names = list(names)
    weakened = {ASSUMPTIONS[name]: False for name in names if name in ASSUMPTIONS}
    undone = dict(REPAIRS[name] for name in names if name not in ASSUMPTIONS)
    return Basis(rules=replace(Rules(), **undone), **weakened)  # type: ignore[arg-type]


def running(s: World, p: Expr) -> Expr:
    """Running(p) of the spec; also Alive(p), since a process is one life."""
    return Or(s.status(p) == MEMBER, s.status(p) == LEAVING)


def ended(s: World, p: Expr) -> Expr:
    """The process takes no more steps, in any of its lives."""
    return s.status(p) >= LEFT


def present(s: World, p: Expr) -> Expr:
    """The process is the present life of its node."""
    return And(s.status(p) >= JOINING, s.status(p) <= CRASHED)


def is_coordinator(s: World, p: Expr) -> Expr:
    """IsCoordinator(p) of the spec."""
    return s.coordinator(s.view(p)) == p


def in_part(s: World, v: Expr, i: Expr) -> Expr:
    """Place i was multicast in view v and was not lost with its coordinator."""
    return And(v >= 1, v <= s.last_view(), s.first(v) < i, i <= s.final(v))


def is_heard(s: World, p: Expr, j: Expr) -> Expr:
    """p has delivered a j-th message."""
    return And(j >= 1, j <= s.heard(p))


def is_released(s: World, p: Expr, j: Expr) -> Expr:
    """p has delivered its j-th message."""
    return And(j >= 1, j <= s.released(p))


def known(s: World, v: Expr) -> Expr:
    """v is the number of a view that has been decided."""
    return And(v >= 1, v <= s.last_view())
