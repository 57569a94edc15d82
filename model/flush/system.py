"""The whole FLUSH system: the members of `handlers.py`, composed.

The twin of `Next` in `spec/Flush.tla` and of the bounds in `spec/MCFlush.tla`: UNICAST's channels,
NAKACK's streams, the membership, and how often the environment may act.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.machine import Value
from raincheck.model.machine.network import receivable, take
from raincheck.model.machine.rows import placed, with_
from raincheck.model.machine.runs import Address

from . import events as ev
from .handlers import HANDLERS, Local, Rules
from .promises import INVARIANTS
from .state import Constants, Post, State, constants_of, variables


def machine(values: Mapping[str, Value]) -> FlushSystem:
    """Return the bounded system that a case describes; raise ValueError if a constant is wrong."""
    return FlushSystem(constants_of(values))


class FlushSystem(Composed[State, Local]):
    """The bounded instance as a machine for the explorer."""

    name = "flush"
    handlers = HANDLERS

    def __init__(self, constants: Constants) -> None:
        """Take the instance's constants."""
        self.constants = constants
        self.rules: Rules = constants.rules
        self.nodes = constants.nodes
        self.index = {n: i for i, n in enumerate(constants.nodes)}

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """Return the spec's invariants, by name."""
        return INVARIANTS

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `Flush.tla`."""
        return variables(self.constants, state)

    def local(self, state: State, node: str) -> Local:
        """Return a member's local state."""
        return state.locals[self.index[node]]

    def initial(self) -> Iterator[State]:
        """Yield the state in which all are members of the first view and nobody is blocked."""
        c = self.constants
        members = tuple(Address(n, 0) for n in c.nodes if n in c.founders)
        empty = tuple(() for _ in c.nodes)
        yield State(
            up=tuple(True for _ in c.nodes),
            locals=tuple(Local(Address(n, 0), 1, members) for n in c.nodes),
            calls=tuple(0 for _ in c.nodes),
            cuts=empty,
            channels=tuple(empty for _ in c.nodes),
            stream=empty,
            position=tuple(tuple(0 for _ in c.nodes) for _ in c.nodes),
            views=(members,),
        )

    # ------------------------------------------------------------------ steps

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Yield every enabled action, roughly in the order of `MCNext`."""
        for i, name in enumerate(self.nodes):
            if not state.up[i]:
                continue
            yield from self._member_moves(state, i, name)
            for j in range(len(self.nodes)):
                yield from self._receive_multicast(state, i, j)
                yield from self._suspect(state, i, j)
                yield from self._receive(state, i, j)
                yield from self._unicast(state, i, j)
        yield from self._view_change(state)

    def _member_moves(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        c, me = self.constants, state.locals[i]
        asks = name in c.requesters and me.attempts < c.max_requests
        if (self._due(state, i) or asks) and (self._leads(me) or not c.one_queue):
            participants = tuple(m for m in me.members if m not in me.suspects)
            yield from self.act(state, name, ev.Suspend(participants), (name,))
        if me.blocked == "calling":
            yield from self.act(state, name, ev.BlockOk(self._digest(state, i)), (name,))
        if all(self._at(state, i, f.sender) >= f.at for f in me.fetching if f.sender in me.members):
            yield from self.act(state, name, ev.Reconciled())
        if self._may_resume(state, me):
            yield from self.act(state, name, ev.Resume())
        if me.view < len(state.views) and me.me in state.views[me.view]:
            cut = state._replace(cuts=with_(state.cuts, i, (*state.cuts[i], state.position[i])))
            event = ev.InstallView(me.view + 1, state.views[me.view])
            yield from self.act(cut, name, event, (name,))
        sent = len(state.stream[i])
        if name in c.senders and sent < c.max_sent:
            told = state._replace(
                stream=with_(state.stream, i, (*state.stream[i], me.view)),
                position=placed(state.position, i, i, sent + 1),
            )
            yield from self.act(told, name, ev.Multicast())
            if sent + me.passed < c.max_sent:
                yield from self.act(state, name, ev.PassLatch())
        yield from self.act(state, name, ev.OpenLatch())
        if name in c.crashers:
            yield Move("Crash", (name,), self._crashed(state, i))

    def _receive_multicast(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        at = state.position[i][j]
        if at < len(state.stream[j]):
            name, sender = self.nodes[i], self.nodes[j]
            read = state._replace(position=placed(state.position, i, j, at + 1))
            event = ev.ReceiveMulticast(Address(sender, 0), at + 1)
            yield from self.act(read, name, event, (name, sender))

    def _suspect(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        me, name, other = state.locals[i], self.nodes[i], Address(self.nodes[j], 0)
        if (
            i != j
            and other in me.members
            and other not in me.suspects
            and not (self.constants.accurate_suspicions and state.up[j])
        ):
            yield from self.act(state, name, ev.Suspect(other), (name, other.node))

    def _receive(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        channel, name, sender = state.channels[j][i], self.nodes[i], self.nodes[j]
        for place in receivable(channel, self.constants.fifo_unicast):
            post, left = take(channel, place)
            taken = state._replace(channels=placed(state.channels, j, i, left))
            kind, contents = post
            if kind == "Unicast":
                yield Move("ReceiveUnicast", (name, sender), taken)
                continue
            action = ev.ARRIVES[kind]
            if kind == "FlushOk":
                if self.constants.fifo_multicast and state.position[i][j] < contents[1]:
                    continue
                contents = (*contents, self._digest(state, i))
            event = ev.INPUTS[action](Address(sender, 0), *contents)
            yield from self.act(taken, name, event, (name, sender))

    def _unicast(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        under_way = any(
            post.kind == "Unicast" for row in state.channels for channel in row for post in channel
        )
        name, to = self.nodes[i], self.nodes[j]
        if i == j or under_way or name not in self.constants.unicasters:
            return
        post = Post("Unicast", (state.locals[i].view,))
        yield Move("Unicast", (name, to), self._sent(state, i, j, post))

    def carried(
        self, state: State, node: str, local: Local, outputs: tuple[Any, ...]
    ) -> State | None:
        """Return the state with the member's new local state and its outputs carried out."""
        i = self.index[node]
        state = state._replace(locals=with_(state.locals, i, local))
        for output in outputs:
            match output:
                case ev.Block():
                    state = state._replace(calls=with_(state.calls, i, state.calls[i] + 1))
                case ev.Unblock():
                    state = state._replace(calls=with_(state.calls, i, state.calls[i] - 1))
                case (
                    ev.TakeDigest()
                    | ev.Suspended()
                    | ev.Freeze()
                    | ev.FetchStreams()
                    | ev.LatchOpened()
                ):
                    pass
                case _:
                    j = self.index[output.to.node]
                    post = Post(type(output).__name__, tuple(output)[1:])
                    state = self._sent(state, i, j, post)
        return state

    def _sent(self, state: State, i: int, j: int, post: Post) -> State:
        if not state.up[j]:
            return state
        channel = (*state.channels[i][j], post)
        return state._replace(channels=placed(state.channels, i, j, channel))

    # ------------------------------------------------------------------ the membership

    def _leads(self, me: Local) -> bool:
        if self.constants.next_unsuspected:
            return next(m for m in me.members if m not in me.suspects) == me.me
        first = me.members[0]
        return me.me == first or (me.members[1:2] == (me.me,) and first in me.suspects)

    def _due(self, state: State, i: int) -> bool:
        """Tell whether the node leads and somebody in its view is gone."""
        me = state.locals[i]
        return state.up[i] and bool(me.suspects.intersection(me.members)) and self._leads(me)

    def _may_resume(self, state: State, me: Local) -> bool:
        installed = all(
            them.view == len(state.views)
            for them, up in zip(state.locals, state.up, strict=True)
            if up and them.me in state.views[-1]
        )
        if me.asked is None or not (installed or not self.constants.acks_before_resume):
            return False
        return me.view > me.asked.view or not me.frozen.intersection(me.members)

    def _view_change(self, state: State) -> Iterator[Move[State]]:
        c, last = self.constants, state.views[-1]
        here = [i for i, n in enumerate(self.nodes) if state.up[i] and Address(n, 0) in last]
        if any(state.locals[i].view != len(state.views) for i in here):
            return
        wanted = len(state.views) < c.max_views
        if not (wanted or any(self._due(state, i) and state.locals[i].suspended for i in here)):
            return
        for i in here:
            me = state.locals[i]
            if me.suspended and self._leads(me):
                members = tuple(m for m in last if m not in me.suspects or m not in me.members)
                yield Move("ViewChange", (), state._replace(views=(*state.views, members)))

    # ------------------------------------------------------------------ their parts

    def _at(self, state: State, i: int, sender: Address) -> int:
        return state.position[i][self.index[sender.node]]

    def _digest(self, state: State, i: int) -> ev.Table:
        return tuple((m, self._at(state, i, m)) for m in sorted(state.locals[i].members))

    def _crashed(self, state: State, i: int) -> State:
        return state._replace(
            up=with_(state.up, i, False),
            locals=with_(state.locals, i, Local(state.locals[i].me)),
            calls=with_(state.calls, i, 0),
            cuts=with_(state.cuts, i, ()),
            channels=tuple(with_(row, i, ()) for row in state.channels),
            position=with_(state.position, i, tuple(0 for _ in self.nodes)),
        )
