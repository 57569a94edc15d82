"""The whole system of state transfer: the members of `handlers.py`, composed.

The twin of `Next` in `spec/StateTransfer.tla` and of the bounds in `spec/MCStateTransfer.tla`:
UNICAST, the applications, the group's messages and FLUSH, and how often the environment may act.
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
from . import handlers as node
from .handlers import HANDLERS, Local, Rules
from .promises import invariants
from .state import Constants, Part, Post, State, constants_of, variables


def machine(values: Mapping[str, Value]) -> StateTransferSystem:
    """Return the bounded system that a case describes; raise ValueError if a constant is wrong."""
    return StateTransferSystem(constants_of(values))


class StateTransferSystem(Composed[State, Local]):
    """The bounded instance as a machine for the explorer."""

    name = "state_transfer"
    handlers = HANDLERS

    def __init__(self, constants: Constants) -> None:
        """Take the instance's constants."""
        self.constants = constants
        self.rules: Rules = constants.rules
        self.nodes = constants.nodes
        self.index = {n: i for i, n in enumerate(constants.nodes)}
        self.addresses = tuple(Address(n, 0) for n in constants.nodes)
        self._invariants = invariants(constants)

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """Return the spec's invariants, by name."""
        return self._invariants

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `StateTransfer.tla`."""
        return variables(self.constants, state)

    def local(self, state: State, node: str) -> Local:
        """Return a member's local state."""
        return state.locals[self.index[node]]

    def initial(self) -> Iterator[State]:
        """Yield the state in which the founders are members and nobody has asked for anything."""
        c = self.constants
        members = tuple(a for a in self.addresses if a.node in c.founders)
        zero, empty = tuple(0 for _ in c.nodes), tuple(() for _ in c.nodes)
        yield State(
            locals=tuple(Local(a, members) for a in self.addresses),
            up=tuple(True for _ in c.nodes),
            net=tuple(empty for _ in c.nodes),
            sent=0,
            flush="open",
            joined=tuple(n in c.founders for n in c.nodes),
            position=zero,
            applied=zero,
            chunks=empty,
            state=empty,
            base=zero,
        )

    # ------------------------------------------------------------------ steps

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Yield every enabled action, roughly in the order of `MCNext`."""
        for i, name in enumerate(self.nodes):
            if state.up[i]:
                yield from self._member_moves(state, i, name)
        yield from self._group_moves(state)

    def _member_moves(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        c, me = self.constants, state.locals[i]
        if name in c.requesters and me.phase == "idle":
            yield from self.act(state, name, ev.Ask())
        if c.window < c.chunks:
            yield from self.act(state, name, ev.Take())
        if name in c.impatient:
            yield from self.act(state, name, ev.TimeOut())
        if self._may_begin(state, i):
            yield from self.act(state, name, ev.Begin(state.position[i]), (name,))
        ready = not c.applied_first or state.applied[i] == state.position[i]
        if ready:
            for ok in (False, True) if name in c.fail_set else (True,):
                yield from self._state_set(state, i, ok)
        for to, serving in me.serving:
            if ready:
                yield from self._read(state, i, to, serving.next)
            if name in c.refusers:
                yield from self.act(state, name, ev.ReadFailed(to), (name, to.node))
        for j, other in enumerate(self.addresses):
            if not state.up[j] and other not in me.suspects:
                yield from self.act(state, name, ev.Suspect(other), (name, other.node))
            yield from self._receive(state, i, j)
        if name in c.crashers and state.up.count(False) < c.max_crashes:
            yield Move("Crash", (name,), self._crashed(state, i))

    def _receive(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        channel, name, sender = state.net[j][i], self.nodes[i], self.addresses[j]
        for place in receivable(channel, self.constants.fifo_unicast):
            message, left = take(channel, place)
            taken = state._replace(net=placed(state.net, j, i, left))
            action = f"Receive{message.kind}"
            fields = message.fields
            if action == "ReceiveGo":
                if not state.joined[i] and not self._late(state, i, sender):
                    cut = fields[0]  # a joiner's messages begin here
                    taken = taken._replace(
                        joined=with_(taken.joined, i, True),
                        position=with_(taken.position, i, cut),
                        applied=with_(taken.applied, i, cut),
                    )
                fields = (taken.position[i], *fields[1:])
            yield from self.act(
                taken, name, ev.INPUTS[action](sender, *fields), (name, sender.node)
            )

    def _late(self, state: State, i: int, sender: Address) -> bool:
        return self.rules.living_leader and sender in state.locals[i].suspects

    def _may_begin(self, state: State, i: int) -> bool:
        return (
            self._is_leader(state, i)
            and state.flush == "closed"
            and (
                not self.constants.flushed
                or (
                    self._all_know(state)
                    and all(
                        at == state.sent
                        for at, up, joined in zip(
                            state.position, state.up, state.joined, strict=True
                        )
                        if up and joined
                    )
                )
            )
        )

    def _state_set(self, state: State, i: int, ok: bool) -> Iterator[Move[State]]:
        for move in self.act(state, self.nodes[i], ev.StateSet(ok)):
            target = move.target
            if ok:
                target = target._replace(
                    state=with_(target.state, i, target.chunks[i]),
                    base=with_(target.base, i, target.applied[i]),
                )
            yield move._replace(target=target)

    def _read(self, state: State, i: int, to: Address, number: int) -> Iterator[Move[State]]:
        name = self.nodes[i]
        payload = Part(name, number, state.applied[i])
        last = number == self.constants.chunks
        event = ev.Read(to, number, state.position[i], last, payload)
        yield from self.act(state, name, event, (name, to.node))

    def carried(
        self, state: State, node: str, local: Local, outputs: tuple[Any, ...]
    ) -> State | None:
        """Return the state with the member's new local state and its outputs carried out."""
        i = self.index[node]
        net, chunks = state.net, state.chunks
        for output in outputs:
            match output:
                case ev.Begun():
                    chunks = with_(chunks, i, ())
                case ev.HandUp(payload, _):
                    chunks = with_(chunks, i, (*chunks[i], payload))
                case ev.GetState() | ev.EndState() | ev.Failed() | ev.Resume():
                    pass
                case _:
                    j = self.index[output.to.node]
                    if state.up[j]:
                        kind = type(output).__name__.removeprefix("Send")
                        net = placed(net, i, j, (*net[i][j], Post(kind, tuple(output)[1:])))
        return state._replace(locals=with_(state.locals, i, local), net=net, chunks=chunks)

    # ------------------------------------------------------------------ the environment

    def _group_moves(self, state: State) -> Iterator[Move[State]]:
        for i in range(len(self.nodes)):
            yield from self._deliver(state, i)
            yield from self._apply(state, i)
        yield from self._garble(state)
        yield from self._send(state)
        if state.flush == "open":
            yield from self._close_latch(state)
        else:
            yield from self._open_latch(state)
            yield from self._slip_latch(state)

    def _deliver(self, state: State, i: int) -> Iterator[Move[State]]:
        at = state.position[i]
        if state.up[i] and state.joined[i] and at < state.sent:
            taken = state._replace(position=with_(state.position, i, at + 1))
            if not self.constants.inbox:
                taken = taken._replace(applied=with_(state.applied, i, state.applied[i] + 1))
            yield from self.act(taken, self.nodes[i], ev.Deliver())

    def _apply(self, state: State, i: int) -> Iterator[Move[State]]:
        if state.up[i] and state.applied[i] < state.position[i]:
            applied = with_(state.applied, i, state.applied[i] + 1)
            yield Move("Apply", (), state._replace(applied=applied))

    def _send(self, state: State) -> Iterator[Move[State]]:
        c = self.constants
        anybody = any(up and here for up, here in zip(state.up, state.joined, strict=True))
        if state.sent < c.max_sent and anybody and (not c.flushed or state.flush == "open"):
            yield Move("Send", (), state._replace(sent=state.sent + 1))

    def _close_latch(self, state: State) -> Iterator[Move[State]]:
        if any(me.queue for me in self._leaders(state)):
            yield Move("CloseLatch", (), state._replace(flush="closed"))

    def _open_latch(self, state: State) -> Iterator[Move[State]]:
        idle = any(not me.queue and not me.waiting for me in self._leaders(state))
        if idle and self._all_know(state):
            yield Move("OpenLatch", (), state._replace(flush="open"))

    def _slip_latch(self, state: State) -> Iterator[Move[State]]:
        under_way = any(me.phase in ("fetching", "setting") for me in state.locals)
        if under_way and not self.constants.latch_stays:
            yield Move("SlipLatch", (), state._replace(flush="open"))

    def _leaders(self, state: State) -> list[Local]:
        return [me for i, me in enumerate(state.locals) if self._is_leader(state, i)]

    def _garble(self, state: State) -> Iterator[Move[State]]:
        nodes = range(len(self.nodes))
        chunks = [
            (i, j, k)
            for i in nodes
            for j in nodes
            for k, message in enumerate(state.net[i][j])
            if message.kind == "Chunk"
        ]
        if any(
            self.nodes[i] not in self.constants.garblers or not state.net[i][j][k].fields[3]
            for i, j, k in chunks
        ):
            return
        for i, j, k in chunks:
            channel = state.net[i][j]
            transfer, number, cut, _, last, payload = channel[k].fields
            part = payload._replace(by=None)
            damaged = Post("Chunk", (transfer, number, cut, False, last, part))
            net = placed(state.net, i, j, with_(channel, k, damaged))
            yield Move("Garble", (), state._replace(net=net))

    def _crashed(self, state: State, i: int) -> State:
        return state._replace(
            up=with_(state.up, i, False),
            locals=with_(state.locals, i, node.crash(state.locals[i])),
            net=tuple(with_(row, i, ()) for row in state.net),
        )

    def _is_leader(self, state: State, i: int) -> bool:
        me = state.locals[i]
        return state.up[i] and node.leader_without(me.members, me.suspects) == me.address

    def _all_know(self, state: State) -> bool:
        gone = {a for a, up in zip(self.addresses, state.up, strict=True) if not up}
        return all(gone <= me.suspects for me, up in zip(state.locals, state.up, strict=True) if up)
