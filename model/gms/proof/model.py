"""Runs of GMS's model, translated into the vocabulary of its proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from raincheck.model.gms.events import Install, Prepared, SendViewAck, View
from raincheck.model.gms.state import State
from raincheck.model.gms.system import GmsSystem
from raincheck.model.machine.composed import Move
from raincheck.model.machine.runs import Address
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.following import Following, Step
from raincheck.model.proof.induction import Conjunct, Theory
from raincheck.model.proof.ties import Edge

from .foretold import Foretold
from .theory import theory
from .words import FINISHING, FLUSHING, IDLE, INSTALLING

PHASES = {
    "idle": IDLE,
    "flushing": FLUSHING,
    "installing": INSTALLING,
    "finishing": FINISHING,
}
OBSERVED = (
    *("running", "view", "holds", "held", "bound", "promised", "gone", "phase"),
    *("installed", "step", "top"),
)
"""The symbols of the theory that a state of the model shows."""


class Run(Following[State]):
    """A run of the model, and the same run in the theory."""

    def __init__(
        self,
        system: GmsSystem,
        first: State,
        moves: Sequence[Move[State]],
        subject: Theory | None = None,
    ) -> None:
        super().__init__(first, moves, subject or theory())
        self.system = system
        self.known = Foretold(self.states, moves)
        self.frame = Frame(self.theory, self.known.domain(), self.known.rigid(), self._matters)
        self.dead: set[int] = set()

    @staticmethod
    def _matters(name: str, values: tuple[Any, ...], world: Any) -> bool:
        """Tell whether the values matter: those of a process that does not run do not."""
        if name in ("running", "installed", "step", "top"):
            return True
        if name == "held" and not world.holds(values[0]):
            return False
        return bool(world.running(values[0]) and (name != "promised" or world.bound(values[0])))

    # ------------------------------------------------------------------ a state

    def tables(self, state: State) -> Tables:
        """Return the symbols' values that the state shows."""
        known = self.known
        found: Tables = {name: {} for name in OBSERVED}
        for me in state.locals:
            if me.status != "member" or me.view is None:
                continue
            p = known.process(Address(me.node, me.incarnation))
            found["running"][p,] = True
            found["view"][p,] = known.group[me.view]
            if me.held:
                found["holds"][p,] = True
                found["held"][p,] = known.group[me.held[0]]
            if me.promised is not None:
                found["bound"][p,] = True
                found["promised"][p,] = known.process(me.promised)
            for m in me.gone:
                found["gone"][p, known.named(me.view, m)] = True
            if me.phase != "idle":
                found["phase"][p,] = PHASES[me.phase]
        for before, after in state.steps:
            found["installed"][known.group[after],] = True
            if before is not None:
                found["step"][known.group[before], known.group[after]] = True
        last = max((after for _, after in state.steps), key=lambda v: v.id.counter)
        found["top"][()] = known.group[last]
        return found

    def differs(self, tables: Tables, state: State) -> str | None:
        """Return the first symbol that differs where it matters, or None."""
        return self.frame.differs(tables, self.tables(state), OBSERVED)

    # ------------------------------------------------------------------ its steps

    def steps(self, number: int) -> Iterator[Step]:
        """Yield the step as transitions of the theory; nothing if it does not matter there."""
        before, move = self.states[number], self.moves[number]
        after, known = move.target, self.known
        if move.action == "FlushAgain":
            change = known.asked[number]
            yield "FlushAgain", (known.process(change.requester), change.index)
        if move.node is None:
            return
        place = self.system.index[move.node]
        me, then = before.locals[place], after.locals[place]
        address = Address(me.node, me.incarnation)
        if me.status == "joining":
            yield from self._joining(move, address, then)
            return
        if me.status != "member" or me.view is None:
            return
        if then.status != "member":
            yield from self._crash([known.process(address)])
            return
        p = known.process(address)
        parts = list(self._member(number, move, p, me, then))
        suspected = [("Suspect", (p, known.named(me.view, m))) for m in sorted(then.gone - me.gone)]
        if move.action != "ReceivePrepare":
            yield from suspected
        yield from parts

    def _crash(self, processes: Sequence[int]) -> Iterator[Step]:
        for p in processes:
            if p not in self.dead:
                self.dead.add(p)
                yield "Crash", (p,)

    def _joining(self, move: Move[State], address: Address, then: Any) -> Iterator[Step]:
        known = self.known
        if then.status == "member":
            yield "ReceiveJoinRsp", (known.process(address), known.group[move.event.view])
        elif then.status == "joining":
            yield from self._crash(known.admissions(address, then.declined))
        else:
            yield from self._crash(known.admissions(address))

    def _member(self, number: int, move: Move[State], p: int, me: Any, then: Any) -> Iterator[Step]:
        known = self.known
        match move.action:
            case "BeginChange":
                yield "BeginChange", (p, known.asked[number].index)
            case "Suspended":
                if then.phase != "installing":
                    yield "Suspended: for a transfer", (p,)
                elif known.made.get(then.proposal) == number:
                    yield "Suspended: the next view", (p,)
                else:
                    yield "Suspended: a view again", (p, self._whose(move, then.proposal, me, p))
            case "InstallView":
                own = me.proposal.id == me.view.id
                yield f"InstallView{': its own' if own else ''}", (p,)
            case "Finish":
                yield "Finish", (p,)
            case "ReceivePrepare":
                if any(isinstance(each, Prepared) for each in move.outputs):
                    yield "ReceivePrepare", (p, known.prepared[number].index)
            case "ReceiveNewView":
                if any(isinstance(each, SendViewAck) for each in move.outputs):
                    change = known.proposal_of(number, move.event.sender, move.event.view)
                    new = move.event.view.id.counter > me.view.id.counter
                    case = "" if new else ": installed before"
                    yield f"ReceiveNewView{case}", (p, change.index)
            case "ReceiveInstall":
                if any(isinstance(each, SendViewAck) for each in move.outputs):
                    change = known.install_of(number, move.event.sender, move.event.counter)
                    new = any(isinstance(each, Install) for each in move.outputs)
                    case = "" if new else ": installed before"
                    yield f"ReceiveInstall{case}", (p, change.index)

    def _whose(self, move: Move[State], proposal: View, me: Any, p: int) -> int:
        """Return the process that has the view that is proposed again: the leader, if it does."""
        if proposal in (me.view, *me.held):
            return p
        for answer in move.event.answers:
            if proposal in (answer.view, *answer.held):
                return self.known.named(me.view, answer.member)
        return p

    def edges(self, invariant: Sequence[Conjunct] = ()) -> Iterator[Edge]:
        """Yield each step as the theory takes it; the first that it refuses is the last."""
        self.dead.clear()
        return super().edges(invariant)
