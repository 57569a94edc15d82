"""The events of SEQUENCER by which a member joins, changes its view, and ends."""

from raincheck.conformance.trace.columns import Columns
from raincheck.conformance.trace.events import KINDS, Event, MessageId
from raincheck.conformance.trace.records import Header
from raincheck.conformance.trace.sequencer.rows import Rows
from raincheck.conformance.trace.sequencer.summary import Cut, Installed, Merged, Summary
from raincheck.model.machine.runs import Address
from raincheck.model.sequencer import field, handlers
from raincheck.model.sequencer.handlers import Local

from .follower import Follower
from .records import RunPlace, Wrong, differs, lacking, run_row, table_rows


class ViewFollower(Follower):
    """Follows a member from view to view."""

    __slots__ = ("early_crcs", "lives")

    def __init__(self, header: Header, summary: Summary, rows: Rows, columns: Columns) -> None:
        super().__init__(header, summary, rows, columns)
        self.early_crcs: dict[RunPlace, int | None] = {}
        """The CRCs of the FORWARDs that wait for their view, which the model keeps without payload.
        """
        self.lives: dict[str, int] = {}
        """The life of each node whose FORWARDs were read last."""

    def _install_view(self, event: Event) -> Wrong | None:
        args, old = event.args, self.me
        if args.view is None or not args.members:
            return lacking(event, "args.view, args.members")
        if self.merges != (args.by is not None):
            return self._whose(event)
        members = tuple(Address(*member) for member in args.members)
        has = self.channels.positions().get(args.members[0], 0)
        crcs = self._waiting(args.view, members)
        answer = handlers.install_view(self.rules, old, args.view, members, has)
        cut, bundles = self._cut(event.index, event.clock), self.channels.bundles()
        wrong = self._plain(event, answer, crcs)
        if wrong is None:
            self._gone_on(event, old, cut, bundles)
        return wrong

    def _merge(self, event: Event) -> Wrong | None:
        args, old = event.args, self.me
        lacks = args.view is None or not args.members or args.by is None
        if lacks or args.table is None or args.digest is None:
            return lacking(event, "args.view, args.members, args.by, args.table, args.digest")
        assert args.view is not None
        assert args.members is not None
        members = tuple(Address(*member) for member in args.members)
        table = tuple((Address(*row[:2]), row[2]) for row in args.table)
        crcs = self._waiting(args.view, members)
        cut, bundles = self._cut(event.index, event.clock), self.channels.bundles()
        before = self.channels.positions()
        self.reading = None
        for node, life, at in args.digest:
            self.channels.stream(("DATA", node, life)).count = at
        has = self.channels.positions().get(args.members[0], 0)
        answer = field.merge(self.rules, old, args.view, members, table, has)
        wrong = self._plain(event, answer, crcs, before)
        if wrong is None:
            self._gone_on(event, old, cut, bundles)
            read = self.channels.positions()
            places = tuple((*who, read[who]) for who in sorted(args.members) if read.get(who))
            of = table_rows(self.me.received_table)
            called = args.view, args.by
            self.summary.merged.append(Merged(called, event.index, event.clock, of, places))
        return wrong

    def _forwarding(self, received: MessageId) -> str:
        """Return what the channel of FORWARDs from the sender of that one is called now."""
        if self.channels.since is None or len(received) != KINDS["FORWARD"]:
            return "FORWARD"
        return self.channels.forwarding(Address(str(received[1]), int(received[2])))

    def _waiting(self, number: int, members: tuple[Address, ...]) -> tuple[int | None, ...]:
        """Return the CRCs of the FORWARDs that are sequenced with that view."""
        return tuple(
            self.early_crcs.get(run_row(early.messages))
            for early in self.me.early
            if early.view == number and handlers.may_forward(self.rules, early, members)
        )

    def _gone_on(self, event: Event, old: Local, cut: Cut, bundles: dict[str, int]) -> None:
        """Note a view that this member has gone on to, and where it stood before."""
        members, view = self.me.members, self.me.view
        self.summary.cuts.append(cut)
        self.left(old.view, bundles)
        gone = [member for member in old.members if member not in members]
        self._depart(gone, event.index, event.clock)
        self._in_view(event)
        self.channels.met([member for member in members if member not in old.members], view)
        self.early_crcs = {
            run_row(early.messages): self.early_crcs.get(run_row(early.messages))
            for early in self.me.early
        }

    def _whose(self, event: Event) -> Wrong:
        """Return that who decided a view is not said, or is where groups do not merge."""
        return lacking(event, "args.by") if self.merges else differs("args.by", None, event.args.by)

    def _in_view(self, event: Event) -> None:
        """Note the view that the event has installed."""
        args = event.args
        assert args.view is not None
        assert args.members is not None
        place = Installed(args.view, args.members, event.index, event.clock, args.by)
        self.summary.views.append(place)

    def _join(self, event: Event) -> Wrong | None:
        args, received = event.args, event.received
        if received is None or args.view is None or not args.members or args.digest is None:
            return lacking(event, "received, args.view, args.members, args.table, args.digest")
        if self.merges != (args.by is not None):
            return self._whose(event)
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
            self._in_view(event)
            self.channels.met(members, args.view)
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
