"""SEQUENCER's trace events as inputs of the model's handlers (`model/sequencer.py`).

Law of this file: it decides nothing that the model decides. It turns an event into a call of the
handler, compares what the handler answers with what the event recorded, and keeps what the model
leaves to the network: how far each channel has been written and read by this node.
"""

from collections.abc import Callable
from typing import Any

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
    MessageId,
    Sent,
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
from raincheck.model.sequencer import Data, Deliver, Forward, JoinRsp, Local

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
    table_rows,
    target_of,
)

_new = tuple.__new__  # half the time of a NamedTuple's own constructor


class Reader:
    """One channel as its receiver sees it: where it goes on reading, and its rows."""

    __slots__ = ("address", "at", "extend", "plain")

    def __init__(self, plain: PlainAddress, at: int, extend: Callable[[Any], None]) -> None:
        self.plain = plain
        self.address = Address(*plain)
        self.at = at
        self.extend = extend


class SequencerTrace:
    """One (node, incarnation): its local state in the model and its ends of the channels."""

    def __init__(self, header: Header, summary: Summary, rows: Rows) -> None:
        self.rules = rules_of(header.constants)
        self.summary = summary
        self.rows = rows
        self.mine = Address(header.node, header.incarnation)
        self.plain: PlainAddress = (header.node, header.incarnation)
        self.stream: MessageId = ("DATA", *self.plain)
        self.readers: dict[MessageId, Reader] = {}
        self.forward_readers: dict[MessageId, Reader] = {}
        self.written: dict[MessageId, int] = {}
        self.lives: dict[str, int] = {}
        self.last_seqno = 0
        self.early_crcs: dict[RunPlace, int | None] = {}
        self._senders: dict[PlainAddress, Address] = {}
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
        args, received, place = event.args, event.received, event.args.messages
        view = args.view
        if received is None or place is None or view is None:
            return lacking(event, "received, args.messages, args.view")
        reader = self.readers.get(received[:-1])
        if reader is None:
            if not well_formed(received) or received[0] != "DATA":
                return differs("received", ["DATA", "coordinator", 0, 0], received)
            reader = self._new_reader(received)
        position, count = received[-1], place[3]
        if position != reader.at + 1 or args.position != position:
            return self._out_of_order(reader, event, position)
        if event.sent:
            return differs("sent", [], [list(sent.id) for sent in event.sent])
        sender = self._senders.get(place[:2])
        if sender is None:
            sender = self._senders[place[:2]] = Address(*place[:2])
        me = self.me
        answer = handlers.receive_data(
            self.rules,
            me,
            reader.plain[0],
            _new(Data, (_new(Run, (sender, place[2], count, 0)), view)),
        )
        if isinstance(answer, Refused):
            return refused(answer)
        new, outputs = answer.local, answer.outputs
        at = reader.at + count
        if not self._data_changed(event.changed, new, outputs, place, (*reader.plain, at)):
            return self._wrong_data(event, new, outputs, place, (*reader.plain, at))
        self.me = new
        reader.at = at
        rows = self.rows
        if outputs:
            fresh = outputs[0]
            assert isinstance(fresh, Deliver)
            rows.deliver(fresh.view, place[:2], fresh.messages.first, fresh.messages.size)
        reader.extend((position, event.clock, event.index, rows.content(view, place, args.crc)))
        return None

    def _data_changed(
        self,
        changed: Changed,
        new: Local,
        outputs: tuple[Any, ...],
        place: RunPlace,
        moved: Entry,
    ) -> bool:
        """Whether the variables changed as the model says: `_wrong_data` without the words."""
        old = self.me
        delivered, table = changed.delivered, changed.received_table
        if outputs:
            if delivered is UNSET or table is UNSET:
                return False
            (_, first, size, _), view = outputs[0]
            run = place if size == place[3] else (place[0], place[1], first, size)
            if delivered.messages != run or delivered.view != view:
                return False
            if table != table_rows(new.received_table):
                return False
        elif delivered is not UNSET or table is not UNSET:
            return False
        return (
            changed.position == (moved,)
            and (
                changed.forward_table is UNSET
                if new.forward_table is old.forward_table
                else changed.forward_table
                == (UNSET if new.forward_table == old.forward_table else new.forward_table)
            )
            and (
                changed.resend is UNSET
                if new.resend is old.resend
                else changed.resend == (UNSET if new.resend == old.resend else new.resend)
            )
            and changed.seqno is UNSET
            and changed.said is UNSET
            and changed.view is UNSET
            and changed.early is UNSET
            and changed.status is UNSET
            and changed.incarnation is UNSET
        )

    def _wrong_data(
        self,
        event: Event,
        new: Local,
        outputs: tuple[Any, ...],
        place: RunPlace,
        moved: Entry,
    ) -> Wrong:
        expected = changes_of(self.me, new)
        expected.position = (moved,)
        for fresh in outputs:
            run = (place[0], place[1], fresh.messages.first, fresh.messages.size)
            expected.delivered = Delivered(fresh.view, run)
        return self._wrong_change(event, expected, ())

    def _send(self, event: Event) -> Wrong | None:
        place = event.args.messages
        if place is None:
            return lacking(event, "args.messages")
        expected = (*self.plain, self.me.seqno + 1, place[3])
        if place != expected:
            return differs("args.messages", expected, place)
        wrong = self._plain(event, handlers.send(self.rules, self.me, place[3]))
        if wrong is None:
            self.last_seqno = self.me.seqno
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
        reader = self.forward_readers.get(received[:-1])
        if reader is None:
            wanted = received[3:5] == self.plain and received[0] == "FORWARD"
            if not (well_formed(received) and wanted):
                return differs("received", ["FORWARD", "from", 0, *self.plain, 0], received)
            reader = self._new_reader(received)
            life = self.lives.get(reader.plain[0], 0)
            if life > reader.plain[1]:
                return Wrong("a FORWARD of an earlier life comes after one of a later life")
            self.lives[reader.plain[0]] = reader.plain[1]
        position = received[-1]
        if position != reader.at + 1:
            return self._out_of_order(reader, event, position)
        if args.from_ != reader.plain:
            return differs("args.from", reader.plain, args.from_)
        run = Run(Address(*place[:2]), place[2], place[3], 0)
        forward = Forward(run, view, self.mine)
        answer = handlers.receive_forward(self.rules, self.me, forward)
        wrong = self._plain(event, answer, (args.crc,))
        if wrong is None:
            if len(self.me.early) and self.me.early[-1] is forward:
                self.early_crcs[place] = args.crc
            reader.at += place[3]
            content = self.rows.content(view, place, args.crc)
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
        old = self._positions()
        for node, life, at in args.digest:
            self._new_reader(("DATA", node, life, 0)).at = at
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
        old = self._positions()
        for reader in self.readers.values():
            reader.at = 0
        wrong = self._plain(event, answer, (), old)
        if wrong is None:
            self.summary.stopped = event.action == "Stop"
            self.readers.clear()
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
        expected = changes_of(old, new)
        if old_positions is not None:
            now = self._positions()
            moved = tuple(
                (*who, now.get(who, 0))
                for who in sorted(old_positions | now)
                if now.get(who, 0) != old_positions.get(who, 0)
            )
            if moved:
                expected.position = moved
        if expected != event.changed:
            return self._wrong_change(event, expected, answer.outputs)
        wrong = self._compare_sent(event, new, answer.outputs, crcs)
        if wrong is None:
            self.me = new
        return wrong

    def _compare_sent(
        self,
        event: Event,
        new: Local,
        outputs: tuple[handlers.Output, ...],
        crcs: tuple[int | None, ...],
    ) -> Wrong | None:
        if len(outputs) == len(event.sent) == 1 and outputs[0].__class__ is not JoinRsp:
            sent = event.sent[0]
            return self._compare_message(event, sent, outputs[0], crcs[0] if crcs else sent.crc)
        if not outputs and not event.sent:
            return None
        messages = [out for out in outputs if not isinstance(out, JoinRsp)]
        answers = [out for out in outputs if isinstance(out, JoinRsp)]
        joiners = [m for m in new.members if m not in self.me.members] if answers else []
        recorded = [sent for sent in event.sent if sent.id[0] != "JOIN_RSP"]
        welcomes = [sent for sent in event.sent if sent.id[0] == "JOIN_RSP"]
        if len(recorded) != len(messages) or len(welcomes) != len(joiners):
            return differs(
                "sent",
                [repr(out) for out in messages] + [f"JOIN_RSP to {list(j)}" for j in joiners],
                [list(sent.id) for sent in event.sent],
            )
        for place, (sent, out) in enumerate(zip(recorded, messages, strict=True)):
            crc = crcs[place] if place < len(crcs) else sent.crc
            wrong = self._compare_message(event, sent, out, crc)
            if wrong:
                return wrong
        # Streams of nobody in the new view will not be read on: their places do not matter.
        digest = tuple(
            (*who, at) for who, at in sorted(self._positions().items()) if at and who in new.members
        )
        for joiner, sent in zip(sorted(joiners), sorted(welcomes, key=target_of), strict=True):
            name = ("JOIN_RSP", *self.plain, *joiner, answers[0].view)
            table = table_rows(answers[0].table)
            given = tuple(
                row for row in sorted(sent.digest or ()) if row[2] and row[:2] in new.members
            )
            got = (sent.id, sent.to, sent.view, sent.table, given)
            want = (name, tuple(joiner), answers[0].view, table, digest)
            if got != want:
                return differs("sent", want, got)
            self.summary.admitted.append(
                Admission(
                    self.plain,
                    (joiner[0], joiner[1]),
                    answers[0].view,
                    table,
                    digest,
                    event.index,
                    event.clock,
                )
            )
        return None

    def _compare_message(
        self, event: Event, sent: Sent, out: handlers.Output, crc: int | None
    ) -> Wrong | None:
        to: PlainAddress | None = None
        channel: MessageId
        if isinstance(out, Forward):
            to = (out.to[0], out.to[1])
            channel = ("FORWARD", *self.plain, *to)
        else:
            assert isinstance(out, Data)
            channel = self.stream
        at = self.written.get(channel, 0)
        place = run_row(out.messages)
        want = ((*channel, at + 1), to, out.view, place, crc)
        got = (sent.id, sent.to, sent.view, sent.messages, sent.crc)
        if got != want:
            names = ("sent.id", "sent.to", "sent.view", "sent.messages", "sent.crc")
            pairs = zip(names, want, got, strict=True)
            return Wrong(
                "it sent something else than the model sends",
                differences=tuple(Difference(n, w, g) for n, w, g in pairs if w != g),
            )
        self.written[channel] = at + place[3]
        if to is None:
            self.summary.multicast = at + place[3]
        content = self.rows.content(out.view, place, crc)
        self.rows.sent_on(channel).extend((at + 1, event.clock, event.index, content))
        return None

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

    # ------------------------------------------------------------------ channels

    def _new_reader(self, received: MessageId) -> Reader:
        channel = received[:-1]
        plain = (str(channel[1]), int(channel[2]))
        reader = Reader(plain, 0, self.rows.received_on(channel).extend)
        (self.readers if channel[0] == "DATA" else self.forward_readers)[channel] = reader
        return reader

    def _out_of_order(self, reader: Reader, event: Event, position: int | str) -> Wrong:
        text = "the channel is read in order, without a gap, each message once"
        values = {
            "channel": list((event.received or ())[:-1]),
            "consumed so far": reader.at,
            "received": position,
            "args.position": event.args.position,
        }
        return Wrong("it read its channel out of order", (FalseConjunct(text, values),))

    def _positions(self) -> dict[PlainAddress, int]:
        return {reader.plain: reader.at for reader in self.readers.values()}

    def _depart(self, gone: list[Address], index: int, clock: int) -> None:
        at = self._positions()
        for member in gone:
            plain = (member[0], member[1])
            place = Departure(plain, at.get(plain, 0), index, clock)
            self.summary.departures.append(place)

    def finish(self) -> None:
        """Note what holds at the end of the file."""
        self.summary.status, self.summary.view = self.me.status, self.me.view
        self.summary.seqno = self.last_seqno
        self.summary.written = {
            " ".join(map(str, channel)): at for channel, at in self.written.items()
        }
        if handlers.running(self.me):
            others = [member for member in self.me.members if member != self.mine]
            self._depart(others, 0, 0)
        self.summary.addresses = list(self.rows.codes)
        self.summary.view_starts = self.rows.view_starts
