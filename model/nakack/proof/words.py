"""The vocabulary of NAKACK's proof: variables of `spec/Nakack.tla` for the stream of one member.

`theory.py` lists what the proof keeps, drops and over-approximates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from raincheck.model.proof.logic import And, Expr, If, World
from raincheck.model.proof.vocabulary import Symbol, symbols

JOINING: Final = 0
MEMBER: Final = 1
CRASHED: Final = 2


RIGID: Final = symbols("""
    source:  -> process                    # whose stream it is
    founder: process -> bool
""")
"""Symbols that never change."""

SPEC: Final = symbols("""
    status:    process -> number           # JOINING, MEMBER or CRASHED
    view:      process -> view
    decided:   -> view                     # Len(views)
    in_view:   view process -> bool        # members
    cut:       view -> seqno               # of the source's stream, where it is in the view before
    sent:      -> seqno                    # kept when the source crashes
    data:      seqno view -> bool          # datagrams that members ever sent
    forged:    seqno view -> bool          # the same of those that strangers sent
    acks:      process seqno -> bool       # acknowledgements ever sent
    acked:     process -> seqno            # as the source knows
    reads:     process -> bool             # stream has an entry of the source, with these fields
    delivered: process -> seqno
    held:      process seqno -> bool
    tag:       process seqno -> view       # of what is held
    heard:     process -> seqno
    frozen:    process -> bool
    passed:    process -> index            # Len(log)
    passed_seqno: process index -> seqno
    passed_tag:   process index -> view
    passed_in:    process index -> view
""")
"""The variables of the spec. A datagram that was ever sent may always arrive."""

GHOST: Final = symbols("""
    sent_in:   seqno -> view               # when it was multicast
    begin:     process -> seqno            # where the process began to read
""")
"""History variables: actions write them, no guard reads them."""

VOCABULARY: Final[Mapping[str, Symbol]] = {**SPEC, **GHOST}


@dataclass(frozen=True, slots=True)
class Basis:
    """The basis of a proof: the assumptions and repairs that safety could need."""

    virtual_synchrony: bool = True
    view_tag: bool = True
    members_only: bool = True
    digest_means_delivered: bool = True
    freezing: bool = True
    cut_by_arrived: bool = True
    safe_purge: bool = True
    keep_undelivered: bool = True
    from_members: bool = True
    true_sources: bool = True
    datagrams_unaltered: bool = True


_DROPPED: Final[Mapping[str, str]] = {
    "VirtualSynchrony": "virtual_synchrony",
    "ViewTag": "view_tag",
    "MembersOnly": "members_only",
    "DigestMeans": "digest_means_delivered",
    "Freezing": "freezing",
    "CutBy": "cut_by_arrived",
    "SafePurge": "safe_purge",
    "KeepUndelivered": "keep_undelivered",
    "FromMembers": "from_members",
    "TrueSources": "true_sources",
    "DatagramsUnaltered": "datagrams_unaltered",
}

WITHOUT: Final = tuple(_DROPPED)
"""The spec's constants. A variant is replaced by that of the text."""


def basis_without(names: Iterable[str]) -> Basis:
    """Return the basis without some of it, by the spec's names; KeyError if a name is unknown."""
    return replace(Basis(), **dict.fromkeys((_DROPPED[name] for name in names), False))


def running(s: World, p: Expr) -> Expr:
    """Running(p) of the spec."""
    return s.status(p) == MEMBER


def is_passed(s: World, p: Expr, i: Expr) -> Expr:
    """An i-th multicast was passed up at p."""
    return And(i >= 1, i <= s.passed(p))


def has_source(s: World, v: Expr) -> Expr:
    """The source is a member of view v."""
    return s.in_view(v, s.source())


def most(x: Expr, y: Expr) -> Expr:
    """Max of the spec."""
    return If(x > y, x, y)
