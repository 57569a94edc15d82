"""The actions of `spec/Merge2.tla` behind the decision of a merge."""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import And, Expr, If, Implies, Not, Or, Updates, World, put

from .actions import N, P, U, at_stage, holding, opened, stage
from .words import (
    ANSWERED,
    CANCELLED,
    FLUSHING,
    IDLE,
    INSTALLED,
    INSTALLING,
    Basis,
    answers,
    in_merge,
    leads,
    nobody_missing,
    of_merge,
    still,
)


def installing(basis: Basis) -> tuple[Transition, ...]:
    """Return how a side installs a view."""

    def installed(s: World, n: Expr) -> Updates:
        v = s.held(n)
        mine = And(s.stage(n) != IDLE, s.union(v) == s.merge(n))
        answering = s.stage(n) == FLUSHING if basis.frozen else True
        goes_on = If(s.merged(v), mine, answering)
        first = s.first(v) == n
        promoted = True if basis.promotes else Or(Not(s.merged(v)), s.coordinates(n))

        def position(p: Expr, x: Expr) -> Expr:
            ahead = And(p == n, s.inside(v, x), s.digest(v, x) > s.position(p, x))
            return If(ahead, s.digest(v, x), s.position(p, x))

        return {
            "view": put(s.view, n, v),
            "path": put(s.path, n, s.count(n), v),
            "count": put(s.count, n, s.count(n) + 1),
            "been": put(s.been, n, v, True),
            "coordinates": put(s.coordinates, n, And(first, promoted)),
            "stage": put(s.stage, n, If(goes_on, s.stage(n), IDLE)),
            "holds": put(s.holds, n, False),
            "latched": put(s.latched, n, And(s.merged(v), s.latched(n))),
            "position": position,
        }

    def side_has_it(s: World, n: Expr) -> Expr:
        def installs_no_more(p: Expr) -> Expr:
            return Not(And(s.running(p), s.latched(p), s.latch(p) == n, s.holds(p)))

        all_have = s.forall(["process"], installs_no_more, lambda p: [s.holds(p)])
        return And(of_merge(s, s.view(n), s.merge(n)), all_have)

    return (
        Transition(
            "ReceiveInstallMergeView",
            "its side holds it",
            (N,),
            lambda s, n: And(
                at_stage(s, n, ANSWERED),
                s.decided(s.merge(n)),
                s.into(s.merge(n), n),
                Not(leads(s, n)),
            ),
            lambda s, n: {
                **stage(s, n, INSTALLING),
                **holding(s, n, s.result(s.merge(n))),
            },
        ),
        Transition(
            "ReceiveInstallMergeView",
            "not in the merge",
            (N, U),
            lambda s, n, u: And(
                s.running(n),
                s.decided(u),
                s.into(u, n),
                s.leader(u) != n,
                Not(in_merge(s, n, u)),
            ),
            lambda s, n, u: {"says": put(s.says, u, n, True)},
        ),
        Transition("InstallView", "", (N,), lambda s, n: And(s.running(n), s.holds(n)), installed),
        Transition(
            "SideInstalled",
            "waits",
            (N,),
            lambda s, n: And(at_stage(s, n, INSTALLING), side_has_it(s, n)),
            lambda s, n: {
                **stage(s, n, INSTALLED),
                "waiting": put(s.waiting, n, n, False),
                "says": put(s.says, s.merge(n), n, Or(Not(leads(s, n)), s.says(s.merge(n), n))),
            },
        ),
        Transition(
            "SideInstalled",
            "left out",
            (N,),
            lambda s, n: And(at_stage(s, n, CANCELLED), side_has_it(s, n)),
            lambda s, n: stage(s, n, IDLE),
        ),
    )


def ending() -> tuple[Transition, ...]:
    """Return how a merge ends."""

    def finishes(s: World, n: Expr) -> Expr:
        def is_there(p: Expr) -> Expr:
            return Implies(And(s.inside(s.view(n), p), s.running(p)), s.view(p) == s.view(n))

        everybody = s.forall(["process"], is_there, lambda p: [s.view(p)])
        waits = And(at_stage(s, n, INSTALLED), leads(s, n), nobody_missing(s, n))
        return And(waits, still(s, n), everybody)

    def over(s: World, n: Expr, u: Expr, p: Expr) -> Expr:
        """n leads that merge, which is over here, and has INSTALLED of p."""
        known = And(s.running(n), s.leader(u) == n, s.says(u, p))
        return And(known, Not(in_merge(s, n, u)))

    return (
        Transition(
            "ReceiveInstalled",
            "",
            (N, P),
            lambda s, n, p: And(
                s.running(n),
                Or(s.stage(n) == INSTALLING, s.stage(n) == INSTALLED),
                leads(s, n),
                s.says(s.merge(n), p),
            ),
            lambda s, n, p: {"waiting": put(s.waiting, n, p, False)},
        ),
        Transition(
            "ReceiveInstalled",
            "both have it",
            (N, U, P),
            lambda s, n, u, p: And(over(s, n, u, p), of_merge(s, s.view(n), u)),
            lambda s, _, u, p: {"resumes": put(s.resumes, u, p, True)},
        ),
        Transition(
            "ReceiveInstalled",
            "the merge is over",
            (N, U, P),
            over,
            lambda s, _, u, p: {"told": put(s.told, u, p, True)},
        ),
        Transition(
            "Finish",
            "",
            (N,),
            finishes,
            lambda s, n: {
                **stage(s, n, IDLE),
                **opened(s, n),
                "resumes": lambda u, c: Or(
                    And(u == s.merge(n), s.into(u, c), c != n), s.resumes(u, c)
                ),
                "released": put(s.released, s.merge(n), True),
            },
        ),
        Transition(
            "ReceiveResume",
            "",
            (N, U),
            lambda s, n, u: And(s.running(n), s.resumes(u, n), of_merge(s, s.view(n), u)),
            lambda s, n, u: {
                "stage": put(s.stage, n, If(s.merge(n) == u, IDLE, s.stage(n))),
                **opened(s, n),
            },
        ),
        Transition(
            "Suspect",
            "waits no longer",
            (N, P),
            lambda s, n, p: And(
                s.running(n), s.stage(n) != IDLE, leads(s, n), s.waiting(n, p), p != n
            ),
            lambda s, n, p: {
                "waiting": put(s.waiting, n, p, False),
                "told": put(s.told, s.merge(n), p, True),
                "doubted": lambda: Or(s.doubted(), s.running(p)),
            },
        ),
        Transition(
            "Suspect",
            "gives up",
            (N,),
            lambda s, n: And(s.running(n), answers(s, n), Not(leads(s, n))),
            lambda s, n: {
                **stage(s, n, IDLE),
                **opened(s, n),
                "doubted": lambda: Or(s.doubted(), s.running(s.leader(s.merge(n)))),
            },
        ),
        Transition(
            "ReceiveCancel",
            "goes on",
            (N,),
            lambda s, n: And(s.running(n), answers(s, n), s.told(s.merge(n), n)),
            lambda s, n: {**stage(s, n, IDLE), **opened(s, n)},
        ),
        Transition(
            "ReceiveCancel",
            "has the view",
            (N,),
            lambda s, n: And(at_stage(s, n, INSTALLED), s.told(s.merge(n), n)),
            lambda s, n: stage(s, n, IDLE),
        ),
        Transition(
            "ReceiveCancel",
            "is to install it",
            (N,),
            lambda s, n: And(at_stage(s, n, INSTALLING), s.told(s.merge(n), n)),
            lambda s, n: stage(s, n, CANCELLED),
        ),
    )
