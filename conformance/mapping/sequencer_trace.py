"""SEQUENCER's trace events as inputs of the model's handlers (`model/sequencer.py`).

Law of this file: it decides nothing that the model decides. It turns an event into a call of the
handler and compares what the handler answers with what the event recorded. What was sent is
compared in `sequencer_sent.py`; how far the channels are is kept in `sequencer_channels.py`.
"""

from collections.abc import Callable
from operator import is_

from msgspec import UNSET

from raincheck.conformance.events import (
    Address as PlainAddress,
)
from raincheck.conformance.events import (
    Changed,
    Delivered,
    Entry,
    Event,
    Header,
    well_formed,
)
from raincheck.conformance.findings import (
    Admission,
    Departure,
    Difference,
    FalseConjunct,
    Installed,
    Summary,
)
from raincheck.conformance.rows import Rows
from raincheck.model import sequencer as handlers
from raincheck.model.machine import Refused
from raincheck.model.runs import Address, Run
from raincheck.model.sequencer import Data, Deliver, Forward, Local

from .sequencer_channels import Channels, Reader
from .sequencer_records import (
    RunPlace,
    Wrong,
    changes_of,
    differs,
    fields_of,
    lacking,
    refused,
    rules_of,
    run_row,
    shown,
    surplus,
)
from .sequencer_sent import Outbox

_new = tuple.__new__  # half the time of a NamedTuple's own constructor


