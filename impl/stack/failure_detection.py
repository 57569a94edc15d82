"""FAILURE DETECTION: who seems to have crashed; by heartbeats, and by asking before it counts.

Each member sends the others a sign of life, again and again. Whoever has been silent for
`suspect_after` is asked directly (`AreYouAlive`), several times; only if that is not answered
within `verify_after` either is it suspected. A suspected member that is heard again is trusted
again. What counts as heard is any datagram from the member's own place.

A process that was asleep (its timer came far too late: a suspended machine, a clock that jumped)
has not read what the others sent meanwhile, and begins to wait anew instead of suspecting them.

Members that were taken out of the view because they were suspected are sent a sign of life now and
then: if they are alive, they are told that they are out, or tell it (see `Gms`).
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
"""At most so many former members are told of the view."""
_SELDOM = 10
"""Former members are told at every tenth heartbeat."""


class FailureDetection(Layer):
    """Watches the members of the view, and tells GMS whom to suspect."""

    name = "failure_detection"
    precedence = 4

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.found: list[Suspect | Trust] = []
        """What is new, in order; it goes up in the next step."""
        self.suspected: set[Address] = set()
        self._heard: dict[Address, float] = {}
        self._asked: dict[Address, float] = {}  # silent members, and since when they are asked
        self._former: dict[Address, Endpoint] = {}
        self._heartbeat_at = NEVER
        self._ask_at = NEVER
        self._beats = 0

    @property
    def takes(self) -> Takes:
        return {AreYouAlive: lambda question, _, __, ___: self.asked(question)}

    @property
    def others(self) -> list[Address]:
        """Who is watched."""
        return list(self._heard)

    def up(self, event: Any, now: float) -> None:
        """Views come this way, before GMS forgets where those are found who are out."""
        if isinstance(event, Found | Joined | Install):
            view = (event.rsp if isinstance(event, Joined) else event).placed.view
            self.watch(view.members, view.joiners, now)
        self.above.up(event, now)

    def step(self, now: float) -> bool:
        """Pass up what was found."""
        self.stirred = False
        for found in self.take():
            self.above.up(found, now)
        return False

    def watch(self, members: Sequence[Address], joiners: Sequence[Address], now: float) -> None:
        """A view is installed; call this before the places of those who are out are forgotten."""
        for member in self.suspected - set(members):
            endpoint = self.outbox.endpoints.get(member)
            if endpoint is not None and len(self._former) < _FORMER:
                self._former[member] = endpoint
        # Another life of its node has taken a former member's place.
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
        """A datagram of that member has arrived."""
        if member not in self._heard:
            return
        self._heard[member] = now
        self._asked.pop(member, None)
        if member in self.suspected:
            self.suspected.discard(member)
            self._find(Trust(member))

    def asked(self, question: AreYouAlive) -> None:
        """Somebody wants a sign of life."""
        if question.to == self.me:
            self.outbox.send_header(self.alive((question.source,)), question.source)

    def was_member(self, member: Address, endpoint: Endpoint) -> bool:
        """Whether that is somebody who was taken out because it was suspected, at its own place."""
        return self._former.get(member) == endpoint

    def _find(self, found: Suspect | Trust) -> None:
        self.found.append(found)
        self.stirred = True

    def take(self) -> list[Suspect | Trust]:
        """Return what was found, once."""
        found, self.found = self.found, []
        return found

    def silence(self, now: float) -> dict[Address, float]:
        """The members that have missed a few signs of life, and for how long they are silent."""
        limit = min(3 * self.config.heartbeat, self.config.suspect_after)
        return {m: now - at for m, at in self._heard.items() if now - at >= limit}

    def missing(self, now: float) -> Mapping[Address, str]:
        return {m: f"silent for {s:.1f} s" for m, s in self.silence(now).items()}

    # ------------------------------------------------------------------ time

    def deadline(self) -> float:
        return min(self._heartbeat_at, self._ask_at)

    def handle_timer(self, now: float) -> None:
        """Give a sign of life, look for those who give none, and ask them."""
        if now < self.deadline():
            return
        if now - self.deadline() >= self.config.suspect_after / 2:
            self._overslept(now)
        if now >= self._heartbeat_at:
            self._beat(now)
        self._look(now)

    def _overslept(self, now: float) -> None:
        """What others sent meanwhile has still to be read."""
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
        """Ask who is silent; suspect who has not answered."""
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
