"""The vocabulary of PRIMARY's proof: variables of `spec/Primary.tla`, and a history.

A *session* is a view of GMS and the primary view that it can become. `theory.py` lists what the
proof keeps, drops and over-approximates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, World
from raincheck.model.proof.vocabulary import Symbol, symbols

TOLD: Final = symbols("""
    member:   session process -> bool
    knows:    session process -> bool             # i.last # <<>>, of that member's INFO
    told:     session process -> session          # i.last[1]
    tells:    session process session -> bool     # s \\in i.attempts
    number:   session -> index
    history:  session -> session                  # the one that has founded it
    quorum:   session session -> bool             # the first's members have a majority of the other
    meet:     session session session -> process
""")
"""The views, and what is told in them, which follows from what their members remember. `meet` is a
process in which two majorities of one session meet.
"""

FORETOLD: Final = symbols("""
    born:     session -> place                    # the how manieth view it is
    learned:  session -> session                  # Latest(Known(infos))
    teller:   session -> process                  # who has told it
    heir:     session -> session                  # Latest(Base(infos))
    giver:    session -> process                  # who has told it
    live:     session -> bool
    keeper:   session -> process
    prev:     session -> session                  # of the live ones of its history, the one before
    gap:      session -> session                  # the first before it of which it is not told
    cover:    session session -> process          # who has told in the first of the second
""")
"""What is foretold of a run. A live session is attempted by somebody, nobody leaves its view
without having attempted it, and one member, the keeper, not without having formed it. So what is
formed is live, and P6 forgets no live one.
"""

RIGID: Final = {**TOLD, **FORETOLD}

SPEC: Final = symbols("""
    stage:    process -> number
    view:     process -> session
    has:      process -> bool                     # last[n] # <<>>
    last:     process -> session
    attempts: process session -> bool
""")
"""The variables of the spec, as they were when a process crashed."""

GHOST: Final = symbols("""
    down:     process -> bool                     # it has crashed
    tried:    session process -> bool
    formed:   session process -> bool
    clock:    -> place                            # views
    begun:    session -> bool
    primary:  session -> bool                     # somebody has formed it
    later:    session -> session                  # of the live ones of its history, the one after
    now:      -> session                          # the last attempt to found
    gapped:   session -> bool                     # it was not told of a live one before it