class SequencerTrace:
    """One (node, incarnation): its local state in the model and its ends of the channels."""

    def __init__(self, header: Header, summary: Summary, rows: Rows) -> None:
        self.rules = rules_of(header.constants)
        self.summary = summary
        self.rows = rows
        self.mine = Address(header.node, header.incarnation)
        self.plain: PlainAddress = (header.node, header.incarnation)
        self.channels = Channels(self.plain, rows)
        self.outbox = Outbox(self.channels, summary)
        self.lives: dict[str, int] = {}
        self.last_seqno = 0
        self.early_crcs: dict[RunPlace, int | None] = {}
        self._table: handlers.Table = ()
        self._table_rows: list[Entry] = []
        if header.initial is None:
            self.me = handlers.joiner(header.node, header.incarnation, header.said)
        else:
            members = tuple(Address(*member) for member in header.initial.members)
            self.me = handlers.founder(header.node, members)._replace(
                view=header.initial.id, incarnation=header.incarnation, said=header.said
            )
            summary.views.append(Installed(header.initial.id, header.initial.members, 0, 0))
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

    # ------------------------------------------------------------------ the handlers

    def _receive_data(self, event: Event) -> Wrong | None:
        """The hot path: most events of a trace are of this kind."""
        args, received = event.args, event.received
        place, view, origin = args.messages, args.view, args.from_
        if received is None or place is None or view is None or origin is None:
            return lacking(event, "received, args.from, args.messages, args.view")
        reader = self.channels.streams.get(received[:-1])
        if reader is None:
            if not well_formed(received) or received[0] != "DATA":
                return differs("received", ["DATA", "coordinator", 0, 0], received)
            reader = self.channels.stream(received[:-1])
        position = received[3]
        node, life, first, count = place
        if position != reader.at + 1 or args.position != position:
            return self._out_of_order(reader, event, position)
        if event.sent:
            return differs("sent", [], [list(sent.id) for sent in event.sent])
        sender = self.channels.senders.get(origin) or self.channels.sender(origin)
        if origin != (node, life):
            return differs("args.from", (node, life), origin)
        me = self.me
        message = _new(Data, (_new(Run, (sender.address, first, count, 0)), view))
        answer = handlers.receive_data(self.rules, me, reader.node, message)
        if answer.__class__ is Refused:
            return refused(answer)
        new, outputs = answer  # type: ignore[misc]  # it is Accepted, and that is a tuple
        at = reader.at + count
        changed = event.changed
        if not (
            changed.position == ((reader.node, reader.life, at),)
            and (outputs or changed.delivered is changed.received_table is UNSET)
            and intervals_changed(changed, me, new)
            and changed.seqno is changed.said is changed.view is UNSET
            and changed.early is changed.status is changed.incarnation is UNSET
            and args.members is None
            and args.table is args.digest is None
        ):
            return self._wrong_data(event, new, outputs, place, (*reader.plain, at))
        if outputs:
            (_, low, size, _), delivered_in = outputs[0]  # type: ignore[misc]  # a Deliver
            delivered = changed.delivered
            if (
                delivered is UNSET
                or delivered.view != delivered_in
                or delivered.messages != (node, life, low, size)
                or changed.received_table != self._rows_of(new.received_table)
            ):
                return self._wrong_data(event, new, outputs, place, (*reader.plain, at))
            self.rows.deliver(delivered_in, sender.key + low, size)
        self.me = new
        reader.at = at
        content = self.rows.content(view, sender.code, place, args.crc)
        reader.extend((position, event.clock, event.index, content))
        return None

    def _rows_of(self, table: handlers.Table) -> tuple[Entry, ...]:
        """receivedTable as the trace writes it; only the entries that are new are converted."""
        rows, known = self._table_rows, self._table
        if len(known) != len(table):
            rows = self._table_rows = [(who[0], who[1], seqno) for who, seqno in table]
        else:
            same = list(map(is_, known, table))
            while False in same:
                at = same.index(False)
                same[at] = True
                who, seqno = table[at]
                rows[at] = (who[0], who[1], seqno)
        self._table = table
        return tuple(rows)

    def _wrong_data(
        self,
        event: Event,
        new: Local,
        outputs: tuple[handlers.Output, ...],
        place: RunPlace,
        moved: Entry,
    ) -> Wrong:
        expected = changes_of(self.me, new)
        expected.position = (moved,)
        for fresh in outputs:
            assert isinstance(fresh, Deliver)
            run = (place[0], place[1], fresh.messages.first, fresh.messages.size)
            expected.delivered = Delivered(fresh.view, run)
        return surplus(event) or self._wrong_change(event, expected, ())

    def _send(self, event: Event) -> Wrong | None:
        place, me, changed = event.args.messages, self.me, event.changed
        if place is None:
            return lacking(event, "args.messages")
        expected = (*self.plain, me.seqno + 1, place[3])
        if place != expected:
            return differs("args.messages", expected, place)
        answer = handlers.send(self.rules, me, place[3])
        if answer.__class__ is Refused:
            return refused(answer)
        new, outputs = answer  # type: ignore[misc]  # it is Accepted, and that is a tuple
        if not (
            changed.seqno == new.seqno
            and changed.said == new.said
            and intervals_changed(changed, me, new)
            and changed.position is changed.delivered is changed.received_table is UNSET
            and changed.view is changed.early is changed.status is changed.incarnation is UNSET
        ):
            return self._wrong_change(event, changes_of(me, new), outputs)
        wrong = surplus(event) or self.outbox.compare(event, me, new, outputs, ())
        if wrong is None:
            self.me = new
            self.last_seqno = new.seqno
        return wrong

    def _resend(self, event: Event) -> Wrong | None:
        place = event.args.messages
        if place is None:
            return lacking(event, "args.messages")
        low = self.me.resend[0][0] if self.me.resend else place[2]
        if place[:3] != (*self.plain, low):
            return differs("args.messages", (*self.plain, low, place[3]), place)
        return self._plain(event, handlers.resend(self.rules, self.me, place[3]))

    def _receive_forward(self, event: Event) -> Wrong | None:
        args, received, place = event.args, event.received, event.args.messages
        view = args.view
        if received is None or place is None or view is None:
            return lacking(event, "received, args.messages, args.view")
        reader = self.channels.forwards.get(received[:-1])
        if reader is None:
            wanted = received[3:5] == self.plain and received[0] == "FORWARD"
            if not (well_formed(received) and wanted):
                return differs("received", ["FORWARD", "from", 0, *self.plain, 0], received)
            reader = self.channels.forward(received[:-1])
            life = self.lives.get(reader.node, 0)
            if life > reader.life:
                return Wrong("a FORWARD of an earlier life comes after one of a later life")
            self.lives[reader.node] = reader.life
        position = received[5]
        if position != reader.at + 1:
            return self._out_of_order(reader, event, position)
        if args.from_ != reader.plain:
            return differs("args.from", reader.plain, args.from_)
        node, life, first, count = place
        sender = self.channels.sender((node, life))
        forward = _new(Forward, (_new(Run, (sender.address, first, count, 0)), view, self.mine))
        answer = handlers.receive_forward(self.rules, self.me, forward)
        wrong = self._plain(event, answer, (args.crc,))
        if wrong is None:
            if len(self.me.early) and self.me.early[-1] is forward:
                self.early_crcs[place] = args.crc
            reader.at += count
            content = self.rows.content(view, sender.code, place, args.crc)
            reader.extend((position, event.clock, event.index, content))
        return wrong

    def _install_view(self, event: Event) -> Wrong | None:
        args, old = event.args, self.me
        if args.view is None or not args.members:
            return lacking(event, "args.view, args.members")
        members = tuple(Address(*member) for member in args.members)
        crcs = [
            self.early_crcs.get(run_row(early.messages))
            for early in old.early
            if early.view == args.view
        ]
        answer = handlers.install_view(self.rules, old, args.view, members)
        wrong = self._plain(event, answer, tuple(crcs))
        if wrong is None:
            gone = [member for member in old.members if member not in members]
            self._depart(gone, event.index, event.clock)
            place = Installed(args.view, args.members, event.index, event.clock)
            self.summary.views.append(place)
            self.early_crcs = {
                run_row(early.messages): self.early_crcs.get(run_row(early.messages))
                for early in self.me.early
            }
        return wrong

    def _join(self, event: Event) -> Wrong | None:
        args, received = event.args, event.received
        if received is None or args.view is None or not args.members or args.digest is None:
            return lacking(event, "received, args.view, args.members, args.table, args.digest")
        expected = ("JOIN_RSP", *args.members[0], *self.plain, args.view)
        if received != expected:
            return differs("received", expected, received)
        if self.plain not in args.members:
            return differs("args.members", f"a view that contains {list(self.plain)}", args.members)
        members = tuple(Address(*member) for member in args.members)
        table = tuple((Address(*row[:2]), row[2]) for row in args.table or ())
        old = self.channels.positions()
        for node, life, at in args.digest:
            self.channels.stream(("DATA", node, life)).at = at
        wrong = self._plain(event, handlers.join(self.me, args.view, members, table), (), old)
        if wrong is None:
            index, clock = event.index, event.clock
            self.summary.views.append(Installed(args.view, args.members, index, clock))
            digest = tuple(row for row in sorted(args.digest) if row[2] and row[:2] in args.members)
            self.summary.joined.append(
                Admission(
                    args.members[0], self.plain, args.view, args.table or (), digest, index, clock
                )
            )
        return wrong

    def _end(self, event: Event, answer: handlers.Answer) -> Wrong | None:
        old = self.channels.positions()
        self.channels.rewind()
        wrong = self._plain(event, answer, (), old)
        if wrong is None:
            self.summary.stopped = event.action == "Stop"
            self.channels.streams.clear()
        return wrong

    # ------------------------------------------------------------------ comparing

    def _plain(
        self,
        event: Event,
        answer: handlers.Answer,
        crcs: tuple[int | None, ...] = (),
        old_positions: dict[PlainAddress, int] | None = None,
    ) -> Wrong | None:
        """Compare any answer of the model with the event; take the step if they agree."""
        if isinstance(answer, Refused):
            return refused(answer)
        old, new = self.me, answer.local
        expected = UNCHANGED
        if new is not old or old_positions is not None:
            expected = changes_of(old, new)
            moved = () if old_positions is None else self.channels.moved(old_positions)
            if moved:
                expected.position = moved
        if expected != event.changed:
            return self._wrong_change(event, expected, answer.outputs)
        wrong = surplus(event) or self.outbox.compare(event, old, new, answer.outputs, crcs)
        if wrong is None:
            self.me = new
        return wrong

    def _wrong_change(
        self, event: Event, expected: Changed, outputs: tuple[handlers.Output, ...]
    ) -> Wrong:
        differences = [
            Difference(name, shown(want), shown(got))
            for name, want, got in fields_of(expected, event.changed)
            if want != got
        ]
        if event.sent and not outputs:
            differences.append(Difference("sent", [], [list(sent.id) for sent in event.sent]))
        return Wrong(
            "the variables changed otherwise than in the model", differences=tuple(differences)
        )

    def _out_of_order(self, reader: Reader, event: Event, position: int | str) -> Wrong:
        text = "the channel is read in order, without a gap, each message once"
        values = {
            "channel": list((event.received or ())[:-1]),
            "consumed so far": reader.at,
            "received": position,
            "args.position": event.args.position,
        }
        return Wrong("it read its channel out of order", (FalseConjunct(text, values),))

    def _depart(self, gone: list[Address], index: int, clock: int) -> None:
        at = self.channels.positions()
        for member in gone:
            plain = (member[0], member[1])
            place = Departure(plain, at.get(plain, 0), index, clock)
            self.summary.departures.append(place)

    def finish(self) -> None:
        """Note what holds at the end of the file."""
        self.summary.status, self.summary.view = self.me.status, self.me.view
        self.summary.seqno = self.last_seqno
        self.summary.written = {
            " ".join(map(str, channel)): at for channel, at in self.channels.written().items()
        }
        if handlers.running(self.me):
            others = [member for member in self.me.members if member != self.mine]
            self._depart(others, 0, 0)
        self.summary.addresses = list(self.rows.codes)
        self.summary.view_starts = self.rows.view_starts


UNCHANGED = Changed()


def intervals_changed(changed: Changed, old: Local, new: Local) -> bool:
    """Whether forwardTable and resend changed as recorded."""
    table, resend = new.forward_table, new.resend
    return changed.forward_table == (UNSET if table == old.forward_table else table) and (
        changed.resend == (UNSET if resend == old.resend else resend)
    )
