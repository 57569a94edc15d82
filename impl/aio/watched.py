"""The figures and the status of a channel, for who watches it."""

from __future__ import annotations

from raincheck.impl.messages import shown
from raincheck.impl.wire.datagrams import VERSION

from .connect import ChannelConfig
from .driver import Driver
from .inbox import Inbox
from .metrics import Metrics, events_of
from .sending import Sending
from .status import History, Status


class Watched(Sending):
    """A member of a group that tells how it is."""

    def __init__(self, config: ChannelConfig, driver: Driver, inbox: Inbox) -> None:
        super().__init__(config, driver, inbox)
        self._history = History()

    def metrics(self) -> Metrics:
        """Return the figures of this moment; `Metrics.prometheus` exports them."""
        stack, counters, view = self._stack, self.counters, self._stack.view
        return Metrics(
            group=self._config.cluster,
            member=str(self.address),
            status=stack.status,
            view=view.id.counter if view is not None else 0,
            members=len(view.members) if view is not None else 0,
            coordinator=view is not None and view.coordinator == self.address,
            blocked=stack.blocked,
            pending=stack.pending,
            waiting_for=len(self.missing),
            inbox=counters["inbox.bytes"],
            buffered=stack.buffered(),
            primary=stack.primary and stack.status in ("member", "leaving"),
            sent=counters.get("transport.sent", 0),
            received=counters.get("transport.received", 0),
            events=events_of(counters),
        )

    def status(self) -> Status:
        """Return the status of this moment, as `raincheck.ask` gives it to other processes."""
        view, transport = self._stack.view, self._driver.transport
        return Status(
            kind="group",
            of=self._config.cluster,
            member=str(self.address),
            endpoint=shown(self.endpoint),
            transport=transport.name,
            sealed=transport.sealed,
            status=self._stack.status,
            uptime=self._driver.uptime,
            view=view.id.counter if view is not None else 0,
            coordinator=str(view.coordinator) if view is not None else "",
            members=tuple(
                (str(member), shown(place) if place[1] else "")
                for member, place in self._stack.places(self.endpoint)
            ),
            history=self._history.past(self._driver.now),
            missing=tuple(self.missing),
            suspected=tuple(map(str, self._stack.suspected)),
            wire=VERSION,
            group=self.metrics(),
        )
