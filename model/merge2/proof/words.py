"""The vocabulary of MERGE2's proof: variables of `spec/Merge2.tla`, and a history.

`theory.py` lists what the proof keeps, drops and over-approximates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Or, World
from raincheck.model.proof.vocabulary import Symbol, symbols

RIGID: Final = symbols("""
    rank:         process -> number                       # Rank(n)
    leader:       union -> process                        # of a merge
    start:        process -> group                        # FirstView(n)
    first:        group -> process                        # First(v)
    number:       group -> number                         # v.id[1]
    maker:        group -> process                        # v.id[2]
    merged:       group -> bool                           # v.merge # NoMerge
    union:        group -> union                          # v.merge
    inside:       group process -> bool                   # p \\in Members(v)
    digest:       group process -> place                  # the digest with which v is installed
    of:           reply -> union                          # the merge that an answer is for
    by:           reply -> process                        # a.from
    at:           reply -> group                          # the side has; a.number is its number
    there:        reply process -> bool                   # p \\in a.members
    upto:         reply process -> place                  # a.digest[s]
""")
"""What never changes: a view, a merge and an answer are what they are."""

SPEC: Final = symbols("""
    running:      process -> bool
    view:         process -> group
    coordinates:  process -> bool
    stage:        process -> number
    merge:        process -> union                        # where the stage is not IDLE
    waiting:      process process -> bool                 # p \\in waiting[n]
    has:          process reply -> bool                   # a \\in answers[n]
    holds:        process -> bool                         # held[n] # <<>>
    held:         process -> group                        # held[n][1].view
    latched:      process -> bool                         # latch[n] # Nobody
    latch:        process -> process
    spoken:       process -> place                        # Len(stream[n])
    said:         process place -> group                  # the view of that id
    position:     process process -> place
    count:        process -> index                        # Len(path[n])
    path:         process index -> group                  # path[n][index + 1]
    been:         process group -> bool                   # Has(n, v)
    heard:        process -> index                        # Len(delivered[n])
    heard_from:   process index -> process
    heard_number: process index -> place
    heard_view:   process index -> group                  # of that id
    did:          process process place -> bool           # Delivered(n, s, i)
    hears:        process process place group -> bool     # <<s, i>> \\in In(n, v.id)
    decided:      union -> bool
    result:       union -> group                          # the view of a decided merge
    into:         union process -> bool                   # the coordinators of its sides
    cut:          process union -> bool                   # cut[n] is that merge
    doubted:      -> bool                                 # doubts > 0
""")
"""The variables of the spec. Its sequences begin at 1, the indices here at 0, the places at 1."""

GHOST: Final = symbols("""
    begun:        union -> bool
    took:         process union -> bool
    made:         group -> bool
    by_id:        process number -> group
    sent:         reply -> bool
    says:         union process -> bool
    resumes:      union process -> bool
    told:         union process -> bool
    counted:      reply -> bool
    released:     union -> bool
    spoke:        process group -> bool
    went:         group group -> bool
    cutoff:       group group process -> place
