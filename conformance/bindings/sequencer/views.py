"""The events of SEQUENCER by which a member joins, changes its view, and ends."""

from raincheck.conformance.trace.columns import Columns
from raincheck.conformance.trace.events import Event
from raincheck.conformance.trace.records import Header
from raincheck.conformance.trace.sequencer.rows import Rows
from raincheck.conformance.trace.sequencer.summary import Installed, Summary
from raincheck.model.machine.runs import Address
from raincheck.model.sequencer import handlers

from .follower import Follower
from .records import RunPlace, Wrong, differs, lacking, run_row


class ViewFollower(Follower):
    """Follows a member from view to view."""

    __slots__ = ("early_crcs",)

    def __init__(self, header: Header, summary: Summary, rows: Rows, columns: Columns) -> None:
        super().__init__(header, summary, rows, columns)
        self.early_crcs: dict[RunPlace, int | None] = {}
        """The CRCs of the FORWARDs that wait for their view, which the model keeps without payload.
        """

    def _install_view(self, event: Event) -> Wrong | None:
        args, old = event.args, self.me
        if args.view is None or not args.members:
            return lacking(event, "args.view, args.members")
        members = tuple(Address(*member) for member in args.members)
        crcs = [
            self.early_crcs.get(run_row(early.messages))
            for early in old.early
            if early.view == args.view and handlers.may_forward(self.rules, early, members)
        ]
        has = self.channels.positions().get(args.members[0], 0)
        answer = handlers.install_view(self.rules, old, args.view, members, has)
        cut, bundles = self._cut(event.index, event.clock), self.channels.bundles()
        wrong = self._plain(event, answer, tuple(crcs))
        if wrong is None:
            self.summary.cuts.append(cut)
            self.left(old.view, bundles)
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
        self.reading = None
        for node, life, at in args.digest:
            self.channels.stream(("DATA", node, life)).count = at
        has = self.channels.positions().get(args.members[0], 0)
        answer = handlers.join(self.rules, self.me, args.view, members, table, has)
        wrong = self._plain(event, answer, (), old)
        if wrong is None:
            index, clock = event.index, event.clock
            self.summary.views.append(Installed(args.view, args.members, index, clock))
            digest = tuple(row for row in sorted(args.digest) if row[2] and row[:2] in args.members)
            cut = (args.table or (), digest)
            self.channels.admitted(args.members[0], args.view, cut, index, clock)
        return wrong

    def _end(self, event: Event, answer: handlers.Answer) -> Wrong | None:
        old = self.channels.positions()
        cut = self._cut(0, 0) if handlers.running(self.me) else None
        view, bundles = self.me.view, self.channels.bundles()
        self.channels.rewind()
        wrong = self._plain(event, answer, (), old)
        if wrong is None:
            self.summary.stopped = event.action == "Stop"
            self.summary.cuts += [cut] if cut is not None else []
            self.left(view, bundles)
            self.channels.streams.clear()
            self.reading = None
        return wrong

    def _resend(self, event: Event) -> Wrong | None:
        place = event.args.messages
        if place is None:
            return lacking(event, "args.messages")
        low = self.me.resend[0][0] if self.me.resend else place[2]
        if place[:3] != (*self.plain, low):
            return differs("args.messages", (*self.plain, low, place[3]), place)
        return self._plain(event, handlers.resend(self.rules, self.me, place[3]))
