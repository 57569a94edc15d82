"""The application's unicasts in the stack: messages to one member, in order for each pair.

They go by a lane of UNICAST, untouched by SEQUENCER (its R1), so nothing orders them against
multicasts, and they pass FLUSH's latch (its R5). One is delivered in whatever view the receiver has
when it comes to it, as long as both are members: the receiver waits for a view with the sender, and
delivers what has arrived before it installs one without. What has not arrived by then is lost, and
so is what waits at a sender for a member that is gone.

While deliveries are held nothing is taken off the lane, so its window closes, and what is sent
waits in a bounded queue for each member. A member that waits for its state has it before all that
it is sent, so what it delivers before a view without the sender waits once more, for the state. A
large message leaves in fragments, one after the other; nothing comes between them, for the lane
keeps the order.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Address, Frame, Payloads, Run, View
from raincheck.impl.sequencer.events import Deliver
from raincheck.impl.wire.datagrams import HEADROOM
from raincheck.impl.wire.headers import MESSAGES, Lane, MessageBody

from .frames import FRAGMENT_HEAD, FragmentFrame, cut, decode, encode
from .layer import Ground, Layer, Taken
from .passing import Ending, Found, Install, Joined, ToMember


class Queue:
    """What waits to be sent to one member; a message above `whole` bytes leaves in fragments."""

    def __init__(self, limit: int, whole: int) -> None:
        self.size = 0
        """Bytes that wait, with 4 for the length of each message."""
        self._limit = limit
        self._whole = whole
        self._waiting: deque[bytes] = deque()
        self._number = 0  # of the fragmented message
        self._part = 0  # its next fragment

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def room(self) -> int:
        """Bytes for which there is room; the last message may exceed it."""
        return self._limit - self.size

    def append(self, payload: bytes) -> None:
        """Add a message."""
        self._waiting.append(payload)
        self.size += len(payload) + 4

    def take(self) -> Payloads:
        """Take out what fits into the next bundle: whole messages, or one fragment."""
        waiting = self._waiting
        if len(waiting[0]) > self._whole:
            return self._fragment(waiting[0])
        taken, room = [], self._whole + 4
        while waiting and len(waiting[0]) + 4 <= room:
            payload = waiting.popleft()
            taken.append(payload)
            room -= len(payload) + 4
        self.size -= self._whole + 4 - room
        return Payloads.pack(taken, framed=Frame in map(type, taken))

    def _fragment(self, content: bytes) -> Payloads:
        size = self._whole - FRAGMENT_HEAD
        part, parts = self._part, -(-len(content) // size)
        piece = content[part * size : (part + 1) * size]
        frame = FragmentFrame(type(content) is Frame, self._number, 0, part, parts, piece)
        self.size -= len(piece)
        self._part += 1
        if self._part == parts:
            self._waiting.popleft()
            self.size -= 4
            self._part = 0
            self._number += 1
        return Payloads.pack([encode(frame)], framed=True)


@dataclass(slots=True)
class _Partial:
    """The fragments of a message that have come, the first ones of `parts`."""

    framed: bool
    number: int
    parts: int
    pieces: list[bytes] = field(default_factory=list)


class DirectLayer(Layer):
    """The application's unicasts, on UNICAST."""

    name = "direct"

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        config = self.config
        self._whole = config.max_bundle - HEADROOM - 4
        self._size = self._whole - FRAGMENT_HEAD
        self._most = -(-config.max_message // self._size)
        self._queues: dict[Address, Queue] = {}
        self._waits = False  # whether messages may wait to be taken
        self._early: list[Taken] = []  # of members of a view that is not installed here yet
        self._partial: dict[Address, _Partial] = {}
        self._parting: list[Deliver] = []  # taken, and held until the state is here
        self._view = 0
        self._members: tuple[Address, ...] = ()  # of the view that is installed here

    # ------------------------------------------------------------------ sending

    def room(self, to: Address) -> int:
        """Bytes of messages to a member for which there is room."""
        queue = self._queues.get(to)
        return self.config.send_buffer if queue is None else queue.room

    def queue(self, to: Address, payload: bytes) -> None:
        """Take a message to a member of the view, this one included."""
        queue = self._queues.get(to)
        if queue is None:
            queue = self._queues[to] = Queue(self.config.send_buffer, self._whole)
        queue.append(payload)
        self.stirred = True

    def down(self, event: Any, now: float) -> None:
        """Take frames of the layers above."""
        if isinstance(event, ToMember):
            self.queue(event.to, event.frame)
        else:
            self.below.down(event, now)

    def step(self, now: float) -> bool:
        """Send what the windows allow, and take what has come."""
        sent = False
        for to in list(self._queues):
            sent = self._send_to(to, now) or sent
        taken = self._take_waiting(now)
        self.stirred = self._waits or bool(self._queues) or bool(self._parting)
        return sent or taken

    def _send_to(self, to: Address, now: float) -> bool:
        queue, sent = self._queues[to], False
        while queue and self._may_send_to(to):
            payloads = queue.take()
            if to == self.me:
                self._deliver(to, payloads, now)
            else:
                self.send(to, MESSAGES, MessageBody(payloads.count), now, payloads)
            sent = True
        if not queue:
            del self._queues[to]
        return sent

    def _may_send_to(self, to: Address) -> bool:
        if to == self.me:
            return not self._held
        return self.waiting(to, MESSAGES) < self.config.unicast_window

    @property
    def _held(self) -> bool:
        ground = self.ground
        return ground.stateless or bool(ground.not_primary) or bool(ground.holding)

    @property
    def unsent(self) -> bool:
        return bool(self._queues)

    @property
    def drained(self) -> bool:
        return not any(self.waiting(member, MESSAGES) for member in self.membership.others)

    def missing(self, now: float) -> dict[Address, str]:
        del now
        leaving = self.membership.status == "leaving"
        return {
            member: "to take this member's unicasts"
            for member in self.membership.others
            if member in self._queues or (leaving and self.waiting(member, MESSAGES))
        }

    # ------------------------------------------------------------------ receiving

    def up(self, event: Any, now: float) -> None:
        """Handle views, and the end of connections."""
        if type(event) is Deliver:
            self.above.up(event, now)
            return
        match event:
            case Ending():
                while self.membership.running and self._take_next(now, for_good=True):
                    pass
            case Found() | Joined() | Install():
                placed = event.rsp.placed if isinstance(event, Joined) else event.placed
                self._install(placed.view)
                self.above.up(event, now)
                early, self._early = self._early, []
                for each in early:
                    self._take(each, now)
            case _:
                self.above.up(event, now)

    def waits(self, lane: Lane) -> None:
        """Note that messages wait to be taken."""
        if lane == MESSAGES:
            self._waits = self.stirred = True
        else:
            self.above.waits(lane)

    def _install(self, view: View) -> None:
        self._view, self._members = view.id.counter, view.members
        for member in [*self._queues, *self._partial]:
            if member not in view.members:
                self._queues.pop(member, None)
                self._partial.pop(member, None)

    def _take_waiting(self, now: float) -> bool:
        taken = False
        if self._parting and not self._held:
            parting, self._parting, taken = self._parting, [], True
            for each in parting:
                here = each.messages.sender in self._members
                self.above.up(each._replace(view=self._view) if here else each, now)
        while self._waits and not self._held and not self._early:
            if not self._take_next(now):
                self._waits = False
            else:
                taken = True
        return taken

    def _take_next(self, now: float, *, for_good: bool = False) -> bool:
        """Take the next message off the lane; return whether there was one.

        `for_good`: members are gone; what they have sent is lost if the view is not primary.
        """
        taken = self.pull(MESSAGES, now)
        if taken is not None and for_good and self.ground.not_primary:
            self.counters["not_primary"] += 1
        elif taken is not None:
            self._take(taken, now)
        return taken is not None

    def _take(self, taken: Taken, now: float) -> None:
        header, payloads = taken
        source = header.source
        if source not in self._members:
            if self.membership.knows(source):
                self._early.append(taken)
            else:
                kind = type(header.body).__name__
                self.ground.strangers.append((source, kind))
        elif payloads is None or not isinstance(header.body, MessageBody):
            self.ground.offends(source, f"{type(header.body).__name__} among unicasts")
        else:
            self._deliver(source, payloads, now)

    def _deliver(self, source: Address, payloads: Payloads, now: float) -> None:
        """Pass messages up, those in fragments with their last one."""
        if not payloads.framed and source not in self._partial:
            self._pass_on(source, payloads, now)
            return
        for _, contents, framed in cut(Run(source, 0, payloads.count), payloads):
            if framed:
                self._take_frame(source, contents[0], now)
            else:
                self._interrupted(source)
                self._pass_on(source, Payloads.pack(contents), now)

    def _take_frame(self, source: Address, content: bytes, now: float) -> None:
        try:
            frame = decode(content)
        except WireError as problem:
            self.ground.offends(source, problem.detail)
            return
        if isinstance(frame, FragmentFrame):
            self._take_fragment(source, frame, now)
        else:  # of a layer above
            self._interrupted(source)
            self._pass_on(source, Payloads.pack([Frame(content)], framed=True), now)

    def _take_fragment(self, source: Address, fragment: FragmentFrame, now: float) -> None:
        framed, number, _, part, parts, piece = fragment
        if part == 0:
            self._interrupted(source)
            self._partial[source] = _Partial(framed, number, parts)
        partial = self._partial.get(source)
        if (
            partial is None
            or (framed, number, parts) != (partial.framed, partial.number, partial.parts)
            or part != len(partial.pieces)
            or part >= parts
            or parts > self._most
            or not 0 < len(piece) <= self._size
        ):
            what = f"a fragment of {len(piece)} bytes, {part} of {parts}, where none can be"
            self.ground.offends(source, what)
            self._partial.pop(source, None)
            return
        partial.pieces.append(piece)
        if part + 1 == parts:
            del self._partial[source]
            size = sum(map(len, partial.pieces))
            if size > self.config.max_message:
                self.ground.offends(source, f"a message of {size} bytes in fragments")
                return
            whole = Payloads.joined(partial.pieces, framed=framed)
            partial.pieces.clear()  # the application's copy is cut out of the whole
            self._pass_on(source, whole, now)

    def _interrupted(self, source: Address) -> None:
        """Forget what came of a message that its sender does not go on with, against its rule."""
        if self._partial.pop(source, None) is not None:
            self.ground.offends(source, "other messages between fragments of one")

    def _pass_on(self, source: Address, payloads: Payloads, now: float) -> None:
        message = Deliver(Run(source, 0, payloads.count), self._view, payloads)
        if self.ground.stateless or self.ground.not_primary:
            self._parting.append(message)
        else:
            self.above.up(message, now)

    def buffered(self) -> int:
        pieces = sum(len(partial.pieces) for partial in self._partial.values())
        return pieces + len(self._early) + len(self._parting)
