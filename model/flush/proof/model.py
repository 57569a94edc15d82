"""Runs of FLUSH's model, translated into the vocabulary of its proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from raincheck.model.flush.events import Fid
from raincheck.model.flush.state import State
from raincheck.model.flush.system import FlushSystem
from raincheck.model.machine.composed import Move
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.following import Following, Step

from .theory import theory
from .words import CALLING, NO, YES, Basis

WORDS = {"no": NO, "calling": CALLING, "yes": YES}

OBSERVED = (
    *("running", "view", "latch", "blocked", "taking", "flush", "suspects", "frozen", "fetching"),
    *("length", "position", "sent_in", "last", "member", "active", "suspended"),
)
"""The symbols of the theory that a state of the model shows."""


class Run(Following[State]):
    """A run of the model, and the same run in the theory."""

    def __init__(
        self,
        system: FlushSystem,
        first: State,
        moves: Sequence[Move[State]],
        basis: Basis | None = None,
    ) -> None:
        super().__init__(first, moves, theory(basis))
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
        found: Tables = {name: {} for name in OBSERVED}

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
            if me.asked is not None:
                put("active", (me.asked,), True)
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
