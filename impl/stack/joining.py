"""Joining a group: a process asks the hosts it knows, and founds a group if nobody answers.

It sends JoinReq to its initial hosts (and by broadcast, if it may) until JOIN_RSP arrives; a member
that is not the coordinator hints at who is. Processes that start together hear each other's
requests: all but the one with the smallest address then wait for that one to found the group.

An answer has to have the question back that its sender was asked, so a process that was not asked
can neither hint, nor refuse, nor admit. The hosts that the user names, and those that they name,
are trusted; whoever else has sent something is asked too, but its answers count only while none of
the trusted answers.
"""

from __future__ import annotations

from random import Random
from typing import Any

from raincheck.impl.messages import Address, Endpoint, View, ViewId
from raincheck.impl.wire.headers import JoinHint, JoinReq, PlacedView

from .endpoints import UNKNOWN, NamedHosts
from .layer import Ground, Layer
from .passing import Found, Install, Joined
from .timers import NEVER

_MAX_HOSTS = 256
_MAX_UNTRUSTED = 64
_UNTRUSTED_WAIT = 10  # `join_timeout`s


class Joining(Layer):
    """A process that is not in a group yet."""

    name = "joining"
    statuses = ("joining",)

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._random = Random(ground.seed)
        self._hosts = dict.fromkeys(self.config.initial_hosts, True)  # whether it is trusted
        self._named = NamedHosts()
        self._answered: set[Endpoint] = set()
        self._began = 0.0
        self._trusted_at = 0.0  # when a trusted host last answered; first, when asking began
        self._request_at = NEVER
        self._found_at = NEVER
        self._cookies: dict[Endpoint, int] = {}
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
        self._request_at = self._began = self._trusted_at = now
        self._found_at = now + self.config.join_timeout
        self._rename()
        nobody = not self._hosts and self.ground.named is None  # behind a name there may be soon
        self.alone = nobody and not self.config.discovery

    def ask_anew(self, now: float) -> None:
        """Ask at once, if this process is asking."""
        if self._request_at != NEVER:
            self._request_at = now

    def _rename(self) -> None:
        """Ask those that stand behind names now, and no more those that did."""
        gone, new = self._named.changed(self.ground.named)
        for host in gone:
            self._hosts.pop(host, None)
            self._cookies.pop(host, None)
            self._answered.discard(host)
        for host in new:
            self._learn(host, trusted=True)

    def stop(self) -> None:
        """Stop asking."""
        self._request_at = self._found_at = NEVER
        self.alone = False

    def handle_request(self, other: Address, endpoint: Endpoint, now: float) -> None:
        """Handle the request of another process that is joining."""
        if other == self.me:
            return
        self._learn(endpoint, trusted=False)
        if other < self.me:
            # Wait long enough for it to found a group and to answer.
            self._wait(now + 2 * self.config.join_timeout, endpoint)

    def handle_hint(self, hint: JoinHint, endpoint: Endpoint, now: float) -> None:
        """Handle a hint: there is a group, so keep asking. Port 0: its sender leads the group."""
        self._wait(now + 4 * self.config.join_timeout, endpoint)
        if hint.port:
            place = hint.host, hint.port
            self._learn(place, trusted=self._hosts[endpoint], soon=now)
        elif self._cookies.get(endpoint) != hint.cookie:
            self._cookies[endpoint] = hint.cookie
            self._request_at = now

    def is_answer(self, question: int, endpoint: Endpoint, now: float) -> bool:
        """Whether that endpoint was asked this question, and its answer counts."""
        cookies = self.ground.cookies
        if self.config.discovery and question == cookies.question(None):
            self._learn(endpoint, trusted=True)
        elif endpoint not in self._hosts or question != cookies.question(endpoint):
            return False
        if endpoint not in self._hosts:
            return False  # there are too many
        self._answered.add(endpoint)
        if self._hosts[endpoint]:
            self._trusted_at = now
        return self.may_admit(endpoint, now)

    def may_admit(self, endpoint: Endpoint, now: float) -> bool:
        """Whether a process there was asked, has answered, and may admit this one."""
        if endpoint not in self._answered:
            return False
        return self._hosts[endpoint] or now - self._trusted_at >= self.config.join_timeout

    def trusts(self, endpoint: Endpoint) -> bool:
        """Whether the user has named that host, or one that is trusted has."""
        return self._hosts.get(endpoint, False)

    def ask_too(self, endpoint: Endpoint, now: float) -> None:
        """Ask a process that says it has admitted this one: it may lead since those asked died."""
        self._learn(endpoint, trusted=False, soon=now)

    def _wait(self, until: float, endpoint: Endpoint) -> None:
        """Found no group until then; who is not trusted keeps nobody from it for ever."""
        if not self._hosts.get(endpoint):
            until = min(until, self._began + _UNTRUSTED_WAIT * self.config.join_timeout)
        self._found_at = max(self._found_at, until)

    def _learn(self, endpoint: Endpoint, *, trusted: bool, soon: float | None = None) -> None:
        """Ask that endpoint from now on, unless there are too many; at `soon`, if it is new."""
        if endpoint not in self._hosts:
            most = _MAX_HOSTS if trusted else _MAX_UNTRUSTED
            if sum(known == trusted for known in self._hosts.values()) >= most:
                return
            if soon is not None:
                self._request_at = soon
        self._hosts[endpoint] = trusted or self._hosts.get(endpoint, False)

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
            self._rename()
            for endpoint in self._hosts:
                self.outbox.send_to(self._request(endpoint), endpoint)
            if self.config.discovery:
                self.outbox.broadcast(self._request(None))
            # Processes that start together should not stay in step.
            pause = self.config.join_interval * self._random.uniform(0.75, 1.25)
            self._request_at = now + pause

    def _request(self, endpoint: Endpoint | None) -> JoinReq:
        """Return the request to an endpoint, or to everybody."""
        cookie = self._cookies.get(endpoint, 0) if endpoint is not None else 0
        question = self.ground.cookies.question(endpoint)
        stack = self.config.fingerprint
        return JoinReq(self.me, stack, self.wants_state, cookie, question)
