"""Two majorities by votes of one primary view share a member: the axiom of PRIMARY's proof.

The members of a primary view are counted one after another, for two sets of processes at once. The
induction is over how many members have been counted, so it is about any number of them, with any
votes. It is `HasMajority` of `spec/Primary.tla`: more than half, or half with the lowest address.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from raincheck.model.proof.induction import Conjunct, Property, Theory, Transition
from raincheck.model.proof.logic import And, Expr, Function, If, Implies, Not, Or, World
from raincheck.model.proof.vocabulary import nothing, symbols

RIGID: Final = symbols("""
    first:  member -> bool            # it is in the first set
    second: member -> bool
    votes:  member -> number          # as they were recorded
    now:    member -> number          # as the second set counts them
    lowest: -> member
""")
COUNTED: Final = symbols("""
    got:    -> number                 # the votes of the first set's members
    others: -> number                 # and of the second's
    all:    -> number
    total:  -> number                 # all, as the second set counts them
    meets:  -> bool                   # a member that was counted is in both
    seen:   -> bool                   # the lowest was counted
""")

WITHOUT: Final = ("Tie", "RecordedVotes")
"""The rules that it rests on. Lives is the third: a set consists of processes, not of names."""


def _majority(s: World, got: Expr, of: Expr, inside: Function, *, tie: bool) -> Expr:
    half = And(got + got == of, inside(s.lowest()) if tie else True)
    return Or(got + got > of, half)


def majorities(without: str = "") -> Theory:
    """Return the theory; `without` one of the rules, it cannot be proved."""
    recorded = without != "RecordedVotes"

    def they_meet(s: World) -> Expr:
        tie = without != "Tie"
        both = And(
            s.seen(),
            _majority(s, s.got(), s.all(), s.first, tie=tie),
            _majority(s, s.others(), s.total(), s.second, tie=tie),
        )
        return Implies(both, s.meets())

    def counted(s: World, m: Expr) -> Mapping[str, Function]:
        now = s.votes(m) if recorded else s.now(m)
        return {
            "got": lambda: s.got() + If(s.first(m), s.votes(m), 0),
            "others": lambda: s.others() + If(s.second(m), now, 0),
            "all": lambda: s.all() + s.votes(m),
            "total": lambda: s.total() + now,
            "meets": lambda: Or(s.meets(), And(s.first(m), s.second(m))),
            "seen": lambda: Or(s.seen(), m == s.lowest()),
        }

    sums = Conjunct(
        "Sums",
        "Sets that have not met have no more votes together than there are.",
        (),
        lambda s: Implies(
            Not(s.meets()),
            And(
                s.got() + s.others() <= s.all(),
                s.total() == s.all(),
                Implies(s.seen(), Not(And(s.first(s.lowest()), s.second(s.lowest())))),
            ),
        ),
    )
    return Theory(
        "primary-majorities",
        COUNTED,
        RIGID,
        (
            Conjunct(
                "Votes",
                "A member has a vote or more.",
                ("member",),
                lambda s, m: And(s.votes(m) >= 1, s.now(m) >= 1),
                lambda s, m: [s.votes(m)],
            ),
        ),
        lambda _: (
            True,
            {name: nothing(symbol.result) for name, symbol in COUNTED.items()},
        ),
        (Transition("Count", "", (("m", "member"),), lambda _s, _m: True, counted),),
        (sums,),
        (Property("TheyMeet", "Two majorities have a member in common.", they_meet),),
    )
