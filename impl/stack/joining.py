"""Joining a group: a process asks the hosts it knows, and founds a group if nobody answers.

It sends JoinReq to its initial hosts (and by broadcast, if it may) until JOIN_RSP arrives; a member
that is not the coordinator hints at who is. Processes that start together hear each other's
requests: all but the one with the smallest address then wait for that one to found the group.
"""

from __future__ import annotations

from random import Random
from typing import Any

from raincheck.impl.messages import Address, Endpoint, View, ViewId
from raincheck.impl.wire.headers import JoinHint, JoinReq, PlacedView

from .endpoints import UNKNOWN
from .layer import Ground, Layer
from .passing import Found, Install, Joined
from .timers import NEVER

_MAX_HOSTS = 256


class Joining(Layer):
    """A process that is not in a group yet."""

    name = "joining"
    statuses = ("joining",)

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._random = Random(ground.seed)
        self._hosts = dict.fromkeys(self.config.initial_hosts)
        self._request_at = NEVER
        self._found_at = NEVER
        self._cookie = 0
        self.alone = False
        """Whether nobody has answered, so that this process founds a group."""
        self.wants_state = False
        """Whether the request asks for the group's state too."""

    def up(self, event: Any, now: float) -> None:
        """Stop asking once the process has a first view."""
        if isinstance(event, Found | Joined | Install):
            self.stop()
        self.above.up(event, now)

    def step(self, now: float) -> bool:
        """Found a group if nobody has answered."""
        if not self.alone:
            return False
        if why := self._refused():
            self.stop()
            self.ground.out(f"not admitted: {why}; give all members of a group the same key=")
            return True
        alone = View(ViewId(1, self.me), (self.me,))
        self.below.down(Found(PlacedView(alone, (UNKNOWN,))), now)
        return True

    def _refused(self) -> str:
        """Return who of those that were asked has another key, when nobody had this one."""
        refused = self.ground.refused()
        asked = refused if self.config.discovery else self._hosts
        return next((refused[host] for host in asked if host in refused), "")

    def start(self, now: float) -> None:
        """Begin to ask."""
        self._request_at = now
        self._found_at = now + self.config.join_timeout
        self.alone = not self._hosts and not self.config.discovery

    def stop(self) -> None:
        """Stop asking."""
        self._request_at = self._found_at = NEVER
        self.alone = False

    def handle_request(self, other: Address, endpoint: Endpoint, now: float) -> None:
        """Handle the request of another process that is joining."""
        if other == self.me:
            return
        self._learn(endpoint)
        if other < self.me:
            # Wait long enough for it to found a group and to answer.
            self._found_at = now + 2 * self.config.join_timeout

    def handle_hint(self, hint: JoinHint, now: float) -> None:
        """Handle a hint: there is a group, so keep asking. Port 0: its sender leads the group."""
        self._found_at = max(self._found_at, now + 4 * self.config.join_timeout)
        if not hint.port and hint.cookie != self._cookie:
            self._cookie = hint.cookie
            self._request_at = now
        if hint.port and (hint.host, hint.port) not in self._hosts:
            self._learn((hint.host, hint.port))
            self._request_at = now

    def _learn(self, endpoint: Endpoint) -> None:
        if len(self._hosts) < _MAX_HOSTS:
            self._hosts.setdefault(endpoint)

    @property
    def hosts(self) -> list[Endpoint]:
        """The endpoints that are asked."""
        return list(self._hosts)

    def deadline(self) -> float:
        return min(self._request_at, self._found_at)

    def handle_timer(self, now: float) -> None:
        if self._found_at <= now:
            self.alone = True
            return
        if self._request_at <= now:
            stack = self.config.fingerprint
            request = JoinReq(self.me, stack, self.wants_state, self._cookie)
            for endpoint in self._hosts:
                self.outbox.send_to(request, endpoint)
            if self.config.discovery:
                self.outbox.broadcast(request)
            # Processes that start together should not stay in step.
            pause = self.config.join_interval * self._random.uniform(0.75, 1.25)
            self._request_at = now + pause
