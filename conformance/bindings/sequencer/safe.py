"""SEQUENCER's trace events with safe delivery: received, held, acknowledged, announced, delivered.

Law of this file: it decides nothing that the model decides, as `trace.py`, whose other events are
the same. An ACK and a SAFE say only a place in the coordinator's stream, which is their number.
"""

from raincheck.conformance.trace.columns import STREAM_ROW, Columns
from raincheck.conformance.trace.events import Event, MessageId, well_formed
from raincheck.conformance.trace.records import Header
from raincheck.conformance.trace.sequencer.rows import Rows, content_of
from raincheck.conformance.trace.sequencer.summary import Summary
from raincheck.model.machine.runs import Address, Run
from raincheck.model.sequencer import handlers
from raincheck.model.sequencer.handlers import Data

from .channels import Reader
from .records import Wrong, differs, lacking
from .trace import SequencerTrace


class SafeTrace(SequencerTrace):
    """Follows the trace of one (node, incarnation) of a group with safe delivery."""

    __slots__ = ()

    def __init__(self, header: Header, summary: Summary, rows: Rows, columns: Columns) -> None:
        super().__init__(header, summary, rows, columns)
        self.steps |= {
            "ReceiveData": self._hold,
            "Acknowledge": self._acknowledge,
            "ReceiveAck": self._receive_ack,
            "Announce": self._announce,
            "ReceiveSafe": self._receive_safe,
        }

    def _hold(self, event: Event) -> Wrong | None:
        """A DATA arrives, and is held until all have it."""
        args, received, place = event.args, event.received, event.args.messages
        view = args.view
        if received is None or place is None or view is None or args.from_ is None:
            return lacking(event, "received, args.from, args.messages, args.view")
        reader = self._stream(received)
        if reader is None:
            return differs("received", ["DATA", "coordinator", 0, 0], received)
        position = received[3]
        if position != reader.count + 1 or args.position != position:
            return self._out_of_order(reader, event, position)
        if args.from_ != place[:2]:
            return differs("args.from", place[:2], args.from_)
        sender = self.channels.senders.get(place[:2]) or self.channels.sender(place[:2])
        if view != self.me.view and self.synchronous:
            return self._other_view(reader, sender.address, place, view)
        data = Data(Run(sender.address, place[2], place[3], 0), view)
        answer = handlers.receive_data(self.rules, self.me, reader.node, data, position)
        before = self.channels.positions()
        reader.count += place[3]
        wrong = self._plain(event, answer, (), before)
        if wrong is not None:
            reader.count -= place[3]
            return wrong
        reader.events += 1
        content = content_of(view, sender.code, place, args.crc)
        reader.append(STREAM_ROW(content, event.index, position, event.clock))
        return None

    def _stream(self, received: MessageId) -> Reader | None:
        """Return the stream of that message, None if its id is none of a DATA."""
        known = self.channels.streams.get(received[:-1])
        if known is None and well_formed(received) and received[0] == "DATA":
            known = self.channels.stream(received[:-1])
        return known

    def _acknowledge(self, event: Event) -> Wrong | None:
        return self._plain(event, handlers.acknowledge(self.rules, self.me, self._received()))

    def _announce(self, event: Event) -> Wrong | None:
        return self._plain(event, handlers.announce(self.rules, self.me, self._received()))

    def _received(self) -> int:
        """Return how much it has received of its coordinator's stream."""
        members = self.me.members
        if not members:
            return 0
        head = members[0]
        known = self.channels.streams.get(("DATA", head.node, head.incarnation))
        return 0 if known is None else known.count

    def _receive_ack(self, event: Event) -> Wrong | None:
        args, received = event.args, event.received
        if received is None or args.from_ is None or args.position is None:
            return lacking(event, "received, args.from, args.position")
        expected = ("ACK", *args.from_, *self.plain, args.position)
        if received != expected:
            return differs("received", expected, received)
        sender = Address(*args.from_)
        answer = handlers.receive_ack(self.rules, self.me, sender, args.position)
        return self._heard(event, received, answer)

    def _receive_safe(self, event: Event) -> Wrong | None:
        args, received = event.args, event.received
        if received is None or args.from_ is None or args.position is None:
            return lacking(event, "received, args.from, args.position")
        expected = ("SAFE", *args.from_, args.position)
        if received != expected:
            return differs("received", expected, received)
        sender = Address(*args.from_)
        answer = handlers.receive_safe(self.rules, self.me, sender, args.position)
        return self._heard(event, received, answer)

    def _heard(self, event: Event, message: MessageId, answer: handlers.Answer) -> Wrong | None:
        """Take the step, and note what has arrived: each place is more than the one before."""
        reader, place = self.channels.hearing(message[:-1]), int(message[-1])
        if place <= reader.count:
            return self._out_of_order(reader, event, place)
        wrong = self._plain(event, answer)
        if wrong is None:
            reader.count = place
            reader.append(STREAM_ROW(0, event.index, place, event.clock))
        return wrong
