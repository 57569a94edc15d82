"""The actions of `spec/Merge2.tla`. Each branch of an action is a transition.

An action that changes nothing of the vocabulary is none: ReceiveKnown, ReceiveFound,
ReceiveMergeRsp, ReceiveInstalled, Resend, Multicast and Lose.
"""

from __future__ import annotations

from raincheck.model.proof.induction import Transition
from raincheck.model.proof.logic import And, Expr, If, Not, Or, Updates, World, put

from .words import ANSWERED, CANCELLED, FLUSHING, IDLE, INSTALLED, INSTALLING, Basis, leads

_N = ("n", "process")
_U = ("u", "union")
_V = ("v", "group")


def transitions(basis: Basis) -> tuple[Transition, ...]:
    """Return all branches of all actions."""
    return (*_beginning(basis), *_deciding(), *_installing(basis), *_ending(), *_around())


def _at(s: World, n: Expr, stage: int) -> Expr:
    return And(s.running(n), s.stage(n) == stage)


def _in_merged(s: World, n: Expr) -> Expr:
    """The view of n is that of the merge that it takes part in."""
    return And(s.merged(s.view(n)), s.union(s.view(n)) == s.merge(n))


def _stage(s: World, n: Expr, stage: int) -> Updates:
    return {"stage": put(s.stage, n, stage)}


def _holding(s: World, n: Expr, v: Expr) -> Updates:
    """Have the side of n hold the view ready."""

    def side(p: Expr) -> Expr:
        return And(s.running(p), s.view(p) == s.view(n), s.inside(s.view(n), p))

    return {
        "holds": lambda p: Or(side(p), s.holds(p)),
        "held": lambda p: If(side(p), v, s.held(p)),
    }


def _beginning(basis: Basis) -> tuple[Transition, ...]:
    def free(s: World, n: Expr) -> Expr:
        return And(_at(s, n, IDLE), s.coordinates(n))

    def joins(s: World, n: Expr, u: Expr) -> Updates:
        return {**_stage(s, n, FLUSHING), "merge": put(s.merge, n, u)}

    return (
        Transition(
            "Merge",
            "",
            (_N, _U),
            lambda s, n, u: And(
                free(s, n), s.leader(u) == n, *([Not(s.begun(u))] if basis.fresh else [])
            ),
            lambda s, n, u: {**joins(s, n, u), "begun": put(s.begun, u, True)},
        ),
        Transition(
            "ReceiveMergeReq",
            "",
            (_N, _U),
            lambda s, n, u: And(free(s, n), s.begun(u), s.leader(u) != n),
            joins,
        ),
        Transition(
            "Flushed",
            "",
            (_N,),
            lambda s, n: _at(s, n, FLUSHING),
            lambda s, n: _stage(s, n, ANSWERED),
        ),
    )


def _deciding() -> tuple[Transition, ...]:
    def may_decide(s: World, n: Expr) -> Expr:
        return And(_at(s, n, ANSWERED), leads(s, n))

    return (
        Transition("Decide", "nothing", (_N,), may_decide, lambda s, n: _stage(s, n, IDLE)),
        Transition(
            "Decide",
            "a view",
            (_N, _V),
            lambda s, n, v: And(may_decide(s, n), s.merged(v), s.union(v) == s.merge(n)),
            lambda s, n, v: {
                **_stage(s, n, INSTALLING),
                **_holding(s, n, v),
                "decided": put(s.decided, s.merge(n), True),
                "result": put(s.result, s.merge(n), v),
            },
        ),
        Transition(
            "ReceiveInstallMergeView",
            "",
            (_N,),
            lambda s, n: And(_at(s, n, ANSWERED), s.decided(s.merge(n))),
            lambda s, n: {
                **_stage(s, n, INSTALLING),
                **_holding(s, n, s.result(s.merge(n))),
            },
        ),
    )


