"""The environment of GMS's model: requests to join, FLUSH's own steps, and multicasts.

The twin of those actions of `spec/Gms.tla` that no handler of GMS carries out, and of the network
between the members.
"""

from __future__ import annotations

from collections.abc import Iterator

from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.network import receivable, take
from raincheck.model.machine.rows import placed, with_
from raincheck.model.machine.runs import Address

from . import handlers as node
from .events import SendJoinRsp
from .handlers import Local
from .state import Constants, Content, Entry, Message, Prepare, State, Stop


class Environment(Composed[State, Local]):
    """The steps of the environment, and the channels."""

    def __init__(self, constants: Constants) -> None:
        """Take the instance's constants."""
        self.constants = constants
        self.rules = constants.rules
        self.nodes = constants.nodes
        self.index = {n: i for i, n in enumerate(constants.nodes)}

    def environment(self, state: State) -> Iterator[Move[State]]:
        """Yield every step of the environment."""
        for action, target in (
            *self._request_join(state),
            *self._flush_again(state),
            *self._receive_stop(state),
            *self._multicast(state),
            *self._deliver(state),
        ):
            yield Move(action, (), target)

    def _request_join(self, state: State) -> Iterator[tuple[str, State]]:
        c = self.constants
        for me in state.locals:
            a = self.address(me)
            if me.status != "joining" or a in state.join_req or not c.retry_join:
                continue
            queued = any(
                node.running(them) and a in them.joining | set(node.members_of(them))
                for them in state.locals
            )
            if c.impatient or not queued:
                yield "RequestJoin", state._replace(join_req=state.join_req | {a})

    def _flush_again(self, state: State) -> Iterator[tuple[str, State]]:
        for i, me in enumerate(state.locals):
            if me.phase == "flushing" and state.asked[i] & me.gone:
                left = state.asked[i] - me.gone
                again = state._replace(
                    asked=with_(state.asked, i, left),
                    answers=with_(state.answers, i, frozenset()),
                )
                yield "FlushAgain", self.prepare(again, i, left)

    def prepare(self, state: State, i: int, participants: frozenset[Address]) -> State:
        """Return the state after a leader has sent PREPARE to the participants."""
        me = state.locals[i]
        assert me.view is not None
        body = Prepare(me.view.id.counter, tuple(sorted(participants)))
        for a in participants - {self.address(me)}:
            state = self.post(state, i, a, body)
        return state

    def _receive_stop(self, state: State) -> Iterator[tuple[str, State]]:
        for i, me in enumerate(state.locals):
            for j in range(len(self.nodes)):
                channel = state.channel[j][i]
                for place in receivable(channel, self.constants.fifo_unicast):
                    message, left = take(channel, place)
                    if not isinstance(message.content, Stop):
                        continue
                    target = state._replace(channel=placed(state.channel, j, i, left))
                    if message.sender == me.promised:
                        target = target._replace(latch=with_(state.latch, i, False))
                    yield "ReceiveStop", target

    def _multicast(self, state: State) -> Iterator[tuple[str, State]]:
        c = self.constants
        for i, me in enumerate(state.locals):
            said = sum(entry.news == 0 for entry in state.stream[i])
            if me.view is None or state.latch[i] or me.node not in c.senders or said >= c.max_said:
                continue
            stream = (*state.stream[i], Entry(me.view.id.counter))
            yield "Multicast", state._replace(stream=with_(state.stream, i, stream))

    def _deliver(self, state: State) -> Iterator[tuple[str, State]]:
        for i, me in enumerate(state.locals):
            if me.view is None:
                continue
            for s in sorted({self.index[a.node] for a in me.view.members}):
                at = state.position[i][s]
                entry = state.stream[s][at] if at < len(state.stream[s]) else None
                if entry is None or entry.news or entry.view > me.view.id.counter:
                    continue
                if state.latch[i] and not self._reads_on(state, me, s, at):
                    continue
                yield "Deliver", state._replace(position=placed(state.position, i, s, at + 1))

    def _reads_on(self, state: State, me: Local, s: int, at: int) -> bool:
        """Tell whether the member reads on; of a dead sender, only what another member has."""
        name = self.nodes[s]
        there = any(a.node == name and self.is_member(state, a) for a in node.members_of(me))
        return there or any(
            node.running(them) and state.latch[q] and state.position[q][s] > at
            for q, them in enumerate(state.locals)
        )

    # ------------------------------------------------------------------ the network

    def post(
        self, state: State, i: int, to: Address, content: Content, sender: Address | None = None
    ) -> State:
        """Send a message; if the receiver is gone, the message is lost."""
        if not self.is_alive(state, to):
            return state
        digest: tuple[int, ...] = ()
        if isinstance(content, SendJoinRsp):
            digest = self.digest(state, i)
        j = self.index[to.node]
        message = Message(sender or self.address(state.locals[i]), content, digest)
        return state._replace(channel=placed(state.channel, i, j, (*state.channel[i][j], message)))

    def digest(self, state: State, i: int) -> tuple[int, ...]:
        """Return the digest that JOIN_RSP carries."""
        first = state.digest[i]
        digest = first if self.constants.digest_first and first else state.position[i]
        return with_(digest, i, digest[i] + 1) if self.constants.plus_one else digest

    def address(self, me: Local) -> Address:
        """Return the address of a node's present life."""
        return node.address(self.rules, me)

    def is_alive(self, state: State, a: Address) -> bool:
        """Return whether that life of its node runs."""
        them = state.locals[self.index[a.node]]
        return them.status in ("joining", "member") and self.address(them) == a

    def is_member(self, state: State, a: Address) -> bool:
        """Return whether that life of its node takes part in the protocol."""
        them = state.locals[self.index[a.node]]
        return node.running(them) and self.address(them) == a
