"""A whole Raincore ring: the members of `handlers.py`, the messages between them, and failures.

The twin of the environment's actions in `spec/Raincore.tla` and of the bounds in
`spec/MCRaincore.tla`. Steps carry the names of the spec's actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, combinations
from typing import Any

from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.machine import Value
from raincheck.model.machine.rows import with_
from raincheck.model.machine.runs import Address

from . import events as ev
from .adversary import corrupted, forged
from .events import Call911, Message, Settled, Token
from .handlers import HANDLERS, first_token
from .lists import restricted
from .local import Local, Rules
from .promises import invariants
from .state import Constants, State, constants_of, variables
from .waits import arrives, coming, helped, idle, of


def machine(values: Mapping[str, Value]) -> RaincoreSystem:
    """Return the bounded system that a case describes; raise ValueError if a constant is wrong."""
    return RaincoreSystem(constants_of(values))


class RaincoreSystem(Composed[State, Local]):
    """The bounded instance as a machine for the explorer."""

    name = "raincore"
    handlers = HANDLERS

    def __init__(self, constants: Constants) -> None:
        """Take the instance's constants."""
        self.constants = constants
        self.rules: Rules = constants.rules
        self.nodes = constants.nodes
        self.index = {n: i for i, n in enumerate(constants.nodes)}
        self.founders = tuple(Address(n, 0) for n in constants.members)

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """Return the spec's invariants, by name."""
        return invariants(self.rules)

    def variables(self, state: State) -> dict[str, Value]:
        """Return the state in the variables of `Raincore.tla`."""
        return variables(self.constants, state)

    def local(self, state: State, node: str) -> Local:
        """Return a member's local state."""
        return state.locals[self.index[node]]

    def initial(self) -> Iterator[State]:
        """Yield the state in which a formed ring's first member eats, or nobody has started."""
        c = self.constants
        fences = frozenset({(ev.ZERO, 1, self.founders[0])} if c.formed and c.keep_fences else ())
        locals_ = tuple(self._start(Address(n, 0)) for n in self.nodes)
        yield State(locals_, tuple(0 for _ in self.nodes), eaten=fences)

    def _start(self, me: Address) -> Local:
        first = self.founders
        if me.node in self.constants.spares:
            return Local(me, "spare")
        if me.node in self.constants.strangers:
            return Local(me, "stranger")
        if not self.constants.formed or me not in first:
            return Local(me)
        token = first_token(self.rules, first)._replace(
            seq=1,
            global_view_number=1,
            settled=Settled(1, first),
            pending=(),
            seen=frozenset(first),
        )
        state = "eating" if me == first[0] else "hungry"
        return Local(me, "up", "agreement", state, (first,), 1, last_token=token)

    # ------------------------------------------------------------------ steps

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Yield every enabled action, roughly in the order of `MCNext`."""
        for i, name in enumerate(self.nodes):
            yield from self._member_moves(state, i, name)
            yield from self._lives(state, i, name)
        for message in _ordered(state.network):
            yield from self._arrival(state, message)
        for message in _ordered(state.network | state.reports):
            yield from self._failure(state, message)
        yield from self._world(state)

    def _member_moves(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        c, me = self.constants, state.locals[i]
        if me.up != "up" or self._asleep(state, i):
            return
        goes = c.rests_end or not idle(me)
        numbers = me.last_token.seq < c.max_seq or len(me.last_token.nodelist) == 1
        if me.token_state == "eating" and goes and numbers:
            for move in self.act(state, name, ev.EatingTimeout()):
                shaken = self.local(move.target, name).last_token.nodelist != me.last_token.nodelist
                yield move._replace(target=_disturbed(move.target)) if shaken else move
        if me.attempt < c.max_attempts and not (c.unhurried and _calling(state)):
            if me.token_state == "hungry":
                yield from self._timeout(
                    state, name, ev.HungryTimeout(), coming(self.rules, state, me.me)
                )
            elif me.token_state == "starving":
                yield from self._timeout(
                    state, name, ev.StarvingTimeout(), helped(self.rules, state, me.me)
                )
        if me.last_token not in state.network | state.reports:
            yield from self.act(state, name, ev.TokenDelivered())
        if name in c.senders and me.outbox + me.said < c.max_messages:
            yield from self.act(state, name, ev.Multicast())
        for other in state.locals:
            waits = other.me.node in c.wanting and other.outbox > 0
            if waits and other.me not in me.awaited:
                yield from self.act(state, name, ev.Wanted(other.me), (name, other.me.node))
        if name in c.leavers:
            yield from self.act(state, name, ev.Leave())

    def _timeout(
        self, state: State, name: str, event: Any, too_early: bool
    ) -> Iterator[Move[State]]:
        if not too_early:
            yield from self.act(_disturbed(state), name, event)
        elif not self.constants.patient:
            for spent in self._spend(state, "early"):
                yield from self.act(spent, name, event)

    def _lives(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        c, me = self.constants, state.locals[i]
        if self._asleep(state, i):
            return
        if me.up == "new":
            founds = not c.formed and name in c.members
            others = restricted(self.founders, {n for n in self.founders if n != me.me})
            event = ev.Initialise("founder" if founds else "joiner", self.founders, others)
            yield from self.act(_disturbed(state), name, event, (name,))
        elif me.up == "up" and name in c.crashers:
            if sum(other.up == "down" for other in state.locals) >= c.max_down:
                return
            for spent in self._spend(state, "crashes"):
                reports = frozenset(m for m in state.reports if m.current != me.me)
                yield from self.act(spent._replace(reports=reports), name, ev.Crash())
        elif me.up == "down":
            for spent in self._spend(state, "recoveries"):
                yield from self.act(spent, name, ev.Recover())
            for spent in self._spend(state, "forgets"):
                yield from self._forget(spent, i, name)

    def _forget(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        me = state.locals[i]
        if not self.rules.incarnations:
            lost = {(at, view) for at, view in enumerate(me.global_view, 1) if view}
            yield from self.act(state._replace(past=state.past | lost), name, ev.Forget())
            return
        for j, spare in enumerate(state.locals):
            if spare.up == "spare":
                after = with_(state.locals, i, me._replace(up="left"))
                after = with_(after, j, spare._replace(up="new"))
                yield Move("Forget", (name, spare.me.node), state._replace(locals=after))

    def _arrival(self, state: State, message: Message) -> Iterator[Move[State]]:
        if not arrives(self.rules, state, message):
            return
        name = message.to.node
        after = state._replace(network=state.network - {message})
        if isinstance(message, Call911):
            event: Any = ev.Receive911(message)
            yield from self._bounded(self.act(_disturbed(after), name, event, (name,)))
            return
        for move in self.act(after, name, ev.ReceiveToken(message), (name,)):
            calmer = self.constants.count_rounds and state.calm <= 5 * len(self.nodes)
            taken = self.local(state, name).last_token != self.local(move.target, name).last_token
            calm = state.calm + 1 if calmer and taken else state.calm
            yield move._replace(target=move.target._replace(calm=calm))

    def _failure(self, state: State, message: Message) -> Iterator[Move[State]]:
        sender = self.index[message.current.node]
        if state.locals[sender].up != "up" or self._asleep(state, sender):
            return
        if message in state.reports:
            after = state._replace(reports=state.reports - {message})
        elif not arrives(self.rules, state, message):
            after = state._replace(network=state.network - {message})
        else:
            return
        event = ev.INPUTS[ev.FAILS[type(message).__name__]](message)
        name = message.current.node
        yield from self._bounded(self.act(_disturbed(after), name, event, (name,)))

    def _bounded(self, moves: Iterator[Move[State]]) -> Iterator[Move[State]]:
        """Yield the moves whose epochs stay within their bounds."""
        for move in moves:
            if all(me.promised.n <= self.constants.max_epoch for me in move.target.locals):
                yield move

    def _asleep(self, state: State, i: int) -> bool:
        """Tell whether the member stands still."""
        return self.constants.most.pauses > 0 and state.side[i] != 0

    def _pauses(self, state: State) -> Iterator[Move[State]]:
        nobody = tuple(0 for _ in self.nodes)
        if any(state.side):
            (name,) = (n for n, side in zip(self.nodes, state.side, strict=True) if side)
            after = _disturbed(state._replace(side=nobody))
            yield from self._bounded(self.act(after, name, ev.Gap()))
            return
        for spent in self._spend(state, "pauses"):
            for i, me in enumerate(state.locals):
                if me.up == "up":
                    name = me.me.node
                    side = with_(nobody, i, 1)
                    yield Move("Pause", (name,), spent._replace(side=side))

    def _world(self, state: State) -> Iterator[Move[State]]:
        if self.constants.most.pauses:
            yield from self._pauses(state)
        elif any(state.side):
            healed = state._replace(side=tuple(0 for _ in self.nodes))
            yield Move("Heal", (), _disturbed(healed))
        else:
            for spent in self._spend(state, "splits"):
                others = self.nodes[1:]
                sizes = range(1, len(others) + 1)
                for there in chain.from_iterable(combinations(others, size) for size in sizes):
                    side = tuple(int(n in there) for n in self.nodes)
                    yield Move("Split", (frozenset(there),), spent._replace(side=side))
        for spent in self._spend(state, "forged"):
            for stranger, to, made in forged(self.constants, state):
                yield Move("Forge", (stranger, to), spent._replace(network=state.network | {made}))
        for message in _ordered(state.network):
            left = state.network - {message}
            if of(state, message.current).up != "up":
                yield Move("Lose", (), state._replace(network=left))
            elif not (
                self.constants.truthful or message.current == message.to or message in state.reports
            ):
                if self.constants.most.pauses and not self._asleep(
                    state, self.index[message.to.node]
                ):
                    continue
                for spent in self._spend(state, "false"):
                    yield Move(
                        "FalseReport",
                        (),
                        spent._replace(
                            reports=state.reports | {message},
                            network=state.network if self.constants.arrives_after_failure else left,
                        ),
                    )
            for spent in self._spend(state, "altered"):
                for other in corrupted(self.constants, state, message):
                    yield Move("Corrupt", (), spent._replace(network=left | {other}))

    def carried(self, state: State, node: str, local: Local, outputs: tuple[Any, ...]) -> State:
        """Return the state with the member's new local state and its messages under way."""
        sent = [o for o in outputs if isinstance(o, Token | Call911)]
        eaten = state.eaten
        if self.constants.keep_fences:
            eats = (o for o in outputs if isinstance(o, ev.Eats))
            eaten = eaten.union((o.epoch, o.seq, local.me) for o in eats)
        return state._replace(
            locals=with_(state.locals, self.index[node], local),
            network=state.network.union(sent),
            eaten=eaten,
        )

    def _spend(self, state: State, what: str) -> Iterator[State]:
        used = getattr(state.spent, what)
        if used < getattr(self.constants.most, what):
            yield _disturbed(state._replace(spent=state.spent._replace(**{what: used + 1})))


def _disturbed(state: State) -> State:
    return state._replace(calm=0) if state.calm else state


def _calling(state: State) -> bool:
    return any(isinstance(m, Call911) for m in state.network | state.reports)


@lru_cache(maxsize=100_000)
def _ordered(messages: frozenset[Message]) -> tuple[Message, ...]:
    """Return the messages, always in the same order."""
    return tuple(sorted(messages, key=repr))
