"""Runs of PBCAST's model, translated into the vocabulary of its proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from raincheck.model.machine.composed import Move
from raincheck.model.machine.runs import Address
from raincheck.model.machine.values import order
from raincheck.model.pbcast.events import Gossip, Members, Vector
from raincheck.model.pbcast.handlers import Known, Local, ignores, known_of
from raincheck.model.pbcast.state import State
from raincheck.model.pbcast.system import PbcastSystem
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.following import Following, Step
from raincheck.model.proof.induction import Theory

from .theory import theory


class Copy(NamedTuple):
    """What a copy of a gossip says, as far as the theory speaks of it."""

    view: int
    seen: Members
    digest: Vector
    lowest: Vector


Shown: TypeAlias = dict[tuple[str, tuple[Any, ...]], Any]
"""The values of the theory's symbols that a state of the model shows, where they matter."""


def copy_of(each: Known | Gossip | Any) -> Copy:
    """Return what a known gossip, or a copy that arrives, says."""
    return Copy(each.view, each.seen, each.digest, each.lowest)


class Run(Following[State]):
    """A run of the model, and the same run in the theory."""

    def __init__(
        self,
        system: PbcastSystem,
        first: State,
        moves: Sequence[Move[State]],
        subject: Theory | None = None,
    ) -> None:
        super().__init__(first, moves, subject or theory())
        self.system = system
        copies = {copy_of(e) for s in self.states for me in s.locals for e in me.cache}
        founders = first.views[0].members
        lags = {me.me: me.lag for me in first.locals}
        self.frame = Frame(
            self.theory,
            {
                "process": sorted(lags),
                "view": list(range(len(self.states[-1].views) + 2)),
                "number": list(range(system.constants.max_sent + 1)),
                "copy": sorted(copies, key=order),
            },
            {
                "founder": lambda p: p in founders,
                "lag": lambda p: lags[p],
                "of_view": lambda c: c.view,
                "seen": lambda c, p: p in c.seen,
                "digest": lambda c, x: dict(c.digest).get(x, 0),
                "lowest": lambda c, x: dict(c.lowest).get(x, 0),
            },
            lambda *_: True,
        )

    def shown(self, state: State) -> Shown:
        """Return the values that matter in the state."""
        found: Shown = {("last", ()): len(state.views)}
        pairs = zip(state.locals, state.status, strict=True)
        running = {me.me: me for me, status in pairs if status == "member"}
        for p in self.frame.domain["process"]:
            found["running", (p,)] = p in running
            for v, view in enumerate(state.views, 1):
                found["member", (v, p)] = p in view.members
        for p, me in running.items():
            found["view", (p,)] = me.view
            for name, vector in (("delivered", me.delivered), ("purged", me.purged)):
                at = dict(vector)
                for x in self.frame.domain["process"]:
                    found[name, (p, x)] = at.get(x, 0)
        for me in state.locals:
            for each in me.cache:
                found["known", (copy_of(each),)] = True
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
        """Yield the step as transitions of the theory; nothing if it does not matter there."""
        move = self.moves[number]
        before, after = self.states[number], move.target
        if not move.args:
            return
        i = self.system.index[Address(str(move.args[0]), 0)]
        me, then = before.locals[i], after.locals[i]
        match move.action:
            case "SendGossip":
                yield "SendGossip", (me.me, copy_of(then.cache[-1]))
            case "ReceiveGossip":
                yield from self._received(me, then, move.event)
            case "Crash":
                yield "Crash", (me.me,)
            case "InstallView" if before.status[i] == "joining":
                yield "InstallView: joiner", (me.me,)
            case "InstallView" if len(after.views) == len(before.views):
                yield "InstallView: member", (me.me,)
            case "InstallView":
                new = after.views[-1]
                stays = new.members - new.joiners
                sets = stays.__contains__, new.joiners.__contains__
                yield "InstallView: coordinator", (me.me, *sets)
            case _:
                had = dict(me.delivered)
                for x, at in then.delivered:
                    if at > had.get(x, 0):
                        yield "Deliver", (me.me, x, at)

    def _received(self, me: Local, then: Local, event: Any) -> Iterator[Step]:
        if ignores(self.system.rules, me, event):
            return
        copy = copy_of(event)
        known = known_of(me, event.origin, event.number)
        now = known_of(then, event.origin, event.number)
        assert now is not None
        case = "some are left" if now.not_seen else "all have seen it"
        old = copy if known is None else copy_of(known)
        yield f"ReceiveGossip: {case}", (me.me, copy, old, copy_of(now))
