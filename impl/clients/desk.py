"""The desk of a member for clients: each of their requests is one of the member's own.

A client says with each ASK all that it wants; the desk asks the ring for what is new, gives back
what is not there any more, and tells what has become of the rest, again and again until the client
has heard it. A session ends, and all that it holds, when nothing was heard of its client for
`give_up`. The client counts for a shorter time, from when it has sent what the desk has answered:
so it never has a lock that the desk has given back, unless its clock is slower by a quarter.

A member that leaves, or misses the token for long, sends its clients away, and takes nothing back
before they have heard it, or that time is over. No clock, no socket; who asks has to prove by a
cookie where it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

from raincheck.impl.errors import LocksFull, NotMember, WireError
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.ring.reports import LockGranted, LockReport, LockTaken
from raincheck.impl.stack.cookies import Cookies
from raincheck.impl.stack.reports import Dropped, Pace

from . import wire
from .sessions import Request, Requests, Session
from .wire import Asked, Told, Waits, Wanted

SESSIONS = 256
"""The most sessions of one member."""
AGAIN = 0.25
"""How often, of a lease, a client asks, and is told again what it has not heard."""
LEASE = 0.75
"""A client's lease, of the time after which the desk ends its session."""
_COOKIE_LIFE = 60  # seconds after which a cookie is replaced; the one before is good as long again


