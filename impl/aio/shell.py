"""The parts that the asyncio shells around a stack and around a ring's node share.

Every input runs the core once and then settles: transmit what is pending, pass reports on, wake
who waits, re-arm the one timer. All decisions are the core's; nothing here knows a protocol.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Generic, Protocol, TypeVar

from raincheck.impl.asking.desk import Desk
from raincheck.impl.asking.wire import MAGIC
from raincheck.impl.messages import Address, shown
from raincheck.impl.stack.reports import Dropped, Left
from raincheck.impl.transport.contract import Datagrams, Transport

from .waiting import TURN, Signal, check_loop

_log = logging.getLogger("raincheck")
R = TypeVar("R")
WRITTEN_WITHIN = 0.1
"""Seconds after which a record of the trace is written, or sent, at the latest."""


class Core(Protocol):
    """The interface of a stack or node to its shell; times are the loop's, in seconds."""

    address: Address

    @property
    def counters(self) -> Mapping[str, int]: ...

    def start(self, now: float) -> None: ...

    def receive(self, datagrams: Datagrams, now: float) -> None: ...

    def handle_timer(self, now: float) -> None: ...

    def missing(self, now: float) -> Mapping[Address, str] | Mapping[str, str]: ...


class Trace(Protocol):
    """Where the records of a core go."""

    @property
    def lost(self) -> int:
        """How many were not written, or not sent."""

    @property
    def pending(self) -> bool:
        """Whether some are still to be written or sent."""

    def flush(self) -> None:
        """Write them, or send what the reader takes now."""

    def close(self) -> None:
        """Write what is left, and no more."""


class Shell(ABC, Generic[R]):
    """Runs a core over a transport on the current event loop; `R` is what the core reports."""

    def __init__(
        self,
        core: Core,
        transport: Transport,
        report: Callable[[R | Left], None],
        *,
        soon: Callable[[float], None],
        desk: Desk | None = None,
        trace: Trace | None = None,
    ) -> None:
        """`report` takes the core's reports; `run_soon` makes the core do `soon`; `desk` answers
        live questions; `trace` is what the core's records are written to.
        """
        self.address = core.address
        self.transport = transport
        self.settled = Signal()
        """Fires whenever the core may have changed."""
        self.on_settled: Callable[[], None] = lambda: None
        """Called whenever the core may have changed, before waiting tasks are woken."""
        self._core = core
        self._desk = desk
        self._trace = trace
        self._writing: asyncio.TimerHandle | None = None
        self._report = report
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._armed = float("inf")
        self._step_soon = soon
        self._soon: asyncio.Handle | None = None
        self._soon_since = 0.0
        self._closed = False
        self._began = self._loop.time()

    def start(self) -> None:
        """Start to receive, and start the core."""
        self._began = self._loop.time()
        self.transport.start(self._received)
        self._run(self._core.start)

    def check_loop(self) -> None:
        """Raise Misused on another event loop than the one on which the core runs."""
        check_loop(self._loop)

    @property
    def now(self) -> float:
        """The time, as the core is given it."""
        return self._loop.time()

    @property
    def uptime(self) -> float:
        """Seconds since the core was started."""
        return self._loop.time() - self._began

    @property
    def counters(self) -> dict[str, int]:
        """The core's and, as ask.* and transport.*, the desk's and the transport's; and what the
        trace lacks.
        """
        counters = dict(self._core.counters)
        counters["trace.lost"] = 0 if self._trace is None else self._trace.lost
        if self._desk is not None:
            counters |= self._desk.counters
        for name, value in self.transport.counters.items():
            counters[f"transport.{name}"] = value
        return counters

    def missing(self) -> list[str]:
        """Return whom the core waits for, and for what."""
        waits = self._core.missing(self._loop.time())
        return [f"{whom} {what}" for whom, what in waits.items()]

    def run_soon(self) -> None:
        """Run the core once the loop's present round is over."""
        if self._soon is None and not self._closed:
            self._soon = self._loop.call_soon(self._fired_soon)
            self._soon_since = monotonic()

    @property
    def kept_waiting(self) -> bool:
        """Whether the loop's present round has lasted so long that a sender should yield."""
        return self._soon is not None and monotonic() - self._soon_since > TURN

    async def close(self) -> None:
        """Release timer, sockets and trace; the core is not run again."""
        self.halt()
        try:
            await self.transport.close()
        finally:
            self.settled.fire()
            self.end_trace()

    def end_trace(self) -> None:
        """Close the trace."""
        if self._writing is not None:
            self._writing.cancel()
        if self._trace is not None:
            self._trace.close()

    def _write_soon(self) -> None:
        """Let who follows the trace have what it lacks, a moment from now."""
        if self._trace is not None and self._writing is None and self._trace.pending:
            self._writing = self._loop.call_later(WRITTEN_WITHIN, self._write)

    def _write(self) -> None:
        self._writing = None
        if self._trace is not None:
            self._trace.flush()
            self._write_soon()

    @abstractmethod
    def _run(self, step: Callable[[float], None]) -> None:
        """Give the core one input and settle, unless closed."""

    def _received(self, datagrams: Datagrams) -> None:
        questions: Datagrams = []
        if self._desk is not None:
            # Inline, for there are many datagrams, and hardly ever a question.
            questions = [each for each in datagrams if each[0][:2] == MAGIC]
            if questions:
                datagrams = [each for each in datagrams if each[0][:2] != MAGIC]
        if datagrams:
            self._run(lambda now: self._core.receive(datagrams, now))
        if questions and not self._closed:
            self._answer(questions)

    def _answer(self, questions: Datagrams) -> None:
        """Answer live questions; the core has no part in it."""
        desk, now = self._desk, self._loop.time()
        assert desk is not None
        for datagram, endpoint in questions:
            desk.receive(datagram, endpoint, now)
        for answer, to in desk.poll_datagrams():
            self.transport.send(answer, to)
        for dropped in desk.poll_dropped():
            self._warn_of(dropped)

    def _fired(self) -> None:
        self._timer = None
        self._armed = float("inf")
        self._run(self._core.handle_timer)

    def _fired_soon(self) -> None:
        self._soon = None
        self._run(self._step_soon)

    def _arm(self, deadline: float | None) -> None:
        """Set the timer to the core's deadline."""
        if deadline is not None and deadline < self._armed:
            # An earlier timer may fire in vain: cheaper than a new one per datagram.
            if self._timer is not None:
                self._timer.cancel()
            self._armed = deadline
            self._timer = self._loop.call_at(deadline, self._fired)

    def _settled(self) -> None:
        """Wake tasks that wait for a change."""
        self.on_settled()
        self.settled.fire()

    def _warn_of(self, dropped: Dropped) -> None:
        _log.warning(
            "dropped %d datagrams, the last from %s: %s %s",
            dropped.times, shown(dropped.sender), dropped.reason, dropped.detail,
        )  # fmt: skip

    def stop(self, reason: str, cause: BaseException | None = None) -> None:
        """Stop for good and say so: nothing is received or sent any more."""
        self.halt()
        self._report(Left(reason, True, cause))
        self._settled()

    def halt(self) -> None:
        """Run the core no more: it neither listens nor talks."""
        self._closed = True
        self.transport.start(lambda _: None)
        for handle in (self._timer, self._soon):
            if handle is not None:
                handle.cancel()
        self._timer = self._soon = None
