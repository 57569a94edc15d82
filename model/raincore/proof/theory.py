"""Raincore proved for any number of members, lists, epochs, messages, crashes and false reports.

`theory()` is `spec/Raincore.tla` with all repairs, in first-order logic. Its actions have the
spec's names; tests/model/test_raincore_inductive.py ties them to runs of the model.

The theory differs from the spec in these points, none of which excludes a run of the spec:

- Messages are remembered, not consumed. A message may arrive at any time after it was sent, and as
  often as it likes; a time-out or a report of failure, true or false, may come at any time. So
  delays, loss and partitions need no symbols of their own. A 911 in phase "ask" binds nobody and is
  not kept. A claim may be granted, in any order, by all that may grant it in the spec.
- What a stranger sends is not handed up (FromMembers), and it asks to join as anybody may; so the
  adversary has actions only without FromMembers, TrueSources or DatagramsUnaltered.
- A list is a *proposal*: the list and the proposals that it came from. Proposals form a tree; the
  spec's index is the depth in it. `token.pending` is then the line from `settled` to the list, and
  `seen` are the members that have held the list in this epoch.
- A quorum is any set that shares a member with every other quorum of the same list. The spec's
  quorums do: more than half, or half with the first of the list (the tests try all small ones).
- Epochs are integers, with an owner each: <<n, rank>> in their order.
- `sure` means that a view is reserved or agreed; the theory may commit from both, as often as it
  likes. It may change a list in any way that a quorum's votes allow, without distinguishing joins
  from leaves.
- `calm` is a constant of the theory. If it is true, all founders have started, reports of failure
  are true, nothing is partitioned, crashed members stay down, and nobody leaves. Only
  OneLockWhenCalm refers to it.

Well-foundedness is used in two places. If there is a later epoch, there is a first such epoch,
because only finitely many have begun. And NothingIsMissed is the step of an induction: a claimer
knows of a settled list if it knows of the one that was settled when that list was made, which was
settled in an earlier epoch or is less deep (VotedFor), down to the root that all know of.
Regenerate then assumes that a claimer with a quorum knows of everything settled before its epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from raincheck.model.proof.induction import Conjunct, Property, Theory
from raincheck.model.proof.logic import And, Expr, Function, If, Implies, Or, World
from raincheck.model.proof.vocabulary import nothing

from .actions import elected, transitions
from .invariant import INVARIANT
from .words import RIGID, VOCABULARY, WITHOUT, Basis

__all__ = ["WITHOUT", "Basis", "basis_without", "theory"]

AXIOMS: Final = (
    Conjunct(
        "Reflexive",
        "A proposal descends from itself, and every proposal from the root.",
        ("proposal", "proposal"),
        lambda s, p, q: And(s.anc(p, p), s.anc(q, q), s.anc(s.root(), p), s.anc(s.root(), q)),
        lambda s, p, q: [s.anc(p, q)],
    ),
    Conjunct(
        "Transitive",
        "A proposal descends from all from which its ancestors descend.",
        ("proposal", "proposal", "proposal"),
        lambda s, p, q, r: Implies(And(s.anc(p, q), s.anc(q, r)), s.anc(p, r)),
        lambda s, p, q, r: [(s.anc(p, q), s.anc(q, r))],
    ),
    Conjunct(
        "OneWayBack",
        "The ancestors of a proposal form a line.",
        ("proposal", "proposal", "proposal"),
        lambda s, p, q, r: Implies(And(s.anc(p, r), s.anc(q, r)), Or(s.anc(p, q), s.anc(q, p))),
        lambda s, p, q, r: [(s.anc(p, r), s.anc(q, r))],
    ),
    Conjunct(
        "Deeper",
        "A proposal is deeper than its ancestors.",
        ("proposal", "proposal"),
        lambda s, p, q: Implies(s.anc(p, q), Or(p == q, s.depth(p) < s.depth(q))),
        lambda s, p, q: [s.anc(p, q)],
    ),
    Conjunct(
        "Parents",
        "No proposal lies between another one and its parent.",
        ("proposal", "proposal"),
        lambda s, p, q: And(
            s.anc(s.parent(p), p), Implies(s.anc(q, p), Or(q == p, s.anc(q, s.parent(p))))
        ),
        lambda s, p, q: [(s.parent(p), s.anc(q, p))],
    ),
    Conjunct(
        "QuorumsMeet",
        "Two quorums of a list have a member in common.",
        ("proposal", "proposal", "proposal"),
        lambda s, a, b, w: Implies(
            And(s.quorum(a, w), s.quorum(b, w)),
            And(s.member(a, s.meet(a, b, w)), s.member(b, s.meet(a, b, w))),
        ),
        lambda s, a, b, w: [(s.quorum(a, w), s.quorum(b, w))],
    ),
    Conjunct(
        "Start",
        "The first token has the root's list, or one made from it with the votes of all.",
        ("proposal",),
        lambda s, p: And(
            Implies(s.anc(p, s.start()), Or(p == s.root(), p == s.start())),
            s.quorum(s.start(), s.root()),
        ),
        lambda s, p: [s.anc(p, s.start())],
    ),
    Conjunct(
        "Founders",
        "A founder has a copy of the first token, or of the token before it.",
        ("process",),
        lambda s, p: And(
            Or(s.first_seq(p) == 0, s.first_seq(p) == 1),
            s.member(s.start(), p) == s.member(s.root(), p),
        ),
        lambda s, p: [s.first_seq(p), s.member(s.start(), p)],
    ),
    Conjunct(
        "Founder",
        "One founder holds the first token.",
        (),
        lambda s: And(
            s.member(s.root(), s.founder()),
            s.member(s.start(), s.founder()),
            s.first_seq(s.founder()) == 1,
        ),
    ),
)


def basis_without(names: Iterable[str]) -> Basis:
    """Return the basis without these assumptions or repairs of the spec; KeyError if unknown."""
    return replace(Basis(), **{WITHOUT[name]: False for name in names})


def _consistent(s: World) -> Expr:
    return s.forall(
        ["process", "process", "index", "proposal", "proposal", "epoch", "epoch"],
        lambda n, m, i, p, q, d, e: Implies(And(s.entry(n, i, p, d), s.entry(m, i, q, e)), p == q),
    )


def _fence(s: World) -> Expr:
    return s.forall(
        ["epoch", "seqno", "process", "process"],
        lambda e, i, n, m: Implies(And(s.ate(e, i, n), s.ate(e, i, m)), n == m),
    )


def _one_token(s: World) -> Expr:
    return s.forall(
        ["process", "process"],
        lambda n, m: Implies(And(s.eating(n), s.eating(m), s.epoch(n) == s.epoch(m)), n == m),
    )


def _held(s: World) -> Expr:
    return s.forall(
        ["process", "index", "proposal", "epoch", "process"],
        lambda n, i, p, e, x: Implies(And(s.entry(n, i, p, e), s.member(p, x)), s.held(p, e, x)),
    )


def _one_lock(s: World) -> Expr:
    def locked(n: Expr) -> Expr:
        return And(s.eating(n), s.sure(n))

    return s.forall(
        ["process", "process"],
        lambda n, m: Implies(And(s.calm(), locked(n), locked(m)), n == m),
    )


def _nothing_is_missed(s: World, basis: Basis) -> Expr:
    def body(n: Expr, v: Expr, q: Expr, d: Expr) -> Expr:
        return Implies(
            And(
                elected(s, n, v, basis),
                s.settled(q, d),
                d < s.wanted(n),
                s.anc(s.low(q, d), s.copy(n)),
            ),
            s.anc(q, s.copy(n)),
        )

    return s.forall(["process", "proposal", "proposal", "epoch"], body)


def properties(basis: Basis) -> tuple[Property, ...]:
    """Return the promises, as properties."""
    return (
        Property(
            "ConsistentHistory",
            "Two histories that both have a list at an index have the same one there.",
            _consistent,
        ),
        Property("FenceUnique", "No two members eat at the same number.", _fence),
        Property("OneToken", "At most one member eats in an epoch.", _one_token),
        Property("HeldByAll", "Every member of a committed list has held it.", _held),
        Property(
            "OneLockWhenCalm",
            "At most one member eats and is not in chaos, if reports are true and there is no"
            " partition, recovery or leave.",
            _one_lock,
        ),
        Property(
            "NothingIsMissed",
            "A claimer with a quorum knows a settled list if it knows the list on which that was"
            " based.",
            lambda s: _nothing_is_missed(s, basis),
        ),
    )


def initial(s: World, basis: Basis) -> tuple[Expr, Mapping[str, Function]]:
    """Return Init of the spec.

    The founders have copies of the first token, and one of them holds it. If that has the root's
    list, the ring has been formed; otherwise nobody has seen a view yet.
    """
    values: dict[str, Function] = {
        name: nothing(symbol.result)
        for name, symbol in VOCABULARY.items()
        if symbol.result not in ("process", "proposal")
    }

    def first(p: Expr) -> Expr:
        return Or(p == s.root(), p == s.start())

    def formed(n: Expr) -> Expr:
        return And(s.root() == s.start(), s.member(s.root(), n))

    values |= {
        "sure": formed,
        "entry": lambda n, i, p, e: And(formed(n), i == s.depth(s.root()), p == s.root(), e == 0),
        "eating": lambda n: n == s.founder() if basis.one_founder else s.member(s.root(), n),
        "has": lambda n: s.member(s.root(), n),
        "seq": lambda n: If(s.member(s.root(), n), s.first_seq(n), 0),
        "copy": lambda _: s.start(),
        "base": lambda _: s.root(),
        "made": first,
        "begun": lambda e: e == 0,
        "first": lambda _: s.root(),
        "last": lambda _: s.start(),
        "top": lambda _: 1,
        "at": lambda _e, _i: s.start(),
        "on": lambda p, e: And(e == 0, first(p)),
        "held": lambda p, e, x: And(
            e == 0,
            Or(
                And(p == s.root(), s.member(s.root(), x)),
                And(p == s.start(), x == s.founder()),
            ),
        ),
        "settled": lambda p, e: And(e == 0, p == s.root()),
        "votes": lambda _p, _e: s.start(),
        "low": lambda _p, _e: s.root(),
        "ate": lambda e, i, n: And(e == 0, i == 1, n == s.founder()),
    }
    return True, values


@cache  # a theory's transitions are compiled once, too, for all that follow runs with it
def theory(basis: Basis | None = None) -> Theory:
    """Return Raincore over the given basis, by default with all assumptions and repairs."""
    rests = basis or Basis()
    return Theory(
        "raincore",
        VOCABULARY,
        RIGID,
        AXIOMS,
        lambda s: initial(s, rests),
        transitions(rests),
        INVARIANT,
        properties(rests),
    )
