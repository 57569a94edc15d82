"""The whole SEQUENCER system: the members of `member.py`, composed.

The twin of `Next` in `spec/Sequencer.tla` and of the bounds in `spec/MCSequencer.tla`: the network,
the membership service, and how often the environment may act. Steps carry the names of the spec's
actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from raincheck.model.machine.composed import Move
from raincheck.model.machine.machine import Refused, Value
from raincheck.model.machine.network import receivable, take
from raincheck.model.machine.rows import placed, with_
from raincheck.model.machine.runs import Address

from . import events as ev
from . import handlers as node
from .adversary import Adversary
from .handlers import Data, Forward, Local, Table
from .member import HANDLERS, Member
from .promises import INVARIANTS
from .state import Rsp, State, View, constants_of, variables


def machine(values: Mapping[str, Value]) -> SequencerSystem:
    """Return the bounded system that a case describes; raise ValueError if a constant is wrong."""
    return SequencerSystem(constants_of(values))


class SequencerSystem(Adversary):
    """The bounded instance as a machine for the explorer."""

    name = "sequencer"
    handlers = HANDLERS
    batch = 4

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """Return the spec's invariants, by name."""
        return INVARIANTS

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `Sequencer.tla`."""
        return variables(self.constants, state)

    # ------------------------------------------------------------------ initial states

    def initial(self) -> Iterator[State]:
        """Yield the state in which the founders form the first view and all others ask to join."""
        c = self.constants
        first = View(tuple(Address(n, 0) for n in c.nodes if n in c.founders), frozenset())
        empty = tuple(() for _ in c.nodes)
        yield State(
            tuple(
                node.founder(n, first.members) if n in c.founders else node.joiner(n)
                for n in c.nodes
            ),
            empty,
            tuple(empty for _ in c.nodes),
            empty,
            tuple(tuple(0 for _ in c.nodes) for _ in c.nodes),
            tuple(None for _ in c.nodes),
            (first,),
        )

    # ------------------------------------------------------------------ steps

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Yield every enabled action, in the order of `MCNext`."""
        for i in range(len(self.nodes)):
            yield from self._moves_of(state, i)
        for target in self.view_change(state):
            yield Move("ViewChange", (), target)
        for target in self.demote(state):
            yield Move("Demote", (), target)

    def _moves_of(self, state: State, i: int) -> Iterator[Move[State]]:
        yield from self._member_moves(state, i)
        yield from self._safe_moves(state, i)
        for j in range(len(self.nodes)):
            yield from self._receive_forward(state, i, j)
            yield from self._receive_data(state, i, j)
        for j in range(len(self.nodes)):
            yield from self.forge(state, i, j)
            yield from self.corrupt(state, i, j)

    def _member_moves(self, state: State, i: int) -> Iterator[Move[State]]:
        c, me = self.constants, state.locals[i]
        if me.node in c.senders and me.said < c.max_said:
            yield from self._made(state, i, ev.Send(), node.send(self.rules, me))
        if self.rules.keep_until == "stable":
            stable = self._stable(state, me)
            answer = node.stabilise(self.rules, me, stable)
            yield from self._made(state, i, ev.Stabilise(stable), answer)
        if node.running(me) and me.view < len(state.views):
            yield from self._install_view(state, i)
        rsp = state.join_rsp[i]
        if rsp is not None:
            yield from self._join(state, i, rsp)
        yield from self._made(state, i, ev.Resend(), node.resend(self.rules, me))
        if me.node in c.leavers:
            yield from self._made(state, i, ev.Leave(), node.leave(me))
        if self._drained(state, i):
            event = ev.Stop(drained=True)
            for move in self._made(state, i, event, node.stop(self.rules, me)):
                yield move._replace(target=self._ended(move.target, i))
        down = sum(other.status == "crashed" for other in state.locals)
        if me.node in c.crashers and down < c.max_crashes:
            for move in self._made(state, i, ev.Crash(), node.crash(me)):
                yield Move("Crash", (me.node,), self._ended(move.target, i))
        if me.node in c.returners and me.incarnation == 0 and self._forgotten(state, i):
            blank = state._replace(
                delivered=with_(state.delivered, i, ()),
                stream=with_(state.stream, i, ()),
                position=tuple(with_(row, i, 0) for row in state.position),
            )
            for move in self._made(blank, i, ev.Restart(), node.restart(me)):
                yield Move("Restart", (me.node,), move.target)

    def _join(self, state: State, i: int, rsp: Rsp) -> Iterator[Move[State]]:
        me, members = state.locals[i], state.views[rsp.view - 1].members
        digest = self._places(state, rsp.digest, members)
        event = ev.Join(members[0], rsp.view, members, rsp.table, digest)
        joined = state._replace(
            position=with_(state.position, i, rsp.digest),
            join_rsp=with_(state.join_rsp, i, None),
        )
        place = self._place(rsp.digest, members[0])
        answer = node.join(self.rules, me, rsp.view, members, rsp.table, place)
        yield from self._made(joined, i, event, answer)

    def _place(self, row: tuple[int, ...], coordinator: Address) -> int:
        return row[self.index[coordinator.node]]

    def _safe_moves(self, state: State, i: int) -> Iterator[Move[State]]:
        """Yield what is taken only with safe delivery."""
        me, rules = state.locals[i], self.rules
        if rules.delivery != "safe" or not node.running(me):
            return
        received = self._place(state.position[i], me.members[0])
        answer = node.acknowledge(rules, me, received)
        yield from self._made(state, i, ev.Acknowledge(), answer)
        yield from self._made(state, i, ev.Announce(), node.announce(rules, me, received))
        mine, c = self.address(me), self.index[me.members[0].node]
        for j, them in enumerate(state.locals):
            if node.running(them) and them.members[0] == mine:
                who = self.address(them)
                ack = ev.ReceiveAck(who, them.told)
                answer = node.receive_ack(rules, me, who, them.told)
                yield from self._made(state, i, ack, answer, (me.node, self.nodes[j]))
        them = state.locals[c]
        if node.running(them) and self.address(them) == me.members[0]:
            safe = ev.ReceiveSafe(me.members[0], them.announced)
            answer = node.receive_safe(rules, me, me.members[0], them.announced)
            yield from self._made(state, i, safe, answer, (me.node, self.nodes[c]))

    def _receive_forward(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        channel = state.forwards[j][i]
        me = state.locals[i]
        for place in receivable(channel, self.constants.fifo_forward):
            (messages, view), left = take(channel, place)
            sender = messages.sender
            if sender.node != self.nodes[j]:
                sender = self.address(state.locals[j])
            forward = Forward(messages, view, node.address(self.rules, me))
            answer = node.receive_forward(self.rules, me, sender, forward)
            taken = state._replace(forwards=placed(state.forwards, j, i, left))
            event = ev.ReceiveForward(sender, messages, view)
            yield from self._made(taken, i, event, answer, (me.node, self.nodes[j]))

    def _receive_data(self, state: State, i: int, j: int) -> Iterator[Move[State]]:
        at = state.position[i][j]
        if at >= len(state.stream[j]):
            return
        messages, view = state.stream[j][at]
        me = state.locals[i]
        if self.constants.virtual_synchrony and view != me.view:
            return
        answer = node.receive_data(self.rules, me, self.nodes[j], Data(messages, view), at + 1)
        moved = state._replace(position=placed(state.position, i, j, at + 1))
        event = ev.ReceiveData(self.address(state.locals[j]), messages, view, at + 1)
        yield from self._made(moved, i, event, answer, (me.node, self.nodes[j]))

    def _install_view(self, state: State, i: int) -> Iterator[Move[State]]:
        me = state.locals[i]
        members, joiners = state.views[me.view]
        if self.constants.virtual_synchrony:
            for each in me.members:
                c = self.index[each.node]
                unread = state.stream[c][state.position[i][c] :]
                if any(view <= me.view for _, view in unread):
                    return
        place = self._place(state.position[i], members[0])
        answer = node.install_view(self.rules, me, me.view + 1, members, place)
        event = ev.InstallView(me.view + 1, members, tuple(sorted(joiners)))
        digest = self._places(state, state.position[i], members)
        yield from self._made(state, i, event, answer, digest=digest)

    def _made(
        self,
        state: State,
        i: int,
        event: Any,
        answer: node.Answer,
        args: tuple[str, ...] = (),
        digest: Table = (),
    ) -> Iterator[Move[State]]:
        if isinstance(answer, Refused):
            return
        view = event if isinstance(event, ev.InstallView) else None
        outputs = ev.outputs_of(answer.outputs, view, digest)
        target = self._carried(state, i, answer.local, outputs)
        if target is not None:
            name = self.nodes[i]
            yield Move(type(event).__name__, args or (name,), target, name, event, outputs)

    def arriving(self, state: State, node: str) -> tuple[ev.ReceiveData, ...]:
        """Return the next message of each stream; a message that is refused there is in no move."""
        i = self.index[node]
        found = []
        for j, them in enumerate(state.locals):
            at = state.position[i][j]
            if at < len(state.stream[j]):
                messages, view = state.stream[j][at]
                found.append(ev.ReceiveData(self.address(them), messages, view, at + 1))
        return tuple(found)

    def together(self, move: Move[State], size: int) -> Move[State]:
        """Return the move with as many messages of one run as there are, up to `size`."""
        if move.node is None:
            return move
        i = self.index[move.node]
        while ev.size_of(move.event) < size:
            for after in self._moves_of(move.target, i):
                event = ev.longer(move, after)
                if event is not None:
                    outputs = move.outputs + after.outputs
                    move = after._replace(event=event, outputs=outputs)
                    break
            else:
                break
        return move

    def size(self, move: Move[State]) -> int:
        """Return how many messages the move moves."""
        return ev.size_of(move.event)

    def choice(self, state: State, move: Move[State]) -> dict[str, Any]:
        """Return the place in the channel, or the view, as a schedule has it."""
        if move.action == "ReceiveForward":
            i, j = (self.index[str(name)] for name in move.args)
            channel, left = state.forwards[j][i], move.target.forwards[j][i]
            size = self.size(move)
            places = range(1, len(channel) + 1)
            place = next(p for p in places if channel[: p - 1] + channel[p - 1 + size :] == left)
            return {"place": place} if place > 1 else {}
        if move.action in ("Forge", "Corrupt"):
            return self.made_up(state, move)
        if move.action in ("ViewChange", "Demote"):
            view, c = move.target.views[-1], self.index[state.views[-1].members[0].node]
            found: dict[str, Any] = {
                "members": [list(who) for who in view.members],
                "joiners": sorted(list(who) for who in view.joiners),
            }
            cut = len(move.target.stream[c])
            return found if cut == len(state.stream[c]) else found | {"cut": cut}
        return {}

    # ------------------------------------------------------------------ the effects of a step

    def local(self, state: State, node: str) -> Member:
        """Return what a node knows, and its places in the streams of its view's members."""
        i = self.index[node]
        me = state.locals[i]
        return Member(*me, self._places(state, state.position[i], me.members))

    def carried(
        self, state: State, node: str, local: Member, outputs: tuple[Any, ...]
    ) -> State | None:
        """Return the state in which the node is in `local` and the network has its outputs."""
        return self._carried(state, self.index[node], local.local, outputs)

    def _places(self, state: State, row: tuple[int, ...], members: tuple[Address, ...]) -> Table:
        """Return the places in the streams of those members that still live the same life."""
        found = []
        for each in members:
            c = self.index[each.node]
            if row[c] and each == self.address(state.locals[c]):
                found.append((each, row[c]))
        return tuple(sorted(found))

    def _carried(
        self, state: State, i: int, me: Local, outputs: tuple[ev.Output, ...]
    ) -> State | None:
        """Return the state as `carried` does, or None if the latch is closed on a multicast."""
        state = state._replace(locals=with_(state.locals, i, me))
        for output in outputs:
            match output:
                case node.Data(messages, view):
                    if not self._latch_open(state, me):
                        return None
                    sent = (*state.stream[i], (messages, view))
                    state = state._replace(stream=with_(state.stream, i, sent))
                case node.Forward(messages, view, to):
                    if self.alive(state, to):
                        row = state.forwards[i]
                        j = self.index[to.node]
                        channel = (*row[j], (messages, view))
                        row = with_(row, j, channel)
                        state = state._replace(forwards=with_(state.forwards, i, row))
                case node.Deliver(messages, view):
                    heard = (*state.delivered[i], (messages, view))
                    state = state._replace(delivered=with_(state.delivered, i, heard))
                case ev.SendJoinRsp(to):
                    c = self.index[to.node]
                    them = state.locals[c]
                    if them.status == "joining" and self.address(them) == to:
                        rsp = Rsp(output.view, state.position[i], output.table)
                        state = state._replace(join_rsp=with_(state.join_rsp, c, rsp))
        return state

    def _latch_open(self, state: State, me: Local) -> bool:
        return not self.constants.virtual_synchrony or me.view == len(state.views)

    def _stable(self, state: State, me: Local) -> int:
        """Return up to which seqno all members of the view have delivered this one's messages."""
        mine = self.address(me)
        if not all(self.alive(state, each) for each in me.members):
            return 0
        readers = (state.locals[self.index[each.node]] for each in me.members)
        return min((dict(them.received_table).get(mine, 0) for them in readers), default=0)

    def _drained(self, state: State, i: int) -> bool:
        """Tell whether all that wait for the leaver's multicasts have received them."""
        if not self.rules.drain_on_leave:
            return True
        length, name = len(state.stream[i]), state.locals[i].node
        readers = (
            state.position[p][i]
            for p, them in enumerate(state.locals)
            if node.running(them) and any(member.node == name for member in them.members)
        )
        digests = (rsp.digest[i] for rsp in state.join_rsp if rsp is not None)
        return all(at == length for at in (*readers, *digests))

    def _forgotten(self, state: State, i: int) -> bool:
        """Tell whether nobody still reads the stream of the node's former life."""
        mine, length = self.address(state.locals[i]), len(state.stream[i])
        return all(rsp is None for rsp in state.join_rsp) and all(
            state.position[p][i] == length
            for p, them in enumerate(state.locals)
            if node.running(them) and mine in them.members
        )

    def _ended(self, state: State, i: int) -> State:
        return state._replace(
            forwards=tuple(with_(row, i, ()) for row in state.forwards),
            position=with_(state.position, i, tuple(0 for _ in state.position)),
            join_rsp=with_(state.join_rsp, i, None),
        )
