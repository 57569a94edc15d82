"""FAILURE DETECTION: suspicion of members that are silent and do not answer a question.

Each member sends the others heartbeats. A member that has been silent for `suspect_after` is asked
directly (`AreYouAlive`), several times, and suspected if it does not answer within `verify_after`.
A suspected member that is heard again is trusted again. Any datagram from a member's endpoint
counts as heard.

A process whose timer fires far too late (a suspended machine, a clock that jumped) has not read
what the others sent meanwhile, and starts its timers anew instead of suspecting them.

Members that were excluded on suspicion are sent a sign of life now and then: if they are alive,
one of the two sides learns that it is excluded (see `Gms`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from raincheck.impl.gms.events import Suspect, Trust
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.wire.headers import AreYouAlive

from .layer import Ground, Layer, Takes
from .passing import Found, Install, Joined
from .timers import NEVER

_FORMER = 64
"""The most former members that are sent signs of life."""
_PAST = 256
"""The most former members that are answered that they are excluded."""
_SELDOM = 10
"""Former members are sent every tenth heartbeat."""


class FailureDetection(Layer):
    """Monitors the members of the view, and reports suspicions to GMS."""

    name = "failure_detection"
    precedence = 4

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.found: list[Suspect | Trust] = []
        """New suspicions and their ends, in order; the next step passes them up."""
        self.suspected: set[Address] = set()
        self._heard: dict[Address, float] = {}
        self._asked: dict[Address, float] = {}  # silent members, and since when
        self._former: dict[Address, Endpoint] = {}
        self._past: dict[Address, Endpoint] = {}  # all that were members, the latest last
        self._heartbeat_at = NEVER
        self._ask_at = NEVER
        self._beats = 0

    @property
    def takes(self) -> Takes:
        return {AreYouAlive: lambda question, _, __, ___: self.asked(question)}

    @property
    def others(self) -> list[Address]:
        """The monitored members."""
        return list(self._heard)

    def up(self, event: Any, now: float) -> None:
        """Monitor the members of a new view, before GMS forgets the endpoints of former ones."""
        if isinstance(event, Found | Joined | Install):
            view = (event.rsp if isinstance(event, Joined) else event).placed.view
            self.watch(view.members, view.joiners, now)
        self.above.up(event, now)

    def step(self, now: float) -> bool:
        """Pass suspicions and their ends up."""
        self.stirred = False
        for found in self.take():
            self.above.up(found, now)
        return False

    def watch(self, members: Sequence[Address], joiners: Sequence[Address], now: float) -> None:
        """Monitor these members; call this before the endpoints of former ones are forgotten."""
        for member in self._heard.keys() - set(members):
            endpoint = self.outbox.endpoints.get(member)
            if endpoint is not None:
                self._past[member] = endpoint
        for member in list(self._past)[:-_PAST]:
            del self._past[member]
        for member in sorted(self.suspected - set(members)):
            endpoint = self.outbox.endpoints.get(member)
            if endpoint is not None and len(self._former) < _FORMER:
                self._former[member] = endpoint
        # A former member whose node has another incarnation in the view is not looked for.
        nodes = {member.node for member in members}
        self._former = {m: e for m, e in self._former.items() if m.node not in nodes}
        others = [member for member in members if member != self.me]
        fresh = set(joiners)
        self._heard = {m: now if m in fresh else self._heard.get(m, now) for m in others}
        stay = set(others) - fresh
        self.suspected &= stay
        self._asked = {m: at for m, at in self._asked.items() if m in stay}
        if self._heartbeat_at == NEVER:
            self._heartbeat_at = now

    def heard(self, member: Address, now: float) -> None:
        """Note that a datagram of that member has arrived."""
        if member not in self._heard:
            return
        self._heard[member] = now
        self._asked.pop(member, None)
        if member in self.suspected:
            self.suspected.discard(member)
            self._find(Trust(member))

    def asked(self, question: AreYouAlive) -> None:
        """Answer a question with a sign of life."""
        if question.to == self.me:
            self.outbox.send_header(self.alive((question.source,)), question.source)

    def was_member(self, member: Address, endpoint: Endpoint) -> bool:
        """Whether that is a member that was excluded on suspicion, at its endpoint."""
        return self._former.get(member) == endpoint

    def has_been(self, member: Address, endpoint: Endpoint) -> bool:
        """Whether that is a former member of whatever fate, at its endpoint."""
        return self._past.get(member) == endpoint

    def _find(self, found: Suspect | Trust) -> None:
        self.found.append(found)
        self.stirred = True

    def take(self) -> list[Suspect | Trust]:
        """Return the new suspicions and their ends, once."""
        found, self.found = self.found, []
        return found

    def silence(self, now: float) -> dict[Address, float]:
        """Return the members that have missed a few heartbeats, and how long they are silent."""
        limit = min(3 * self.config.heartbeat, self.config.suspect_after)
        return {m: now - at for m, at in self._heard.items() if now - at >= limit}

    def missing(self, now: float) -> Mapping[Address, str]:
        return {m: f"silent for {s:.1f} s" for m, s in self.silence(now).items()}

    # ------------------------------------------------------------------ time

    def deadline(self) -> float:
        return min(self._heartbeat_at, self._ask_at)

    def handle_timer(self, now: float) -> None:
        """Send a heartbeat if one is due, and ask or suspect silent members."""
        if now < self.deadline():
            return
        if now - self.deadline() >= self.config.suspect_after / 2:
            self._overslept(now)
        if now >= self._heartbeat_at:
            self._beat(now)
        self._look(now)

    def _overslept(self, now: float) -> None:
        """Start all timers anew: what others sent meanwhile has still to be read."""
        self.counters["overslept"] += 1
        self._heard = dict.fromkeys(self._heard, now)
        self._asked.clear()

    def _beat(self, now: float) -> None:
        self._heartbeat_at = now + self.config.heartbeat
        self._beats += 1
        sign = self.alive(sorted(self._heard))
        self.outbox.multicast(self.outbox.encode(sign), self._heard)
        if self._beats % _SELDOM == 0:
            for member, endpoint in self._former.items():
                self.outbox.send_to(self.alive((member,)), endpoint)

    def _look(self, now: float) -> None:
        """Ask silent members; suspect those that do not answer."""
        for member, at in self._heard.items():
            if now - at < self.config.suspect_after or member in self.suspected:
                continue
            if now - self._asked.setdefault(member, now) >= self.config.verify_after:
                del self._asked[member]
                self.suspected.add(member)
                self._find(Suspect(member))
            else:
                self.counters["are_you_alive"] += 1
                self.outbox.send_header(AreYouAlive(self.me, member), member)
        self._ask_at = now + self.config.verify_after / 4 if self._asked else NEVER
