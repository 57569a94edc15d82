"""The common part of following one member's trace in the model: its state, and comparing a step.

Law of this file: it decides nothing that the model decides, and knows no action by name.
"""

from typing import Any

import msgspec

from raincheck.conformance.bindings.conversion import ShapeError
from raincheck.conformance.trace.columns import Columns
from raincheck.conformance.trace.events import Address as PlainAddress
from raincheck.conformance.trace.events import Changed, Event, ViewRecord
from raincheck.conformance.trace.findings import Difference, FalseConjunct
from raincheck.conformance.trace.layers.speaks import VIEW, Statement, view
from raincheck.conformance.trace.records import Header
from raincheck.conformance.trace.sequencer.rows import Rows
from raincheck.conformance.trace.sequencer.summary import Cut, Departure, Installed, Summary
from raincheck.model.machine.machine import Refused
from raincheck.model.machine.runs import Address
from raincheck.model.sequencer import handlers

from .channels import Channels, Reader
from .records import (
    Wrong,
    changes_of,
    fields_of,
    refused,
    released_of,
    rules_of,
    shown,
    surplus,
)
from .sent import Outbox

UNCHANGED = Changed()


class Follower:
    """One (node, incarnation): its local state in the model and its ends of the channels."""

    __slots__ = (
        "bundles",
        "channels",
        "last_seqno",
        "me",
        "merges",
        "mine",
        "outbox",
        "plain",
        "reading",
        "rows",
        "rules",
        "summary",
        "synchronous",
    )

    def __init__(self, header: Header, summary: Summary, rows: Rows, columns: Columns) -> None:
        self.rules = rules_of(header.constants)
        self.summary = summary
        self.rows = rows
        self.mine = Address(header.node, header.incarnation)
        self.plain: PlainAddress = (header.node, header.incarnation)
        self.channels = Channels(self.plain, rows, columns)
        self.outbox = Outbox(self.channels, summary)
        self.synchronous = summary.synchronous
        self.last_seqno = 0
        self.merges = header.merges
        if header.merges:
            self.channels.since = {}
        self.bundles: dict[str, int] = {}
        """The number of messages that went each way before the present view."""
        self.reading: Reader | None = None
        """The stream that was read last, which is nearly always the next one to be read."""
        initial = _first_view(header.initial)
        if initial is None:
            self.me = handlers.joiner(header.node, header.incarnation, header.said)
        else:
            if header.merges and initial.by is None:
                raise ShapeError("initial: it lacks who decided the view (by)")
            members = tuple(Address(*member) for member in initial.members)
            self.me = handlers.founder(header.node, members)._replace(
                view=initial.id, incarnation=header.incarnation, said=header.said
            )
            summary.views.append(Installed(initial.id, initial.members, 0, 0, initial.by))
            self.channels.met(members, initial.id)

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
        if new is not old:
            expected = changes_of(old, new)
            moved = () if old_positions is None else self.channels.moved(old_positions)
            if moved:
                expected.position = moved
        released = released_of(answer.outputs)
        if released is not None:
            expected.released = released
        if expected != event.changed:
            return self._wrong_change(event, expected, answer.outputs)
        wrong = surplus(event) or self.outbox.compare(event, old, new, answer.outputs, crcs)
        if wrong is None:
            self.me = new
            for node, life, first, count in released.messages if released is not None else ():
                key = self.channels.sender((node, life)).key
                self.rows.deliver(old.view, key + first, count)
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
            "consumed so far": reader.count,
            "received": position,
            "args.position": event.args.position,
        }
        return Wrong("it read its channel out of order", (FalseConjunct(text, values),))

    def _depart(self, gone: list[Address], index: int, clock: int) -> None:
        self.summary.departures += self._departures(gone, index, clock)

    def _departures(self, gone: list[Address], index: int, clock: int) -> list[Departure]:
        """Return how far it has read the streams of these members."""
        at = self.channels.positions()
        plain = [(member[0], member[1]) for member in gone]
        return [Departure(member, at.get(member, 0), index, clock) for member in plain]

    def _cut(self, index: int, clock: int) -> Cut:
        """Return how far it has read the streams of its view."""
        at = self.channels.positions()
        members = sorted({(member[0], member[1]) for member in self.me.members})
        read = tuple((*plain, at[plain]) for plain in members if at.get(plain))
        return Cut(self.me.view, index, clock, read, self.summary.multicast)

    def left(self, view: int, bundles: dict[str, int]) -> None:
        """Note how many messages went each way in a view, up to these numbers."""
        self.summary.tally |= self._new_bundles(view, bundles)
        self.bundles = bundles

    def _new_bundles(self, view: int, bundles: dict[str, int]) -> dict[str, int]:
        new = {what: count - self.bundles.get(what, 0) for what, count in bundles.items()}
        return {what.format(view): count for what, count in new.items() if count}

    def so_far(self, *, whole: bool = True) -> Summary:
        """Return the summary as if the file ended here; not `whole`: without the deliveries."""
        known, me = self.summary, self.me
        summary = msgspec.structs.replace(
            known,
            findings=list(known.findings),
            views=list(known.views),
            departures=list(known.departures),
            cuts=list(known.cuts),
            merged=list(known.merged),
            tally=dict(known.tally),
            status=me.status,
            view=me.view,
            seqno=self.last_seqno,
            written=self.channels.written(),
        )
        if handlers.running(me):
            others = [member for member in me.members if member != self.mine]
            summary.departures += self._departures(others, 0, 0)
            summary.cuts.append(self._cut(0, 0))
            summary.tally |= self._new_bundles(me.view, self.channels.bundles())
        if not whole:
            return summary
        summary.addresses = list(self.rows.codes)
        summary.view_starts = list(self.rows.view_starts)
        summary.said = [
            Statement(VIEW, each.index, view(each.view, each.members, by=each.by))
            for each in known.views
        ]
        for number, count in self.rows.by_view().items():
            summary.tally[f"delivered {number}"] = count
        summary.delivered = self.rows.packed()
        return summary


def _first_view(initial: Any) -> ViewRecord | None:
    """Return a founder's first view; raise ShapeError if the header's is none."""
    try:
        return msgspec.convert(initial, ViewRecord | None)
    except msgspec.ValidationError as error:
        raise ShapeError(f"initial: {error}") from error
