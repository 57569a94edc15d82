"""A whole Raincore ring: the members of `raincore.py`, the Transport Managers between them, faults.

The twin of the bounds in `spec/MCRaincore.tla`. Steps carry the names of the spec's actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import combinations
from typing import Any, TypeVar

from . import raincore_events as ev
from .composed import Composed, Move
from .machine import Value
from .raincore import HANDLERS, first_token
from .raincore_events import Call911, Message, Settled, Token
from .raincore_holder import takes
from .raincore_local import Local, Rules
from .raincore_promises import INVARIANTS
from .raincore_state import Constants, State
from .runs import Address

T = TypeVar("T")


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
        self.founders = tuple(Address(n, 0) for n in constants.founders)

    @property
    def invariants(self) -> Mapping[str, Callable[[State], bool]]:
        """The spec's invariants, by name."""
        return INVARIANTS

    def local(self, state: State, node: str) -> Local:
        """Return a member's local state."""
        return state.locals[self.index[node]]

    def variables(self, state: State) -> dict[str, Value]:
        raise NotImplementedError

    def initial(self) -> Iterator[State]:
        """The ring is formed, or nobody has been initialised."""
        members = tuple(self._formed(Address(n, 0)) for n in self.nodes)
        yield State(members)

    def _formed(self, me: Address) -> Local:
        founders = self.founders
        if not self.constants.formed or me not in founders:
            return Local(me)
        token = first_token(self.rules, founders)._replace(
            seq=1,
            global_view_number=1,
            settled=Settled(1, founders),
            pending=(),
            seen=frozenset(founders),
        )
        return Local(
            me,
            "up",
            "agreement",
            "eating" if me == founders[0] else "hungry",
            (founders,),
            1,
            0,
            token,
        )

    # ------------------------------------------------------------------ steps

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Every enabled action."""
        for i, name in enumerate(self.nodes):
            yield from self._member_moves(state, i, name)
        for message in _ordered(state.network):
            yield from self._message_moves(state, message)
        for message in _ordered(state.reports):
            told = state._replace(reports=state.reports - {message})
            yield from self._fails(told, message)
        if not state.apart:
            yield from self._split(state)
        else:
            yield Move("Heal", (), state._replace(apart=frozenset()))

    def _member_moves(self, state: State, i: int, name: str) -> Iterator[Move[State]]:
        c, me = self.constants, state.locals[i]
        b, used = c.budgets, state.used
        if me.up == "new":
            founder = me.me in self.founders
            contacts = tuple(n for n in self.founders if n != me.me)
            if founder and used.forgets == 0:
                yield from self.act(state, name, ev.Initialise("founder", self.founders, ()))
            elif used.joins < b.joins or founder:
                spent = state if founder else self._spent(state, joins=1)
                yield from self.act(spent, name, ev.Initialise("joiner", (), contacts))
        if me.up == "down":
            if used.recoveries < b.recoveries:
                yield from self.act(self._spent(state, recoveries=1), name, ev.Recover())
            if used.forgets < b.forgets and not self.rules.incarnations:
                yield from self.act(self._spent(state, forgets=1), name, ev.Forget())
        if me.up != "up":
            return
        yield from self.act(state, name, ev.EatingTimeout())
        patient = self._alive(state)
        if not patient:
            yield from self.act(state, name, ev.HungryTimeout())
            if not self._call_under_way(state, me):
                yield from self.act(state, name, ev.StarvingTimeout())
        elif used.early < b.early:
            early = self._spent(state, early=1)
            yield from self.act(early, name, ev.HungryTimeout())
            yield from self.act(early, name, ev.StarvingTimeout())
        elif not me.last_token.nodelist and not self._call_under_way(state, me):
            yield from self.act(state, name, ev.StarvingTimeout())
        if not any(isinstance(m, Token) and m.current == me.me for m in state.network):
            yield from self.act(state, name, ev.TokenDelivered())
        if used.crashes < b.crashes:
            yield from self.act(self._spent(state, crashes=1), name, ev.Crash())
        if used.leaves < b.leaves:
            yield from self.act(self._spent(state, leaves=1), name, ev.Leave())
        if used.multicasts < b.multicasts:
            yield from self.act(self._spent(state, multicasts=1), name, ev.Multicast())

    def _message_moves(self, state: State, message: Message) -> Iterator[Move[State]]:
        c, sender, to = self.constants, message.current, message.to
        peer = state.locals[self.index[to.node]]
        taken = state._replace(network=state.network - {message})
        here = self._reaches(state, sender, to)
        if peer.up == "up" and here:
            event = _EVENT[ev.ARRIVES[type(message).__name__]](message)
            yield from self.act(taken, to.node, event, (to.node, _label(message)))
        else:
            yield from self._fails(taken, message)
        if state.used.false < c.budgets.false and sender != to:
            spent = self._spent(state, false=1)
            kept = spent if c.arrives_after_failure else spent._replace(network=taken.network)
            if message not in state.reports:
                yield Move(
                    "FalseReport",
                    (_label(message),),
                    kept._replace(reports=state.reports | {message}),
                )
        if state.locals[self.index[sender.node]].up in ("down", "new"):
            yield Move("Lose", (_label(message),), taken)

    def _fails(self, state: State, message: Message) -> Iterator[Move[State]]:
        sender = message.current.node
        if state.locals[self.index[sender]].up != "up":
            return
        event = _EVENT[ev.FAILS[type(message).__name__]](message)
        yield from self.act(state, sender, event, (sender, _label(message)))

    def _split(self, state: State) -> Iterator[Move[State]]:
        if state.used.splits >= self.constants.budgets.splits:
            return
        spent = self._spent(state, splits=1)
        rest = tuple(Address(n, 0) for n in self.nodes[1:])
        for size in range(1, len(rest) + 1):
            for side in combinations(rest, size):
                yield Move(
                    "Split",
                    (tuple(n.node for n in side),),
                    spent._replace(apart=frozenset(side)),
                )

    def carried(
        self, state: State, node: str, local: Local, outputs: tuple[Any, ...]
    ) -> State | None:
        """The member has changed; its messages are under way."""
        c, i = self.constants, self.index[node]
        sent = [o for o in outputs if isinstance(o, Token | Call911)]
        if local.last_token.seq > c.max_seq or local.wanted.n > c.max_epoch:
            return None
        if local.attempt > c.max_attempts:
            return None
        network = state.network.union(sent)
        if len(network) > c.max_messages:
            return None
        return state._replace(locals=_with(state.locals, i, local), network=network)

    # ------------------------------------------------------------------ their parts

    def _spent(self, state: State, **what: int) -> State:
        more = {key: getattr(state.used, key) + n for key, n in what.items()}
        return state._replace(used=state.used._replace(**more))

    def _reaches(self, state: State, one: Address, other: Address) -> bool:
        return (one in state.apart) == (other in state.apart)

    def _alive(self, state: State) -> bool:
        """Somebody eats, or a token is under way to somebody who will take it."""
        if not self.constants.patient:
            return False
        return any(me.up == "up" and me.token_state == "eating" for me in state.locals) or any(
            isinstance(m, Token) and self._acceptable(state, m) for m in state.network
        )

    def _acceptable(self, state: State, token: Token) -> bool:
        me = state.locals[self.index[token.to.node]]
        return (
            me.up == "up"
            and self._reaches(state, token.current, token.to)
            and takes(self.rules, me, token)
        )

    def _call_under_way(self, state: State, me: Local) -> bool:
        return any(isinstance(m, Call911) and m.orig == me.me for m in state.network)


_EVENT = ev.INPUTS


@lru_cache(maxsize=100_000)
def _label(message: Message) -> Value:
    if isinstance(message, Token):
        return ("token", message.current.node, message.to.node, message.epoch.n, message.seq)
    return (
        "911",
        message.orig.node,
        message.current.node,
        message.to.node,
        message.attempt,
        message.phase,
        message.status,
    )


@lru_cache(maxsize=100_000)
def _ordered(messages: frozenset[Message]) -> tuple[Message, ...]:
    return tuple(sorted(messages, key=repr))


def _with(row: tuple[T, ...], i: int, value: T) -> tuple[T, ...]:
    return (*row[:i], value, *row[i + 1 :])
