"""SEQUENCER's cores on a walk that is recorded: what one sends is what another one receives.

Records have more than the model's messages say: runs as they were sent, places in channels, clocks.
So the messages that the cores sent are kept, and each input of the model brings one of them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection
from dataclasses import replace
from random import Random
from typing import Any, Final

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.damage.second import Second
from raincheck.conformance.replay.drawing import chosen
from raincheck.conformance.trace.generator import RecordedCores
from raincheck.impl import messages as wire
from raincheck.impl.recording.sequencer import SequencerForm
from raincheck.impl.sequencer import events as impl
from raincheck.impl.sequencer.core import Sequencer
from raincheck.model.machine.composed import Composed, Move
from raincheck.model.sequencer import events as ev
from raincheck.model.sequencer import handlers
from raincheck.model.sequencer.handlers import Local, Rules, Table
from raincheck.model.sequencer.member import Member
from raincheck.model.sequencer.state import State
from raincheck.model.sequencer.system import SequencerSystem

from .driven import Driven
from .records import constants_of
from .second import DirectJudge

_TRIES: Final = 20
"""The number of moves that are drawn until one can be recorded; otherwise the walk ends."""


class Network:
    """The messages that the cores of a walk have sent."""

    def __init__(self) -> None:
        self.forwards: dict[tuple[wire.Address, wire.Address], deque[impl.Forward]] = {}
        self.streams: dict[wire.Address, dict[int, impl.Data]] = {}
        """By the place of a multicast's first message, as the model counts."""
        self._lengths: Counter[wire.Address] = Counter()
        self.answers: dict[wire.Address, impl.JoinRsp] = {}
        self._acks: dict[tuple[wire.Address, wire.Address, int], int] = {}
        self._safes: dict[tuple[wire.Address, int], int] = {}
        """The clocks of what was acknowledged, and announced."""

    def take(self, me: wire.Address, effects: list[impl.Effect]) -> None:
        """Keep the messages among the effects."""
        for effect in effects:
            match effect:
                case impl.SendForward(to, forward):
                    self.forwards.setdefault((me, to), deque()).append(forward)
                case impl.Multicast(data):
                    self.streams.setdefault(me, {})[self._lengths[me] + 1] = data
                    self._lengths[me] += data.messages.size
                case impl.SendJoinRsp(to, rsp):
                    self.answers[to] = rsp
                case impl.SendAck(to, place, clock):
                    self._acks[me, to, place] = clock
                case impl.SendSafe(place, clock):
                    self._safes[me, place] = clock

    def clock_of(self, me: wire.Address, event: Any) -> int | None:
        """Return the clock of the ACK or SAFE that this input brings, None if nobody sent it.

        In the model a coordinator learns what a member was given with its view as well.
        """
        if isinstance(event, ev.ReceiveAck):
            return self._acks.get((wire.Address(*event.sender), me, event.place))
        return self._safes.get((wire.Address(*event.coordinator), event.place))

    def size(self, me: wire.Address, event: Any) -> int | None:
        """Return how many messages come with the message that this input brings."""
        match event:
            case ev.ReceiveForward(sender):
                return self.forwards[wire.Address(*sender), me][0].messages.size
            case ev.ReceiveData(coordinator, position=place):
                return self.streams[wire.Address(*coordinator)][place].messages.size
        return None

    def ends(self, me: wire.Address, length: int) -> bool:
        """Return whether a message of this stream ends with that place."""
        return length == self._lengths[me] or length + 1 in self.streams.get(me, {})


