"""The asyncio shell around one stack: what it sends, logs and reports, and its trace."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from time import monotonic

from raincheck.impl.asking.desk import Desk
from raincheck.impl.flush.events import LatchOpened
from raincheck.impl.messages import View, shown
from raincheck.impl.stack.reports import (
    Dropped,
    Left,
    OtherGroup,
    PrimaryChange,
    Report,
    Suspected,
    ViewInstalled,
)
from raincheck.impl.stack.stack import Stack
from raincheck.impl.transport.contract import Transport

from .events import view_change
from .gathering import IDLE, Gathering
from .shell import Shell, Trace

_log = logging.getLogger("raincheck")


class Driver(Shell[Report]):
    """Runs a stack over a transport on the current event loop."""

    def __init__(
        self,
        stack: Stack,
        transport: Transport,
        report: Callable[[Report], None],
        trace: Trace | None = None,
        desk: Desk | None = None,
    ) -> None:
        super().__init__(stack, transport, report, soon=stack.flush, desk=desk, trace=trace)
        self.stack = stack
        self._gathering = Gathering()
        self._wanted = False  # a run, since the last one
        self._left_at = 0.0  # when the last one was
        self._running = False
        stack.tells_refused(lambda: transport.refused)
        stack.tells_ready(self._transmit)

    def send(self, payloads: Sequence[bytes]) -> int:
        """Hand payloads to the stack, which takes as many of the first ones as it has room for."""
        taken = self.stack.send_many(payloads)
        self.run_soon()
        return taken

    def send_unordered(self, payloads: Sequence[bytes]) -> int:
        """The same, without places in the order of all."""
        taken = self.stack.send_unordered(payloads)
        self.run_soon()
        return taken

    def run_soon(self) -> None:
        """Run the stack now if it has not been for a moment, else when the loop's round is over.

        Under load what the next rounds bring is waited for, too, up to a bundle (`gathering.py`).
        """
        self._wanted = True
        idle = self._soon is None and monotonic() - self._left_at > IDLE and not self._running
        if idle:
            self._run_wanted()
            self._gathering.left(self.stack.added)
        else:
            self._look_later()

    @property
    def runs_soon(self) -> bool:
        """Whether the stack will be run when this round of the loop, or one soon, is over."""
        return self._wanted and self._soon is not None

    def _look_later(self) -> None:
        if self._soon is None and not self._closed:
            self._soon = self._loop.call_soon(self._fired_soon)
            self._soon_since = monotonic()

    def _fired_soon(self) -> None:
        self._soon = None
        stack, gathering = self.stack, self._gathering
        waited = stack.gathering
        now = monotonic()
        stack.gathering = gathering.waits(stack.added, now)
        if stack.gathering:
            self._look_later()
            if stack.bundled:
                gathering.begin(now)
                self._run(self._step_soon)
        elif gathering.grew or waited or self._wanted:
            self._run_wanted()
            self._look_later()

    def _run_wanted(self) -> None:
        self._wanted = False
        self._left_at = monotonic()
        self._run(self._step_soon)

    def run(self, step: Callable[[float], None]) -> None:
        """Give the stack one input, and take the steps that follow."""

        def stepped(now: float) -> None:
            step(now)
            self.stack.flush(now)

        self._run(stepped)

    def hold(self) -> None:
        """Hold the stack's deliveries; called by what takes its reports."""
        self.stack.hold(self._loop.time())

    def release(self) -> None:
        """Resume the stack's deliveries."""
        self._run(self.stack.release)

    def leave(self) -> None:
        """Begin the graceful leave; the report Left ends it."""
        self._run(self.stack.leave)

    def _run(self, step: Callable[[float], None]) -> None:
        if self._closed:
            return
        self._running = True
        try:
            step(self._loop.time())
            self._settle()
            while self.stack.pausing and not self._closed:
                self.stack.go_on(self._loop.time())
                self._settle()
        except Exception as problem:  # noqa: BLE001 (a defect must not be met once per datagram)
            me = self.address
            _log.error("member %s stops: a defect in the stack", me, exc_info=problem)
            self.stop(f"{me} stopped at a defect in the stack: {problem!r}", problem)
        finally:
            self._running = False
            self._write_soon()

    def _say_if_alone(self, view: View) -> None:
        """Warn of a group that was founded although there is somebody to ask."""
        config = self.stack.config
        asked = ", ".join(map(shown, config.initial_hosts))
        if asked and view.members == (self.stack.address,) and view.id.counter == 1:
            _log.warning(
                "%s has found nobody at %s and founds its own group; if there is one already, "
                "check that it has transport %r too and that datagrams pass both ways",
                self.stack.address, asked, self.transport.name,
            )  # fmt: skip

    def _log_view(self, report: ViewInstalled) -> None:
        """Log how this life goes on: founded, joined, or another view and why."""
        me, group, view = self.address, self.stack.config.cluster, report.view
        if view.id.counter == 1:
            did = "has founded"
        elif me in view.joiners:
            did = "has joined"
        else:
            did = "is in"
        place = f" at {shown(self.transport.endpoint)}" if did != "is in" else ""
        _log.info("%s %s group %r%s: %s", me, did, group, place, view_change(report))

    def _log_primary(self, change: PrimaryChange) -> None:
        me, view = self.address, change.view
        if change.primary:
            _log.info("%s: %s is primary, the %d. of its history", me, view, change.number)
        else:
            _log.warning("%s: %s is not primary: %s", me, view, change.why)

    def _log_end(self, left: Left) -> None:
        group = self.stack.config.cluster
        why = f": {left.reason}" if left.reason else ""
        _log.info("%s is out of group %r%s", self.address, group, why)

    def _transmit(self) -> None:
        transport = self.transport
        for out in self.stack.poll_datagrams():
            if out.multicast:
                transport.multicast(out.data, out.to)
            elif out.to:
                transport.send(out.data, out.to[0])
            else:
                transport.broadcast(out.data)

    def _settle(self) -> None:
        stack = self.stack
        self._transmit()
        for report in stack.poll_reports():
            if isinstance(report, Dropped):
                self._warn_of(report)
            elif isinstance(report, Suspected):
                _log.warning("%s suspects %s: %s", stack.address, report.member, report.why)
            elif isinstance(report, OtherGroup):
                _log.warning(
                    "there is another group %r, %s, met by %s at %s, which does not know this "
                    "one and is smaller; restart its members with this one's in initial_hosts",
                    stack.config.cluster, report.view, stack.address, shown(report.endpoint),
                )  # fmt: skip
            elif isinstance(report, LatchOpened):
                _log.warning(
                    "%s goes on without the others (open_latch_after), which may cost virtual "
                    "synchrony; it waited for %s",
                    stack.address,
                    ", ".join(f"{member} {what}" for member, what in report.waiting),
                )
            elif isinstance(report, ViewInstalled):
                self._say_if_alone(report.view)
                self._log_view(report)
            elif isinstance(report, PrimaryChange):
                self._log_primary(report)
            elif isinstance(report, Left):  # it neither listens nor talks any more
                self._log_end(report)
                self.halt()
            self._report(report)
        if not self._closed:
            self._arm(stack.deadline())
        self._settled()
