"""The asyncio shell around one member of a ring: sockets, clock and state file.

Every input runs the node once and then settles: write down what must not be forgotten, transmit
what is pending, pass reports on, wake who waits, re-arm the one timer. All decisions are the
node's; nothing here knows the protocol.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from time import monotonic

from .raincore_node import RingNode
from .reports import Dropped, Left
from .ring_reports import RingReport
from .ring_state_file import StateNotKept
from .transport import Datagrams, Transport
from .waiting import TURN, Signal

_log = logging.getLogger("raincheck")


class RingDriver:
    """Runs a node over a transport on the current event loop."""

    def __init__(
        self,
        node: RingNode,
        transport: Transport,
        report: Callable[[RingReport], None],
        keep: Callable[[bytes], None] | None,
    ) -> None:
        """`keep` writes the node's state down, or raises StateNotKept; None: nobody does."""
        self.node = node
        self.transport = transport
        self.settled = Signal()
        """Fires whenever the node may have changed and somebody waits for a change."""
        self.on_settled: Callable[[], None] = lambda: None
        """Called whenever the node may have changed, before those who wait for it are woken."""
        self._report = report
        self._keep = keep
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._armed = float("inf")
        self._soon: asyncio.Handle | None = None
        self._soon_since = 0.0
        self._steps: deque[Callable[[float], None]] = deque()
        self._running = False
        self._closed = False

    def start(self) -> None:
        """Begin to receive, and let the node found, join or come back to its ring."""
        self.transport.start(self._received)
        self.run(self.node.start)

    @property
    def counters(self) -> dict[str, int]:
        """The node's and, as transport.*, the transport's."""
        counters = dict(self.node.counters)
        for name, value in self.transport.counters.items():
            counters[f"transport.{name}"] = value
        return counters

    def missing(self) -> list[str]:
        """Name those whom something waits for, and what it is."""
        waits = self.node.missing(self._loop.time())
        return [f"{whom} {what}" for whom, what in waits.items()]

    def run(self, step: Callable[[float], None]) -> None:
        """Give the node one input and settle; from within a report, once that is dealt with."""
        self._steps.append(step)
        if self._running:
            return
        self._running = True
        try:
            while self._steps and not self._closed:
                self._steps.popleft()(self._loop.time())
                self._settle()
        except StateNotKept as problem:
            self._fail(str(problem))
        except Exception as problem:  # noqa: BLE001 (a defect must not be met once per datagram)
            _log.error("member %s stops: a defect", self.node.address, exc_info=problem)
            self._fail(f"a defect in the ring: {problem!r}")
        finally:
            self._running = False
            self._steps.clear()

    def now(self) -> float:
        """The time that the node knows."""
        return self._loop.time()

    def run_soon(self) -> None:
        """Settle once the loop's present round is over."""
        if self._soon is None and not self._closed:
            self._soon = self._loop.call_soon(self._fired_soon)
            self._soon_since = monotonic()

    @property
    def kept_waiting(self) -> bool:
        """Whether the loop's present round has lasted so long that a sender should let go of it."""
        return self._soon is not None and monotonic() - self._soon_since > TURN

    async def close(self) -> None:
        """Release timer and sockets; the node is not run again."""
        self._closed = True
        for handle in (self._timer, self._soon):
            if handle is not None:
                handle.cancel()
        self._timer = self._soon = None
        try:
            await self.transport.close()
        finally:
            self.settled.fire()

    def _received(self, datagrams: Datagrams) -> None:
        self.run(lambda now: self.node.receive(datagrams, now))

    def _fired(self) -> None:
        self._timer = None
        self._armed = float("inf")
        self.run(self.node.handle_timer)

    def _fired_soon(self) -> None:
        self._soon = None
        self.run(self.node.handle_timer)

    def _settle(self) -> None:
        node = self.node
        if self._keep is not None and (state := node.kept_state()) is not None:
            self._keep(state)
        for data, to in node.poll_datagrams():
            self.transport.send(data, to)
        for report in node.poll_reports():
            if isinstance(report, Dropped):
                host, port = report.sender
                _log.warning(
                    "dropped %d datagrams, the last from %s:%d: %s %s",
                    report.times, host, port, report.reason, report.detail,
                )  # fmt: skip
            self._report(report)
        deadline = node.deadline()
        if deadline is not None and deadline < self._armed:
            # An earlier timer is left to fire for nothing: cheaper than a new one per datagram.
            if self._timer is not None:
                self._timer.cancel()
            self._armed = deadline
            self._timer = self._loop.call_at(deadline, self._fired)
        self._settled()

    def _fail(self, reason: str) -> None:
        """Stop for good: what was not written down must not be sent."""
        self._closed = True
        self.transport.start(lambda _: None)
        self._report(Left(f"{self.node.address} has stopped: {reason}"))
        self._settled()

    def _settled(self) -> None:
        self.on_settled()
        self.settled.fire()