""")
"""The history: the merges that a leader has begun, and those in which a process has taken part; the
views that were decided, and which of them has an id; the answers; which sides have sent INSTALLED,
and which were sent RESUME or CANCEL; the answers of which a merged view was made; the merges whose
leader has let all go on; in which views a process has multicast; from which view a side was to go
to which other one, and how far it had read then.
"""

VOCABULARY: Final[Mapping[str, Symbol]] = {**SPEC, **GHOST}

STAGES: Final = ("idle", "flushing", "answered", "installing", "installed", "cancelled")
IDLE, FLUSHING, ANSWERED, INSTALLING, INSTALLED, CANCELLED = range(6)


@dataclass(frozen=True, slots=True)
class Basis:
    """The rules."""

    promotes: bool = True
    fresh: bool = True
    stays_out: bool = True
    after_resume: bool = True
    frozen: bool = True
    id_of_leader: bool = True
    flush: bool = True
    virtual_synchrony: bool = True
    checks_view: bool = True


WITHOUT: Final[Mapping[str, str]] = {
    "Promotes": "promotes",
    "Fresh": "fresh",
    "StaysOut": "stays_out",
    "AfterResume": "after_resume",
    "Frozen": "frozen",
    "IdOfLeader": "id_of_leader",
    "Flush": "flush",
    "VirtualSynchrony": "virtual_synchrony",
    "ChecksView": "checks_view",
}
"""The parts that a basis can do without: rules of the spec, its assumption on FLUSH, and that a
merge has a new number.
"""


def leads(s: World, n: Expr) -> Expr:
    """Tell whether n leads the merge that it takes part in."""
    return s.leader(s.merge(n)) == n


def answers(s: World, n: Expr) -> Expr:
    """The merge of n is not decided, as far as n knows."""
    return Or(s.stage(n) == FLUSHING, s.stage(n) == ANSWERED)


def installs(s: World, n: Expr) -> Expr:
    """The side of n holds the merged view, or n waits for the others."""
    return Or(s.stage(n) == INSTALLING, s.stage(n) == INSTALLED, s.stage(n) == CANCELLED)


def takes_part(s: World, n: Expr, u: Expr) -> Expr:
    """n runs, and is in that merge."""
    return And(s.running(n), in_merge(s, n, u))


def in_merge(s: World, n: Expr, u: Expr) -> Expr:
    """merge[n] is that merge."""
    return And(s.stage(n) != IDLE, s.merge(n) == u)


def of_merge(s: World, v: Expr, u: Expr) -> Expr:
    """The view comes from that merge."""
    return And(s.merged(v), s.union(v) == u)


def side(s: World, n: Expr, p: Expr) -> Expr:
    """p is of the side of n."""
    return And(s.running(p), s.view(p) == s.view(n), s.inside(s.view(n), p))


def stands(s: World, n: Expr) -> Expr:
    """n waits in a merged view, which not all of its members may have."""
    return And(s.latched(n), s.merged(s.view(n)))


def still(s: World, n: Expr) -> Expr:
    """No view change is under way in the side of n, or of those that come to it: ~Changing(n)."""

    def quiet(p: Expr) -> Expr:
        about = Or(s.view(p) == s.view(n), s.held(p) == s.view(n))
        return Not(And(s.inside(s.view(n), p), s.running(p), s.holds(p), about))

    return s.forall(["process"], quiet, lambda p: [s.holds(p), s.view(p)])


def free(s: World, n: Expr) -> Expr:
    """No merge keeps the side of n busy: ~Busy(n)."""

    def not_kept(c: Expr) -> Expr:
        waits = And(leads(s, c), s.stage(c) == INSTALLED, nobody_missing(s, c))
        gone = Not(s.running(s.leader(s.merge(c))))
        return Implies(side(s, n, c), Or(s.stage(c) == IDLE, gone, waits))

    return s.forall(["process"], not_kept, lambda c: [s.view(c)])


def nobody_missing(s: World, n: Expr) -> Expr:
    """waiting[n] = {}."""
    return s.forall(["process"], lambda p: Not(s.waiting(n, p)), lambda p: [s.waiting(n, p)])


def at_the_cut(s: World, n: Expr) -> Expr:
    """The side of n has read the same, and all that it has multicast: Cut(Side(n))."""

    def read(p: Expr, x: Expr) -> Expr:
        where = If(side(s, n, x), s.spoken(x), s.position(n, x))
        return Implies(And(side(s, n, p), s.inside(s.view(n), x)), s.position(p, x) == where)

    return s.forall(["process", "process"], read, lambda p, x: [s.position(p, x)])


def same_id(s: World, v: Expr, w: Expr) -> Expr:
    """v.id = w.id."""
    return And(s.number(v) == s.number(w), s.maker(v) == s.maker(w))


def settled(s: World, v: Expr) -> Expr:
    """The view is GMS's own, or its merge's leader has let all go on in it."""
    return Or(Not(s.merged(v)), s.released(s.union(v)))


def in_path(s: World, n: Expr, i: Expr) -> Expr:
    """n has installed a view at that index."""
    return And(i >= 0, i < s.count(n))


def is_heard(s: World, n: Expr, j: Expr) -> Expr:
    """n has delivered a message at that index."""
    return And(j >= 0, j < s.heard(n))
