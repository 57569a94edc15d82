"""The vocabulary of LOCKS' proof: variables of `spec/Locks.tla`, and a history.

`theory.py` lists what the proof keeps, drops and over-approximates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from raincheck.model.proof.logic import And, Expr, If, Not, Or, World
from raincheck.model.proof.vocabulary import Symbol, symbols

RIGID: Final = symbols("""
    changed:      table post -> table                     # Granted(SelectSeq(...) \\o ..., post)
    written:      post -> epoch                           # post.epoch
    parent:       post -> epoch                           # post.parent
    lays:         post -> bool
    stands:       post -> place                           # post.place
    laid:         post -> table                           # post.table
    empty:        -> table
    in_order:     table -> bool                           # NobodyPasses, of one table
    holds:        table request -> bool                   # it is there, with a fence
    of_epoch:     table request -> epoch                  # its fence: of which post it is,
    of_place:     table request -> place
    turn:         table request -> place                  # ... and its place in the table then
    ends:         post request -> bool                    # it is in post.ended
    asks:         post -> bool
    by:           post -> process
    owner:        request -> process                      # r.member
    name:         request -> lock
    reads:        request -> bool
    founder:      process -> bool
    first:        -> process                              # Ranking[1]
""")
"""What posts say, what they make of a table, and who founds the ring."""

SPEC: Final = symbols("""
    newest:       -> epoch
    length:       epoch -> place                          # Len(posts[e])
    log:          epoch place -> post                     # posts[e][i]
    at:           epoch -> process                        # t.at, of the token of an epoch
    arrived:      epoch -> bool
    lost:         epoch -> bool                           # it is at Nobody, or there is none
    placed:       epoch process -> bool                   # n \\in t.places
    member:       epoch process -> bool                   # n \\in t.members
    promised:     process -> epoch
    size:         process -> place                        # copy[n].size; its epoch is that below
    last:         process -> place
    epoch:        process -> epoch
    begun:        process -> epoch
    base:         process -> epoch
    table:        process -> table
    askers:       process process -> bool                 # p \\in askers[n]
    held:         process request -> bool
""")
"""The variables of the spec. No epoch is 0."""

GHOST: Final = symbols("""
    maker:        epoch -> process
    source:       epoch -> epoch
    copied:       epoch -> place
    chain:        epoch place -> epoch
    truth:        epoch place -> table
    asked:        epoch place process -> bool
    when:         epoch place process -> place
    told:         request -> bool                         # it is in AllGiven,
    told_in:      request -> epoch                        # ... with this fence
    told_place:   request -> place
    told_turn:    request -> place
    earlier:      request request -> bool                 # the first was told before the other
    late:         request -> bool                         # it was told in an epoch not the newest
    reading:      process -> bool
""")
"""The history. `maker` has made an epoch from the first `copied` posts of its `source`. Reading the
first so many posts of an epoch, from the beginning, gives a table that is good for `chain`, and it
is `truth`. A process that is `reading` has the token, and has read the news up to `last`.
"""

VOCABULARY: Final[Mapping[str, Symbol]] = {**SPEC, **GHOST}


@dataclass(frozen=True, slots=True)
class Basis:
    """The rules that tables rest on."""

    chained: bool = True
    begins_own: bool = True
    names_parent: bool = True
    reads_on: bool = True
    in_order: bool = True
    all_ask: bool = True
    """K5: whoever has read further than the posts go lays no empty table down."""
    epoch_in_fence: bool = True
    epoch_when_told: bool = True


WITHOUT: Final[Mapping[str, str]] = {
    "Chained": "chained",
    "BeginsOwn": "begins_own",
    "NamesParent": "names_parent",
    "ReadsOn": "reads_on",
    "InOrder": "in_order",
    "AllAsk": "all_ask",
    "EpochInFence": "epoch_in_fence",
    "EpochWhenTold": "epoch_when_told",
}
"""The parts that a basis can do without, by the constants of the spec."""


def is_epoch(s: World, e: Expr) -> Expr:
    """e has been made."""
    return And(e >= 1, e <= s.newest())


def is_post(s: World, e: Expr, i: Expr) -> Expr:
    """Epoch e has an i-th post."""
    return And(is_epoch(s, e), i >= 1, i <= s.length(e))


def good(s: World, n: Expr) -> Expr:
    """n's table is good for the epoch of the token, or for the one before, if n begins it."""
    return Or(
        s.base(n) == s.epoch(n),
        And(s.begun(n) >= 1, s.base(n) == s.begun(n)),
    )


def good_behind(s: World, base: Expr, x: Expr, basis: Basis) -> Expr:
    """For which epoch a table is good behind post x, if it was for `base` before it."""
    follows = Or(base == s.parent(x), not basis.names_parent)
    chained = If(
        s.parent(x) >= 1,
        If(follows, s.written(x), 0),
        If(base == s.written(x), base, 0),
    )
    return If(s.lays(x), s.written(x), If(base == 0, 0, chained if basis.chained else s.written(x)))


def behind(s: World, there: Expr, x: Expr) -> Expr:
    """The table behind post x, if it is `there` before it."""
    return s.changed(If(s.lays(x), s.laid(x), there), x)


def fence(s: World, table: Expr, r: Expr) -> tuple[Expr, Expr, Expr]:
    """The fence of a request that holds its name by the table."""
    return s.of_epoch(table, r), s.of_place(table, r), s.turn(table, r)


def told_fence(s: World, r: Expr) -> tuple[Expr, Expr, Expr]:
    """The fence that r was told."""
    return s.told_in(r), s.told_place(r), s.told_turn(r)


def has_token(s: World, n: Expr, e: Expr) -> Expr:
    """n has the token of epoch e."""
    return And(e >= 1, s.at(e) == n, s.arrived(e), Not(s.lost(e)))


def conflict(s: World, q: Expr, r: Expr) -> Expr:
    """q and r are for one name, and one of them writes."""
    return And(s.name(q) == s.name(r), Not(And(s.reads(q), s.reads(r))))
