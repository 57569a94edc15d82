"""NAKACK and STABLE side by side: neither takes for granted what rests on the other.

NAKACK purges what STABLE declares stable (SafePurge), and STABLE counts what NAKACK reports of its
deliveries (TrueDigests). Here both run together, for the stream of an arbitrary source: NAKACK
purges exactly when STABILITY makes it, and a digest says exactly what NAKACK has delivered. Views
come from the world around, as both theories have them; what GMS and FLUSH promise of them stays an
assumption.
"""

from __future__ import annotations

from typing import Any, Final

from raincheck.model.proof.composition import Composition, Joint, Taken
from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import And, Expr, Implies, Not, Or, World
from raincheck.model.stable.proof import theory as stable

from . import theory as nakack
from .words import CRASHED, JOINING, MEMBER

NAKACK: Final = "nakack"
STABLE: Final = "stable"


def _delivers(s: World, p: Expr) -> list[Taken]:
    at = s.nakack_delivered(p) + 1
    return [Taken(STABLE, "Deliver", (p, s.nakack_source(), at))]


def _joins(s: World, p: Expr) -> list[Taken]:
    """What the joiner was promised was taken when the promiser was suspended, and the rest up to
    the cut was delivered since.
    """
    decided, source = s.nakack_decided(), s.nakack_source()
    reads = s.nakack_in_view(decided, source)
    return [
        Taken(STABLE, "InstallView: joiner", (p,)),
        Taken(STABLE, "Deliver", (p, source, s.nakack_cut(decided)), reads),
    ]


def _alike(name: str) -> Any:
    return lambda _s, p: [Taken(STABLE, name, (p,))]


def _purges(s: World, n: Expr, m: Expr) -> list[Taken]:
    source = s.nakack_source()
    inside = s.stable_member(s.stable_view(n), source)
    return [Taken(NAKACK, "Purge", (n, s.stable_stability_at(m, source)), inside)]


def _reported(s: World, n: Expr, d: Expr) -> Expr:
    """A digest says of the members of the view what NAKACK says.

    Of the source this is what its stream's part says; of the others it is what the same proof says
    where they are the source. Nobody reads what a digest says of other processes.
    """
    source = s.nakack_source()

    def told(x: Expr) -> Expr:
        mine = And(x == source, s.nakack_in_view(s.nakack_view(n), source))
        return And(
            Implies(mine, s.stable_digest_at(d, x) == s.nakack_delivered(n)),
            Implies(Not(mine), s.stable_digest_at(d, x) == s.stable_delivered(n, x)),
        )

    return s.forall(["process"], told, lambda x: [s.stable_digest_at(d, x)])


def _changes(_s: World, _at: Expr, _new: Any, c: Expr, stay: Any, join: Any) -> list[Taken]:
    return [Taken(STABLE, "ViewChange", (c, stay, join))]


def _coordinated(s: World, _at: Expr, new: Any, c: Expr, stay: Any, join: Any) -> Expr:
    """A member of the last view decides, and has promised its digest to those who join."""

    def either(p: Expr) -> Expr:
        return And(
            stay(p) == And(new(p), s.nakack_status(p) == MEMBER),
            join(p) == And(new(p), s.nakack_status(p) == JOINING),
        )

    return And(
        stay(c),
        Or(s.stable_cutting(c), s.forall(["process"], lambda p: Not(join(p)), lambda p: [join(p)])),
        s.forall(["process"], either, lambda p: [new(p), stay(p), join(p)]),
    )


_COORDINATOR: Final = (("c", "process"), ("stay", "set"), ("join", "set"))

JOINTS: Final = (
    Joint(NAKACK, "Deliver", _delivers),
    Joint(
        STABLE,
        "Deliver",
        given=lambda s, _n, x, _at: x != s.nakack_source(),  # the same proof, of another stream
    ),
    *(
        Joint(STABLE, each.name, given=_reported)
        for each in stable.theory().transitions
        if each.action == "SendDigest"
    ),
    *(
        Joint(STABLE, each.name, _purges)
        for each in stable.theory().transitions
        if each.action in ("SendStability", "ReceiveStability")
    ),
    Joint(NAKACK, "InstallView", _alike("InstallView: member")),
    Joint(NAKACK, "Join", _joins),
    Joint(NAKACK, "Crash", _alike("Crash")),
    Joint(NAKACK, "ViewChange", _changes, _coordinated, _COORDINATOR),
)


