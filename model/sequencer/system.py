"""The whole SEQUENCER system: the members of `sequencer.py`, composed.

The twin of `Next` in `spec/Sequencer.tla` and of the bounds in `spec/MCSequencer.tla`: the
network, the membership service, and how often the environment may act. Steps carry the names of
the spec's actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

from raincheck.model.machine.machine import Refused, Step, Value
from raincheck.model.machine.network import receivable, take
from raincheck.model.machine.rows import placed, with_
from raincheck.model.machine.runs import Address

from . import handlers as node
from .handlers import Data, Forward, Local, Table
from .promises import INVARIANTS
from .state import Constants, Rsp, State, View, constants_of, variables


def machine(values: Mapping[str, Value]) -> SequencerSystem:
    """Return the bounded system that a case's constants describe; raise ValueError if none."""
    return SequencerSystem(constants_of(values))


class SequencerSystem:
    """The bounded instance as a machine for the explorer."""

    name = "sequencer"

    def __init__(self, constants: Constants) -> None:
        """Take the instance's constants."""
        self.constants = constants
        self.rules = constants.rules
        self.index = {n: i for i, n in enumerate(constants.nodes)}

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """The spec's invariants, by name."""
        return INVARIANTS

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `Sequencer.tla`."""
        return variables(self.constants, state)

    # ------------------------------------------------------------------ initial states

    def initial(self) -> Iterator[State]:
        """The founders are members of the first view; everybody else asks to join."""
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

    def steps(self, state: State) -> Iterator[Step[State]]:
        """Every enabled action, in the order of `MCNext`."""
        for i, name in enumerate(self.constants.nodes):
            for action, target in self._member_steps(state, i):
                yield Step(action, (name,), target)
            for j, other in enumerate(self.constants.nodes):
                for target in self._receive_forward(state, i, j):
                    yield Step("ReceiveForward", (name, other), target)
                for target in self._receive_data(state, i, j):
                    yield Step("ReceiveData", (name, other), target)
        for target in self._view_change(state):
            yield Step("ViewChange", (), target)
        for target in self._demote(state):
            yield Step("Demote", (), target)

    def _member_steps(self, state: State, i: int) -> Iterator[tuple[str, State]]:
        c, me = self.constants, state.locals[i]
        if me.node in c.senders and me.said < c.max_said:
            yield from self._named("Send", state, i, node.send(self.rules, me))
        if node.running(me) and me.view < len(state.views):
            yield from self._install_view(state, i)
        rsp = state.join_rsp[i]
        if rsp is not None:
            members = state.views[rsp.view - 1].members
            answer = node.join(me, rsp.view, members, rsp.table)
            for action, joined in self._named("Join", state, i, answer):
                yield (
                    action,
                    joined._replace(
                        position=with_(joined.position, i, rsp.digest),
                        join_rsp=with_(joined.join_rsp, i, None),
                    ),
                )
        yield from self._named("Resend", state, i, node.resend(self.rules, me))
        if me.node in c.leavers:
            yield from self._named("Leave", state, i, node.leave(me))
        if self._drained(state, i):
            for action, stopped in self._named("Stop", state, i, node.stop(self.rules, me)):
                yield action, self._ended(stopped, i)
        down = sum(other.status == "crashed" for other in state.locals)
        if me.node in c.crashers and down < c.max_crashes:
            for action, crashed in self._named("Crash", state, i, node.crash(me)):
                yield action, self._ended(crashed, i)
        if me.node in c.returners and me.incarnation == 0 and self._forgotten(state, i):
            for action, back in self._named("Restart", state, i, node.restart(me)):
                yield (
                    action,
                    back._replace(
                        delivered=with_(back.delivered, i, ()),
                        stream=with_(back.stream, i, ()),
                        position=tuple(with_(row, i, 0) for row in back.position),
                    ),
                )

    def _receive_forward(self, state: State, i: int, j: int) -> Iterator[State]:
        channel = state.forwards[j][i]
        me = state.locals[i]
        for place in receivable(channel, self.constants.fifo_forward):
            (messages, view), left = take(channel, place)
            answer = node.receive_forward(
                self.rules, me, Forward(messages, view, node.address(self.rules, me))
            )
            taken = state._replace(forwards=placed(state.forwards, j, i, left))
            yield from self._carried(taken, i, answer)

    def _receive_data(self, state: State, i: int, j: int) -> Iterator[State]:
        at = state.position[i][j]
        if at >= len(state.stream[j]):
            return
        messages, view = state.stream[j][at]
        me = state.locals[i]
        if self.constants.virtual_synchrony and view != me.view:
            return
        answer = node.receive_data(self.rules, me, self.constants.nodes[j], Data(messages, view))
        moved = placed(state.position, i, j, at + 1)
        yield from self._carried(state._replace(position=moved), i, answer)

    def _install_view(self, state: State, i: int) -> Iterator[tuple[str, State]]:
        me = state.locals[i]
        new = state.views[me.view]
        if self.constants.virtual_synchrony:
            for member in me.members:
                c = self.index[member.node]
                unread = state.stream[c][state.position[i][c] :]
                if any(view <= me.view for _, view in unread):
                    return
        answer = node.install_view(self.rules, me, me.view + 1, new.members)
        yield from self._named("InstallView", state, i, answer)

    def _named(
        self, action: str, state: State, i: int, answer: node.Answer
    ) -> Iterator[tuple[str, State]]:
        for target in self._carried(state, i, answer):
            yield action, target

    def _carried(self, state: State, i: int, answer: node.Answer) -> Iterator[State]:
        """The state once the node has changed and the network has taken its outputs.

        None where the handler refuses, or where the latch is closed on a multicast.
        """
        if isinstance(answer, Refused):
            return
        me = answer.local
        state = state._replace(locals=with_(state.locals, i, me))
        for output in answer.outputs:
            match output:
                case node.Data(messages, view):
                    if not self._latch_open(state, me):
                        return
                    sent = (*state.stream[i], (messages, view))
                    state = state._replace(stream=with_(state.stream, i, sent))
                case node.Forward(messages, view, to):
                    if self._alive(state, to):
                        row = state.forwards[i]
                        j = self.index[to.node]
                        channel = (*row[j], (messages, view))
                        row = with_(row, j, channel)
                        state = state._replace(forwards=with_(state.forwards, i, row))
                case node.Deliver(messages, view):
                    heard = (*state.delivered[i], (messages, view))
                    state = state._replace(delivered=with_(state.delivered, i, heard))
                case node.JoinRsp(view, table):
                    state = self._answered(state, i, view, table)
        yield state

    def _answered(self, state: State, i: int, view: int, table: Table) -> State:
        rsp = Rsp(view, state.position[i], table)
        joiners = state.views[view - 1].joiners
        answered = tuple(
            rsp if them.status == "joining" and self._address(them) in joiners else old
            for them, old in zip(state.locals, state.join_rsp, strict=True)
        )
        return state._replace(join_rsp=answered)

    def _latch_open(self, state: State, me: Local) -> bool:
        return not self.constants.virtual_synchrony or me.view == len(state.views)

    def _drained(self, state: State, i: int) -> bool:
        """Everybody has received all that the leaver has multicast (or nobody waits for it)."""
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
        """Nobody is still reading the stream of the node's former life."""
        mine, length = self._address(state.locals[i]), len(state.stream[i])
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

    # ------------------------------------------------------------------ the membership service

    def _address(self, me: Local) -> Address:
        return node.address(self.rules, me)

    def _alive(self, state: State, who: Address) -> bool:
        them = state.locals[self.index[who.node]]
        return node.running(them) and self._address(them) == who

    def _settled(self, state: State) -> bool:
        last = state.views[-1]
        for i, them in enumerate(state.locals):
            mine = self._address(them)
            if node.running(them) and mine in last.members and them.view != len(state.views):
                return False
            if (
                them.status == "joining"
                and mine in last.joiners
                and (state.join_rsp[i] is not None or self._alive(state, last.members[0]))
            ):
                return False
        return True

    def _view_change(self, state: State) -> Iterator[State]:
        if not self._settled(state):
            return
        last = state.views[-1]
        staying = tuple(a for a in last.members if self._alive(state, a))
        asking = [self._address(them) for them in state.locals if them.status == "joining"]
        if not staying:
            return
        for size in range(len(asking) + 1):
            for joiners in combinations(asking, size):
                if joiners or len(staying) < len(last.members):
                    yield from self._decide(state, View(staying + joiners, frozenset(joiners)))

    def _demote(self, state: State) -> Iterator[State]:
        last = state.views[-1]
        if (
            len(state.views) < self.constants.last_demotion
            and len(last.members) > 1
            and all(self._alive(state, a) for a in last.members)
            and self._settled(state)
        ):
            yield from self._decide(state, View((*last.members[1:], last.members[0]), frozenset()))

    def _decide(self, state: State, new: View) -> Iterator[State]:
        last = state.views[-1]
        state = state._replace(views=(*state.views, new))
        old = last.members[0]
        if not self.constants.virtual_synchrony or new.members[0] == old:
            yield state
            return
        c = self.index[old.node]
        survivors = (
            state.position[i][c]
            for i, them in enumerate(state.locals)
            if node.running(them) and self._address(them) in last.members
        )
        held = max(survivors, default=0)
        for cut in range(held, len(state.stream[c]) + 1):
            yield state._replace(stream=with_(state.stream, c, state.stream[c][:cut]))
