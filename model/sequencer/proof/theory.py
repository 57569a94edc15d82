"""SEQUENCER proved for any number of members, messages, views and lives of a node.

`theory()` is the transition system of `spec/Sequencer.tla` in first-order logic: a sort of
processes and one of nodes, integers for views, places, indices and seqnos. Its actions have the
spec's names, and its formulas are tied to the model's edges by tests/model/test_inductive_tie.py.

The theory differs from the spec in these points, none of which excludes a run of the spec:

- A process is an address: a node and one life of it. Variables of a node become those of its
  present life; Restart ends the old one ("replaced") and begins a new one. This is only a renaming.
- A message is (sender, seqno); its payload is `base` of the sender plus seqno. Only the spec's Send
  makes messages, with payload = said + 1 = base + seqno.
- receivedTable is total; 0 is "no entry", since every entry is at least 1.
- forwardTable and resend are sets of seqnos. resend is kept in order of seqnos by the spec's
  actions, so its head is the least one.
- KeepUntil is "delivered", as implemented: Stabilise, which is then never enabled, is not here.
- Both deliveries at once (`safe.py`): `heard` is what is received, whose part up to `released` is
  delivered if Delivery is "safe", and all of it if it is "agreed". Announce may announce less than
  it could, and ReceiveSafe deliver less.
- A stranger's FORWARD has any sender, seqno and view, where the spec's has the next number of a
  process and a view near the last.
- Over-approximated: FORWARD channels and `early` are sets. A FORWARD may overtake another and may
  be received twice, and one that waited may be sequenced again while its view lasts. So UNICAST is
  not assumed to be FIFO: safety does not rest on FifoForward (validity does).
- Over-approximated: the members of a view are a set with a coordinator. When the coordinator is
  gone, or demoted, any member that stays may be the next; the spec takes the first in rank.
- InstallView at a coordinator sequences the FORWARDs in `early` in the same step. Here the step of
  installing is followed by one step for each such FORWARD; the invariant holds in between.
- History variables are written and never read by a guard, so every run of the spec has them.

Runs of the spec are therefore runs of this theory, and properties of all its reachable states hold
in all reachable states of the spec. The argument for this list is on paper; bounded instances check
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from raincheck.model.proof.induction import Conjunct, Theory
from raincheck.model.proof.logic import And, Expr, Function, If, Implies, Not, Or, World
from raincheck.model.proof.vocabulary import nothing

from .actions import transitions
from .invariant import invariant
from .properties import PROPERTIES
from .vocabulary import (
    JOINING,
    MEMBER,
    REPLACED,
    RIGID,
    STATUS,
    UNBORN,
    VOCABULARY,
    WITHOUT,
    Basis,
    basis_without,
    running,
)

__all__ = ["WITHOUT", "basis_without", "theory"]

AXIOMS = (
    Conjunct(
        "AddressIsUnique",
        "A node and an incarnation name one process.",
        ("process", "process"),
        lambda s, a, b: Implies(
            And(s.node(a) == s.node(b), s.incarnation(a) == s.incarnation(b)), a == b
        ),
        lambda s, a, b: [(s.node(a), s.node(b))],
    ),
    Conjunct(
        "FoundersComeFirst",
        "A founder is its node's first life.",
        ("process",),
        lambda s, p: And(s.incarnation(p) >= 0, Implies(s.founder(p), s.incarnation(p) == 0)),
        lambda s, p: [s.incarnation(p)],
    ),
    Conjunct(
        "FoundersAreNoStrangers",
        "A founder is no stranger.",
        ("process",),
        lambda s, p: Implies(s.founder(p), Not(s.stranger(s.node(p)))),
        lambda s, p: [s.node(p)],
    ),
)
"""Facts about nodes and lives that no action changes."""

PLAUSIBLE = (
    Conjunct(
        "FoundersAreTheFirstView",
        "The founders are the members of view 1.",
        ("process",),
        lambda s, p: And(s.member(1, p) == s.founder(p), Not(s.joiner(1, p))),
    ),
    Conjunct(
        "MembersComeFromSomewhere",
        "A member of a view was in the one before, or joins with it.",
        ("view", "process"),
        lambda s, v, p: Implies(
            And(v >= 2, v <= s.last_view(), s.member(v, p)),
            Or(s.member(v - 1, p), s.joiner(v, p)),
        ),
    ),
    Conjunct(
        "LivesFollowOneAnother",
        "A later life follows an earlier one, and a node's first life has begun.",
        ("process",),
        lambda s, p: If(
            s.incarnation(p) == 0,
            s.status(p) != UNBORN,
            s.exists(
                ["process"],
                lambda q: And(s.node(q) == s.node(p), s.incarnation(q) + 1 == s.incarnation(p)),
            ),
        ),
    ),
    Conjunct(
        "OnlyMembersHaveTables",
        "A process that is not running has no view, no tables and no FORWARDs.",
        ("node", "process", "process", "seqno", "view"),
        lambda s, c, p, a, k, v: Implies(
            Not(running(s, p)),
            And(
                s.view(p) == 0,
                s.seqno(p) == 0,
                s.received(p, a) == 0,
                s.position(p, a) == 0,
                Not(Or(s.forward_table(p, k), s.resend(p, k))),
                Not(Or(s.early(p, a, k, v), s.forwards(c, a, k, v, p))),
                Implies(s.status(p) == REPLACED, And(s.heard(p) == 0, s.length(p) == 0)),
            ),
        ),
    ),
    Conjunct(
        "TablesAreFull",
        "An entry of receivedTable was multicast; a process holds or has delivered every message"
        " that it sent.",
        ("process", "process", "seqno"),
        lambda s, p, a, k: Implies(
            And(running(s, p), s.last_view() == 1),
            And(
                Implies(s.received(p, a) > 0, s.latest(p, a) > 0),
                Implies(
                    And(k >= 1, k <= s.seqno(p)),
                    Or(s.forward_table(p, k), k <= s.received(p, p)),
                ),
            ),
        ),
    ),
)


def initial(s: World) -> tuple[Expr, Mapping[str, Function]]:
    """Return Init of the spec: the founders are the members of view 1, all others ask to join."""

    def status(p: Expr) -> Expr:
        return If(s.founder(p), MEMBER, If(s.incarnation(p) == 0, JOINING, UNBORN))

    values: dict[str, Function] = {
        name: nothing(symbol.result)
        for name, symbol in VOCABULARY.items()
        if symbol.result in ("number", "bool")
    }
    values |= {
        "status": status,
        "view": lambda p: If(s.founder(p), 1, 0),
        "last_view": lambda: 1,
        "member": lambda v, p: And(v == 1, s.founder(p)),
    }
    # Functions to processes have no empty value; except for the first view's coordinator, their
    # values are not read.
    return s.founder(s.coordinator(1)), values


@cache  # a theory's transitions are compiled once, too, for all that follow runs with it
def theory(basis: Basis | None = None) -> Theory:
    """Return SEQUENCER over the given basis, by default with all assumptions and repairs."""
    basis = basis or Basis()
    return Theory(
        "sequencer",
        VOCABULARY,
        RIGID,
        AXIOMS,
        initial,
        transitions(basis),
        invariant(basis),
        PROPERTIES,
        PLAUSIBLE,
        {"status": len(STATUS)},
    )
