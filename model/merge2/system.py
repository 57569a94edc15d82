"""A whole MERGE2 system: the members of `handlers.py`, the layers around them, and the network.

The twin of `Next` in `spec/Merge2.tla` and of the bounds in `spec/MCMerge2.tla`. Steps carry the
names of the spec's actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, combinations, count
from typing import Any

from raincheck.model.machine.composed import Move
from raincheck.model.machine.machine import Value
from raincheck.model.machine.rows import with_

from .environment import Environment
from .events import (
    NO_MERGE,
    Decide,
    Digest,
    Finish,
    Flushed,
    Install,
    InstallView,
    Merge,
    MergeId,
    Nodes,
    ReceiveCancel,
    ReceiveFound,
    ReceiveInstalled,
    ReceiveInstallMergeView,
    ReceiveKnown,
    ReceiveMergeReq,
    ReceiveMergeRsp,
    ReceiveResume,
    Resend,
    Resume,
    SendCancel,
    SendFound,
    Sending,
    SendInstalled,
    SendInstallMergeView,
    SendMergeReq,
    SendMergeRsp,
    SendResume,
    SideInstalled,
    Suspect,
    Suspend,
    Suspended,
    View,
    ViewId,
)
from .handlers import HANDLERS, Local, leads
from .promises import invariants, running
from .state import Decided, Held, Message, State, constants_of, variables


def machine(values: Mapping[str, Value]) -> Merge2System:
    """Return the bounded system that a case describes; raise ValueError if a constant is wrong."""
    return Merge2System(constants_of(values))


class Merge2System(Environment):
    """The bounded instance as a machine for the explorer."""

    name = "merge2"
    handlers = HANDLERS

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """Return the spec's invariants, by name."""
        return invariants(self.constants)

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `Merge2.tla`."""
        return variables(self.constants, state)

    def local(self, state: State, node: str) -> Local:
        """Return a node's local state."""
        return state.locals[self.index[node]]

    def initial(self) -> Iterator[State]:
        """Yield the state in which every group has its first view."""
        c = self.constants
        views = tuple(self._first_view(n) for n in c.nodes)
        zero = tuple(0 for _ in c.nodes)
        yield State(
            locals=tuple(
                Local(
                    n,
                    view,
                    view.members[0] == n,
                    frozenset(p for p in c.nodes if n + p in c.told) | frozenset(view.members),
                )
                for n, view in zip(c.nodes, views, strict=True)
            ),
            status=tuple("member" for _ in c.nodes),
            net=frozenset(),
            held=tuple(None for _ in c.nodes),
            latch=tuple("" for _ in c.nodes),
            stream=tuple(() for _ in c.nodes),
            position=tuple(zero for _ in c.nodes),
            path=tuple((view,) for view in views),
            delivered=tuple(() for _ in c.nodes),
            decided=frozenset(),
            cut=tuple(NO_MERGE for _ in c.nodes),
        )

    def _first_view(self, n: str) -> View:
        c = self.constants
        side = next(side for side in c.sides if n in side)
        founders = sorted(side & c.founders)
        ghosts = c.ghosts if c.nodes[0] in side else frozenset()
        others = sorted((side | ghosts) - set(founders))
        return View(ViewId(1, founders[0]), (*founders, *others))

    # ------------------------------------------------------------------ steps

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Yield every enabled action, in the order of `MCNext`."""
        for i, name in enumerate(self.nodes):
            if not running(state, i):
                continue
            yield from self._discovers(state, i, name)
            yield from self._own_steps(state, i, name)
            yield from self._suspects(state, i, name)
            yield from self._resend(state, i, name)
            yield from self.view_change(state, i, name)
            yield from self.multicast(state, i, name)
            yield from self.deliver(state, i, name)
            yield from self.crash(state, i, name)
        for message in sorted(state.net, key=repr):
            yield from self._arrives(state, message)
        yield from self.lose(state)

    def _discovers(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        me = state.locals[i]
        for m in self.side(state, i):
            known = state.locals[m].known
            yield from self.act(state, name, ReceiveKnown(self.nodes[m], known), (name, m))
        others = self._others(state, i)
        number = self._fresh(state, name)
        if not others or number > self.constants.max_merges:
            return
        leader = self.index[min(others | {name})]
        is_known = name in state.locals[leader].known or not running(state, leader)
        event = Merge(others, number, is_known, self._stands(state, i))
        for move in self.act(state, name, event, (name,)):
            # FOUND that is under way already is not sent again.
            if move.target.net != state.net or me.stage != move.target.locals[i].stage:
                yield move

    def _others(self, state: State, i: int) -> Nodes:
        me = state.locals[i]
        asked = (self.index[q] for q in me.known - set(me.view.members))
        named = {state.locals[q].view.members[0] for q in asked if running(state, q)}
        return frozenset(named) - set(me.view.members)

    def _stands(self, state: State, i: int) -> bool:
        """Tell whether a node waits in a merged view, which not all of its members may have yet."""
        return bool(state.latch[i]) and state.locals[i].view.merge != NO_MERGE

    def _fresh(self, state: State, name: str) -> int:
        """Return the next number of a merge of this leader's; no cut has it."""
        named = {m.content.merge for m in state.net if not isinstance(m.content, SendFound)}
        named |= {decided.merge for decided in state.decided}
        for me in state.locals:
            named |= {me.merge} | me.entered
        last = max((merge.number for merge in named if merge.leader == name), default=0)
        return next(k for k in count(last + 1) if MergeId(name, k) not in state.cut)

    def _own_steps(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        me, held = state.locals[i], state.held[i]
        if me.stage == "flushing" and not self.changing(state, i):
            side = self.side(state, i)
            if (
                not self.rules.flush
                or not self.constants.virtual_synchrony
                or self.cut(state, side)
            ):
                names = frozenset(self.nodes[p] for p in side)
                event = Flushed(names, self._digest(state, i))
                yield from self.act(state, name, event, (name,))
        yield from self.act(state, name, Decide(), (name,))
        if held is not None:
            yield from self.act(
                self._installed(state, i, held), name, InstallView(held.view), (name,)
            )
        if not any(
            running(state, p) and state.latch[p] == name and state.held[p] is not None
            for p in range(len(self.nodes))
        ):
            yield from self.act(state, name, SideInstalled(), (name,))
        side = self.side(state, i)
        missing = (p for p in map(self.index.__getitem__, me.view.members) if p not in side)
        if not self.changing(state, i) and not any(running(state, p) for p in missing):
            yield from self.act(state, name, Finish(), (name,))

    def _installed(self, state: State, i: int, held: Held) -> State:
        """Return the state in which the layers around a member have installed what it holds."""
        view, read = held
        digest = dict(read)
        members = {self.index[p] for p in view.members}
        position = tuple(
            max(here, digest[self.nodes[s]]) if s in members else here
            for s, here in enumerate(state.position[i])
        )
        latch = state.latch if view.merge != NO_MERGE else with_(state.latch, i, "")
        return state._replace(
            held=with_(state.held, i, None),
            position=with_(state.position, i, position),
            path=with_(state.path, i, (*state.path[i], view)),
            latch=latch,
        )

    def _digest(self, state: State, i: int) -> Digest:
        return tuple(zip(self.nodes, state.position[i], strict=True))

    def _suspects(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        c, me = self.constants, state.locals[i]
        for j, p in enumerate(self.nodes):
            timer = not self.rules.until_suspected
            timer = timer and me.merge.leader == p and me.stage == "answered"
            alive = running(state, j)
            if j == i or (alive and c.accurate_suspicion and not timer):
                continue
            if alive and (name not in c.doubters or state.doubts >= c.max_doubts):
                continue
            after = state._replace(doubts=state.doubts + alive)
            yield from self.act(after, name, Suspect(p), (name, p))

    def _resend(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        if not state.losses:
            return
        side = frozenset(self.nodes[p] for p in self.side(state, i))
        for move in self.act(state, name, Resend(side, self._digest(state, i)), (name,)):
            if move.target.net != state.net:
                yield move

    def _arrives(self, state: State, message: Message) -> Iterator[Move[State]]:
        _, source, content = message
        name = content.to
        after = state._replace(net=state.net - {message})
        event = _event(source, content, self._stands(state, self.index[name]))
        moves = self.act(after, name, event, (name,))
        if self.constants.side_agrees or not isinstance(content, SendInstallMergeView):
            yield from moves
            return
        for move in moves:
            for part in self._parts(state, self.index[name]):
                held = tuple(
                    each if p in part else state.held[p] for p, each in enumerate(move.target.held)
                )
                yield move._replace(target=move.target._replace(held=held))

    def _parts(self, state: State, i: int) -> Iterator[set[int]]:
        others = [p for p in self.side(state, i) if p != i]
        sizes = range(len(others) + 1)
        for some in chain.from_iterable(combinations(others, size) for size in sizes):
            yield {i, *some}

    # ------------------------------------------------------------------ what becomes of outputs

    def carried(self, state: State, node: str, local: Local, outputs: tuple[Any, ...]) -> State:
        """Return the state with the node's new local state and its outputs in the layers around."""
        i = self.index[node]
        before = state
        state = state._replace(locals=with_(state.locals, i, local))
        for output in outputs:
            match output:
                case Suspend():
                    pass  # FLUSH takes its time: Flushed comes when its turn has come
                case Suspended(merge):
                    side = self.side(before, i)
                    state = state._replace(
                        cut=tuple(merge if p in side else m for p, m in enumerate(state.cut))
                    )
                    if self.rules.flush:
                        latch = (node if p in side else n for p, n in enumerate(state.latch))
                        state = state._replace(latch=tuple(latch))
                case Resume():
                    latch = (
                        "" if each == node and state.held[p] is None else each
                        for p, each in enumerate(state.latch)
                    )
                    state = state._replace(latch=tuple(latch))
                case Install(view, digest):
                    state = self._holding(state, self.side(before, i), view, digest)
                    if leads(local):
                        of = frozenset(answer.sender for answer in local.answers)
                        decided = state.decided | {Decided(view.merge, view, of)}
                        state = state._replace(decided=decided)
                case _:
                    if running(state, self.index[output.to]):
                        message = Message(type(output).__name__, node, output)
                        state = state._replace(net=state.net | {message})
        return state

    def _holding(self, state: State, side: list[int], view: View, digest: Digest) -> State:
        held = Held(view, digest)
        return state._replace(
            held=tuple(held if p in side else each for p, each in enumerate(state.held))
        )


def _event(source: str, content: Sending, stands: bool) -> Any:
    """Return the input that a message is for its receiver, which may wait in a merged view."""
    match content:
        case SendFound():
            return ReceiveFound(source)
        case SendMergeReq(_, merge):
            return ReceiveMergeReq(source, merge, stands)
        case SendMergeRsp(_, merge, answer):
            return ReceiveMergeRsp(source, merge, answer)
        case SendInstallMergeView(_, merge, view, digest):
            return ReceiveInstallMergeView(source, merge, view, digest)
        case SendInstalled(_, merge, done):
            return ReceiveInstalled(source, merge, done)
        case SendResume(_, merge):
            return ReceiveResume(source, merge)
        case SendCancel(_, merge):
            return ReceiveCancel(source, merge)
