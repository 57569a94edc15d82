"""A client of a ring: it wants named locks by a member that serves it, and knows when it has them.

With each ASK the client says all that it wants; the member's TELL says what has become of it, and
for how long that holds: a lease, which begins when the ASK was sent that the TELL answers. A client
whose lease is over has nothing any more, whatever its member is doing, and looks for a member anew:
what it waits for it asks for again, in another session. No clock, no socket; times are of the
client's own clock, which need not agree with anybody's, only run at about the same rate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from raincheck.impl.errors import LocksFull, WireError
from raincheck.impl.locks.events import Fence, Mode
from raincheck.impl.messages import Address, Endpoint, shown
from raincheck.impl.ring.reports import LockGone, LockGranted, LockRefused, LockReport, LockTaken
from raincheck.impl.sealing.head import MAGIC as SEALED

from . import wire
from .desk import AGAIN
from .wire import MAX_WANTS, Asked, Ending, Told, Waits, Wanted

FIRST = 0.1
"""Seconds after which a member that does not answer yet is asked again."""
PATIENCE = 0.5
"""Seconds after which another one is asked."""
NEVER_YET = float("-inf")
"""When the lease of a session is over in which no member has answered yet."""
_SENT = 64  # ASKs whose time of sending is remembered

_WHY = {
    wire.NOT_ALLOWED: "to serve this process, which it does not: see clients= there",
    wire.TOO_MANY: "to have room for one more client",
    wire.OTHER_VERSION: "to speak this version of the protocol: use the release that it has",
    wire.NO_MEMBER: "to be in the ring",
}
_HAS_KEY = "to be asked under its key, which this process does not have"


@dataclass(slots=True, eq=False)
class _Request:
    wanted: Wanted
    fence: Fence | None = None
    waits: Waits | None = None


class Client:
    """One process that uses a ring without voting in it."""

    def __init__(
        self,
        ring: str,
        here: Endpoint,
        contacts: Callable[[], Sequence[Endpoint]],
        draw: Callable[[], int],
    ) -> None:
        """`here`: where it listens; `contacts`: members that may be asked, in this order; `draw`
        draws a number of 60 bits that nobody can guess.
        """
        self.address = Address(f"client at {shown(here)}", 0)
        """What it is called in errors and logs."""
        self.counters: Counter[str] = Counter()
        self.serving: Address | None = None
        """The member that serves this client, while its lease lasts."""
        self.identity = ""
        """The ring's identity, as that member has told it."""
        self._ring = ring
        self._wire = wire.Wire(ring)
        self._contacts = contacts
        self._draw = draw
        self._turn = 0  # of the contacts
        self._at: Endpoint | None = None
        self._since = 0.0  # when it began to ask the one that is asked
        self._alone_since = 0.0
        self._refusals: dict[Endpoint, str] = {}
        self._session = draw()
        self._life: int | None = None
        self._cookie = 0
        self._number = 0
        self._sent: dict[int, float] = {}
        self._heard = 0
        self._lease = 0.0
        self._until = NEVER_YET
        self._due: float | None = None
        self._to_say: float | None = None  # since when there is something that no ASK has said
        self._last = 0
        self._requests: dict[int, _Request] = {}
        self._outgoing: list[tuple[bytes, Endpoint]] = []
        self._reports: list[LockReport] = []

    # ------------------------------------------------------------------ inputs

    def start(self, now: float) -> None:
        """Look for a member."""
        self._alone_since = now
        self._look_for_a_member(now)

    def want_lock(self, name: str, mode: Mode, now: float, *, tries: bool = False) -> int:
        """Ask for a lock, and return the request's number; reports say what becomes of it.

        Raises LocksFull for more than a session may have.
        """
        self._check(now)
        if len(self._requests) >= MAX_WANTS:
            why = f"a client has {MAX_WANTS} requests at most; hold fewer locks at once"
            raise LocksFull(name, why)
        if not self._requests and self.serving is not None and self._until <= now:
            self._begin(now)  # its member has forgotten it, or is gone
        self._last += 1
        self._requests[self._last] = _Request(Wanted(self._last, name, mode, tries))
        self._say(now)
        return self._last

    def drop_lock(self, number: int, now: float) -> None:
        """Give a lock back, or wait for it no longer; no effect for a request that has ended."""
        self._check(now)
        if self._requests.pop(number, None) is not None:
            self._say(now)

    def receive(self, datagrams: Iterable[tuple[bytes, Endpoint]], now: float) -> None:
        """Handle datagrams; what does not belong to the session is counted."""
        self._check(now)
        for datagram, source in datagrams:
            self._receive(datagram, source, now)

    def _receive(self, datagram: bytes, source: Endpoint, now: float) -> None:
        if source != self._at:
            self.counters["stranger"] += 1
            return
        try:
            if datagram.startswith(SEALED):
                self._refusals[source] = _HAS_KEY
                raise WireError("sealed", "")
            said = self._wire.read(datagram)
        except WireError as problem:
            self.counters[problem.reason] += 1
            return
        if said.session != self._session:
            self.counters["other_session"] += 1
        elif said.kind == wire.COOKIE and said.cookie != self._cookie:
            self._cookie = said.cookie
            self._ask(now)
        elif said.kind == wire.REFUSED:
            self._refusals[source] = _WHY.get(said.number, "to serve this process")
            if self.serving is None:
                self._since = now - PATIENCE
        elif said.told is not None:
            self._take(said.number, said.told, now)

    def handle_timer(self, now: float) -> None:
        """Ask again, or another one, if it is time."""
        self._check(now)
        if self._due is None or self._due > now:
            return
        if self.serving is not None and not self._requests and self._until <= now:
            self._due = None  # nobody waits for the answer
        elif self.serving is None and self._since + PATIENCE <= now:
            self._look_for_a_member(now)
        else:
            self._ask(now)

    def close(self, now: float) -> None:
        """Want nothing any more, and say so."""
        self._requests.clear()
        if self.serving is not None:
            self._ask(now)
        self._due = None

    # ------------------------------------------------------------------ what comes of them

    def holds(self, number: int, now: float) -> bool:
        """Whether a request holds its lock at this moment."""
        request = self._requests.get(number)
        return request is not None and request.fence is not None and now < self._until

    def deadline(self) -> float | None:
        """Return when `handle_timer` is to be called; None for never."""
        if self.serving is None or not self._requests:
            return self._due
        return self._until if self._due is None else min(self._due, self._until)

    def poll_datagrams(self) -> list[tuple[bytes, Endpoint]]:
        """Return the datagrams to be sent, once."""
        if self._to_say is not None:
            self._ask(self._to_say)  # earlier than it is sent: the lease is the shorter for it
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def poll_reports(self) -> list[LockReport]:
        """Return the reports, once."""
        reports, self._reports = self._reports, []
        return reports

    def leader(self, name: str) -> tuple[Address, Fence] | None:
        """Return who holds a lock for which a request of this client waits, as last told."""
        for each in self._requests.values():
            if each.wanted.name == name and each.waits is not None:
                holder, fence = each.waits.holder, each.waits.fence
                if holder is not None and fence is not None:
                    return holder, wire.fence_of(fence)
        return None

    def queue(self, name: str) -> tuple[Address, ...]:
        """Return who waits for such a lock, the first of them, as last told."""
        waits = (each.waits for each in self._requests.values() if each.wanted.name == name)
        return next((each.queue for each in waits if each is not None), ())

    def holder(self, name: str) -> Address | None:
        """Return who holds such a lock, as last told."""
        waits = (each.waits for each in self._requests.values() if each.wanted.name == name)
        return next((each.holder for each in waits if each is not None), None)

    def served(self, now: float) -> bool:
        """Whether this client may have locks at this moment."""
        return self.serving is not None and now < self._until

    def in_vain(self, now: float) -> bool:
        """Whether no member has served it for so long that one that only tries gives up."""
        return self.serving is None and self._alone_since + PATIENCE <= now

    def missing(self, now: float) -> dict[str, str]:  # noqa: ARG002 (the shells' face)
        """Return whom this client waits for, and for what."""
        if self.serving is not None:
            return {}
        known = self._refusals
        return {shown(each): known.get(each, "to serve this client") for each in self._contacts()}

    # ------------------------------------------------------------------ inside

    def _check(self, now: float) -> None:
        """End the session if its lease is over. It comes first, whatever has come meanwhile."""
        if self.serving is not None and self._requests and self._until <= now:
            self.counters["lease_over"] += 1
            self._end(now)

    def _end(self, now: float) -> None:
        """End the session: what it holds is lost, and what it waits for is asked for anew."""
        for number, request in list(self._requests.items()):
            request.waits = None
            if request.fence is not None:
                del self._requests[number]
                self._reports.append(LockGone(number))
        self._look_for_a_member(now)

    def _look_for_a_member(self, now: float) -> None:
        """Ask the next of those that may be asked."""
        contacts = self._contacts()
        if not contacts:
            self._due = now + FIRST
            return
        self._at = contacts[self._turn % len(contacts)]
        self._turn += 1
        self._cookie = 0
        self._begin(now)
        self._ask(now)

    def _begin(self, now: float) -> None:
        """Begin a session with the member that is asked."""
        if self.serving is not None:
            self._alone_since = now
        self.serving = self._life = None
        self._session = self._draw()
        self._since, self._heard = now, 0
        self._until = NEVER_YET  # the next member's lease may be shorter
        self._sent.clear()

    def _say(self, now: float) -> None:
        """Say all that this client wants with the datagrams that are sent next: once for all."""
        if self._to_say is None:
            self._to_say = now

    def _ask(self, now: float) -> None:
        """Say all that this client wants."""
        self._to_say = None
        if self._at is None:
            return
        self._number += 1
        self._sent[self._number] = now
        if len(self._sent) > _SENT:
            del self._sent[next(iter(self._sent))]
        wants = tuple(each.wanted for each in self._requests.values())
        asked = Asked(self._heard, wants)
        datagram = self._wire.made(wire.ASK, self._session, self._number, self._cookie, asked)
        self._outgoing.append((datagram, self._at))
        self._due = now + (FIRST if self.serving is None else AGAIN * self._lease)

    def _take(self, number: int, told: Told, now: float) -> None:
        sent = self._sent.get(number)
        if sent is None or told.version < self._heard:
            self.counters["late"] += 1
            return
        if self._life not in (None, told.life):
            self._end(now)  # another process of the member knows nothing of it
            return
        self._life, self.serving, self.identity = told.life, told.member, told.identity
        self._lease = told.lease / 1000
        self._until = max(self._until, sent + self._lease)
        if now >= self._until:
            self._check(now)
            return
        news, self._heard = told.version > self._heard, told.version
        if any(why == "leaving" for _, why in told.over):
            self._bid_farewell(now)
            return
        self._compare(told)
        if news and self._requests:
            self._say(now)  # it has heard
        elif not self._requests:
            self._due = None

    def _bid_farewell(self, now: float) -> None:
        """Let a member that leaves know that nothing of this client is there any more."""
        requests, self._requests = self._requests, {}
        self._ask(now)
        self._requests = requests
        self._end(now)

    def _compare(self, told: Told) -> None:
        held, over = dict(told.held), dict(told.over)
        waits = {each.request: each for each in told.waits}
        for request, each in list(self._requests.items()):
            if request in held:
                if each.fence is None:
                    each.fence, each.waits = wire.fence_of(held[request]), None
                    self._reports.append(LockGranted(request, each.fence))
            elif request in over:
                del self._requests[request]
                self._reports.append(self._ended(each, over[request]))
            elif each.fence is not None:
                del self._requests[request]
                self._reports.append(LockGone(request))
            else:
                each.waits = waits.get(request)

    def _ended(self, request: _Request, why: Ending) -> LockReport:
        number, name, *_ = request.wanted
        if request.fence is not None:
            return LockGone(number)
        if why == "taken":
            return LockTaken(number)
        full = "the ring has no room for one more request; hold fewer locks at once"
        return LockRefused(number, LocksFull(name, full))
