"""The whole GMS system: the members of `handlers.py`, composed, and FLUSH around them.

The twin of `Next` in `spec/Gms.tla` and of the bounds in `spec/MCGms.tla`: channels, the steps of
FLUSH, multicasts, and how often the environment may act. Moves carry the names of the spec's
actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from raincheck.model.machine.composed import Move
from raincheck.model.machine.machine import Value
from raincheck.model.machine.network import receivable, take
from raincheck.model.machine.rows import placed, with_
from raincheck.model.machine.runs import Address

from . import handlers as node
from .environment import Environment
from .events import (
    Answer,
    BeginChange,
    Crash,
    Finish,
    Install,
    InstallView,
    Leave,
    Out,
    Prepared,
    ReceiveAlive,
    ReceiveExcluded,
    ReceiveInstall,
    ReceiveJoin,
    ReceiveJoinRsp,
    ReceiveLeave,
    ReceiveNewView,
    ReceiveNotJoined,
    ReceivePrepare,
    ReceiveViewAck,
    RequestTransfer,
    Restart,
    Resume,
    SendExcluded,
    SendInstall,
    SendJoinRsp,
    SendLeave,
    SendNewView,
    SendNotJoined,
    SendViewAck,
    Suspect,
    Suspend,
    Suspended,
    Trust,
    View,
    ViewId,
)
from .handlers import HANDLERS, NONE, Local
from .promises import invariants
from .state import Constants, Entry, Message, Prepare, State, Stop, constants_of, variables


def machine(values: Mapping[str, Value]) -> GmsSystem:
    """Return the bounded system that a case describes; raise ValueError if a constant is wrong."""
    return GmsSystem(constants_of(values))


class GmsSystem(Environment):
    """The bounded instance as a machine for the explorer."""

    name = "gms"
    handlers = HANDLERS

    def __init__(self, constants: Constants) -> None:
        """Take the instance's constants."""
        super().__init__(constants)
        self._invariants = invariants(self.address)

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """Return the spec's invariants, by name."""
        return self._invariants

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `Gms.tla`."""
        return variables(self.nodes, state)

    def local(self, state: State, node: str) -> Local:
        """Return a node's local state."""
        return state.locals[self.index[node]]

    def initial(self) -> Iterator[State]:
        """Yield the state in which the founders form the first view and all others ask to join."""
        c = self.constants
        members = tuple(Address(n, 0) for n in c.nodes if n in c.founders)
        first = View(ViewId(1, members[0]), members)
        size = len(c.nodes)
        yield State(
            tuple(node.founder(n, first) if n in c.founders else node.joiner(n) for n in c.nodes),
            tuple(tuple(() for _ in c.nodes) for _ in c.nodes),
            frozenset(Address(n, 0) for n in c.nodes if n not in c.founders),
            (NONE,) * size,
            (frozenset(),) * size,
            (False,) * size,
            ((),) * size,
            ((0,) * size,) * size,
            (None,) * size,
            (None,) * size,
            frozenset({(None, first)}),
        )

    # ------------------------------------------------------------------ steps

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Yield every enabled action, in the order of `MCNext`."""
        for i, name in enumerate(self.nodes):
            yield from self._lead(state, i)
            yield from self._lives(state, i)
            yield from self._doubts(state, i)
            for j, other in enumerate(self.nodes):
                for a in sorted(a for a in state.join_req if a.node == other):
                    without = state._replace(join_req=state.join_req - {a})
                    yield from self.act(without, name, ReceiveJoin(a), (name, other))
                yield from self._arrivals(state, i, j)
                yield from self._alive(state, i, j)
        yield from self.environment(state)

    def _lead(self, state: State, i: int) -> Iterator[Move[State]]:
        c, me = self.constants, state.locals[i]
        name = me.node
        if me.view is not None and me.view.id.counter < c.max_views:
            first = state.position[i] if c.digest_first else state.digest[i]
            yield from self.act(
                state._replace(digest=with_(state.digest, i, first)), name, BeginChange()
            )
        yield from self._suspended(state, i)
        for move in self.act(state, name, InstallView()):
            answered = move.target._replace(digest=with_(move.target.digest, i, None))
            yield move._replace(target=answered)
        opened = state._replace(latch=with_(state.latch, i, False))
        yield from self.act(opened, name, Finish())
        if name in c.requesters and not me.transfer:
            yield from self.act(state, name, RequestTransfer())

    def _suspended(self, state: State, i: int) -> Iterator[Move[State]]:
        me, asked = state.locals[i], state.asked[i]
        if me.phase != "flushing":
            return
        mine = self.address(me)
        if self.rules.flush:
            if {a.member for a in state.answers[i]} != asked - {mine}:
                return
            if self.constants.virtual_synchrony and not self._flushed(state, asked - me.gone):
                return
        answers = tuple(sorted(state.answers[i], key=lambda a: a.member))
        told = state._replace(
            asked=with_(state.asked, i, NONE), answers=with_(state.answers, i, frozenset())
        )
        for move in self.act(told, me.node, Suspended(answers), (me.node,)):
            proposal = move.target.locals[i].proposal
            target = move.target
            if proposal is not None and self.constants.view_in_band:
                assert me.view is not None
                entry = Entry(me.view.id.counter, proposal.id.counter)
                stream = with_(target.stream, i, (*target.stream[i], entry))
                target = target._replace(stream=stream)
            yield move._replace(target=target)

    def _flushed(self, state: State, participants: frozenset[Address]) -> bool:
        """Tell whether FLUSH's promise holds: equal multicasts of their view."""
        places = [self.index[a.node] for a in participants]
        for p in places:
            view = state.locals[p].view
            for s in {self.index[a.node] for a in view.members} if view is not None else ():
                if s in places:
                    if self._unread(state, p, s):
                        return False
                elif any(
                    state.locals[q].view == view and state.position[q][s] != state.position[p][s]
                    for q in places
                ):
                    return False
        return True

    def _unread(self, state: State, p: int, s: int) -> bool:
        view = state.locals[p].view
        rest = state.stream[s][state.position[p][s] :]
        return view is not None and any(entry.view <= view.id.counter for entry in rest)

    def _lives(self, state: State, i: int) -> Iterator[Move[State]]:
        c, me = self.constants, state.locals[i]
        if me.node in c.leavers:
            yield from self.act(state, me.node, Leave())
        down = sum(other.status == "crashed" for other in state.locals)
        if me.node in c.crashers and down < c.max_crashes:
            yield from self.act(state, me.node, Crash())
        if me.node in c.returners and me.incarnation == 0 and self._forgotten(state, i):
            fresh = state._replace(
                stream=with_(state.stream, i, ()),
                position=tuple(with_(row, i, 0) for row in state.position),
            )
            for move in self.act(fresh, me.node, Restart()):
                asks = self.address(move.target.locals[i])
                target = move.target._replace(join_req=move.target.join_req | {asks})
                yield move._replace(target=target)

    def _forgotten(self, state: State, i: int) -> bool:
        """Tell whether nobody still reads the stream of the node's former life."""
        mine, length = self.address(state.locals[i]), len(state.stream[i])
        return not any(
            isinstance(m.content, SendJoinRsp) for row in state.channel for ms in row for m in ms
        ) and all(
            state.position[p][i] == length
            for p, them in enumerate(state.locals)
            if node.running(them) and mine in node.members_of(them)
        )

    def _doubts(self, state: State, i: int) -> Iterator[Move[State]]:
        c, me = self.constants, state.locals[i]
        known = {m for them in state.locals for m in node.members_of(them)}
        for a in sorted(known - {self.address(me)}):
            alive = self.is_alive(state, a)
            doubted = not c.accurate_suspicion and me.node in c.doubters
            doubted = doubted and any(me.node in s and a.node not in s for s in c.sides)
            if a not in me.suspects | me.gone and (doubted or not alive):
                yield from self.act(state, me.node, Suspect(a))
            if a in me.suspects and alive:
                yield from self.act(state, me.node, Trust(a))

    def _alive(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        me, them = state.locals[i], state.locals[j]
        told = any(isinstance(m.content, SendExcluded) for m in state.channel[i][j])
        if self.constants.accurate_suspicion or told or not node.running(them):
            return
        if self.address(them) not in node.members_of(me):
            yield from self.act(state, me.node, ReceiveAlive(self.address(them)))

    def _arrivals(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        name, channel = self.nodes[i], state.channel[j][i]
        for place in receivable(channel, self.constants.fifo_unicast):
            message, left = take(channel, place)
            event = _event(message)
            if event is None or not self._in_band(state, i, j, message):
                continue
            after = state._replace(channel=placed(state.channel, j, i, left))
            if isinstance(event, ReceiveNewView) and self.constants.view_in_band:
                at = state.position[i][j] + 1
                after = after._replace(position=placed(state.position, i, j, at))
            for move in self.act(after, name, event, (name, self.nodes[j])):
                yield move._replace(target=self._received(move, i, j, message))

    def _in_band(self, state: State, i: int, j: int, message: Message) -> bool:
        """Tell whether NEW_VIEW comes next in its sender's stream, if it is a multicast."""
        content = message.content
        if not isinstance(content, SendNewView) or not self.constants.view_in_band:
            return True
        rest = state.stream[j][state.position[i][j] :]
        return bool(rest) and rest[0].news == content.view.id.counter

    def _received(self, move: Move[State], i: int, j: int, message: Message) -> State:
        """Return the move with the effects on the layers around of a message that was handled."""
        state, content = move.target, message.content
        for output in move.outputs:
            if isinstance(output, Prepared) and isinstance(content, Prepare):
                state = state._replace(latch=with_(state.latch, i, True))
                asked = frozenset(content.participants)
                if self.is_member(state, message.sender) and state.asked[j] == asked:
                    answer = Answer(self.address(state.locals[i]), output.view, output.held)
                    answers = with_(state.answers, j, state.answers[j] | {answer})
                    state = state._replace(answers=answers)
            elif isinstance(output, Install) and isinstance(content, SendJoinRsp):
                state = state._replace(
                    position=with_(state.position, i, message.digest),
                    start=with_(state.start, i, message),
                )
        return state

    # ------------------------------------------------------------------ the network

    def carried(self, state: State, node: str, local: Local, outputs: tuple[Any, ...]) -> State:
        """Return the state with the node's new local state and its outputs in the layers around."""
        i = self.index[node]
        old = state.locals[i]
        state = state._replace(locals=with_(state.locals, i, local))
        for output in outputs:
            match output:
                case Suspend(participants):
                    asked = frozenset(participants)
                    state = state._replace(
                        asked=with_(state.asked, i, asked), latch=with_(state.latch, i, True)
                    )
                    state = self.prepare(state, i, asked)
                case Install(view):
                    state = state._replace(steps=state.steps | {(old.view, view)})
                case Resume():
                    assert local.view is not None
                    for a in set(local.view.members) - set(local.view.joiners):
                        if a != self.address(local):
                            state = self.post(state, i, a, Stop())
                case SendLeave(to):
                    if self.is_member(state, to):
                        state = self.post(state, i, to, output, self.address(old))
                case Prepared() | Out():
                    pass
                case _:
                    state = self.post(state, i, output.to, output)
        return state if local.status in ("joining", "member") else self._ended(state, i)

    def _ended(self, state: State, i: int) -> State:
        return state._replace(
            channel=tuple(with_(row, i, ()) for row in state.channel),
            asked=with_(state.asked, i, NONE),
            answers=with_(state.answers, i, frozenset()),
            latch=with_(state.latch, i, False),
            position=with_(state.position, i, (0,) * len(self.nodes)),
            digest=with_(state.digest, i, None),
            start=with_(state.start, i, None),
        )


def _event(message: Message) -> Any:
    """Return the input that a message is for its receiver, or None if FLUSH takes it."""
    sender, content = message.sender, message.content
    match content:
        case Prepare(counter, participants):
            return ReceivePrepare(sender, counter, participants)
        case SendNewView(_, view):
            return ReceiveNewView(sender, view)
        case SendViewAck(_, counter):
            return ReceiveViewAck(sender, counter)
        case SendInstall(_, counter):
            return ReceiveInstall(sender, counter)
        case SendJoinRsp(_, view):
            return ReceiveJoinRsp(sender, view)
        case SendNotJoined(_, counter):
            return ReceiveNotJoined(sender, counter)
        case SendLeave():
            return ReceiveLeave(sender)
        case SendExcluded(_, view):
            return ReceiveExcluded(sender, view)
    return None
