"""The asyncio shell around one member of a ring: its state file, and whose turn an input is.

What must not be forgotten is written down before anything is sent. An input that comes from within
a report waits until that report is dealt with.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from raincheck.impl.ring.node import RingNode
from raincheck.impl.ring.reports import RingReport
from raincheck.impl.ring.state_file import StateNotKept
from raincheck.impl.stack.reports import Dropped
from raincheck.impl.transport.contract import Transport

from .shell import Shell

_log = logging.getLogger("raincheck")


class RingDriver(Shell[RingReport]):
    """Runs a node over a transport on the current event loop."""

    def __init__(
        self,
        node: RingNode,
        transport: Transport,
        report: Callable[[RingReport], None],
        keep: Callable[[bytes], None] | None,
    ) -> None:
        """`keep` saves the node's state, or raises StateNotKept; None: it is not saved."""
        super().__init__(node, transport, report, soon=node.handle_timer)
        self.node = node
        self._keep = keep
        self._steps: deque[Callable[[float], None]] = deque()
        self._running = False

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

    def _settle(self) -> None:
        node = self.node
        if self._keep is not None and (state := node.kept_state()) is not None:
            self._keep(state)
        for data, to in node.poll_datagrams():
            self.transport.send(data, to)
        for report in node.poll_reports():
            if isinstance(report, Dropped):
                self._warn_of(report)
            self._report(report)
        self._arm(node.deadline())
        self._settled()
