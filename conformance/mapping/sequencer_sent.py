"""What an event of SEQUENCER sent, against what the model's handler hands to the network."""

from typing import Any

from raincheck.conformance.events import Event, MessageId, Sent
from raincheck.conformance.findings import Admission, Difference, Summary
from raincheck.model.runs import Address
from raincheck.model.sequencer import Data, Forward, JoinRsp, Local, Output

from .sequencer_channels import Channels
from .sequencer_records import Wrong, differs, run_row, table_rows, target_of

Crcs = tuple[int | None, ...]


class Outbox:
    """Compares the messages that one (node, incarnation) sends; each that fits has its row."""

    def __init__(self, channels: Channels, summary: Summary) -> None:
        self.channels = channels
        self.summary = summary

    def compare(
        self, event: Event, old: Local, new: Local, outputs: tuple[Output, ...], crcs: Crcs
    ) -> Wrong | None:
        """Hold an event's `sent` against the outputs; `crcs` are of what is passed on."""
        if len(outputs) == len(event.sent) == 1 and outputs[0].__class__ is not JoinRsp:
            sent = event.sent[0]
            return self._message(event, sent, outputs[0], crcs[0] if crcs else sent.crc)
        if not outputs and not event.sent:
            return None
        messages = [out for out in outputs if not isinstance(out, JoinRsp)]
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
            wrong = self._message(event, sent, out, crc)
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
        """A JOIN_RSP: the table and the digest of this very cut."""
        mine = self.channels.mine
        # Streams of nobody in the new view will not be read on: their places do not matter.
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
        self.summary.admitted.append(
            Admission(
                mine, (joiner[0], joiner[1]), answer.view, table, digest, event.index, event.clock
            )
        )
        return None

    def _message(self, event: Event, sent: Sent, out: Output, crc: int | None) -> Wrong | None:
        assert isinstance(out, Forward | Data)
        writer = self.channels.writer((out[2][0], out[2][1]) if out.__class__ is Forward else None)
        messages, view = out[0], out[1]
        place, position = run_row(messages), writer.at + 1
        if not (
            sent.id == (*writer.channel, position)
            and sent.messages == place
            and sent.view == view
            and sent.to == writer.to
            and sent.crc == crc
            and sent.table is sent.digest is None
        ):
            want: tuple[Any, ...] = ((*writer.channel, position), writer.to, view, place, crc)
            got = (sent.id, sent.to, sent.view, sent.messages, sent.crc)
            return _other(want, got, sent)
        writer.at += place[3]
        if writer.to is None:
            self.summary.multicast = writer.at
        content = self.channels.content(view, place, crc)
        writer.extend((position, event.clock, event.index, content))
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
