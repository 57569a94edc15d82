"""The vocabulary of PBCAST's proof: variables of `spec/Pbcast.tla`, and a history.

`theory.py` lists what the proof keeps, drops and over-approximates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from raincheck.model.proof.logic import Expr, Function, If
from raincheck.model.proof.vocabulary import Symbol, symbols

RIGID: Final = symbols("""
    founder:   process -> bool
    lag:       process -> number
    of_view:   copy -> view
    seen:      copy process -> bool
    digest:    copy process -> number   # what its origin has delivered
    lowest:    copy process -> number
""")
"""Symbols that never change. A copy is what a gossip says: its view, its seen list, its vectors."""

VOCABULARY: Final[Mapping[str, Symbol]] = symbols("""
    running:   process -> bool
    view:      process -> view             # 0 before it has installed one
    last:      -> view                     # Len(views)
    member:    view process -> bool
    delivered: process process -> number   # of whom, and whose messages
    purged:    process process -> number
    known:     copy -> bool
    joined:    process -> view
    origin:    process view -> process
""")
"""The variables of the spec, and the history: every copy that was ever sent or put into a cache;
the view with which a process was admitted, 0 for none; and the origin of the messages with which it
began. `origin(q, v)` is the member of view v from whose digest, promised in v or later and passed
on, the digest of q descends. From q's first view on, that is q itself.
"""


@dataclass(frozen=True, slots=True)
class Basis:
    """The repairs and assumptions on which OnlyStablePurged rests."""

    gathers: bool = True
    view_check: bool = True
    cut_of_a_member: bool = True


WITHOUT: Final[Mapping[str, str]] = {
    "Gathers": "gathers",
    "ViewCheck": "view_check",
    "CutOfAMember": "cut_of_a_member",
}
"""The repairs and assumptions, by their names in the spec and in the catalog."""


def put_row(function: Function, key: Expr, row: Callable[..., Expr]) -> Function:
    """Return the function with another row of values at one process."""
    return lambda n, *rest: If(n == key, row(*rest), function(n, *rest))
