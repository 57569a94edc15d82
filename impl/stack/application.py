"""The top of a stack: reports for the application, and its wish to leave.

A member leaves in good order, one step after another: what it was given to send is handed to the
layers, it sequences nothing more, its last messages are delivered and acknowledged, and it stops.
Then it says Leaving to the others, again and again, until one answers with Excluded: that one has a
view without it. If nobody answers for as long as a suspicion takes, the others will find out by
themselves.

An application that has had deliveries held, and then takes nothing for `application_timeout`, lets
views and other members' sends wait for it: its member leaves, as if it had crashed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from raincheck.impl.messages import Address, Batch
from raincheck.impl.sequencer.events import Deliver, Leave, Stop
from raincheck.impl.wire.headers import Lane, Leaving

from .layer import Ground, Layer
from .merged import shown
from .passing import Drain, Found, Install, Joined
from .reports import ViewInstalled
from .timers import NEVER

_NO_LIMIT = 1 << 62
_PAUSE = "reports"
"""The word for what holds deliveries until the shell has taken the reports."""


class Application(Layer):
    """The topmost layer."""

    statuses = ("joining", "member", "leaving", "stopped")

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.leaving = False
        """Whether the application wants to leave."""
        self.idle: Callable[[], float] = lambda: float("inf")
        """Returns for how many seconds the application has not taken what waits for it."""
        self.room: Callable[[], int] = lambda: _NO_LIMIT
        """Returns how many bytes of messages the application has room for."""
        self._unread = 0  # bytes of messages reported, and not taken by the shell yet
        self._hung_at = NEVER  # when it has let deliveries be held for too long
        self._others: Sequence[Address] = ()
        self._say_at = NEVER
        self._until = NEVER

    def up(self, event: Any, now: float) -> None:
        """Report deliveries and views; ignore other events."""
        del now
        match event:
            case Deliver(messages, view, payloads):
                self.ground.reports.append(Batch(messages, view, payloads))
                self._unread += payloads.size
                if self._unread >= self.room():
                    self.ground.holding.add(_PAUSE)
            case Found() | Joined() | Install():
                placed = event.rsp.placed if isinstance(event, Joined) else event.placed
                departures = event.departures if isinstance(event, Install) else ()
                self.ground.reports.append(ViewInstalled(shown(placed), departures))

    def waits(self, lane: Lane) -> None:
        """Ignore it: this stack has no layer that pulls that lane."""

    @property
    def pausing(self) -> bool:
        """Whether deliveries are held because the reports fill the application's room."""
        return _PAUSE in self.ground.holding

    def taken(self) -> None:
        """Note that the shell has taken all reports."""
        self._unread = 0

    def go_on(self) -> None:
        """Resume deliveries; the shell holds them itself if need be."""
        self.ground.holding.discard(_PAUSE)

    def hold(self, now: float) -> None:
        """Note that deliveries are held until the application has taken what waits for it."""
        self.ground.holding.add("application")
        self._hung_at = now + self.config.application_timeout

    def release(self) -> None:
        """Note that the application has room again."""
        self.ground.holding.discard("application")
        self._hung_at = NEVER

    def leave(self) -> None:
        """Begin to leave."""
        self.leaving = self.stirred = True

    def step(self, now: float) -> bool:
        """Take the next step of leaving, once no layer below has a step to take."""
        membership = self.membership
        self.stirred = self.leaving
        if not self.leaving or membership.excluded:
            return False
        if membership.status == "joining":
            self.ground.out("")
        elif membership.status == "member" and not self.ground.unsent():
            self.below.down(Leave(), now)
            membership.become("leaving")
            return True
        elif membership.status == "leaving":
            self.below.down(Drain(), now)
            if self.ground.drained():
                self.below.down(Stop(), now)
                membership.become("stopped")
                self._say_goodbye(now)
        return False

    def _look(self, now: float) -> None:
        """Leave if the application has taken nothing for too long."""
        patience = self.config.application_timeout
        idle = self.idle()
        if idle < patience:
            self._hung_at = now + patience - idle
        else:
            self.counters["application_hung"] += 1
            self.ground.hung("has taken none of the messages that fill its inbox")

    # ------------------------------------------------------------------ after the last step

    def _say_goodbye(self, now: float) -> None:
        self._others = self.membership.others
        if self._others:
            self._until = now + self.config.suspect_after
            self._say_at = now
            self.handle_timer(now)
        else:
            self.ground.out("")

    def deadline(self) -> float:
        if self.membership.over:
            return self._say_at if self.membership.status == "stopped" else NEVER
        return self._hung_at

    def handle_timer(self, now: float) -> None:
        if now < self.deadline():
            return
        if self.membership.status != "stopped":
            self._look(now)
            return
        if now >= self._until:
            self.ground.out("")
            return
        self.outbox.multicast(self.outbox.encode(Leaving(self.me)), self._others)
        self._say_at = now + self.config.retransmit_after
