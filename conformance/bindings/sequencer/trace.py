"""SEQUENCER's trace events as inputs of the model's handlers (`model/sequencer/handlers.py`).

Law of this file: it decides nothing that the model decides. It calls the handler for an event and
compares the handler's answer with the record. The events of every message are here, the rarer ones
in `views.py`; messages sent are compared in `sent.py`, and the positions in the channels are kept
in `channels.py`.
"""

from collections.abc import Callable

from msgspec import UNSET

from raincheck.conformance.trace.columns import STREAM_ROW, Columns
from raincheck.conformance.trace.events import Changed, Delivered, Entry, Event, well_formed
from raincheck.conformance.trace.findings import FalseConjunct
from raincheck.conformance.trace.records import Header
from raincheck.conformance.trace.sequencer.rows import Rows, content_of
from raincheck.conformance.trace.sequencer.summary import Summary
from raincheck.model.machine.machine import Refused
from raincheck.model.machine.runs import Address, Run
from raincheck.model.sequencer import handlers
from raincheck.model.sequencer.handlers import Forward, Local

from .channels import Reader
from .follower import UNCHANGED
from .records import RunPlace, Wrong, changes_of, differs, lacking, refused, surplus
from .views import ViewFollower

_new = tuple.__new__  # half the time of a NamedTuple's own constructor
_VIEW, _FORWARD_TABLE, _RESEND = (
    Local._fields.index(name) for name in ("view", "forward_table", "resend")
)


