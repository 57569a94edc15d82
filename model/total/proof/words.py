"""The vocabulary of TOTAL's proof: variables of `spec/Total.tla`, and a history.

`theory.py` lists what the proof keeps, drops and over-approximates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from raincheck.model.proof.logic import And, Expr, World
from raincheck.model.proof.vocabulary import Symbol, symbols

RIGID: Final = symbols("""
    sequencer:    view -> process                         # Coordinator(views[v])
    member:       view process -> bool                    # p \\in Members(views[v])
""")
"""The views, which are what they are whenever they are decided."""

SPEC: Final = symbols("""
    status:       process -> number
    view:         process -> view
    seqno:        process -> seqno
    next_id:      process -> place
    taken:        process process -> seqno
    expected:     process -> place
    queued:       process place -> bool                   # id \\in Ids(queue[n])
    queued_from:  process place -> process                # the queued message with that id
    queued_number: process place -> seqno
    kept:         process place -> bool                   # id \\in Ids(history[n])
    kept_from:    process place -> process                # the message of that id in history[n]
    kept_number:  process place -> seqno
    acks:         process process -> place
    heard:        process -> index                        # Len(delivered[n])
    heard_from:   process index -> process                # delivered[n][index + 1].message.from
    heard_number: process index -> seqno
    heard_view:   process index -> view
    heard_id:     process index -> place
""")
"""The variables of the spec. Its sequences begin at 1, the indices here at 0."""

GHOST: Final = symbols("""
    first:        process -> view
    latest:       process -> view
    base:         process view -> seqno
    length:       view -> place
    log_from:     view place -> process
    log_number:   view place -> seqno
    count:        view place process -> seqno
    left:         view -> bool
    leaver:       view -> process
    cut:          view -> place
    at:           process view place -> index
    reached:      process -> place
    place:        view process seqno -> place
    home:         process seqno -> view
""")
"""The history, of which no guard of the spec speaks. A process has been in the views from `first`
to `latest`; it had delivered `base` of its own messages when it installed one. The sequencer of a
view has broadcast `length` messages, which are its log; `count` of the first so many are a
process's. Once a member has gone on from a view it is `left`: `cut` is how many ids of it were
delivered then. A process has delivered the message with an id of a view `at` an index. `reached` is
the next id that it expects, or expected when it crashed. A process's message with a number has a
`place` in the log of a view; its `home` is the view in which the process has delivered it, once it
has left that view.
"""

VOCABULARY: Final[Mapping[str, Symbol]] = {**SPEC, **GHOST}

JOINING, MEMBER, CRASHED = range(3)
STATUSES: Final = ("joining", "member", "crashed")


@dataclass(frozen=True, slots=True)
class Basis:
    """The rules, and the assumption on the layers below."""

    virtual_synchrony: bool = True
    tags: bool = True


WITHOUT: Final[Mapping[str, str]] = {"VirtualSynchrony": "virtual_synchrony", "Tags": "tags"}
"""The parts that a basis can do without, by the names of the spec and of its cases."""


def running(s: World, n: Expr) -> Expr:
    """Tell whether n is a member that goes on."""
    return s.status(n) == MEMBER


def leads(s: World, n: Expr) -> Expr:
    """n is the sequencer of its view."""
    return And(running(s, n), s.sequencer(s.view(n)) == n)


def been(s: World, n: Expr, v: Expr) -> Expr:
    """n has installed view v."""
    return And(s.first(n) >= 1, s.first(n) <= v, v <= s.latest(n))


def logged(s: World, v: Expr, i: Expr) -> Expr:
    """The sequencer of view v has given id i."""
    return And(i >= 1, i <= s.length(v))


def done(s: World, n: Expr) -> Expr:
    """How many of its own messages n has delivered: those after them are in its forwardTable."""
    v = s.view(n)
    return s.base(n, v) + s.count(v, s.expected(n) - 1, n)


def is_heard(s: World, n: Expr, j: Expr) -> Expr:
    """n has delivered a message at that index."""
    return And(j >= 0, j < s.heard(n))
