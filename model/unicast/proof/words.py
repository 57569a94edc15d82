"""The vocabulary of UNICAST's proof: variables of `spec/Unicast.tla` for one pair of processes.

`theory.py` lists what the proof keeps, drops and over-approximates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from raincheck.model.proof.logic import And, Expr, If, World
from raincheck.model.proof.vocabulary import Symbol, symbols
from raincheck.model.unicast.handlers import Rules

RIGID: Final = symbols("""
    window: -> number
""")
"""Symbols that never change."""

SPEC: Final = symbols("""
    life:         -> number                           # of the sender's process
    connections:  -> number                           # the latest one begun to this receiver
    sending:      -> bool                             # senders has an entry, with these fields
    connection:   -> number
    seqno:        -> number
    acked:        -> number
    out:          -> number
    confirmed:    -> number                           # the sender's `consumed`
    receiving:    -> bool                             # receivers has an entry, with these fields
    from_here:    -> number                           # the receiver's `connection`
    arrived:      -> number
    consumed:     -> number
    buffered:     seqno -> bool
    buffer_life:  seqno -> number                     # what the message says of itself
    buffer_talk:  seqno -> number
    buffer_number: seqno -> number
    closed:       -> number                           # 0: none
    heard:        -> number                           # how many messages were consumed
    heard_life:   index -> number
    heard_talk:   index -> number
    heard_number: index -> number
    data:         number seqno number number number -> bool # connection, seqno; life, talk, number
    ack:          number seqno seqno -> bool          # connection, arrived, consumed
""")
"""The variables of the spec. A datagram that was ever sent may always arrive."""

GHOST: Final = symbols("""
    place: number seqno -> index                      # where that message was heard
""")
"""A history variable: actions write it, no guard reads it."""

VOCABULARY: Final[Mapping[str, Symbol]] = {**SPEC, **GHOST}


@dataclass(frozen=True, slots=True)
class Basis:
    """The basis of a proof: the repairs."""

    rules: Rules = field(default_factory=Rules)


_UNDONE: Final[Mapping[str, tuple[str, bool | str]]] = {
    "Incarnations": ("incarnations", False),
    "ConnectionIds": ("connection_ids", "none"),
    "NewerConnections": ("connection_ids", "different"),
    "AckConnection": ("ack_connection", False),
    "RememberClosed": ("remember_closed", False),
    "Duplicates": ("duplicates", "highest"),
    "AckDuplicates": ("ack_duplicates", False),
    "Timer": ("timer", False),
    "Probe": ("probe", False),
    "ConsumedWindow": ("consumed_window", False),
}

WITHOUT: Final = tuple(_UNDONE)
"""The spec's constants; NewerConnections is ConnectionIds = "different"."""


def basis_without(names: Iterable[str]) -> Basis:
    """Return the basis without some repairs, by the spec's names; KeyError if a name is unknown."""
    undone = dict(_UNDONE[name] for name in names)
    return Basis(replace(Rules(), **undone))  # type: ignore[arg-type]


def least(x: Expr, y: Expr) -> Expr:
    """Min of the spec."""
    return If(x < y, x, y)


def most(x: Expr, y: Expr) -> Expr:
    """Max of the spec."""
    return If(x > y, x, y)


def is_heard(s: World, i: Expr) -> Expr:
    """An i-th message has been consumed."""
    return And(i >= 1, i <= s.heard())


def same_talk(s: World, i: Expr, j: Expr) -> Expr:
    """The i-th and the j-th message consumed belong to one conversation."""
    return And(s.heard_life(i) == s.heard_life(j), s.heard_talk(i) == s.heard_talk(j))