""")

VOCABULARY: Final[Mapping[str, Symbol]] = {**SPEC, **GHOST}

STAGES: Final = ("none", "asking", "attempting", "primary", "refused")
NONE, ASKING, ATTEMPTING, PRIMARY, REFUSED = range(len(STAGES))


@dataclass(frozen=True, slots=True)
class Basis:
    """The rules and assumptions on which the promises rest."""

    two_rounds: bool = True
    remembers: bool = True
    from_formed: bool = True
    majorities_meet: bool = True
    afresh: bool = True


WITHOUT: Final[Mapping[str, str]] = {
    "TwoRounds": "two_rounds",
    "Remembers": "remembers",
    "FromFormed": "from_formed",
    "MajoritiesMeet": "majorities_meet",
    "OperatorKnows": "afresh",
}
"""The rules by their names in the spec. MajoritiesMeet is what Tie, Lives and RecordedVotes are
for, and OperatorKnows stands for VotesAsExpected, too.
"""


def knows_so_far(s: World, w: Expr, p: Expr, x: Expr) -> Expr:
    """p has told in w that it knows of a primary view with at least the number of x."""
    return And(s.knows(w, p), s.number(s.told(w, p)) >= s.number(x))


def refuted(s: World, w: Expr, x: Expr) -> Expr:
    """P6, as the members of w decide it."""
    missing = s.exists(
        ["process"],
        lambda a: And(
            *(s.member(x, a), s.member(w, a), Not(s.tells(w, a, x))),
            Not(knows_so_far(s, w, a, x)),
        ),
    )
    unformed = s.forall(
        ["process"],
        lambda a: Implies(s.member(x, a), And(s.member(w, a), Not(knows_so_far(s, w, a, x)))),
        lambda a: [s.member(x, a)],
    )
    return Or(missing, unformed)


def knowing(s: World, w: Expr) -> Expr:
    """learned(w) is the last primary view of which the members of w know."""
    return And(
        s.member(w, s.teller(w)),
        s.knows(w, s.teller(w)),
        s.told(w, s.teller(w)) == s.learned(w),
        s.forall(
            ["process"],
            lambda p: Implies(
                And(s.member(w, p), s.knows(w, p)),
                s.number(s.told(w, p)) <= s.number(s.learned(w)),
            ),
            lambda p: [s.told(w, p)],
        ),
    )


def nothing_known(s: World, w: Expr) -> Expr:
    """No member of w knows of a primary view."""
    return s.forall(
        ["process"],
        lambda p: Implies(s.member(w, p), Not(s.knows(w, p))),
        lambda p: [s.knows(w, p)],
    )


def above(s: World, w: Expr) -> Expr:
    """The number of w is larger than all that its members have told."""
    return And(
        s.forall(
            ["process", "session"],
            lambda p, x: Implies(And(s.member(w, p), s.tells(w, p, x)), s.number(x) < s.number(w)),
            lambda p, x: [s.tells(w, p, x)],
        ),
        s.forall(
            ["process"],
            lambda p: Implies(
                And(s.member(w, p), s.knows(w, p)), s.number(s.told(w, p)) < s.number(w)
            ),
            lambda p: [s.told(w, p)],
        ),
    )


def continues(s: World, w: Expr, basis: Basis) -> Expr:
    """P3 to P5: the view goes on, in the history of the last of what it needs a majority of."""

    def needed(p: Expr, x: Expr) -> Expr:
        return Implies(
            And(
                *(s.member(w, p), s.tells(w, p, x), s.number(x) > s.number(s.learned(w))),
                Not(refuted(s, w, x)),
            ),
            s.quorum(w, x),
        )

    from_attempt = And(
        s.member(w, s.giver(w)),
        s.tells(w, s.giver(w), s.heir(w)),
        s.number(s.heir(w)) > s.number(s.learned(w)),
    )
    return And(
        *(s.history(w) != w, knowing(s, w), s.quorum(w, s.learned(w)), above(s, w)),
        s.forall(["process", "session"], needed, lambda p, x: [s.tells(w, p, x)])
        if basis.remembers
        else True,
        Or(s.heir(w) == s.learned(w), from_attempt),
        s.history(w) == s.history(s.heir(w)),
    )


def continues_unknown(s: World, w: Expr) -> Expr:
    """The same without FromFormed: from attempts alone."""
    return And(
        *(s.history(w) != w, nothing_known(s, w), above(s, w)),
        s.forall(
            ["process", "session"],
            lambda p, x: Implies(
                And(s.member(w, p), s.tells(w, p, x), Not(refuted(s, w, x))), s.quorum(w, x)
            ),
            lambda p, x: [s.tells(w, p, x)],
        ),
        *(s.member(w, s.giver(w)), s.tells(w, s.giver(w), s.heir(w))),
        s.history(w) == s.history(s.heir(w)),
    )


def founding(s: World, w: Expr) -> Expr:
    """P2, as far as the members' INFOs say it."""
    return And(s.history(w) == w, nothing_known(s, w), above(s, w))


def covered(s: World, t: Expr, x: Expr) -> Expr:
    """A member of t has told in it that it has attempted x, or knows of something later."""
    p = s.cover(t, x)
    return And(s.member(t, p), Or(s.tells(t, p, x), knows_so_far(s, t, p, x)))


def has_gap(s: World, t: Expr) -> Expr:
    """A live session before t is not told in it."""
    return before(s, s.gap(t), t)


def before(s: World, x: Expr, t: Expr) -> Expr:
    """Both are live and of one history, and x began before t."""
    return And(s.live(x), s.live(t), s.history(x) == s.history(t), s.born(x) < s.born(t))
