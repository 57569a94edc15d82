"""The vocabulary of Raincore's proof: variables of `spec/Raincore.tla`, and what was ever sent.

A *proposal* is a list of members and the proposals it came from: every change of a list makes one.
Proposals form a tree with a rigid shape; the set of those already made changes. `theory.py` lists
what the proof keeps, drops and over-approximates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from raincheck.model.proof.logic import And, Expr, Not, Or, World
from raincheck.model.proof.vocabulary import Symbol, symbols

RIGID: Final = symbols("""
    owner:    epoch -> process                # <<n, rank>>: whose epochs these are
    anc:      proposal proposal -> bool       # the first is the second, or one it came from
    parent:   proposal -> proposal
    depth:    proposal -> index               # the globalViewNumber that goes with it
    member:   proposal process -> bool        # its list
    quorum:   proposal proposal -> bool       # the first's list has a majority of the second's
    meet:     proposal proposal proposal -> process
    root:     -> proposal                     # what all founders know of
    start:    -> proposal                     # the list on the first token: root, or its only child
    founder:  -> process                      # who holds the first token
    first_seq: process -> seqno               # of the founders' copies of it
    calm:     -> bool                         # truthful reports, no partition, crash-stop, no leave
""")
"""Symbols that never change."""

SPEC: Final = symbols("""
    down:     process -> bool                 # up # "up"
    eating:   process -> bool
    sure:     process -> bool                 # viewState # "chaos"
    claiming: process -> bool                 # phase = "claim"
    wanted:   process -> epoch
    promised: process -> epoch
    has:      process -> bool                 # lastToken # NoToken
    epoch:    process -> epoch                # lastToken.epoch
    seq:      process -> seqno                # lastToken.seq
    copy:     process -> proposal             # lastToken.nodelist, as a proposal
    base:     process -> proposal             # lastToken.settled
    entry:    process index proposal epoch -> bool  # globalView: ever, and where it was settled
""")
"""The variables of the spec."""

GHOST: Final = symbols("""
    since:    process -> epoch                # in which `base` was settled
    assured:  process -> epoch                # in which `copy` was settled, of who is sure
    made:     proposal -> bool
    begun:    epoch -> bool
    first:    epoch -> proposal               # the list with which it began,
    ballot:   epoch -> proposal               # and who voted for that
    last:     epoch -> proposal               # the list on its token now
    top:      epoch -> seqno                  # the highest number of it
    at:       epoch seqno -> proposal         # the list that goes with a number
    claimed:  epoch -> bool                   # a 911 with phase "claim" was sent; of its copy:
    source:   epoch -> epoch                  # the epoch,
    place:    epoch -> seqno                  # the seq,
    found:    epoch -> proposal               # the list,
    anchor:   epoch -> proposal               # what is settled,
    anchored: epoch -> epoch                  # and where that was
    granted:  epoch process -> bool
    on:       proposal epoch -> bool          # the epoch's token has had that list,
    held:     proposal epoch process -> bool  # while that member held it
    settled:  proposal epoch -> bool          # all members of the list have
    votes:    proposal epoch -> proposal      # who voted for it when the token first had it
    low:      proposal epoch -> proposal      # what was settled on the token then,
    lowest:   proposal epoch -> epoch         # and where that was
    witness:  proposal epoch -> process
    sent:     epoch seqno -> bool             # a token with that number was sent
    to:       epoch seqno -> process
    carried:  epoch seqno -> proposal         # what was settled on it,
    carrying: epoch seqno -> epoch            # and where
    ate:      epoch seqno process -> bool
""")
"""Every message that was ever sent, every list that a token ever had, and its holders."""

VOCABULARY: Final[Mapping[str, Symbol]] = {**SPEC, **GHOST}


@dataclass(frozen=True, slots=True)
class Basis:
    """The repairs, and the assumptions on the network, that safety rests on."""

    holder_vetoes: bool = True
    promises: bool = True
    own_promise: bool = True
    fresh_attempts: bool = True
    failure_claims: bool = True
    majority: bool = True
    changes_by_majority: bool = True
    bound_index: bool = True
    one_founder: bool = True
    incarnations: bool = True
    seen_by_all: bool = True
    from_members: bool = True
    true_sources: bool = True
    datagrams_unaltered: bool = True


WITHOUT: Final = {
    "HolderVetoes": "holder_vetoes",
    "Promises": "promises",
    "OwnPromise": "own_promise",
    "FreshAttempts": "fresh_attempts",
    "FailureClaims": "failure_claims",
    "Majority": "majority",
    "ChangesByMajority": "changes_by_majority",
    "BoundIndex": "bound_index",
    "OneFounder": "one_founder",
    "Incarnations": "incarnations",
    "SeenByAll": "seen_by_all",
    "FromMembers": "from_members",
    "TrueSources": "true_sources",
    "DatagramsUnaltered": "datagrams_unaltered",
}
"""The spec's constants, by the fields of Basis. There OwnPromise is a part of Promises, and
ChangesByMajority one of Majority.
"""


def reached(s: World, n: Expr, e: Expr, i: Expr) -> Expr:
    """The number of n's copy is at least (e, i)."""
    return Or(s.epoch(n) > e, And(s.epoch(n) == e, s.seq(n) >= i))


def between(s: World, low: Expr, w: Expr, high: Expr) -> Expr:
    """w is on the line from one proposal to the other."""
    return And(s.anc(low, w), s.anc(w, high))


def missed(s: World, p: Expr, e: Expr) -> Expr:
    """The witness: a member that did not hold p in e and never will."""
    w = s.witness(p, e)
    return And(s.member(p, w), Not(s.held(p, e, w)), s.promised(w) > e)


def follows(s: World, n: Expr, p: Expr) -> Expr:
    """The token's list p is the one of n's copy: the globalViewNumber is the same."""
    return s.depth(p) == s.depth(s.copy(n))
