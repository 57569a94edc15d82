"""TOTAL: total order by ids that a sequencer gives, over channels that lose, reorder and repeat.

The twin of `spec/Total.tla`, whose rules R1 to R12 say why each thing is as it is: one handler per
action, with the action's name in snake_case and its guard first. `handle` takes an event of
`events.py` and returns the effects, to be carried out in order. A handler whose guard is false
raises NotEnabled and changes nothing.

A member sends its message to the sequencer and keeps it until it has delivered it itself. The
sequencer takes each sender's requests once and in order, by their tags. Everybody delivers in the
order of the ids, and asks for those that are missing; the last one is told, so that it is missed.
Nothing outlives a view but a member's own messages, which are sent again in the next one.

What a member keeps for others is bounded by what they do: broadcasts of the view that somebody has
not acknowledged, and at a receiver those within `window` of the next id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address

from .events import (
    Acknowledge,
    Announce,
    Ask,
    Bcast,
    CumSeqAck,
    Deliver,
    Effect,
    Event,
    Forget,
    InstallView,
    Last,
    Message,
    ReceiveBcast,
    ReceiveCumSeqAck,
    ReceiveLast,
    ReceiveRequest,
    ReceiveResend,
    Request,
    Resend,
    ResendRequests,
    Send,
)


@dataclass(frozen=True, slots=True)
class Repairs:
    """What is repaired of the text; only tests undo any of it. The names are the spec's."""

    view_tag: bool = True
    tags: bool = True
    resends: bool = True
    announces: bool = True
    forget_when: str = "all"  # or "heard", "nothing"