class ClientDesk:
    """Serves the clients of one member."""

    def __init__(
        self,
        ring: str,
        member: Address,
        identity: str,
        requests: Requests,
        allowed: Callable[[Endpoint], bool],
        *,
        give_up: float,
        patience: float,
        life: int,
        secret: bytes | None = None,
    ) -> None:
        """`patience`: after so many seconds in which the token is missed, clients are sent away.

        `life` differs between the processes of a member; simulations have no secret.
        """
        self.counters: Counter[str] = Counter()
        self._wire = wire.Wire(ring)
        self._member = member
        self._identity = identity
        self._requests = requests
        self._allowed = allowed
        self._give_up = give_up
        self._patience = patience
        self._missed_since: float | None = None
        self._sent_away = False
        self._life = life
        self._cookies = Cookies(secret, 0)
        self._sessions: dict[tuple[int, Endpoint], Session] = {}
        self._version = 0
        self._granted: list[tuple[Session, Request]] = []
        self._fresh: dict[Session, None] = {}
        self._leaves = False
        self._outgoing: list[tuple[bytes, Endpoint]] = []
        self._dropped: list[Dropped] = []
        self._pace = Pace(1.0)

    # ------------------------------------------------------------------ inputs

    def receive(self, datagram: bytes, endpoint: Endpoint, now: float) -> None:
        """Handle a datagram; see `poll_datagrams` for what becomes of it."""
        try:
            said = self._wire.read(datagram)
            if said.asked is None:
                raise WireError("unasked", f"kind {said.kind}")
            if not self._allowed(endpoint):
                self._refuse(said.session, wire.NOT_ALLOWED, endpoint)
                raise WireError("not_allowed", "wants to be a client; see clients=")
            if said.cookie not in (cookies := self._cookies_of(endpoint, now)):
                cookie = self._wire.made(wire.COOKIE, said.session, said.number, cookies[0])
                self._outgoing.append((cookie, endpoint))
                return
            self._take(said.session, said.number, said.asked, endpoint, now)
        except WireError as problem:
            if problem.reason == "wrong_version" and wire.is_ask(datagram):
                self._refuse(wire.session_of(datagram), wire.OTHER_VERSION, endpoint)
            reason = f"client.{problem.reason}"
            self.counters[reason] += 1
            if times := self._pace.count(reason, now):
                self._dropped.append(Dropped(reason, endpoint, problem.detail, times))

    def handle_timer(self, now: float) -> None:
        """End sessions whose client is silent, and tell again what has not been heard."""
        for session in list(self._sessions.values()):
            if session.heard_at + self._give_up <= now:
                self._end(session)
            elif session.again <= now:
                self._tell(session, now)

    def look(self, now: float) -> None:
        """Tell what is new; call it whenever the member may have changed.

        A lock that is granted may be handed on only while the view is settled. A member that misses
        the token for too long sends its clients to others, who may have it.
        """
        if not self._requests.in_vain:
            self._missed_since, self._sent_away = None, False
        elif self._missed_since is None:
            self._missed_since = now
        elif self._missed_since + self._patience <= now:
            self._send_away()
        if self._granted and self._requests.settled:
            for session, request in self._granted:
                if request.fence is not None:
                    request.told = True
                    self._news(session)
            self._granted.clear()
        while self._fresh:
            session, _ = self._fresh.popitem()
            if not session.ended:
                self._tell(session, now)

    def leave(self, now: float) -> None:
        """Let no client ask for anything more, and tell all that they have lost what they hold."""
        self._leaves = True
        self._send_away()
        self.look(now)

    # ------------------------------------------------------------------ what comes of them

    @property
    def empty(self) -> bool:
        """Whether no client has or wants anything by this desk."""
        sessions = self._sessions.values()
        return not any(each.number for session in sessions for each in session.requests.values())

    @property
    def sessions(self) -> int:
        """How many sessions there are."""
        return len(self._sessions)

    def deadline(self) -> float | None:
        """Return when `handle_timer` is to be called; None for never."""
        dues = [min(s.again, s.heard_at + self._give_up) for s in self._sessions.values()]
        if dues and self._missed_since is not None and not self._sent_away:
            dues.append(self._missed_since + self._patience)
        return min(dues, default=None)

    def poll_datagrams(self) -> list[tuple[bytes, Endpoint]]:
        """Return the datagrams to be sent, once."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def poll_dropped(self) -> list[Dropped]:
        """Return the reports of dropped datagrams, once."""
        dropped, self._dropped = self._dropped, []
        return dropped

    # ------------------------------------------------------------------ inside

    def _take(self, number: int, asked: int, said: Asked, endpoint: Endpoint, now: float) -> None:
        key = number, endpoint
        session = self._sessions.get(key)
        if session is not None and session.heard_at + self._give_up <= now:
            self._end(session)
            session = None
        if session is None:
            if self._requests.in_vain or self._leaves:
                self._refuse(number, wire.NO_MEMBER, endpoint)
                return
            if len(self._sessions) >= SESSIONS:
                self._refuse(number, wire.TOO_MANY, endpoint)
                raise WireError("too_many", f"more than {SESSIONS} sessions")
            session = self._sessions[key] = Session(number, endpoint)
        if asked <= session.asked:  # a datagram that was doubled must not prolong a session
            self.counters["client.late"] += 1
            return
        session.asked = asked
        if not self._leaves:
            session.heard_at = now
        session.heard = max(session.heard, min(said.heard, session.version))
        self._compare(session, said.wants)
        self._tell(session, now)

    def _compare(self, session: Session, wants: tuple[Wanted, ...]) -> None:
        """Ask the ring for what is new, and give back what the client does not want any more."""
        there = {each.request for each in wants}
        for request in [each for each in session.requests if each not in there]:
            self._requests.drop(session.requests.pop(request).number)
        for wanted in wants:
            if wanted.request > session.highest:
                session.highest = wanted.request
                session.requests[wanted.request] = self._ask(session, wanted)

    def _ask(self, session: Session, wanted: Wanted) -> Request:
        request = Request(wanted)
        told = partial(self._reported, session, request)
        try:
            if self._leaves:
                raise NotMember("")
            request.number = self._requests.want(wanted.name, wanted.mode, told, tries=wanted.tries)
        except LocksFull:
            request.over = "full"
        except NotMember:
            request.over = "leaving"
        return request

    def _reported(self, session: Session, request: Request, report: LockReport) -> None:
        """Take what the ring says of a request; `look` tells the client."""
        if isinstance(report, LockGranted):
            request.fence = report.fence
            self._granted.append((session, request))
            return
        request.number, request.fence = 0, None
        request.over = "taken" if isinstance(report, LockTaken) else "gone"
        self._news(session)

    def _end(self, session: Session) -> None:
        """End a session whose client is silent, with all that it has."""
        del self._sessions[session.number, session.endpoint]
        session.ended = True
        self.counters["client.silent"] += bool(session.requests)
        for each in session.requests.values():
            self._requests.drop(each.number)

    def _send_away(self) -> None:
        """Let all clients know that they have nothing by this member any more."""
        self._sent_away = True
        for session in self._sessions.values():
            ends = [each for each in session.requests.values() if each.over is None]
            for each in ends:
                each.over = "leaving"
            if ends:
                self._news(session)

    def _news(self, session: Session) -> None:
        """Note that there is something new for a client."""
        self._version += 1
        session.version = self._version
        self._fresh[session] = None

    def _tell(self, session: Session, now: float) -> None:
        if not session.version:
            self._version += 1
            session.version = self._version
        lease = LEASE * self._give_up
        late = session.heard < session.version and bool(session.requests)
        session.again = now + AGAIN * lease if late else float("inf")
        requests = session.requests
        told = Told(
            self._life,
            session.version,
            max(1, int(1000 * lease)),
            self._member,
            self._identity,
            tuple(
                (request, wire.placed(each.fence))
                for request, each in requests.items()
                if each.told and each.fence is not None and each.over is None
            ),
            tuple((request, each.over) for request, each in requests.items() if each.over),
            tuple(
                self._waits(request, each)
                for request, each in requests.items()
                if not each.over and not each.told
            ),
        )
        datagram = self._wire.made(wire.TELL, session.number, session.asked, 0, told)
        self._outgoing.append((datagram, session.endpoint))

    def _waits(self, request: int, of: Request) -> Waits:
        holder, fence = self._requests.book.leader(of.wanted.name) or (None, None)
        queue = self._requests.book.queue(of.wanted.name)[: wire.MAX_QUEUE]
        return Waits(request, holder, None if fence is None else wire.placed(fence), queue)

    def _refuse(self, session: int, reason: int, endpoint: Endpoint) -> None:
        self._outgoing.append((self._wire.made(wire.REFUSED, session, reason), endpoint))

    def _cookies_of(self, endpoint: Endpoint, now: float) -> tuple[int, int]:
        period = int(now // _COOKIE_LIFE)
        return self._cookies.asker(endpoint, period), self._cookies.asker(endpoint, period - 1)
