"""Other groups of the same name: found by going on to ask the initial hosts, after founding too.

Two processes that did not hear each other found two groups of one name, and groups are not merged.
So a member goes on asking those of its initial hosts that are in no view of its own: often while it
is alone, seldom later. A member of another group gives a cookie first, as to a joiner, and then
answers with EXCLUDED and its view, as to a former member. GMS's rule says which group prevails
(`prevails`); members of the other one leave, and join it as new incarnations. If it is the other
one that has to give way, it is told so with EXCLUDED in turn. Who gives way tells the others of
its group whom it has met, and they ask for themselves.

EXCLUDED ends a member, so it is believed only of a host that was asked, that the user has named, or
that has the group's key. A group that has no reason to believe it cannot give way. Then the one
that asks does so, unless it is the larger one; that one stays, and says that there are two.
"""

from __future__ import annotations

from raincheck.impl.messages import Endpoint, View, shown
from raincheck.impl.wire.headers import GroupQuestion, JoinHint

from .endpoints import NamedHosts
from .layer import Ground, Layer
from .reports import OtherGroup
from .timers import NEVER

_SELDOM = 30.0
_AT_ONCE = 8  # hosts asked at one time; the next ones are asked the next time
_MAX_HOSTS = 256
_PATIENCE = 3  # answers of a group that should give way and does not


class OtherGroups(Layer):
    """One member's search for other groups of the same name."""

    name = "other_groups"
    statuses = ("member",)

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._hosts = dict.fromkeys(self.config.initial_hosts)  # in order
        self._named = NamedHosts()
        self._cookies: dict[Endpoint, int] = {}
        self._asked: set[Endpoint] = set()  # with a cookie, and not answered yet
        self._answers: dict[Endpoint, int] = {}  # of groups that should give way
        self._pause = self.config.join_timeout
        self._ask_at = NEVER
        self._next = 0

    # ------------------------------------------------------------------ to ask

    def deadline(self) -> float:
        return self._ask_at

    def step(self, now: float) -> bool:
        """Begin to ask once this process is a member."""
        self.stirred = False
        asks = self._hosts or self.config.discovery or self.ground.named is not None
        if self._ask_at == NEVER and asks:
            self._ask_at = now + self._next_pause()
        return False

    def ask_anew(self, now: float) -> None:
        """Ask at once, if this member asks at all."""
        if self._ask_at != NEVER:
            self._ask_at = now

    def _rename(self) -> None:
        """Ask those that stand behind names now, and no more those that did."""
        gone, new = self._named.changed(self.ground.named)
        for host in gone:
            for table in (self._hosts, self._cookies, self._answers):
                table.pop(host, None)
        self._hosts |= dict.fromkeys(new)

    def handle_timer(self, now: float) -> None:
        if now < self._ask_at:
            return
        self._ask_at = now + self._next_pause()
        self._rename()
        places = set(self.outbox.endpoints.values())
        others = [host for host in self._hosts if host not in places]
        turn = [others[(self._next + n) % len(others)] for n in range(min(len(others), _AT_ONCE))]
        self._next += len(turn)
        self._asked.clear()
        for host in turn:
            self._ask(host)
        if self.config.discovery:
            question = self.ground.cookies.question(None)
            self.outbox.broadcast(GroupQuestion(self.me, 0, question))

    def _next_pause(self) -> float:
        """Return how long to wait: longer and longer while this member is alone."""
        if len(self.membership.members) > 1:
            return _SELDOM
        pause, self._pause = self._pause, min(2 * self._pause, _SELDOM)
        return pause

    def _ask(self, host: Endpoint) -> None:
        question, cookie = self.ground.cookies.question(host), self._cookies.get(host, 0)
        if cookie:
            self._asked.add(host)
        self.outbox.send_to(GroupQuestion(self.me, cookie, question), host)

    # ------------------------------------------------------------------ to be answered

    def handle_hint(self, hint: JoinHint, endpoint: Endpoint) -> None:
        """Handle the cookie of a host that was asked, or the word of a member that met a group."""
        cookies = self.ground.cookies
        if self.outbox.endpoints.get(hint.source) == endpoint:
            if hint.port and len(self._hosts) < _MAX_HOSTS:
                self._hosts.setdefault((hint.host, hint.port))
                self.stirred = True
                self._ask((hint.host, hint.port))
            return
        if self.config.discovery and hint.question == cookies.question(None):
            if len(self._hosts) < _MAX_HOSTS:
                self._hosts.setdefault(endpoint)
        elif hint.question != cookies.question(endpoint):
            self.counters["unasked"] += 1
            return
        if endpoint in self._hosts and self._cookies.get(endpoint) != hint.cookie:
            self._cookies[endpoint] = hint.cookie
            self._ask(endpoint)

    def ask(self, host: Endpoint) -> None:
        """Ask a host now."""
        if host in self._hosts or len(self._hosts) < _MAX_HOSTS:
            self._hosts.setdefault(host)
            self._ask(host)

    def believes(self, endpoint: Endpoint) -> bool:
        """Whether EXCLUDED of a process there, which has never been a member, is believed."""
        return endpoint in self._hosts or not self.config.sums

    def should_give_way(self, theirs: View, endpoint: Endpoint) -> bool:
        """Note a group that does not prevail; return whether it is to be told so.

        It may be unable to give way, because it does not believe this one. Then this one does, or
        says that there are two.
        """
        if endpoint not in self._asked:
            return False
        self._asked.discard(endpoint)
        self._pause = self.config.join_timeout
        answers = self._answers[endpoint] = self._answers.get(endpoint, 0) + 1
        if answers % _PATIENCE == 0:
            if len(self.membership.members) <= len(theirs.members):
                self.give_way(theirs, endpoint)
                return False
            self.ground.reports.append(OtherGroup(theirs, endpoint))
        return True

    def give_way(self, theirs: View, endpoint: Endpoint) -> None:
        """Leave this group for the other one, and tell the other members whom to ask about it."""
        host, port = endpoint
        hint = JoinHint(self.me, host, port, 0, 0)
        self.outbox.multicast(self.outbox.encode(hint), self.membership.others)
        mine = self.membership.view
        alone = mine is not None and mine.id.counter == 1 and mine.members == (self.me,)
        self.ground.out(
            f"there is another group {self.config.cluster!r}, {theirs}, met at {shown(endpoint)}; "
            f"this one gives way, and its members have to join that one",
            alone=alone,
        )