def _comes(s: World, p: Expr) -> Expr:
    """p is about to begin to read the source, which joins with the last view."""
    source, v = s.nakack_source(), s.nakack_view(p)
    return And(
        s.nakack_status(p) == MEMBER,
        v < s.nakack_decided(),
        s.nakack_in_view(v + 1, source),
        Not(s.nakack_in_view(v, source)),
    )


COUPLING: Final = (
    Conjunct(
        "SameMembers",
        "Both have the same views.",
        ("view", "process"),
        lambda s, v, p: s.nakack_in_view(v, p) == s.stable_member(v, p),
        lambda s, v, p: [s.nakack_in_view(v, p), s.stable_member(v, p)],
    ),
    Conjunct(
        "SameLast",
        "Both have the same number of views.",
        (),
        lambda s: s.nakack_decided() == s.stable_last(),
    ),
    Conjunct(
        "SameView",
        "A process is in the same view in both.",
        ("process",),
        lambda s, p: s.nakack_view(p) == s.stable_view(p),
        lambda s, p: [s.nakack_view(p), s.stable_view(p)],
    ),
    Conjunct(
        "SameRunning",
        "A process runs in both or in neither.",
        ("process",),
        lambda s, p: (s.nakack_status(p) == MEMBER) == s.stable_running(p),
        lambda s, p: [s.nakack_status(p), s.stable_running(p)],
    ),
    Conjunct(
        "JoiningHasNoView",
        "A process has a view as soon as it is no longer joining.",
        ("process",),
        lambda s, p: And(
            Implies(s.nakack_status(p) == JOINING, s.nakack_view(p) == 0),
            Implies(s.nakack_status(p) == CRASHED, s.nakack_view(p) >= 1),
        ),
        lambda s, p: [s.nakack_status(p), s.nakack_view(p)],
    ),
    Conjunct(
        "SameDelivered",
        "STABLE knows what a reader has delivered.",
        ("process",),
        lambda s, p: Implies(
            s.nakack_reads(p),
            s.stable_delivered(p, s.nakack_source()) == s.nakack_delivered(p),
        ),
        lambda s, p: [s.nakack_reads(p), s.nakack_delivered(p)],
    ),
    Conjunct(
        "NothingOfAJoiner",
        "Nothing of a joining source was delivered, or promised to anybody.",
        ("process",),
        lambda s, p: Implies(
            s.nakack_status(s.nakack_source()) == JOINING,
            And(
                s.stable_delivered(p, s.nakack_source()) == 0,
                Implies(s.stable_cutting(p), s.stable_cut(p, s.nakack_source()) == 0),
            ),
        ),
        lambda s, p: [
            s.stable_delivered(p, s.nakack_source()),
            s.stable_cut(p, s.nakack_source()),
        ],
    ),
    Conjunct(
        "NothingOfWhoComes",
        "A member that is about to begin to read the source has delivered nothing of it.",
        ("process",),
        lambda s, p: Implies(_comes(s, p), s.stable_delivered(p, s.nakack_source()) == 0),
        lambda s, p: [s.stable_delivered(p, s.nakack_source())],
    ),
    Conjunct(
        "PromisedIsDelivered",
        "A member has delivered what it promised to joiners.",
        ("process", "process"),
        lambda s, c, x: Implies(
            s.stable_cutting(c), s.stable_cut(c, x) <= s.stable_delivered(c, x)
        ),
        lambda s, c, x: [s.stable_cut(c, x)],
    ),
    Conjunct(
        "PromisedBeforeTheCut",
        "What a joiner was promised of the source lies before the view's cut.",
        ("process",),
        lambda s, p: Implies(
            And(
                s.nakack_status(p) == JOINING,
                s.nakack_in_view(s.nakack_decided(), p),
                s.nakack_in_view(s.nakack_decided(), s.nakack_source()),
            ),
            s.stable_delivered(p, s.nakack_source()) <= s.nakack_cut(s.nakack_decided()),
        ),
        lambda s, p: [s.stable_delivered(p, s.nakack_source()), s.nakack_status(p)],
    ),
)


def compositions() -> tuple[Composition, ...]:
    """Return both, side by side."""
    granted = {NAKACK: ("SafePurge",), STABLE: ("TrueDigests",)}
    both = Composition(
        {NAKACK: nakack.theory(), STABLE: stable.theory()},
        {
            NAKACK: nakack.theory(nakack.basis_without(granted[NAKACK])),
            STABLE: stable.theory(stable.basis_without(granted[STABLE])),
        },
        JOINTS,
        COUPLING,
        lambda s: s.forall(["process"], lambda p: s.nakack_founder(p) == s.stable_founder(p)),
        granted,
    )
    return (both,)