class SequencerTrace(ViewFollower):
    """Follows the trace of one (node, incarnation), event by event."""

    __slots__ = ("_table", "_table_rows", "steps")

    def __init__(self, header: Header, summary: Summary, rows: Rows, columns: Columns) -> None:
        super().__init__(header, summary, rows, columns)
        self._table: handlers.Table = ()
        self._table_rows: list[Entry] = []
        self.steps: dict[str, Callable[[Event], Wrong | None]] = {
            "Send": self._send,
            "ReceiveForward": self._receive_forward,
            "ReceiveData": self._receive_data,
            "InstallView": self._install_view,
            "Join": self._join,
            "Resend": self._resend,
            "Leave": lambda event: self._plain(event, handlers.leave(self.me)),
            "Stop": lambda event: self._end(event, handlers.stop(self.rules, self.me)),
            "Crash": lambda event: self._end(event, handlers.crash(self.me)),
        }
        if header.merges:
            self.steps["Merge"] = self._merge

    def _receive_data(self, event: Event) -> Wrong | None:
        """The hot path: most events of a trace are of this kind."""
        args, received = event.args, event.received
        place, view, origin = args.messages, args.view, args.from_
        if received is None or place is None or view is None or origin is None:
            return lacking(event, "received, args.from, args.messages, args.view")
        reader = self.reading
        if reader is None or received[:-1] != reader.channel:
            known = self.channels.streams.get(received[:-1])
            if known is None:
                if not well_formed(received) or received[0] != "DATA":
                    return differs("received", ["DATA", "coordinator", 0, 0], received)
                known = self.channels.stream(received[:-1])
            self.reading = reader = known
        position = received[3]
        node, life, first, count = place
        origin_node, origin_life = origin
        if position != reader.count + 1 or args.position != position:
            return self._out_of_order(reader, event, position)
        if event.sent:
            return differs("sent", [], [list(sent.id) for sent in event.sent])
        sender = self.channels.senders.get(origin) or self.channels.sender(origin)
        if origin_node != node or origin_life != life:
            return differs("args.from", (node, life), origin)
        old, last = self.me, first + count - 1
        if view != old[_VIEW] and self.synchronous:
            return self._other_view(reader, sender.address, place, view)
        taken = handlers.take_data(self.rules, old, reader.node, sender.address, first, last, view)
        if taken.__class__ is Refused:
            return refused(taken)
        new, fresh = taken  # type: ignore[misc]  # not Refused, so a pair
        at = reader.count + count
        changed, delivered = event.changed, event.changed.delivered
        if (
            changed.position != ((reader.node, reader.life, at),)
            or not intervals_changed(changed, old, new)
            or changed.seqno is not UNSET
            or changed.said is not UNSET
            or changed.view is not UNSET
            or changed.early is not UNSET
            or changed.status is not UNSET
            or changed.incarnation is not UNSET
            or not nothing_of_safe(changed)
            or args.members is not None
            or args.table is not None
            or args.digest is not None
        ):
            return self._wrong_data(event, new, fresh, reader, at)
        if fresh <= last:
            now = new[_VIEW]
            if (
                delivered is UNSET
                or delivered.view != now
                or delivered.messages
                != (place if fresh == first else (node, life, fresh, last - fresh + 1))
                or changed.received_table != self._rows_of(new.received_table)
            ):
                return self._wrong_data(event, new, fresh, reader, at)
            self.rows.deliver(now, sender.key + fresh, last - fresh + 1)
        elif delivered is not UNSET or changed.received_table is not UNSET:
            return self._wrong_data(event, new, fresh, reader, at)
        self.me = new
        reader.count = at
        reader.events += 1
        content = content_of(view, sender.code, place, args.crc)
        reader.append(STREAM_ROW(content, event.index, position, event.clock))
        return None

    def _other_view(self, reader: Reader, sender: Address, place: RunPlace, view: int) -> Wrong:
        """Return the failure of a guard of the network: the model's member knows no virtual
        synchrony.
        """
        me, (_, _, first, count) = self.me, place
        last = first + count - 1
        taken = handlers.take_data(self.rules, me, reader.node, sender, first, last, view)
        values = {"d.view": view, "view": me.view}
        conjunct = FalseConjunct("VirtualSynchrony => d.view = view[n]", values)
        others = refused(taken) if isinstance(taken, Refused) else Wrong("the guard is false")
        return others._replace(conjuncts=(*others.conjuncts, conjunct))

    def _rows_of(self, table: handlers.Table) -> tuple[Entry, ...]:
        """Return receivedTable as the trace writes it; only new entries are converted."""
        rows, known = self._table_rows, self._table
        if len(known) != len(table):
            rows = self._table_rows = [(who[0], who[1], seqno) for who, seqno in table]
        else:
            for place, new in enumerate(table):
                if known[place] is not new:
                    rows[place] = (new[0][0], new[0][1], new[1])
        self._table = table
        return tuple(rows)

    def _wrong_data(self, event: Event, new: Local, fresh: int, reader: Reader, at: int) -> Wrong:
        expected = changes_of(self.me, new)
        expected.position = ((*reader.plain, at),)
        place = event.args.messages
        assert place is not None
        size = place[2] + place[3] - fresh
        if size > 0:
            expected.delivered = Delivered(new.view, (place[0], place[1], fresh, size))
        return surplus(event) or self._wrong_change(event, expected, ())

    def _send(self, event: Event) -> Wrong | None:
        args, me, changed = event.args, self.me, event.changed
        place = args.messages
        if place is None:
            return lacking(event, "args.messages")
        expected = (*self.plain, me.seqno + 1, place[3])
        if place != expected:
            return differs("args.messages", expected, place)
        answer = handlers.send(self.rules, me, place[3])
        if answer.__class__ is Refused:
            return refused(answer)
        new, outputs = answer  # type: ignore[misc]  # it is Accepted, and that is a tuple
        if (
            changed.seqno != new.seqno
            or changed.said != new.said
            or not intervals_changed(changed, me, new)
            or changed.position is not UNSET
            or changed.delivered is not UNSET
            or changed.received_table is not UNSET
            or changed.view is not UNSET
            or changed.early is not UNSET
            or changed.status is not UNSET
            or changed.incarnation is not UNSET
            or not nothing_of_safe(changed)
        ):
            return self._wrong_change(event, changes_of(me, new), outputs)
        if (
            event.received is not None
            or args.from_ is not None
            or args.view is not None
            or args.position is not None
            or args.members is not None
            or args.table is not None
            or args.digest is not None
        ):
            return surplus(event)
        wrong = self.outbox.compare(event, me, new, outputs, ())
        if wrong is None:
            self.me = new
            self.last_seqno = new.seqno
        return wrong

    def _receive_forward(self, event: Event) -> Wrong | None:
        args, received, place = event.args, event.received, event.args.messages
        view = args.view
        if received is None or place is None or view is None:
            return lacking(event, "received, args.messages, args.view")
        reader = self.channels.forwards.get(received[:-1])
        if reader is None:
            called = self._forwarding(received)
            wanted = received[3:5] == self.plain and received[0] == called
            if not (well_formed(received) and wanted):
                return differs("received", [called, "from", 0, *self.plain, 0], received)
            reader = self.channels.forward(received[:-1])
            life = self.lives.get(reader.node, 0)
            if life > reader.life:
                return Wrong("a FORWARD of an earlier life comes after one of a later life")
            self.lives[reader.node] = reader.life
        position = received[5]
        if position != reader.count + 1:
            return self._out_of_order(reader, event, position)
        if args.from_ != reader.plain:
            return differs("args.from", reader.plain, args.from_)
        first, count = place[2:]
        sender = self.channels.senders.get(place[:2]) or self.channels.sender(place[:2])
        forward = _new(Forward, (_new(Run, (sender.address, first, count, 0)), view, self.mine))
        answer = handlers.receive_forward(self.rules, self.me, reader.address, forward)
        if (
            answer.__class__ is Refused
            or answer[0] is not self.me  # type: ignore[index]
            or event.changed != UNCHANGED
            or args.position is not None
            or args.members is not None
            or args.table is not None
            or args.digest is not None
        ):
            wrong = self._plain(event, answer, (args.crc,))
        else:
            wrong = self.outbox.compare(event, self.me, self.me, answer[1], (args.crc,))  # type: ignore[index]
        if wrong is None:
            if len(self.me.early) and self.me.early[-1] is forward:
                self.early_crcs[place] = args.crc
            reader.count += count
            content = content_of(view, sender.code, place, args.crc)
            reader.append(STREAM_ROW(content, event.index, position, event.clock))
        return wrong


def nothing_of_safe(changed: Changed) -> bool:
    """Return whether nothing of safe delivery has changed."""
    return (
        changed.held is UNSET
        and changed.released is UNSET
        and changed.told is UNSET
        and changed.heard is UNSET
        and changed.announced is UNSET
    )


def intervals_changed(changed: Changed, old: Local, new: Local) -> bool:
    """Return whether forwardTable and resend changed as recorded."""
    table, resend = new[_FORWARD_TABLE], new[_RESEND]
    was, waited = old[_FORWARD_TABLE], old[_RESEND]
    if table is was and resend is waited:
        return changed.forward_table is UNSET and changed.resend is UNSET
    return changed.forward_table == (UNSET if table == was else table) and (
        changed.resend == (UNSET if resend == waited else resend)
    )