class Posted(Driven):
    """A core that receives what others have sent, and whose places nobody removes."""

    def __init__(self, core: Sequencer, network: Network) -> None:
        super().__init__(core)
        self._network = network
        self._ended: set[tuple[str, int]] = set()

    def handle(self, event: Any) -> list[impl.Effect]:
        """Let the core handle the input, and keep what it sends."""
        effects = super().handle(event)
        self._network.take(self.core.me, effects)
        return effects

    def event(self, event: Any) -> impl.Event:
        """Return the core's event: with the message that was sent, if one comes."""
        network, me = self._network, self.core.me
        match event:
            case ev.ReceiveForward(sender):
                source = wire.Address(*sender)
                return impl.ReceiveForward(source, network.forwards[source, me].popleft())
            case ev.ReceiveData(coordinator, position=place):
                source = wire.Address(*coordinator)
                return impl.ReceiveData(source, network.streams[source][place])
            case ev.ReceiveAck(who, place) | ev.ReceiveSafe(who, place):
                clock = network.clock_of(me, event)
                assert clock is not None  # `drawn` leaves out what nobody sent
                made = impl.ReceiveAck if isinstance(event, ev.ReceiveAck) else impl.ReceiveSafe
                return made(wire.Address(*who), place, clock)
            case ev.Join(coordinator):
                return impl.Join(wire.Address(*coordinator), network.answers[me])
        return super().event(event)

    def keep(self, streams: Collection[wire.Address]) -> None:
        """Count the places in all other streams as forgotten: the records have them."""
        self._ended |= {who for who in self.core.position if who not in streams}

    def places(self) -> Table:
        """Return the places in the streams of the view's members that have not ended."""
        return tuple(place for place in super().places() if place[0] not in self._ended)


class RecordedSequencers(RecordedCores):
    """The cores of one walk, and the network between them."""

    def __init__(self, binding: Binding) -> None:
        super().__init__(replace(binding, make_core=self._posted))
        self._make = binding.make_core
        self._network = Network()

    def _posted(self, rules: Rules, local: Member) -> Posted:
        made: Any = self._make(rules, local)
        return Posted(made.core, self._network)

    def described(self) -> SequencerForm:
        """Runs, clocks and places."""
        return SequencerForm()

    def observed(self, core: Any) -> Any:
        """Return the core that is driven, if it is not the core itself."""
        return core.core if isinstance(core, Posted) else core

    def constants(self, system: Composed[Any, Any]) -> dict[str, Any]:
        """The specification's names; assumptions about the layers below are constants, too."""
        assert isinstance(system, SequencerSystem)
        c = system.constants
        assumed = {
            "FifoForward": c.fifo_forward,
            "VirtualSynchrony": c.virtual_synchrony,
            "TrueSources": c.true_sources,
            "TrueContents": c.true_contents,
        }
        return constants_of(c.rules) | {name: on for name, on in assumed.items() if not on}

    def second(self, system: Composed[Any, Any]) -> Second:  # noqa: ARG002
        """Return the direct checker, since records have more than the model's messages say."""
        return DirectJudge()

    def drawn(self, system: Composed[Any, Any], state: Any, random: Random) -> Move[Any] | None:
        """Draw a move with as many messages as the message that it brings has."""
        assert isinstance(system, SequencerSystem)
        for _ in range(_TRIES):
            move = chosen(system, state, random, self.binding.seldom)
            if move is None:
                return None
            if move.node is None:
                # A trace has no message that nobody sent.
                made_up = move.action in ("Forge", "Corrupt")
                if not made_up and self._recordable(system, state, move.target):
                    return move
                continue
            me = _me(system, system.local(state, move.node).local)
            if isinstance(move.event, ev.ReceiveAck | ev.ReceiveSafe) and (
                self._network.clock_of(me, move.event) is None
            ):
                continue
            size = self._network.size(me, move.event)
            made = system.together(move, size or random.randint(1, system.batch))
            if size in (None, system.size(made)):
                return made
        return None

    def _recordable(self, system: SequencerSystem, before: State, after: State) -> bool:
        """Tell whether a trace can say what the environment does.

        A joiner is whom the view before lacks, as GMS has it. Of a stream only whole messages are
        lost, and only those of a member that is gone: one that lives would have to number anew.
        """
        if len(after.views) == len(before.views):
            return True
        members, joiners = before.views[-1].members, after.views[-1].joiners
        return joiners.isdisjoint(members) and all(
            mine == theirs
            or (not handlers.running(local) and self._network.ends(_me(system, local), len(theirs)))
            for local, mine, theirs in zip(before.locals, before.stream, after.stream, strict=True)
        )


def _me(system: SequencerSystem, local: Local) -> wire.Address:
    return wire.Address(*system.address(local))
