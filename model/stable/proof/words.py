"""The vocabulary of STABLE's proof: variables of `spec/Stable.tla`, and a history.

`theory.py` lists what the proof keeps, drops and over-approximates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from raincheck.model.proof.logic import And, Expr, Function, If, Implies, Not, Updates, World, put
from raincheck.model.proof.vocabulary import Symbol, symbols

RIGID: Final = symbols("""
    founder: process -> bool
""")
"""Symbols that never change."""

SPEC: Final = symbols("""
    running:   process -> bool
    view:      process -> view             # 0 before it has installed one
    last:      -> view                     # Len(views)
    member:    view process -> bool        # a \\in Members(views[v])
    delivered: process process -> number   # of whom, and whose messages
    purged:    process process -> number
    voted:     process process -> bool     # not in heardFrom[n]
    lowest:    process process -> number   # vector[n]
    held:      process process -> bool     # in DOMAIN inHand[n]
    in_hand:   process process process -> number
    pending:   process -> bool
    due:       process process -> number   # pending[n][1]
    suspended: process -> bool
    cutting:   process -> bool             # cut[n] # <<>>
    cut:       process process -> number
""")
"""The variables of the spec; voters, and the processes voted about, are processes of one life."""

GHOST: Final = symbols("""
    digest:         digest -> bool
    digest_from:    digest -> process
    digest_view:    digest -> view
    digest_at:      digest process -> number
    stability:      stability -> bool
    stability_view: stability -> view
    stability_at:   stability process -> number
    joined:         process -> view
    origin:         process view -> process
""")
"""The history: every digest and STABILITY ever sent; the view with which a process was admitted, 0
for none; and the origin of the messages with which it began. `origin(q, v)` is the member of view v
from whose digest, taken in v or later and passed on, the digest of q descends. From q's first view
on, that is q itself.
"""

VOCABULARY: Final[Mapping[str, Symbol]] = {**SPEC, **GHOST}


@dataclass(frozen=True, slots=True)
class Basis:
    """The repairs and assumptions on which OnlyStablePurged rests."""

    vote_check: bool = True
    reset_on_view: bool = True
    atomic_vote: bool = True
    suspend_on_join: bool = True
    true_digests: bool = True


WITHOUT: Final[Mapping[str, str]] = {
    "VoteCheck": "vote_check",
    "ResetOnView": "reset_on_view",
    "AtomicVote": "atomic_vote",
    "SuspendOnJoin": "suspend_on_join",
    "TrueDigests": "true_digests",
}
"""The repairs and assumptions, by their names in the spec and in the catalog."""


def all_voted(s: World, n: Expr, besides: Expr) -> Expr:
    """With that vote n has all votes of its view."""
    return s.forall(
        ["process"],
        lambda p: Implies(And(s.member(s.view(n), p), p != besides), s.voted(n, p)),
        lambda p: [s.member(s.view(n), p), s.voted(n, p)],
    )


def put_row(function: Function, key: Expr, row: Callable[..., Expr]) -> Function:
    """Return the function with another row of values at one process."""
    return lambda n, *rest: If(n == key, row(*rest), function(n, *rest))


def fresh(s: World, n: Expr) -> Updates:
    """Return the updates with which n starts counting again."""
    return {
        "voted": put_row(s.voted, n, lambda _: False),
        "held": put_row(s.held, n, lambda _: False),
        "pending": put(s.pending, n, False),
    }


def empty(s: World, n: Expr) -> Expr:
    """n's minimum contains no vote yet."""
    return s.forall(
        ["process"],
        lambda p: And(Not(s.voted(n, p)), Not(s.held(n, p))),
        lambda p: [s.voted(n, p), s.held(n, p)],
    )
