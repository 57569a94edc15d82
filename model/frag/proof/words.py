"""The vocabulary of FRAG's proof: variables of `spec/Frag.tla`, and a history.

`theory.py` lists what the proof keeps, drops and over-approximates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from raincheck.model.proof.logic import And, Expr, If, Not, Or, World
from raincheck.model.proof.vocabulary import Symbol, symbols

RIGID: Final = symbols("""
    founder: process -> bool
    window:  -> number
""")
"""Symbols that never change."""

SPEC: Final = symbols("""
    status:       process -> number                       # JOINING, MEMBER or CRASHED
    view:         process -> view
    epoch:        process -> view
    sending:      process seqno -> bool                   # m \\in DOMAIN sending[n]
    out:          process seqno -> part                   # sending[n][m].sent
    count:        process -> seqno                        # Len(sent[n])
    size:         process seqno -> part                   # sent[n][m]
    here:         process process seqno -> part           # kept[n][<<s, m>>].here, 0 for none
    load:         process process -> number               # PartsOf(kept[n], KeptOf(n, s))
    piece_epoch:  process process seqno part -> view      # pieces[n][<<s, m>>][part + 1]
    piece_part:   process process seqno part -> part
    given_up:     process seqno -> bool
    heard:        process -> index                        # Len(delivered[n])
    heard_from:   process index -> process                # delivered[n][index + 1].from
    heard_number: process index -> seqno
    heard_view:   process index -> view
    heard_parts:  process index -> part                   # Len(delivered[n][index + 1].pieces)
    heard_epoch:  process index part -> view              # its pieces[part + 1]
    heard_part:   process index part -> part
    amount:       process view -> number                  # Len(In(n, v))
    rank:         process index -> number                 # its place in In(n, v), from 0
    waits:        process seqno view part -> bool         # a fragment in below[n]
    len:          view -> place                           # Len(log[v])
    giving:       view place -> bool                      # log[v][place + 1].kind = "givenUp"
    source:       view place -> process                   # log[v][place + 1].from
    number:       view place -> seqno
    of_epoch:     view place -> view
    part:         view place -> part
    at:           process -> place
    last:         -> view                                 # Len(views)
    member:       view process -> bool
    joiner:       view process -> bool
    anew:         view -> bool                            # views[v].joiners # {}
""")
"""The variables of the spec. Its sequences begin at 1, the places here at 0."""

GHOST: Final = symbols("""
    began:        view -> view
    had:          view place process seqno -> part
    loaded:       view place process -> number
    nth:          view place -> number
    done_view:    process seqno -> view
    done_at:      process seqno -> place
    log_view:     process seqno view part -> view
    log_at:       process seqno view part -> place
    heard_at:     process index -> place
""")
"""The history, of which no guard speaks. `began(v)` is the epoch of view v. Whoever has read a log
up to a place has kept `had` and `loaded`, and delivered `nth` messages of it. `done_view` and
`done_at` say where the log completes a message, `log_view` and `log_at` where it has a fragment; 0
is no view. `heard_at` is the place in the log of what was delivered.
"""

VOCABULARY: Final[Mapping[str, Symbol]] = {**SPEC, **GHOST}

JOINING, MEMBER, CRASHED = range(3)
STATUSES: Final = ("joining", "member", "crashed")


@dataclass(frozen=True, slots=True)
class Basis:
    """The rules, and the assumptions on the layers below."""

    one_sequence: bool = True
    virtual_synchrony: bool = True
    until_delivered: bool = True
    begin_anew: bool = True
    checks_epoch: bool = True
    forgets_departed: bool = True


WITHOUT: Final[Mapping[str, str]] = {
    "OneSequence": "one_sequence",
    "VirtualSynchrony": "virtual_synchrony",
    "UntilDelivered": "until_delivered",
    "BeginAnew": "begin_anew",
    "ChecksEpoch": "checks_epoch",
    "ForgetsDeparted": "forgets_departed",
}
"""The parts that a basis can do without, by the names of the spec and of its cases."""


def running(s: World, n: Expr) -> Expr:
    """Tell whether n is a member that goes on."""
    return s.status(n) == MEMBER


def said(s: World, n: Expr, m: Expr, e: Expr, p: Expr) -> Expr:
    """Part p of n's message m was sent in epoch e, and is not lost."""
    return Or(s.waits(n, m, e, p), s.log_view(n, m, e, p) > 0)


