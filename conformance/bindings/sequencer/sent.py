"""Compares the messages that an event of SEQUENCER sent with the outputs of the model's handler."""

from typing import Any

from raincheck.conformance.trace.columns import STREAM_ROW
from raincheck.conformance.trace.events import Event, MessageId, Sent, builtins
from raincheck.conformance.trace.findings import Difference
from raincheck.conformance.trace.sequencer.rows import content_of
from raincheck.conformance.trace.sequencer.summary import Summary
from raincheck.model.machine.runs import Address
from raincheck.model.sequencer.handlers import Ack, Data, Forward, JoinRsp, Local, Output, Safe

from .channels import Channels
from .records import Wrong, differs, table_rows, target_of

PASSED_ON = (Data, Forward)
Crcs = tuple[int | None, ...]


class Outbox:
    """Compares the messages that one (node, incarnation) sends; each that matches gets a row."""

    def __init__(self, channels: Channels, summary: Summary) -> None:
        self.channels = channels
        self.summary = summary

    def compare(
        self, event: Event, old: Local, new: Local, outputs: tuple[Output, ...], crcs: Crcs
    ) -> Wrong | None:
        """Compare an event's `sent` with the outputs; `crcs` are those of payloads that are passed
        on.
        """
        if len(outputs) == len(event.sent) == 1 and isinstance(outputs[0], PASSED_ON):
            sent = event.sent[0]
            return self.message(event, sent, outputs[0], crcs[0] if crcs else sent.crc)
        if not outputs and not event.sent:
            return None
        if len(outputs) == 1 and isinstance(outputs[0], Ack | Safe):
            return self._place(event, outputs[0])
        messages = [out for out in outputs if isinstance(out, PASSED_ON)]
        answers = [out for out in outputs if isinstance(out, JoinRsp)]
        joiners = [m for m in new.members if m not in old.members] if answers else []
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
            wrong = self.message(event, sent, out, crc)
            if wrong:
                return wrong
        pairs = zip(sorted(joiners), sorted(welcomes, key=target_of), strict=True)
        for joiner, sent in pairs:
            wrong = self._welcome(event, sent, answers[0], joiner, new)
            if wrong:
                return wrong
        return None

    def _welcome(
        self, event: Event, sent: Sent, answer: JoinRsp, joiner: Address, new: Local
    ) -> Wrong | None:
        """Compare a JOIN_RSP: it has the table and the digest of this very cut."""
        mine = self.channels.mine
        # Streams of processes outside the new view are not read on: their positions do not matter.
        digest = tuple(
            (*who, at)
            for who, at in sorted(self.channels.positions().items())
            if at and who in new.members
        )
        name: MessageId = ("JOIN_RSP", *mine, *joiner, answer.view)
        table = table_rows(answer.table)
        given = tuple(row for row in sorted(sent.digest or ()) if row[2] and row[:2] in new.members)
        got = (sent.id, sent.to, sent.view, sent.table, given)
        want = (name, tuple(joiner), answer.view, table, digest)
        if got != want:
            return differs("sent", want, got)
        to = (joiner[0], joiner[1])
        self.channels.admits(to, answer.view, (table, digest), event.index, event.clock)
        return None

    def _place(self, event: Event, out: Ack | Safe) -> Wrong | None:
        """Compare an ACK or SAFE: it speaks of a place in a stream, which is its number, too."""
        writer = self.channels.speaker(out.to if isinstance(out, Ack) else None)
        want = Sent((*writer.channel, out.place), writer.to)
        if event.sent != (want,):
            return differs("sent", [builtins(want)], [builtins(sent) for sent in event.sent])
        writer.count = out.place
        writer.append(STREAM_ROW(0, event.index, out.place, event.clock))
        return None

    def message(
        self, event: Event, sent: Sent, out: Forward | Data, crc: int | None
    ) -> Wrong | None:
        """Compare one FORWARD or DATA with the model's output."""
        messages, view = out.messages, out.view
        plain, first, size = messages.sender, messages.first, messages.size
        sender = self.channels.senders.get(plain) or self.channels.sender((plain[0], plain[1]))
        writer = self.channels.writer(out.to if isinstance(out, Forward) else None)
        place, position = (plain[0], plain[1], first, size), writer.count + 1
        if (
            sent.messages != place
            or sent.crc != crc
            or sent.view != view
            or sent.to != writer.to
            or sent.id != (*writer.channel, position)
            or sent.table is not None
            or sent.digest is not None
        ):
            want: tuple[Any, ...] = ((*writer.channel, position), writer.to, view, place, crc)
            got = (sent.id, sent.to, sent.view, sent.messages, sent.crc)
            return _other(want, got, sent)
        writer.count += size
        if writer.to is None:
            self.summary.multicast = writer.count
            writer.events += 1
        content = content_of(view, sender.code, place, crc)
        writer.append(STREAM_ROW(content, event.index, position, event.clock))
        return None


def _other(want: tuple[Any, ...], got: tuple[Any, ...], sent: Sent) -> Wrong:
    names = ("sent.id", "sent.to", "sent.view", "sent.messages", "sent.crc")
    differences = [
        Difference(name, w, g) for name, w, g in zip(names, want, got, strict=True) if w != g
    ]
    beyond = (("sent.table", sent.table), ("sent.digest", sent.digest))
    differences += [Difference(name, None, value) for name, value in beyond if value is not None]
    return Wrong(
        "it sent something else than the model sends",
        differences=tuple(differences),
    )
