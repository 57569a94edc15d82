"""The parts that the layers of SEQUENCER and TOTAL share: turns, and unordered messages.

Both have a member's messages go to the first member of the view, by UNICAST's lane FORWARDS, which
multicasts them by NAKACK. While FLUSH's latch is closed nothing is multicast, so a coordinator
pulls nothing of that lane, and no member hands its protocol a new message: it would be forwarded
twice, and sequenced in the next view. In a view that is not primary nothing passes.

Unordered messages pass the protocol by, down and up, as unicasts do (R1 of SEQUENCER): they go in
bundles of their sender's own stream, and NAKACK and FLUSH promise of them what they promise of
every stream.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from raincheck.impl.messages import UNORDERED, Address, Payloads, Run
from raincheck.impl.sequencer.events import Data, Deliver
from raincheck.impl.wire.datagrams import HEADROOM
from raincheck.impl.wire.headers import FORWARDS, Body, Lane

from .layer import Ground, Layer
from .passing import Bundle, Unanswered
from .timers import NEVER


class OrderLayer(Layer):
    """A protocol that gives messages one order, as a layer."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.draining = False
        """Whether the member is leaving: a leaving coordinator sequences nothing more."""
        self._buffer = ground.buffer
        self._unordered = ground.unordered
        self._unheard = 0  # unordered messages of this member that have not come back to it
        self._sends: list[Callable[[float], bool]] = [self._send_ordered, self._send_unordered]
        self._forwards = False  # whether messages of others may wait to be pulled
        self._turn = 1  # how many of these are sequenced between two own turns
        self._relayed = 0  # how many were sequenced since the coordinator had its own turn
        self._refused: tuple[Address, float] | None = None  # whose DATA was refused first, and when

    # ------------------------------------------------------------------ the protocol's part

    @property
    @abstractmethod
    def table(self) -> object:
        """How far this member has delivered, in the protocol's words; members at rest agree."""

    @abstractmethod
    def _pass_ordered(self, bundle: Bundle, now: float) -> None:
        """Hand a multicast to the protocol; within a stream they come in order."""

    @abstractmethod
    def _send_ordered(self, now: float) -> bool:
        """Send the next bundle if latch, windows and credit allow it; return whether it went."""

    @abstractmethod
    def _sequence(self, source: Address, body: Body, payloads: Payloads, now: float) -> bool:
        """Sequence messages of a member; return False if it cannot have sent them now."""

    @abstractmethod
    def _may_take(self) -> bool:
        """Whether the protocol can do something with the next messages of a member."""

    def _may_sequence(self) -> bool:
        """Whether the coordinator may multicast messages in the order of all."""
        return self.may_multicast()

    def _offended(self, source: Address, body: Body) -> bool:
        """Note that a member cannot have sent that; return whether this member goes on."""
        del body
        self.ground.offends(source, "FORWARD that cannot be its next")
        return True

    # ------------------------------------------------------------------ events

    def waits(self, lane: Lane) -> None:
        """Note that messages wait to be sequenced."""
        if lane == FORWARDS:
            self._forwards = True
        else:
            self.above.waits(lane)

    def pass_up(self, bundle: Bundle, now: float) -> None:
        """Hand a multicast to the protocol, unless it has no place in the order of all."""
        if bundle.header.first:
            self._pass_ordered(bundle, now)
        else:
            self._pass_unordered(bundle, now)

    def _pass_unordered(self, bundle: Bundle, now: float) -> None:
        """Pass unordered messages on: small ones of the member that has multicast them."""
        header, payloads = bundle.header, bundle.payloads
        source, run = header.source, Run(header.sender, UNORDERED, header.size)
        if header.sender != source:
            self.ground.offends(source, f"unordered messages of {header.sender}")
        elif payloads.framed:
            self.ground.offends(source, "frames among unordered messages")
        else:
            if source == self.me:
                self._unheard -= run.size
            view = self.ground.lineage.latest.counter
            self.above.up(Deliver(run, view, payloads), now)

    def _refuse(self, source: Address, why: object, now: float) -> None:
        """Drop a DATA that cannot be its source's next, and suspect the source.

        All that have it do the same, and go on without the source. If they have another one and
        keep the source, or if it is not the last one refused, this member lacks something that the
        others have: then it has to join again.
        """
        self.ground.offends(source, f"DATA that cannot follow: {why}")
        self._refused = self._refused or (source, now)
        if self._refused[0] != source:
            self._join_again(source)
            return
        self.below.down(Unanswered({source: f"to send what can follow: {why}"}), now)

    def deadline(self) -> float:
        """When the others have kept for too long whom this member suspects."""
        if self._refused is None or self._refused[0] not in self.membership.members:
            return NEVER
        return self._refused[1] + self.config.flush_timeout

    def handle_timer(self, now: float) -> None:
        if self._refused is not None and OrderLayer.deadline(self) <= now:
            self._join_again(self._refused[0])

    def _join_again(self, source: Address) -> None:
        """Leave: what the others take of that member, this one cannot."""
        self.ground.out(f"{self.me} cannot take what {source} sends, the others do; join again")

    # ------------------------------------------------------------------ down

    def take_forwards(self, now: float) -> bool:
        """Sequence messages of the other members; return whether there were any."""
        if not self._may_take():
            return False
        taken = False
        while self._relayed < self._turn and self._may_sequence() and self._may_take():
            forwarded = self.pull(FORWARDS, now)
            if forwarded is None:
                self._forwards = False
                break
            header, payloads = forwarded
            source, body = header.source, header.body
            if not self.membership.knows(source):
                self.ground.strangers.append((source, type(body).__name__))
            elif payloads is None:
                continue
            elif self._sequence(source, body, payloads, now):
                self._relayed += 1
                taken = True
            elif not self._offended(source, body):
                return False
        return taken

    def own_turn(self) -> bool:
        """Whether the coordinator's own messages come first now.

        Under full load the window never stays open for long. If the messages of the others took
        every place in it, the coordinator's own messages would never leave, nor could it.
        """
        if self._relayed < self._turn or not self._may_sequence():
            return False
        self._relayed = 0
        return True

    def send_next(self, now: float) -> bool:
        """Send the next bundle, of messages with and without order in turn."""
        for at, send in enumerate(self._sends):
            if send(now):
                self._sends.append(self._sends.pop(at))
                return True
        return False

    def _in_turn(self, now: float) -> bool:
        """Sequence what others have sent, and send this member's messages."""
        if self.own_turn() and self.send_next(now):
            return True
        taken = self._forwards and self.take_forwards(now)
        if taken and self.own_turn():
            self.send_next(now)
        return taken or self.send_next(now)

    def _send_unordered(self, now: float) -> bool:
        """Multicast the next bundle of unordered messages if latch and windows allow it."""
        if not self._unordered or not self.may_multicast_unordered():
            return False
        config = self.config
        if self.ground.gathering and self._unordered.size < config.max_bundle:
            return False
        bundle = self._unordered.take(config.max_bundle - HEADROOM, config.credit_messages)
        self._unheard += bundle.count
        view = self.ground.lineage.latest.counter
        self.multicast(Data(Run(self.me, 0, bundle.count), view, bundle, 0, 0), now)
        return True
