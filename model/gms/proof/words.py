"""The vocabulary of GMS's proof: variables of `spec/Gms.tla`, and the contents of messages.

`theory.py` lists what the proof keeps, drops and over-approximates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from raincheck.model.proof.logic import And, Expr, If, Not, World
from raincheck.model.proof.vocabulary import Symbol, symbols

RIGID: Final = symbols("""
    admitted:   process -> number           # the number of the view that admits it,
    admitter:   process -> process          # and who decided that
    rank:       process -> number           # the order of all views: who comes first
    first:      -> group                    # FirstView
    number:     group -> number             # Counter(v)
    maker:      group -> process            # v.id[2]
    base:       group -> group              # the view on which it was decided
    member:     group process -> bool
    requester:  change -> process
    attempt:    change -> number
    of:         change -> group             # the requester's view
    part:       change process -> bool      # who takes part, as PREPARE said
    said_view:  change process -> group     # what is going to be answered
    said_holds: change process -> bool
    said_held:  change process -> group
    proposal:   change -> group             # what is going to be proposed,
    survivor:   change process -> bool      # and to whom
""")
"""Symbols that never change, or are foretold."""

SPEC: Final = symbols("""
    running:    process -> bool
    view:       process -> group
    holds:      process -> bool             # held[n] # <<>>
    held:       process -> group
    bound:      process -> bool             # promised[n] # Nobody
    promised:   process -> process
    gone:       process process -> bool
    phase:      process -> number
    change:     process -> change           # what asked[n] and proposal[n] belong to
""")
"""The variables of the spec."""

GHOST: Final = symbols("""
    dead:       process -> bool             # has ended, or takes no JOIN_RSP of its view any more
    led:        process -> bool             # has begun a change
    began:      change -> bool
    got:        change process -> bool      # PREPARE of it, or of a later one, was taken up
    answered:   change process -> bool
    proposed:   change -> bool              # NEW_VIEW was sent
    acked:      process number -> bool      # VIEW_ACK of that number was sent
    sent:       change -> bool              # INSTALL was sent
    responded:  group -> bool               # JOIN_RSP was sent
    made:       group -> bool
    installed:  group -> bool               # by anybody, ever
    step:       group group -> bool         # anybody went from this view to that one
    top:        -> group                    # the last view that anybody has installed
    choice:     -> group                    # the last view that anybody has decided
""")
"""Every message that was ever sent, and its effects."""

VOCABULARY: Final[Mapping[str, Symbol]] = {**SPEC, **GHOST}

IDLE, FLUSHING, INSTALLING, FINISHING = range(4)


@dataclass(frozen=True, slots=True)
class Basis:
    """The assumptions and repairs that SingleSequenceOfViews rests on."""

    accurate_suspicion: bool = True
    held: bool = True
    view_acks: bool = True
    takeover: bool = True


WITHOUT: Final = {
    "AccurateSuspicion": "accurate_suspicion",
    "InstallWhen": "held",
    "ViewAcks": "view_acks",
    "Takeover": "takeover",
}
"""The spec's constants, by the fields of Basis. Without InstallWhen, the leader installs last."""


def joins(s: World, g: Expr, p: Expr) -> Expr:
    """p is one of the view's joiners."""
    return And(s.member(g, p), s.admitted(p) == s.number(g))


def same_id(s: World, g: Expr, h: Expr) -> Expr:
    """v.id = w.id"""
    return And(s.number(g) == s.number(h), s.maker(g) == s.maker(h))


def behind(s: World, p: Expr) -> Expr:
    """p has not installed the last view."""
    return s.view(p) != s.top()


def ahead(s: World, p: Expr) -> Expr:
    """The views that p may install next."""
    return If(behind(s, p), s.top(), s.choice())


def knows(s: World, p: Expr, r: Expr) -> Expr:
    """p does not consider r gone, and has a view that contains r."""
    held = And(s.holds(p), s.member(s.held(p), r))
    return And(Not(s.gone(p, r)), Not(And(Not(s.member(s.view(p), r)), Not(held))))


def heeds(s: World, p: Expr, c: Expr) -> Expr:
    """p accepts NEW_VIEW and INSTALL of that change."""
    return And(
        s.running(p),
        s.proposed(c),
        s.survivor(c, p),
        s.bound(p),
        s.promised(p) == s.requester(c),
    )
