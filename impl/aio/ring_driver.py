"""The asyncio shell around one member of a ring: its state file, and whose turn an input is.

What must not be forgotten is written down before anything is sent. An input that comes from within
a report waits until that report is dealt with.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from raincheck.impl.asking.desk import Desk
from raincheck.impl.clients.desk import ClientDesk
from raincheck.impl.clients.wire import MAGIC as CLIENT
from raincheck.impl.messages import Address, shown
from raincheck.impl.recording.raincore import RingTrace
from raincheck.impl.ring.node import RingNode
from raincheck.impl.ring.reports import Committed, RingReport, StateChanged
from raincheck.impl.ring.start_wire import MAGIC as START
from raincheck.impl.ring.starter import Starter
from raincheck.impl.ring.state_file import StateNotKept
from raincheck.impl.ring.views import RingView
from raincheck.impl.stack.reports import Dropped, Left
from raincheck.impl.transport.contract import Datagrams, Transport

from .shell import Shell
from .status import History

_log = logging.getLogger("raincheck")


class RingDriver(Shell[RingReport]):
    """Runs a node over a transport on the current event loop."""

    def __init__(
        self,
        node: RingNode,
        transport: Transport,
        report: Callable[[RingReport], None],
        keep: Callable[[bytes, bool], None] | None,
        starter: Starter,
        desk: Desk | None = None,
        trace: RingTrace | None = None,
    ) -> None:
        """`keep` saves the node's state, and whether clients may have locks by it, or raises
        StateNotKept; None: it is not saved. `starter` answers those that start.
        """
        super().__init__(node, transport, report, soon=node.handle_timer, desk=desk, trace=trace)
        self.node = node
        self._ring_trace = trace
        self.clients: ClientDesk | None = None
        """The desk that serves clients, while there is one."""
        self.history = History()
        """The views that it has committed."""
        self._members = node.members
        self._back = node.core.up == "down"
        self._begins = "has joined" if node.contacts else "has founded"
        self._keep = keep
        self._state: bytes | None = None  # the last one that was saved
        self._lends = False  # what was saved with it
        self._starter = starter
        self._steps: deque[Callable[[float], None]] = deque()
        self._running = False

    def start(self) -> None:
        if self._back:  # there need not be another view that says so
            self._begins = ""
            here, view = shown(self.transport.endpoint), RingView(self.node.view, self._members)
            _log.info("%s is back in ring %r at %s: %s", self.address, self._ring, here, view)
        self._starter.start(self.now)
        super().start()

    @property
    def counters(self) -> dict[str, int]:
        clients = {} if self.clients is None else self.clients.counters
        return super().counters | self._starter.counters | clients

    def run(self, step: Callable[[float], None]) -> None:
        """Give the node one input and settle; an input from within a report waits for its end."""
        self._run(step)

    def _run(self, step: Callable[[float], None]) -> None:
        self._steps.append(step)
        if self._running:
            return
        self._running = True
        try:
            while self._steps and not self._closed:
                self._steps.popleft()(self._loop.time())
                self._settle()
        except StateNotKept as problem:
            self.stop(f"{self.address} has stopped: {problem}", problem)
        except Exception as problem:  # noqa: BLE001 (a defect must not be met once per datagram)
            _log.error("member %s stops: a defect", self.address, exc_info=problem)
            self.stop(f"{self.address} has stopped: a defect in the ring: {problem!r}", problem)
        finally:
            self._running = False
            self._steps.clear()
            self._write_soon()

    def stop(self, reason: str, cause: BaseException | None = None) -> None:
        """Stop for good; a trace does not claim to have what the member could not do."""
        if self._ring_trace is not None:
            self._ring_trace.abandon()
        super().stop(reason, cause)

    def _received(self, datagrams: Datagrams) -> None:
        starts = [each for each in datagrams if each[0][:2] == START]
        if starts:
            datagrams = [each for each in datagrams if each[0][:2] != START]
            self._run(lambda now: self._starter.receive(starts, now))
        clients = [each for each in datagrams if each[0][:2] == CLIENT]
        if clients:
            datagrams = [each for each in datagrams if each[0][:2] != CLIENT]
            self._run(lambda now: self._hear_clients(clients, now))
        if datagrams and not self._closed:
            super()._received(datagrams)

    def _hear_clients(self, datagrams: Datagrams, now: float) -> None:
        if self.clients is not None:
            for datagram, source in datagrams:
                self.clients.receive(datagram, source, now)

    def _serve_clients(self) -> float | None:
        """Tell clients what is new; return when the desk has something to do again."""
        desk = self.clients
        if desk is None:
            return None
        desk.handle_timer(self.now)
        desk.look(self.now)
        for data, to in desk.poll_datagrams():
            self.transport.send(data, to)
        for dropped in desk.poll_dropped():
            self._warn_of(dropped)
        return desk.deadline()

    def _ask(self) -> float | None:
        """Send what the starter has to say; return when it is to ask again."""
        starter = self._starter
        starter.handle_timer(self.now)
        for data, to in starter.poll_datagrams():
            self.transport.send(data, to)
        for dropped in starter.poll_dropped():
            self._warn_of(dropped)
        return starter.deadline()

    def _settle(self) -> None:
        node = self.node
        self._save()
        for data, to in node.poll_datagrams():
            self.transport.send(data, to)
        for report in node.poll_reports():
            if isinstance(report, Dropped):
                self._warn_of(report)
            elif isinstance(report, Committed):
                self._log_view(report)
            elif isinstance(report, StateChanged):
                self._log_state(report)
            elif isinstance(report, Left):
                self._log_end(report)
            self._report(report)
        dues = (node.deadline(), self._ask(), self._serve_clients())
        self._arm(min([each for each in dues if each is not None], default=None))
        self._settled()

    def _save(self) -> None:
        """Write down what must not be forgotten: the node's state, and that clients may have locks
        by this process. A client that is told of a lock has asked for it before.
        """
        if self._keep is None:
            return
        state = self.node.kept_state()
        lends = self.clients is not None and not self.clients.empty
        if state is None and lends == self._lends:
            return
        self._state, self._lends = state or self._state, lends
        if self._state is not None:
            self._keep(self._state, lends)

    def _log_view(self, report: Committed) -> None:
        """Log how this life goes on: founded, joined, come back, or another view."""
        members, before = report.members, self._members
        left = [(member, self._why(member)) for member in before if member not in members]
        past = self.history.add(self.now, report.at, members, left)
        self._members = members
        did, self._begins = self._begins or "is in", ""
        place = f" at {shown(self.transport.endpoint)}" if did != "is in" else ""
        view = RingView(report.at, members)
        _log.info("%s %s ring %r%s: %s", self.address, did, self._ring, place, f"{view}{past.news}")

    def _why(self, member: Address) -> str:
        """Return why a member is no longer in the view, as far as this one can know."""
        if self.node.manager.peers.has_failed(member):
            return "it did not answer"
        return "it left, or did not answer another member"

    def _log_state(self, report: StateChanged) -> None:
        if report.token_state == "starving":
            waits = "; ".join(self.missing()) or "nobody"
            _log.warning(
                "%s has not had the token of ring %r for so long that it asks for it; it waits "
                "for: %s", self.address, self._ring, waits,
            )  # fmt: skip

    def _log_end(self, left: Left) -> None:
        why = f": {left.reason}" if left.reason else ""
        _log.info("%s is out of ring %r%s", self.address, self._ring, why)

    @property
    def _ring(self) -> str:
        return self.node.config.ring