def ordered(s: World, v: Expr, i: Expr) -> Expr:
    """The log of view v has something at place i."""
    return And(i >= 0, i < s.len(v))


def is_heard(s: World, n: Expr, j: Expr) -> Expr:
    """n has delivered a message at that index."""
    return And(running(s, n), j >= 0, j < s.heard(n))


def has_read(s: World, n: Expr, v: Expr, i: Expr) -> Expr:
    """n has read place i of the log of view v."""
    return And(running(s, n), Or(v < s.view(n), And(v == s.view(n), i < s.at(n))))


class Entry(NamedTuple):
    """What is at a place of a log."""

    giving: Expr
    source: Expr
    number: Expr
    epoch: Expr
    part: Expr


def entry(s: World, v: Expr, i: Expr) -> Entry:
    """Return what is at place i of the log of view v."""
    part = s.part(v, i)
    return Entry(s.giving(v, i), s.source(v, i), s.number(v, i), s.of_epoch(v, i), part)


def is_last(s: World, f: Entry) -> Expr:
    """The fragment is the last one of its message."""
    return f.part + 1 >= s.size(f.source, f.number)


def drops(s: World, basis: Basis, f: Entry, epoch: Expr, here: Expr, load: Expr) -> Expr:
    """A reader in that epoch drops the fragment (G2, G5).

    It has so many fragments of that message, and keeps messages of its sender with so many parts.
    """
    size = s.size(f.source, f.number)
    return Or(
        *([f.epoch != epoch] if basis.checks_epoch else []),
        f.part != here,
        f.part >= size,
        And(f.part == 0, load + size > s.window()),
    )


class Step(NamedTuple):
    """What an entry does at the end of a log's first i places: for all readers the same."""

    s: World
    basis: Basis
    v: Expr
    i: Expr
    f: Entry

    @property
    def had(self) -> Expr:
        """How many fragments of the entry's message are here before."""
        return self.s.had(self.v, self.i, self.f.source, self.f.number)

    @property
    def takes(self) -> Expr:
        """The entry is a fragment that is not dropped."""
        load = self.s.loaded(self.v, self.i, self.f.source)
        dropped = drops(self.s, self.basis, self.f, self.s.began(self.v), self.had, load)
        return And(Not(self.f.giving), Not(dropped))

    @property
    def completes(self) -> Expr:
        """The entry completes its message, which is delivered."""
        return And(self.takes, is_last(self.s, self.f))

    def had_next(self, n: Expr, m: Expr) -> Expr:
        """How many fragments of n's message m are here behind it."""
        f, had = self.f, self.s.had(self.v, self.i, n, m)
        over = Or(f.giving, is_last(self.s, f))
        its = And(f.source == n, f.number == m, Or(f.giving, self.takes))
        return If(its, If(over, 0, f.part + 1), had)

    def loaded_next(self, n: Expr) -> Expr:
        """How many parts the messages of n have, behind it, of which something is kept."""
        f, load = self.f, self.s.loaded(self.v, self.i, n)
        size = self.s.size(f.source, f.number)
        over = And(Or(f.giving, self.completes), self.had > 0)
        begins = And(self.takes, Not(is_last(self.s, f)), self.had == 0)
        return If(And(f.source == n, Or(over, begins)), If(begins, load + size, load - size), load)


def step(s: World, basis: Basis, v: Expr, i: Expr) -> Step:
    """Return what the entry at place i of the log of view v does."""
    return Step(s, basis, v, i, entry(s, v, i))


def completes(s: World, basis: Basis, v: Expr, i: Expr) -> Expr:
    """What is at place i of the log of view v completes its message there."""
    return step(s, basis, v, i).completes
