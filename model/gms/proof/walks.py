"""Random runs of GMS's model beside the theory: what ties the proof to the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Final

from raincheck.model.gms.events import View
from raincheck.model.gms.promises import invariants
from raincheck.model.gms.state import State
from raincheck.model.gms.system import GmsSystem
from raincheck.model.machine.composed import Move
from raincheck.model.machine.runs import Address
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.ties import Edge, Machines, Seen, said, walked

from .model import Run

RUNS: Final[Mapping[str, int]] = {
    "crash": 3,
    "four": 40,
    "four-live": 6,
    "join": 6,
    "leave": 3,
    "return": 4,
    "transfer": 3,
}
"""How many runs of each case are followed."""

UNDONE: Final = ("f2-undone", "f3-last")
"""Cases in which a rule is undone: their runs have several views of one number."""

EXCUSED: Final = {
    "Suspended: the next view: only And(number(held(p)) == number(view(p)),"
    " maker(held(p)) == maker(view(p)))": "A member holds only a view later than its own; it holds"
    " none once it has installed it.",
    "Suspended: a view again: only And(And(answered(change(p), q), Not(gone(p, q))),"
    " proposal(change(p)) == said_view(change(p), q))": "Nobody installs a view before all hold it,"
    " so the leader has or holds every view that another one has installed.",
    "Suspended: a view again: only Not(holds(p))": "Where nothing is held, the symbol keeps the"
    " view that was held last, which is no later than the one that is proposed.",
    "InstallView: only Not(maker(view(p)) == maker(proposal(change(p))))": "No two views of one"
    " number are proposed to a member (SingleSequenceOfViews); the numbers differ as well.",
    "ReceivePrepare: only Not(Not(And(holds(p), member(held(p), requester(c)))))": "A joiner leads"
    " only when all members before it are gone, and a member that holds its view is one of them.",
}


def walk(machine: GmsSystem, seed: int, subject: Theory | None = None, steps: int = 70) -> Run:
    """Return a random run of the model, with crashes most of all while a view is installed."""
    return Run(machine, *walked(machine, seed, steps, _weight), subject)


def _weight(state: State, move: Move[State]) -> float:
    views = [me.view for me in state.locals if me.view is not None]
    last = max((view.id.counter for view in views), default=0)
    ahead = sum(view.id.counter == last for view in views)
    halfway = 2 <= ahead < len(views)
    held = sum(bool(me.held) for me in state.locals)
    if move.action == "Crash":
        return 1 if halfway or 0 < held < len(views) - 1 else 0.05
    if move.action == "ReceiveInstall":
        return 0.05 if halfway else 1
    return {"Leave": 0.15, "RequestTransfer": 0.3}.get(move.action, 1)


def edges(subject: Theory, machines: Machines) -> Iterator[Edge]:
    """Yield the steps of random runs."""
    for case, runs in RUNS.items():
        for seed in range(runs):
            yield from walk(machines(f"gms-{case}"), seed, subject).edges()


def twins(subject: Theory, machines: Machines) -> Iterator[Seen]:
    """Yield states of random runs, with and without the repairs, and damaged ones."""
    promises = invariants(lambda me: Address(me.node, me.incarnation))
    for case in (*RUNS, *UNDONE):
        for seed in range(4):
            run, draw = walk(machines(f"gms-{case}"), seed, subject), Random(seed)
            views = list(run.known.group)
            for state in run.states[::10]:
                for other in (state, *(_damaged(state, views, draw) for _ in range(8))):
                    if found := said(promises, other):
                        yield Seen(found, run.frame.world(run.tables(other)))


def _damaged(state: State, views: list[View], draw: Random) -> State:
    """Return the state with another view at a member, or another step between views."""
    view = draw.choice(views)
    i = draw.randrange(len(state.locals))
    me = state.locals[i]
    if draw.random() < 0.5 and me.view is not None:
        return state._replace(
            locals=(
                *state.locals[:i],
                me._replace(view=view, gone=frozenset()),
                *state.locals[i + 1 :],
            )
        )
    before = draw.choice((None, *views))
    return state._replace(steps=state.steps | {(before, view)})
