"""FAILURE DETECTION: suspicion of members that are silent and do not answer a question.

The first two members of the view that are not gone, the seniors, exchange signs of life with all
others: O(n) datagrams for the whole group, and whoever has to decide has heard for himself. A
member that is no senior watches those two. When both are silent it watches the next in line too,
up to the first whom it hears; where there is none before it, it presides, and watches all.

A watched member that has been silent for `suspect_after` is asked (`AreYouAlive`), several times,
and suspected if it does not answer within `verify_after`. If the first question is not answered,
who presides sends the next ones to all: they ask for themselves, and everybody suspects by his own
judgement only. A suspected member that is heard again is trusted again; any datagram from a
member's endpoint counts as heard.

A process that has slept (it was stopped, its machine was suspended, its clock jumped) has not read
what the others sent meanwhile: the time that its timer was late counts against nobody.

Former members that were silent are sent a sign of life now and then, and each member sends one to
some other member in turn: so whoever is out and does not know it meets somebody who does, and one
of the two sides learns that it is excluded (see `Gms`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

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
"""Former members, and some other member in turn, are sent every tenth heartbeat."""
_SENIORS = 2
"""As many members exchange signs of life with all: who leads, and who would lead after that."""
_QUESTIONS = 4
"""The times that a silent member is asked within `verify_after`."""


class _Watch(NamedTuple):
    """The members that one member watches: all others, or the first in line.

    `presides`: it hears nobody who is before it in line, so that it is the one to act.
    """

    members: list[Address]
    everybody: bool
    presides: bool


class FailureDetection(Layer):
    """Monitors the members of the view, and reports suspicions to GMS."""

    name = "failure_detection"
    precedence = 4

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.found: list[Suspect | Trust] = []
        """New suspicions and their ends, in order; the next step passes them up."""
        self.suspected: set[Address] = set()
        self._line: tuple[Address, ...] = ()  # all members, this one included
        self._heard: dict[Address, float] = {}
        self._asked: dict[Address, float] = {}  # silent members, and since when
        self._former: dict[Address, Endpoint] = {}
        self._past: dict[Address, Endpoint] = {}  # all that were members, the latest last
        self._seen: dict[Address, None] = {}  # members that have installed a view, the latest last
        self._watching: list[Address] = []  # as of the last look
        self._was_late = False
        self._heartbeat_at = NEVER
        self._ask_at = NEVER
        self._beats = 0

    @property
    def takes(self) -> Takes:
        return {AreYouAlive: lambda question, _, __, now: self.asked(question, now)}

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
        sought = self.suspected | self._asked.keys()
        if self.config.on_merge != "leave":  # whoever is elsewhere may be found there
            sought |= self._heard.keys()
        for member in sorted(sought - set(members)):
            endpoint = self.outbox.endpoints.get(member)
            if endpoint is not None and len(self._former) < _FORMER:
                self._former[member] = endpoint
        # A former member whose node has another incarnation in the view is not looked for.
        nodes = {member.node for member in members}
        self._former = {m: e for m, e in self._former.items() if m.node not in nodes}
        self._line = tuple(members)
        others = [member for member in members if member != self.me]
        fresh, before = set(joiners), self._heard
        self._heard = {m: now if m in fresh else before.get(m, now) for m in others}
        watched, self._watching = self._watching, self._watch(now).members
        for member in set(self._watching).difference(watched):
            self._heard[member] = now  # it had no reason to speak to this one
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

    def installed(self, member: Address) -> None:
        """Note that a member has said that it has installed a view."""
        if member not in self._seen:
            self._seen[member] = None
            if len(self._seen) > _PAST:
                del self._seen[next(iter(self._seen))]

    def has_lived(self, who: Address) -> bool:
        """Whether that incarnation has installed a view, as far as is known: it joins no more."""
        return who in self._seen

    def asked(self, question: AreYouAlive, now: float) -> None:
        """Answer a question with a sign of life; ask too if a member that is silent is meant."""
        silent = question.to
        if silent == self.me:
            self.outbox.send_header(self.alive((question.source,)), question.source)
        elif silent in self._asked or silent in self.suspected:
            return  # it asks already; two that ask all would go on for ever
        elif silent in self._heard and self._silent(silent, now):
            self._asked[silent] = now
            self._ask_at = now

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

    # ------------------------------------------------------------------ who watches whom

    def _silent(self, member: Address, now: float) -> bool:
        return now >= self._heard[member] + self.config.suspect_after

    def _watch(self, now: float) -> _Watch:
        gone = self.membership.gone
        line = [member for member in self._line if member not in gone or member == self.me]
        watched: list[Address] = []
        heard = False
        for member in line:
            if member == self.me or (heard and len(watched) >= _SENIORS):
                break
            watched.append(member)
            heard = heard or not self._silent(member, now)
        if self.me in line[:_SENIORS] or not heard:
            return _Watch(list(self._heard), everybody=True, presides=not heard)
        return _Watch(watched, everybody=False, presides=False)

    def silence(self, now: float) -> dict[Address, float]:
        """Return the watched members that have missed heartbeats, and how long they are silent."""
        limit = min(3 * self.config.heartbeat, self.config.suspect_after)
        silent = {m: now - self._heard[m] for m in self._watch(now).members}
        return {m: length for m, length in silent.items() if length >= limit}

    def missing(self, now: float) -> Mapping[Address, str]:
        return {m: f"silent for {s:.1f} s" for m, s in self.silence(now).items()}

    # ------------------------------------------------------------------ time

    def deadline(self) -> float:
        return min(self._heartbeat_at, self._ask_at)

    def handle_timer(self, now: float) -> None:
        """Send a heartbeat if one is due, and ask or suspect silent members."""
        late = now - self.deadline()
        if late < 0:
            return
        if late >= self.config.suspect_after / 2:
            self._overslept(now)
        self._listen_first(late, now)
        if now >= self._heartbeat_at:
            self._beat(now)
        self._look(now)

    def _overslept(self, now: float) -> None:
        """Start all timers anew: what others sent meanwhile has still to be read."""
        self.counters["overslept"] += 1
        self._heard = dict.fromkeys(self._heard, now)
        self._asked.clear()

    def _listen_first(self, late: float, now: float) -> None:
        """Leave those who were asked another question's time, once, if this process has slept."""
        pause = self.config.verify_after / _QUESTIONS
        was_late, self._was_late = self._was_late, late >= pause
        if self._was_late and not was_late:
            least = now + pause - self.config.verify_after
            self._asked = {member: max(at, least) for member, at in self._asked.items()}

    def _beat(self, now: float) -> None:
        self._heartbeat_at = now + self.config.heartbeat
        self._beats += 1
        watch = self._watch(now)
        if watch.everybody:
            self.outbox.multicast(self.outbox.encode(self.alive(watch.members)), watch.members)
        else:
            for member in watch.members + self._in_turn(watch.members):
                self.outbox.send_header(self.alive((member,)), member)
        for member in sorted(self.suspected):
            self._ask(member, watch.presides)
        if self._beats % _SELDOM == 0:
            for member, endpoint in self._former.items():
                self.outbox.send_to(self.alive((member,)), endpoint)

    def _in_turn(self, watched: Sequence[Address]) -> list[Address]:
        """Return another member than these now and then, each in its turn."""
        others = [member for member in self._heard if member not in watched]
        turn, rest = divmod(self._beats, _SELDOM)
        if rest or not others:
            return []
        return [others[(turn + self._line.index(self.me)) % len(others)]]

    def _look(self, now: float) -> None:
        """Ask silent members; suspect those that do not answer."""
        config = self.config
        watch = self._watch(now)
        self._watching = watch.members
        look_at = self._heartbeat_at
        for member in dict.fromkeys((*watch.members, *self._asked)):
            if member in self.suspected:
                continue
            if not self._silent(member, now):
                look_at = min(look_at, self._heard[member] + config.suspect_after)
                continue
            first = member not in self._asked
            end = self._asked.setdefault(member, now) + config.verify_after
            if now >= end:
                del self._asked[member]
                self.suspected.add(member)
                self._find(Suspect(member))
            else:
                self._ask(member, watch.presides and not first)
                look_at = min(look_at, end, now + config.verify_after / _QUESTIONS)
        self._ask_at = look_at if look_at < self._heartbeat_at else NEVER

    def _ask(self, member: Address, everybody: bool) -> None:
        """Ask a member whether it is alive; so that all others hear the question, if they shall."""
        self.counters["are_you_alive"] += 1
        question = AreYouAlive(self.me, member)
        if everybody:
            self.outbox.multicast(self.outbox.encode(question), self._heard)
        else:
            self.outbox.send_header(question, member)