class Total:
    """The state of one member; the attributes have the names of the spec's variables."""

    def __init__(self, me: Address, *, window: int = 4096, repairs: Repairs | None = None) -> None:
        """Begin as a joiner. `window`: of how many ids from the next one on broadcasts are kept."""
        self.me = me
        self.window = window
        self.repairs = repairs or Repairs()
        self.status = "joining"  # or "member", "crashed"
        self.view = 0
        self.members: tuple[Address, ...] = ()
        self.seqno = 0
        self.forward_table: list[Message] = []
        self.passed = 0
        self.next_id = 0
        self.taken: dict[Address, int] = {}
        self.history: dict[int, Message] = {}
        self.acks: dict[Address, int] = {}
        self.expected = 0
        self.queue: dict[int, Message] = {}
        self.last = 0
        self._handlers: dict[type[Any], Callable[[Any], list[Effect]]] = {
            Send: self._send,
            ReceiveRequest: self._receive_request,
            ReceiveBcast: self._receive_bcast,
            Ask: self._ask,
            ReceiveResend: self._receive_resend,
            ResendRequests: self._resend_requests,
            Announce: self._announce,
            ReceiveLast: self._receive_last,
            Acknowledge: self._acknowledge,
            ReceiveCumSeqAck: self._receive_cum_seq_ack,
            Forget: self._forget,
            InstallView: self._install_view,
        }

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; raises NotEnabled where its guard is false."""
        return self._handlers[type(event)](event)

    @property
    def is_sequencer(self) -> bool:
        """Whether this member is the first of its view (R1)."""
        return self.status == "member" and self.members[0] == self.me

    @property
    def missing(self) -> range:
        """The ids that this member knows to be missing (R9)."""
        known = [*self.queue, self.last + 1] if self.last else [*self.queue]
        return range(self.expected, min([*known, self.expected + self.window]) if known else 0)

    # ------------------------------------------------------------------ sending

    def _send(self, event: Send) -> list[Effect]:
        """The application multicasts a message (R2)."""
        if self.status != "member":
            raise NotEnabled("Send", {"Running(n)": self.status})
        self.seqno += 1
        message = Message(self.me, self.seqno, event.payload)
        if self.is_sequencer:
            return self._sequence([message])
        self.forward_table.append(message)
        return self._requests()[-1:]

    def _resend_requests(self, _event: ResendRequests) -> list[Effect]:
        """Send the requests again."""
        false: dict[str, object] = {}
        if not self.repairs.resends:
            false["Resends"] = False
        if not self.forward_table:
            false["forwardTable[n] # <<>>"] = self.forward_table
        if false:
            raise NotEnabled("ResendRequests", false)
        return self._requests()

    def _requests(self) -> list[Effect]:
        return [
            Request(self.members[0], message, self.passed + place, self.view)
            for place, message in enumerate(self.forward_table, 1)
        ]

    # ------------------------------------------------------------------ the sequencer

    def _receive_request(self, event: ReceiveRequest) -> list[Effect]:
        """Give a message its id (R3); what cannot be heeded is dropped, since it is repeated."""
        before = self.taken.get(event.sender, 0)
        if not self.is_sequencer or self._of_another_view(event.view):
            return []
        if self.repairs.tags and event.tag != before + 1:
            return []
        self.taken[event.sender] = before + 1
        return self._sequence([event.message])

    def _sequence(self, messages: Iterable[Message]) -> list[Effect]:
        effects: list[Effect] = []
        for message in messages:
            id_ = self.next_id
            self.next_id += 1
            self.history[id_] = message
            effects.append(Bcast(None, id_, message, self.view))
            effects += self._take(id_, message)
        return effects

    def _receive_resend(self, event: ReceiveResend) -> list[Effect]:
        """Send a broadcast again, to the member that asks for it (R9)."""
        message = self.history.get(event.id)
        if message is None or self._of_another_view(event.view):
            return []
        return [Bcast(event.sender, event.id, message, self.view)]

    def _announce(self, _event: Announce) -> list[Effect]:
        """Tell the last id."""
        false: dict[str, object] = {}
        if not self.repairs.announces:
            false["Announces"] = False
        if not self.is_sequencer:
            false["IsSequencer(n)"] = False
        if not self.history:
            false["history[n] # {}"] = self.history
        if false:
            raise NotEnabled("Announce", false)
        return [Last(self.next_id - 1, self.view)]

    def _receive_cum_seq_ack(self, event: ReceiveCumSeqAck) -> list[Effect]:
        """Forget what all have acknowledged (R10)."""
        if self._of_another_view(event.view) or not self.is_sequencer:
            return []
        if event.id > self.acks.get(event.sender, 0):
            self.acks[event.sender] = event.id
            upto = self._acknowledged()
            self.history = {id_: each for id_, each in self.history.items() if id_ > upto}
        return []

    def _acknowledged(self) -> int:
        of = [self.acks.get(each, 0) for each in self.members if each != self.me]
        if self.repairs.forget_when == "heard":
            of = [each for each in of if each]
        return 0 if self.repairs.forget_when == "nothing" else min(of, default=0)

    def _forget(self, _event: Forget) -> list[Effect]:
        """Forget all broadcasts: nobody else is in the view."""
        if not self.is_sequencer or self.members != (self.me,):
            raise NotEnabled("Forget", {"Members(CurrentView(n)) = {Address(n)}": self.members})
        self.history = {}
        return []

    # ------------------------------------------------------------------ receiving

    def _receive_bcast(self, event: ReceiveBcast) -> list[Effect]:
        """Take a broadcast (R4)."""
        if self._of_another_view(event.view):
            return []
        return self._take(event.id, event.message)

    def _take(self, id_: int, message: Message) -> list[Effect]:
        """Queue it, and deliver while the next id is there (R4, R5)."""
        if not self.expected <= id_ < self.expected + self.window or id_ in self.queue:
            return []
        self.queue[id_] = message
        effects: list[Effect] = []
        while self.expected in self.queue:
            message = self.queue.pop(self.expected)
            effects.append(Deliver(message, self.view, self.expected))
            self.expected += 1
            places = [
                place for place, own in enumerate(self.forward_table) if own[:2] == message[:2]
            ]
            if places:
                del self.forward_table[places[0]]
                self.passed += 1
        return effects

    def _receive_last(self, event: ReceiveLast) -> list[Effect]:
        """The sequencer tells the last id."""
        if not self._of_another_view(event.view):
            self.last = max(self.last, event.id)
        return []

    def _ask(self, _event: Ask) -> list[Effect]:
        """Ask for what is missing (R9)."""
        false: dict[str, object] = {}
        if self.status != "member" or self.is_sequencer:
            false["Running(n) /\\ ~IsSequencer(n)"] = self.status
        if not self.missing:
            false["Missing(n) # {}"] = self.missing
        if false:
            raise NotEnabled("Ask", false)
        return [Resend(self.members[0], each, self.view) for each in self.missing]

    def _acknowledge(self, _event: Acknowledge) -> list[Effect]:
        """Acknowledge what has been delivered (R10)."""
        false: dict[str, object] = {}
        if self.status != "member" or self.is_sequencer:
            false["Running(n) /\\ ~IsSequencer(n)"] = self.status
        if self.expected < 2:
            false["expected[n] > 1"] = self.expected
        if false:
            raise NotEnabled("Acknowledge", false)
        return [CumSeqAck(self.members[0], self.expected - 1, self.view)]

    def _of_another_view(self, view: int) -> bool:
        return self.repairs.view_tag and view != self.view

    # ------------------------------------------------------------------ views

    def _install_view(self, event: InstallView) -> list[Effect]:
        """Begin anew with what has not been delivered (R6, R7)."""
        false: dict[str, object] = {}
        if self.status == "crashed":
            false["Up(n)"] = self.status
        if event.view <= self.view:
            false["view[n] < Len(views)"] = self.view
        if self.me not in event.members:
            false["Address(n) \\in Members(new)"] = event.members
        if false:
            raise NotEnabled("InstallView", false)
        self.status, self.view, self.members = "member", event.view, event.members
        self.passed = self.last = 0
        self.taken, self.history, self.acks, self.queue = {}, {}, {}, {}
        self.expected = event.first
        if not self.repairs.resends:
            self.forward_table = []
        if self.is_sequencer:
            self.next_id = event.first
            return self._sequence([*self.forward_table])
        self.next_id = 0
        return self._requests()