def _installing(basis: Basis) -> tuple[Transition, ...]:
    def installs(s: World, n: Expr) -> Updates:
        v = s.held(n)
        mine = And(s.stage(n) != IDLE, s.union(v) == s.merge(n))
        goes_on = If(s.merged(v), mine, s.stage(n) == FLUSHING)
        first = s.first(v) == n
        promoted = True if basis.promotes else Or(Not(s.merged(v)), s.coordinates(n))

        def position(p: Expr, x: Expr) -> Expr:
            ahead = And(p == n, s.inside(v, x), s.digest(v, x) > s.position(p, x))
            return If(ahead, s.digest(v, x), s.position(p, x))

        return {
            "view": put(s.view, n, v),
            "path": put(s.path, n, s.count(n), v),
            "count": put(s.count, n, s.count(n) + 1),
            "coordinates": put(s.coordinates, n, And(first, promoted)),
            "stage": put(s.stage, n, If(goes_on, s.stage(n), IDLE)),
            "holds": put(s.holds, n, False),
            "position": position,
        }

    return (
        Transition("InstallView", "", (_N,), lambda s, n: And(s.running(n), s.holds(n)), installs),
        Transition(
            "SideInstalled",
            "waits",
            (_N,),
            lambda s, n: And(_at(s, n, INSTALLING), _in_merged(s, n)),
            lambda s, n: _stage(s, n, INSTALLED),
        ),
        Transition(
            "SideInstalled",
            "left out",
            (_N,),
            lambda s, n: And(_at(s, n, CANCELLED), _in_merged(s, n)),
            lambda s, n: _stage(s, n, IDLE),
        ),
    )


def _ending() -> tuple[Transition, ...]:
    def before(s: World, n: Expr) -> Expr:
        """The merge of n is not decided, as far as n knows."""
        return Or(s.stage(n) == FLUSHING, s.stage(n) == ANSWERED)

    def idle(s: World, n: Expr) -> Updates:
        return _stage(s, n, IDLE)

    return (
        Transition("Finish", "", (_N,), lambda s, n: And(_at(s, n, INSTALLED), leads(s, n)), idle),
        Transition(
            "ReceiveResume",
            "",
            (_N,),
            lambda s, n: And(s.running(n), s.stage(n) != IDLE, _in_merged(s, n)),
            idle,
        ),
        Transition(
            "Suspect",
            "",
            (_N,),
            lambda s, n: And(s.running(n), before(s, n), Not(leads(s, n))),
            idle,
        ),
        Transition(
            "ReceiveCancel",
            "at once",
            (_N,),
            lambda s, n: And(s.running(n), Or(before(s, n), s.stage(n) == INSTALLED)),
            idle,
        ),
        Transition(
            "ReceiveCancel",
            "after the view",
            (_N,),
            lambda s, n: _at(s, n, INSTALLING),
            lambda s, n: _stage(s, n, CANCELLED),
        ),
    )


def _around() -> tuple[Transition, ...]:
    def delivers(s: World, n: Expr, x: Expr) -> Updates:
        j, number = s.heard(n), s.position(n, x) + 1
        return {
            "position": put(s.position, n, x, number),
            "heard": put(s.heard, n, j + 1),
            "heard_from": put(s.heard_from, n, j, x),
            "heard_number": put(s.heard_number, n, j, number),
        }

    return (
        Transition(
            "ViewChange",
            "",
            (_N, _V),
            lambda s, n, v: And(s.running(n), Not(s.merged(v))),
            _holding,
        ),
        Transition(
            "Deliver",
            "",
            (_N, ("x", "process")),
            lambda s, n, x: And(s.running(n), s.inside(s.view(n), x)),
            delivers,
        ),
        Transition(
            "Crash",
            "",
            (_N,),
            lambda s, n: s.running(n),
            lambda s, n: {
                "running": put(s.running, n, False),
                "coordinates": put(s.coordinates, n, False),
                "stage": put(s.stage, n, IDLE),
                "holds": put(s.holds, n, False),
            },
        ),
    )
