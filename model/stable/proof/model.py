"""Runs of STABLE's model, translated into the vocabulary of its proof.

A process of the theory is one admission of one life of a node. A joiner that is admitted again,
because the coordinator died before it answered, has not begun and is another process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from raincheck.model.machine.composed import Move
from raincheck.model.machine.runs import Address
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.following import Following, Step
from raincheck.model.proof.induction import Theory
from raincheck.model.stable.handlers import Local, Vector, covers, is_ours
from raincheck.model.stable.state import State
from raincheck.model.stable.system import StableSystem

from .theory import theory


class Process(NamedTuple):
    """One life of a node, and the last view that admitted it; 0 for none."""

    who: Address
    admitted: int


Shown: TypeAlias = dict[tuple[str, tuple[Any, ...]], Any]
"""The values of the theory's symbols that a state of the model shows, where they matter."""


class Run(Following[State]):
    """A run of the model, and the same run in the theory."""

    def __init__(
        self,
        system: StableSystem,
        first: State,
        moves: Sequence[Move[State]],
        subject: Theory | None = None,
    ) -> None:
        super().__init__(first, moves, subject or theory())
        self.system = system
        self.views = self.states[-1].views
        founders = self.views[0].members
        lives = {system.address(s, i) for s in self.states for i in range(len(system.nodes))}
        processes = {Process(a, v) for v, view in enumerate(self.views, 1) for a in view.joiners}
        processes |= {Process(a, 1 if a in founders else 0) for a in lives}
        steps = [n for n, move in enumerate(moves) if move.action.startswith("Send")]
        self.frame = Frame(
            self.theory,
            {
                "process": sorted(processes),
                "view": list(range(len(self.views) + 2)),
                "number": list(range(system.constants.max_sent + 1)),
                "digest": [n for n in steps if moves[n].action == "SendDigest"],
                "stability": [n for n in steps if moves[n].action == "SendStability"],
            },
            {"founder": lambda p: p.who in founders},
            lambda *_: True,
        )
        self.datagrams: dict[tuple[str, Address, int, Vector], int] = {}
        """The last step that sent such a digest or STABILITY."""

    def process(self, who: Address, view: int) -> Process:
        """Return the process that the address stands for in that view."""
        found = (v for v in range(view, 0, -1) if who in self.views[v - 1].joiners)
        return Process(who, next(found, 1 if who in self.views[0].members else 0))

    def shown(self, state: State) -> Shown:
        """Return the values that matter in the state."""
        last = len(state.views)
        found: Shown = {("last", ()): last}
        running = {}
        for i, me in enumerate(state.locals):
            if state.status[i] == "member":
                running[self.process(me.me, me.view)] = i
        for p in self.frame.domain["process"]:
            found["running", (p,)] = p in running
            for v, view in enumerate(state.views, 1):
                inside = p.who in view.members and self.process(p.who, v) == p
                found["member", (v, p)] = inside
        addresses = [self.system.address(state, i) for i in range(len(state.locals))]
        for p, i in running.items():
            me, cut = state.locals[i], state.cut[i]
            found["view", (p,)] = me.view
            found["suspended", (p,)] = me.suspended
            found["cutting", (p,)] = cut is not None
            found["pending", (p,)] = me.pending is not None
            for a in me.members:
                found["voted", (p, self.process(a, me.view))] = a not in me.heard_from
            for name, vector in (("lowest", me.vector), ("due", me.pending or ())):
                for a, at in vector:
                    found[name, (p, self.process(a, me.view))] = at
            for s, a in enumerate(addresses):
                x = self.process(a, last)
                found["delivered", (p, x)] = state.delivered[i][s]
                found["purged", (p, x)] = state.purged[i][s]
                if cut is not None:
                    found["cut", (p, x)] = cut[s]
        return found

    def differs(self, tables: Tables, state: State) -> str | None:
        """Return the first symbol that differs where it matters, or None."""
        world = self.frame.world(tables)
        for (name, values), wanted in self.shown(state).items():
            if getattr(world, name)(*values) != wanted:
                return name
        return None

    # ------------------------------------------------------------------ its steps

    def steps(self, number: int) -> Iterator[Step]:
        """Yield the step as a transition of the theory; nothing if it does not matter there."""
        before, move = self.states[number], self.moves[number]
        if move.action in ("ViewChange", "Exclude"):
            new = move.target.views[-1]
            v = len(move.target.views)
            inside = {self.process(a, v) for a in new.members}
            joiners = {self.process(a, v) for a in new.joiners}
            coordinator = self.process(new.members[0], v)
            stays = (inside - joiners).__contains__
            yield "ViewChange", (coordinator, stays, joiners.__contains__)
            return
        if not move.args:
            return
        i = self.system.index[str(move.args[0])]
        me = before.locals[i]
        n = self.process(me.me, me.view)
        match move.action:
            case "Suspend" | "Resume" | "Crash":
                yield move.action, (n,)
            case "InstallView" if before.status[i] == "member":
                yield "InstallView: member", (n,)
            case "InstallView":
                yield "InstallView: joiner", (self.process(me.me, move.event.view),)
            case "Multicast" | "Arrive" | "Fetch":
                j = self.system.index[str(move.args[-1])]
                if move.target.delivered[i][j] > before.delivered[i][j]:
                    address = self.system.address(before, j)
                    at = move.target.delivered[i][j]
                    yield "Deliver", (n, self.process(address, len(before.views)), at)
            case "SendDigest":
                yield f"SendDigest: {_case(me, me.me)}", (n, number)
            case "SendStability":
                yield "SendStability", (n, number)
            case "ReceiveDigest" if self._counted(me, move.event):
                sender, view, delivered, _ = move.event
                d = self.datagrams["SendDigest", sender, view, delivered]
                yield f"ReceiveDigest: {_case(me, sender)}", (n, d)
            case "ReceiveStability" if not me.suspended and move.event.view == me.view:
                sender, view, digest, _ = move.event
                m = self.datagrams["SendStability", sender, view, digest]
                case = "covers" if covers(digest, me.vector) else "does not"
                yield f"ReceiveStability: {case}", (n, m)

    def _counted(self, me: Local, event: Any) -> bool:
        late = sum(at for _, at in event.delivered) < dict(me.latest).get(event.sender, 0)
        rules = self.system.rules
        ours = is_ours(rules, me, event.view, event.delivered, me.electorate)
        return ours and not me.suspended and not (late and rules.drop_late)

    def ready(self, number: int, tables: Tables) -> Tables:
        """Fix the contents of a datagram when it is sent; before, the theory leaves them open."""
        move = self.moves[number]
        if not move.action.startswith("Send"):
            return tables
        me = self.states[number].locals[self.system.index[str(move.args[0])]]
        n = self.process(me.me, me.view)
        digest = move.action == "SendDigest"
        vector: Vector = move.event.delivered if digest else me.pending or ()
        self.datagrams[move.action, me.me, me.view, vector] = number
        kind, source = ("digest", "delivered") if digest else ("stability", "due")
        # The model's vectors have no entries for processes outside the view.
        row = {x: at for (p, x), at in tables.get(source, {}).items() if p == n}
        row |= {self.process(a, me.view): at for a, at in vector}
        changed: Tables = {
            f"{kind}_at": {(number, x): at for x, at in row.items()},
            f"{kind}_view": {(number,): me.view},
        }
        if digest:
            changed["digest_from"] = {(number,): n}
        return {**tables, **{name: tables.get(name, {}) | new for name, new in changed.items()}}


def _case(me: Local, sender: Address) -> str:
    """Tell whether `me` counts the first vote, and the last one."""
    case = "later" if me.vector else "first"
    return f"{case}, last" if me.heard_from == {sender} else case
