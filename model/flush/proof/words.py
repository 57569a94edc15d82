"""The vocabulary of FLUSH's proof: variables of `spec/Flush.tla`, and the contents of messages.

`theory.py` lists what the proof keeps, drops and over-approximates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from raincheck.model.proof.logic import And, Expr, Not, World
from raincheck.model.proof.vocabulary import Symbol, symbols

RIGID: Final = symbols("""
    rank:      process -> number              # the place in the first view
    requester: flush -> process
    attempt:   flush -> number
    most:      flush process -> place         # what a comparison of the digests will find,
    holder:    flush process -> process       # and who has it
""")
"""Symbols that never change, or are foretold: a flush's digests are compared once."""

SPEC: Final = symbols("""
    running:   process -> bool
    view:      process -> view
    latch:     process -> bool
    blocked:   process -> number
    taking:    process -> bool                # flush[p] # NoFlush
    flush:     process -> flush
    suspects:  process process -> bool
    frozen:    process process -> bool
    fetching:  process -> bool                # fetching[p] # {}
    length:    process -> place               # Len(stream[p])
    position:  process process -> place
    cut:       process view process -> place  # cuts[p][v][c]
    sent_in:   process place -> view          # stream[p][i].view
    last:      -> view                        # Len(views)
    member:    view process -> bool
    active:    flush -> bool                  # asked[requester] is this one
    suspended: flush -> bool
    compared:  flush -> bool                  # its target is made
""")
"""The variables of the spec."""

GHOST: Final = symbols("""
    began:     flush -> bool
    since:     flush -> view                  # Len(views) when it began
    from_view: flush -> view                  # the view in which its requester was
    part:      flush process -> bool          # who takes part, as START said
    got:       flush process -> bool          # START of it, or of a later one, was taken up
    done:      flush process -> bool          # FLUSH_COMPLETED was sent
    digest:    flush process process -> place # what that said
    has_all:   flush process -> bool          # RECONCILED was sent
    stopped:   flush -> bool                  # STOP was sent
    ender:     view -> flush                  # the flush in which the view after it was decided
    ends:      view process -> place          # what that found of each stream
""")
"""Every message that was ever sent, and its effects."""

VOCABULARY: Final[Mapping[str, Symbol]] = {**SPEC, **GHOST}

NO, CALLING, YES = range(3)


@dataclass(frozen=True, slots=True)
class Basis:
    """The assumptions and repairs that VirtualSynchrony rests on."""

    accurate_suspicions: bool = True
    acks_before_resume: bool = True
    reconcile: bool = True
    number_at_latch: bool = True
    flush_ids: bool = True
    one_queue: bool = True
    freeze: bool = True
    restart: bool = True
    from_members: bool = True


WITHOUT: Final = {
    "AccurateSuspicions": "accurate_suspicions",
    "AcksBeforeResume": "acks_before_resume",
    "Reconcile": "reconcile",
    "NumberAtLatch": "number_at_latch",
    "FlushIds": "flush_ids",
    "OneQueue": "one_queue",
    "Freeze": "freeze",
    "Restart": "restart",
    "FromMembers": "from_members",
}
"""The spec's constants, by the fields of Basis."""


def reads(s: World, p: Expr, c: Expr) -> Expr:
    """p reads the stream of c: c is in p's view."""
    return s.member(s.view(p), c)


def live(s: World, f: Expr) -> Expr:
    """The flush is current, and its requester runs."""
    return And(s.began(f), s.active(f), s.running(s.requester(f)))


def pending(s: World, p: Expr) -> Expr:
    """p has yet to install the last view."""
    return And(s.running(p), s.view(p) < s.last())


def outside(s: World, f: Expr, p: Expr) -> Expr:
    """p takes no part in the flush."""
    return Not(s.part(f, p))
