"""The desk of a member: live questions are answered here, and the protocols do not notice them.

An asker first proves, by a cookie, that it receives where it says; until then it gets no more bytes
than it sends. Nothing is kept of it. How many answers there are in a second is bounded, and so are
the cookies and refusals; what is dropped is counted and reported. No clock, no socket.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from ipaddress import ip_address

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Endpoint
from raincheck.impl.networks import inside
from raincheck.impl.stack.cookies import Cookies
from raincheck.impl.stack.reports import Dropped, Pace

from . import wire

ANSWERS = 20
"""The most answers in a second."""
HINTS = 100
"""The most cookies and refusals in a second."""
COOKIE_LIFE = 60
"""Seconds after which a cookie is replaced; for as long again the one before it is good."""

Allowed = Callable[[Endpoint], bool]
"""Whether a process there may ask."""


def who_may_ask(ask: Sequence[str] | None, here: str | None, *, sealed: bool) -> Allowed:
    """Return who may ask, given the networks of `ask=`; raises ConfigError for what is no network.

    Without networks, under a key, whoever has it may; without a key, who is on the same machine: at
    a loopback address, or at `here`, where the others reach this member, if that is an address of
    its machine.
    """
    if ask is not None:
        return inside(ask, "ask")
    if sealed:
        return lambda _endpoint: True
    return lambda endpoint: endpoint[0] == here or ip_address(endpoint[0]).is_loopback


class Desk:
    """Answers live questions to one member."""

    def __init__(
        self, allowed: Allowed, tell: Callable[[], bytes], *, secret: bytes | None = None
    ) -> None:
        """`tell` returns the answer, of at most `MAX_ANSWER` bytes; simulations have no secret."""
        self.counters: Counter[str] = Counter()
        self._allowed = allowed
        self._tell = tell
        self._cookies = Cookies(secret, 0)
        self._answers, self._hints = _Budget(ANSWERS), _Budget(HINTS)
        self._outgoing: list[tuple[bytes, Endpoint]] = []
        self._dropped: list[Dropped] = []
        self._pace = Pace(1.0)

    def receive(self, datagram: bytes, endpoint: Endpoint, now: float) -> None:
        """Handle a datagram; see `poll_datagrams` and `poll_dropped` for what becomes of it."""
        try:
            asked = wire.read(datagram)
            if asked.kind != wire.ASK:
                raise WireError("unasked", f"kind {asked.kind}")
            if not self._allowed(endpoint):
                self._hint(wire.made(wire.REFUSED, asked.question, wire.NOT_ALLOWED), endpoint, now)
                raise WireError("not_allowed", "asks; see ask=")
            if asked.number in (cookies := self._cookies_of(endpoint, now)):
                self._answer(asked.question, endpoint, now)
            else:
                cookie = wire.made(wire.COOKIE, asked.question, cookies[0])
                if not self._hint(cookie, endpoint, now):
                    raise WireError("too_often", f"more than {HINTS} in a second")
        except WireError as problem:
            self._drop(problem, datagram, endpoint, now)

    def poll_datagrams(self) -> list[tuple[bytes, Endpoint]]:
        """Return the datagrams to be sent, once."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def poll_dropped(self) -> list[Dropped]:
        """Return the reports of dropped datagrams, once."""
        dropped, self._dropped = self._dropped, []
        return dropped

    def _cookies_of(self, endpoint: Endpoint, now: float) -> tuple[int, int]:
        """Return what proves that who asks receives there: the present one, and the one before."""
        period = int(now // COOKIE_LIFE)
        return self._cookies.asker(endpoint, period), self._cookies.asker(endpoint, period - 1)

    def _answer(self, question: int, endpoint: Endpoint, now: float) -> None:
        if not self._answers.take(now):
            raise WireError("too_often", f"more than {ANSWERS} in a second")
        self.counters["ask.answered"] += 1
        self._outgoing.append((wire.made(wire.ANSWER, question, 0, self._tell()), endpoint))

    def _hint(self, hint: bytes, endpoint: Endpoint, now: float) -> bool:
        """Send what is shorter than a question, unless there were too many; return whether."""
        may = self._hints.take(now)
        if may:
            self._outgoing.append((hint, endpoint))
        return may

    def _drop(self, problem: WireError, datagram: bytes, endpoint: Endpoint, now: float) -> None:
        reason = f"ask.{problem.reason}"
        self.counters[reason] += 1
        if times := self._pace.count(reason, now):
            self._dropped.append(Dropped(reason, endpoint, problem.detail, times))
        if problem.reason == "wrong_version" and (hint := wire.refusal_of_version(datagram)):
            self._hint(hint, endpoint, now)


class _Budget:
    """So many of something in a second, and as many at once."""

    def __init__(self, a_second: int) -> None:
        self._most = self._left = float(a_second)
        self._at = 0.0

    def take(self, now: float) -> bool:
        """Take one, if there is one left."""
        self._left = min(self._most, self._left + max(0.0, now - self._at) * self._most)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
