"""The asyncio shell around one stack: sockets and the clock on one side, reports on the other.

Every input runs the stack once and then settles: transmit what is pending, pass reports on, wake
who waits, re-arm the one timer. All decisions are the stack's; nothing here knows a protocol.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from time import monotonic

from .flush_events import LatchOpened
from .reports import Dropped, Left, Report, Suspected
from .stack import Stack
from .tracing import TraceWriter
from .transport import Datagrams, Transport
from .waiting import TURN, Signal

_log = logging.getLogger("raincheck")


class Driver:
    """Runs a stack over a transport on the current event loop."""

    def __init__(
        self,
        stack: Stack,
        transport: Transport,
        report: Callable[[Report], None],
        writer: TraceWriter | None = None,
    ) -> None:
        self.stack = stack
        self.transport = transport
        self.settled = Signal()
        """Fires whenever the stack may have changed and somebody waits for a change."""
        self._report = report
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._armed = float("inf")
        self._soon: asyncio.Handle | None = None
        self._soon_since = 0.0
        self._closed = False

    def start(self) -> None:
        """Begin to receive, and let the stack join or found its group."""
        self.transport.start(self._received)
        self._run(self.stack.start)

    def send(self, payloads: Sequence[bytes]) -> int:
        """Hand payloads to the stack, which takes as many of the first ones as it has room for.

        Nothing leaves before the caller yields to the loop; then all of it leaves together.
        """
        taken = self.stack.send_many(payloads)
        self.flush_soon()
        return taken

    def flush_soon(self) -> None:
        """Flush the stack once the loop's present round is over."""
        if self._soon is None and not self._closed:
            self._soon = self._loop.call_soon(self._flush)
            self._soon_since = monotonic()

    @property
    def kept_waiting(self) -> bool:
        """Whether the loop's present round has lasted so long that a sender should let go of it."""
        return self._soon is not None and monotonic() - self._soon_since > TURN

    @property
    def counters(self) -> dict[str, int]:
        """The stack's and, as transport.*, the transport's; and what the trace lacks."""
        counters = dict(self.stack.counters)
        for name, value in self.transport.counters.items():
            counters[f"transport.{name}"] = value
        counters["trace.lost"] = 0 if self._writer is None else self._writer.lost
        return counters

    def run(self, step: Callable[[float], None]) -> None:
        """Do something to the stack at this time, and what follows from it."""

        def stepped(now: float) -> None:
            step(now)
            self.stack.flush(now)

        self._run(stepped)

    def release(self) -> None:
        """Have the stack deliver again."""
        self._run(self.stack.release)

    def missing(self) -> list[str]:
        """Name the members whom something waits for, and what it is."""
        return [
            f"{member} {what}" for member, what in self.stack.missing(self._loop.time()).items()
        ]

    def leave(self) -> None:
        """Begin the graceful leave; the report Left ends it."""
        self._run(self.stack.leave)

    async def close(self) -> None:
        """Release timer and sockets; the stack is not run again."""
        self._closed = True
        for handle in (self._timer, self._soon):
            if handle is not None:
                handle.cancel()
        self._timer = self._soon = None
        try:
            await self.transport.close()
        finally:
            if self._writer is not None:
                self._writer.close()
            self.settled.fire()

    def _received(self, datagrams: Datagrams) -> None:
        self._run(lambda now: self.stack.receive(datagrams, now))

    def _flush(self) -> None:
        self._soon = None
        self._run(self.stack.flush)

    def _fired(self) -> None:
        self._timer = None
        self._armed = float("inf")
        self._run(self.stack.handle_timer)

    def _run(self, step: Callable[[float], None]) -> None:
        """Give the stack one input and settle."""
        if self._closed:
            return
        try:
            step(self._loop.time())
            self._settle()
        except Exception as problem:  # noqa: BLE001 (a defect must not be met once per datagram)
            self._fail(problem)

    def _settle(self) -> None:
        stack, transport = self.stack, self.transport
        for out in stack.poll_datagrams():
            if out.multicast:
                transport.multicast(out.data, out.to)
            elif out.to:
                transport.send(out.data, out.to[0])
            else:
                transport.broadcast(out.data)
        for report in stack.poll_reports():
            if isinstance(report, Dropped):
                host, port = report.sender
                _log.warning(
                    "dropped %d datagrams, the last from %s:%d: %s %s",
                    report.times, host, port, report.reason, report.detail,
                )  # fmt: skip
            elif isinstance(report, Suspected):
                _log.warning("%s suspects %s: %s", stack.address, report.member, report.why)
            elif isinstance(report, LatchOpened):
                _log.warning(
                    "%s goes on without the others (open_latch_after), which may cost virtual "
                    "synchrony; it waited for %s",
                    stack.address,
                    ", ".join(f"{member} {what}" for member, what in report.waiting),
                )
            self._report(report)
        deadline = stack.deadline()
        if deadline is not None and deadline < self._armed:
            # An earlier timer is left to fire for nothing: cheaper than a new one per datagram.
            if self._timer is not None:
                self._timer.cancel()
            self._armed = deadline
            self._timer = self._loop.call_at(deadline, self._fired)
        self.settled.fire()

    def _fail(self, problem: Exception) -> None:
        _log.error("member %s stops: a defect in the stack", self.stack.address, exc_info=problem)
        self._closed = True
        self.transport.start(lambda _: None)
        self._report(Left(f"{self.stack.address} stopped at a defect in the stack: {problem!r}"))
        self.settled.fire()
