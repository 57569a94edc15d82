"""Runs of FLUSH's model, translated into the vocabulary of its proof."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from raincheck.model.flush.events import Fid
from raincheck.model.flush.promises import INVARIANTS
from raincheck.model.flush.state import State
from raincheck.model.flush.system import FlushSystem
from raincheck.model.machine.composed import Move
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.following import Following, Step
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.ties import Edge, Machines, Seen, damages, said, walked

from .theory import theory
from .words import CALLING, NO, YES

WORDS = {"no": NO, "calling": CALLING, "yes": YES}

OBSERVED = (
    *("running", "view", "latch", "blocked", "taking", "flush", "suspects", "frozen", "fetching"),
    *("length", "position", "sent_in", "last", "member", "active", "suspended"),
)
"""The symbols of the theory that a state of the model shows."""

SAID = ("cut", "began", "part")
"""Further symbols of theorems. What they say of ended flushes, a state no longer shows."""

INSTANCES: Final[Mapping[str, Iterable[int]]] = {
    "crash": range(5),
    "crash-two": range(5),
    "everything": range(5),
    "join": range(5),
    "transfer-crash": (*range(5), 62, 119),  # in these a dead member's multicast is fetched
}
"""The cases whose runs are followed, and the seeds."""

EXCUSED: Final = {
    "ReceiveCompleted: the last one: not ForAll([process, process],"
    " Implies(And(part(f, process), done(f, process)),"
    " digest(f, process, process) <= most(f, process)))": "`most` foretells the"
    " greatest of the digests, so a followed run has none that is greater.",
}

DAMAGED = (
    *(("cuts", "*", "*", "*"), ("position", "*", "*"), ("up", "*"), ("stream", "*")),
    *(("stream", "*", "*"), ("locals", "*", "latch"), ("locals", "*", "suspended")),
)
"""Where the states are damaged of which the theorems are asked."""


def walk(machine: FlushSystem, seed: int, subject: Theory | None = None, steps: int = 60) -> Run:
    """Return a random run of the model, with few crashes."""
    first, moves = walked(
        machine, seed, steps, lambda _, move: 0.15 if move.action == "Crash" else 1
    )
    return Run(machine, first, moves, subject)


def edges(subject: Theory, machines: Machines) -> Iterator[Edge]:
    """Yield the steps of random runs."""
    for case, seeds in INSTANCES.items():
        for seed in seeds:
            yield from walk(machines(f"flush-{case}"), seed, subject).edges()


def twins(subject: Theory, machines: Machines) -> Iterator[Seen]:
    """Yield states of random runs, and damaged ones."""
    for case, seeds in INSTANCES.items():
        for seed in seeds:
            run = walk(machines(f"flush-{case}"), seed, subject)
            for state in damages(run.states[::6], DAMAGED, 30, seed):
                if promises := said(INVARIANTS, state):
                    yield Seen(promises, run.frame.world(run.tables(state)))


class Run(Following[State]):
    """A run of the model, and the same run in the theory."""

    def __init__(
        self,
        system: FlushSystem,
        first: State,
        moves: Sequence[Move[State]],
        subject: Theory | None = None,
    ) -> None:
        super().__init__(first, moves, subject or theory())
        self.system = system
        size = range(len(system.nodes))
        fids = sorted({me.asked for s in self.states for me in s.locals if me.asked is not None})
        longest = max(len(stream) for stream in self.states[-1].stream)
        views = max(len(state.views) for state in self.states)
        most = self._foretold(fids)
        self.frame = Frame(
            self.theory,
            {
                "process": list(size),
                "flush": fids,
                "view": list(range(views + 2)),
                "place": list(range(longest + 2)),
            },
            {
                "rank": lambda p: p,
                # Also asked of no flush, where the answer does not matter.
                "requester": lambda f: system.index[f.requester.node] if f else 0,
                "attempt": lambda f: f.attempt if f else 0,
                "most": lambda f, c: most[f, c][0] if f else 0,
                "holder": lambda f, c: most[f, c][1] if f else 0,
            },
            self._matters,
        )

    def _foretold(self, fids: Sequence[Fid]) -> dict[tuple[Fid, int], tuple[int, int]]:
        """Return what comparing each flush's digests will find: the most, and who has it."""
        index = self.system.index
        digests: dict[Fid, dict[int, dict[int, int]]] = {fid: {} for fid in fids}
        for before, move in zip(self.states, self.moves, strict=False):
            if move.action == "BlockOk":
                i = index[str(move.args[0])]
                fid = before.locals[i].flush
                assert fid is not None
                said = {index[who.node]: at for who, at in move.event.digest}
                digests[fid][i] = said
        found = {}
        for fid, answers in digests.items():
            for c in range(len(self.system.nodes)):
                have = [(said.get(c, 0), -i) for i, said in answers.items()]
                most, holder = max(have, default=(0, -index[fid.requester.node]))
                found[fid, c] = (most, -holder)
        return found

    @staticmethod
    def _matters(name: str, values: tuple[Any, ...], world: Any) -> bool:
        """Tell whether the values matter: those of a process that does not run do not."""
        if name in ("running", "length", "sent_in", "last", "member"):
            return True
        if name in ("active", "suspended"):
            (fid,) = values
            return bool(world.running(world.requester(fid)) and world.active(fid))
        return bool(world.running(values[0]) and (name != "flush" or world.taking(values[0])))

    # ------------------------------------------------------------------ a state

    def tables(self, state: State) -> Tables:
        """Return the symbols' values that the state shows."""
        index = self.system.index
        found: Tables = {name: {} for name in (*OBSERVED, *SAID)}

        def put(name: str, key: tuple[Any, ...], value: Any) -> None:
            if value not in (False, 0, None):
                found[name][key] = value

        put("last", (), len(state.views))
        for v, members in enumerate(state.views, 1):
            for member in members:
                put("member", (v, index[member.node]), True)
        for i, me in enumerate(state.locals):
            put("running", (i,), state.up[i])
            put("length", (i,), len(state.stream[i]))
            for place, view in enumerate(state.stream[i], 1):
                put("sent_in", (i, place), view)
            put("view", (i,), me.view)
            put("latch", (i,), me.latch)
            put("blocked", (i,), WORDS[me.blocked])
            put("taking", (i,), me.flush is not None)
            put("flush", (i,), me.flush)
            put("fetching", (i,), bool(me.fetching))
            for c in range(len(state.locals)):
                put("position", (i, c), state.position[i][c])
            for m in me.suspects:
                put("suspects", (i, index[m.node]), True)
            for m in me.frozen:
                put("frozen", (i, index[m.node]), True)
            for v, cut in enumerate(state.cuts[i], 1):
                for c, at in enumerate(cut):
                    put("cut", (i, v, c), at)
            if me.asked is not None:
                put("began", (me.asked,), True)
                put("active", (me.asked,), True)
                for m in me.participants:
                    put("part", (me.asked, index[m.node]), True)
                put("suspended", (me.asked,), me.suspended)
        return found

    def differs(self, tables: Tables, state: State) -> str | None:
        """Return the first symbol that differs where it matters, or None."""
        return self.frame.differs(tables, self.tables(state), OBSERVED)

    # ------------------------------------------------------------------ its steps

    def steps(self, number: int) -> Iterator[Step]:
        """Yield the step as transitions of the theory; nothing if it does not matter there."""
        before, move = self.states[number], self.moves[number]
        after, index = move.target, self.system.index
        args = [index[str(name)] for name in move.args]
        if move.action == "ViewChange":
            leader = next(me for me in before.locals if me.suspended)
            yield "ViewChange", (leader.asked,)
            return
        i = args[0]
        me, then = before.locals[i], after.locals[i]
        match move.action:
            case "Multicast" | "BlockOk" | "Reconciled" | "InstallView" | "Crash":
                yield move.action, (i,)
            case "ReceiveMulticast":
                yield move.action, (i, args[1])
            case "ReceiveStart":
                if then.flush == move.event.fid and then.blocked == "calling":
                    yield move.action, (i, then.flush)
            case "ReceiveReconcile":
                if then.fetching and then != me:
                    yield move.action, (i, then.flush)
            case "ReceiveStop":
                if then.flush is None and me.flush is not None:
                    yield move.action, (i, me.flush)
            case "Resume":
                yield move.action, (me.asked,)
            case "Suspend":
                yield move.action, (i, then.asked)
            case "Suspect":
                yield move.action, (i, args[1])
                if then.asked != me.asked:
                    yield "Suspect: gives up its flush", (me.asked,)
                    yield "Suspend", (i, then.asked)
            case "ReceiveCompleted":
                if len(then.completed) > len(me.completed) == len(me.participants) - 1:
                    yield "ReceiveCompleted: the last one", (me.asked,)
                    if then.suspended:
                        yield "ReceiveReconciled: the last one", (me.asked,)
            case "ReceiveReconciled":
                if then.suspended and not me.suspended:
                    yield "ReceiveReconciled: the last one", (me.asked,)
