"""Random runs of Raincore's model beside the theory: what ties the proof to the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any, Final

from raincheck.model.proof.concrete import Tables
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.ties import Edge, Machines, Seen, damages, said, walked
from raincheck.model.raincore.local import Rules
from raincheck.model.raincore.promises import INVARIANTS
from raincheck.model.raincore.state import Constants, Spent, State
from raincheck.model.raincore.system import RaincoreSystem

from .model import Run

_ABC: Final = ("a", "b", "c")
_QUIET: Final = Constants(_ABC, _ABC, max_attempts=6, max_epoch=6, max_seq=40, keep_fences=True)

INSTANCES: Final = {
    "crash": replace(_QUIET, crashers=frozenset("abc"), most=Spent(crashes=1)),
    "recovery": replace(_QUIET, crashers=frozenset("abc"), most=Spent(crashes=2, recoveries=2)),
    "early": replace(_QUIET, patient=False, most=Spent(early=3)),
    "false": replace(_QUIET, truthful=False, arrives_after_failure=True, most=Spent(false=2)),
    "split": replace(_QUIET, most=Spent(splits=2)),
    "pause": replace(_QUIET, most=Spent(pauses=5)),
    "leave": replace(_QUIET, leavers=frozenset("bc")),
    "start": replace(_QUIET, formed=False),
    "join": replace(_QUIET, nodes=(*_ABC, "d")),
    "all": replace(
        _QUIET,
        nodes=(*_ABC, "d"),
        patient=False,
        truthful=False,
        arrives_after_failure=True,
        crashers=frozenset("abc"),
        leavers=frozenset("b"),
        most=Spent(crashes=2, recoveries=2, early=3, false=2, splits=1),
    ),
}
"""Instances whose runs are followed."""

RUNS: Final = 4

_RETURN: Final = (
    "The theory allows a member that eats to take a token of a later epoch; 150 runs of 110 steps"
    " with every kind of failure have none that does."
)
EXCUSED: Final = {
    "ReceiveToken: only e > epoch(n)": _RETURN,
    "ReceiveToken: the last one to hold it: only e > epoch(n)": _RETURN,
    "ReceiveToken: the last one to hold it: only Not(epoch(n) == e)": "The same guard stands in"
    " ReceiveToken's other branch, where an edge meets it; here it needs a ring of two at once.",
    "NothingIsMissed": "It is a step of the induction, which Regenerate assumes; the specification"
    " has no property of that name.",
}

DAMAGED: Final = (
    *(("locals", "*", "global_view", "*"), ("locals", "*", "last_token", "seq")),
    ("eaten",),
)
"""Where the states are damaged of which the theorems are asked."""

_RARE: Final = ("Crash", "Split", "FalseReport", "HungryTimeout", "Leave", "Lose", "Heal", "Pause")


def walk(
    case: str,
    seed: int,
    rules: Rules = Rules(),  # noqa: B008
    subject: Theory | None = None,
    steps: int = 70,
) -> Run:
    """Return a random run of the model, with few failures."""
    system = RaincoreSystem(replace(INSTANCES[case], rules=rules))
    first, moves = walked(system, seed, steps, lambda _, move: 0.15 if move.action in _RARE else 1)
    return Run(system, first, moves, subject)


def edges(subject: Theory, _machines: Machines) -> Iterator[Edge]:
    """Yield the steps of random runs."""
    for case in INSTANCES:
        for seed in range(RUNS):
            yield from walk(case, seed, subject=subject).edges()
    # A token of a later epoch reaches a member that knows a higher number of an earlier one.
    yield from walk("all", 12, subject=subject, steps=60).edges()


def twins(subject: Theory, _machines: Machines) -> Iterator[Seen]:
    """Yield states of random runs, and damaged ones."""
    for case in ("crash", "split", "all"):
        for seed in range(RUNS):
            run, draw = walk(case, seed, subject=subject), Random(seed)
            list(run.edges())
            for state, tables in list(zip(run.states, run.reached, strict=False))[::12]:
                some = [state, *(_changed(state, draw) for _ in range(10))]
                for other in (*damages([state], DAMAGED, 10, seed), *some):
                    if promises := said(INVARIANTS, other):
                        world = run.frame.world(_shown(run, other, tables))
                        eaters = [me for me in other.locals if _eats(me)]
                        epochs = {me.last_token.epoch for me in eaters}
                        more = {
                            "OneToken": len(epochs) == len(eaters),
                            "OneLockWhenCalm": promises["OneLock"] or not world.calm(),
                        }
                        yield Seen({**promises, **more}, world)


def _eats(me: Any) -> bool:
    return bool(me.up == "up" and me.token_state == "eating")


def _changed(state: State, draw: Random) -> State:
    """Return the state with another eater, with a number eaten twice, or a member without token."""
    i = draw.randrange(len(state.locals))
    me = state.locals[i]
    match draw.randrange(3):
        case 0:
            me = me._replace(token_state="eating")
        case 1 if state.eaten:
            epoch, seq, _ = draw.choice(sorted(state.eaten))
            return state._replace(eaten=state.eaten | {(epoch, seq, me.me)})
        case _:
            me = me._replace(last_token=me.last_token._replace(seq=0))
    return state._replace(locals=(*state.locals[:i], me, *state.locals[i + 1 :]))


def _shown(run: Run, state: State, tables: Tables) -> Tables:
    """Return the tables with what the state shows."""
    known = {(p.depth, p.ring): p for _, _, p, _ in tables["entry"]}
    found = {**tables, "entry": {}, "ate": {}}
    lists = [(n, e) for n, me in enumerate(state.locals) for e in enumerate(me.global_view, 1)]
    for n, (at, view) in (*lists, *((0, each) for each in state.past)):
        if view:
            ring = tuple(run.members[m] for m in view)
            if (at, ring) not in known:
                known[at, ring] = run.proposal_of(at, ring)
            p = known[at, ring]
            found["entry"][n, at, p, 0] = True
    for epoch, seq, who in state.eaten:
        found["ate"][run.epoch(epoch), seq, run.members[who]] = True
    for name in ("eating", "sure", "epoch"):
        found[name] = {}
    never = set()
    for n, me in enumerate(state.locals):
        if _eats(me):
            found["eating"][n,] = True
        if me.up == "up" and me.view_state != "chaos":
            found["sure"][n,] = True
        if me.up == "up" and me.last_token.seq == 0:
            never.add(n)
        found["epoch"][n,] = run.epoch(me.last_token.epoch)
    settled = {(p, 0, x): True for _, _, p, _ in found["entry"] for x in p.members}
    found["held"] = {key: True for key in settled if key[2] not in never}
    return found
