"""The other groups that one member has heard of, and the mail between coordinators of a merge."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from raincheck.impl.messages import Address, Endpoint, View
from raincheck.impl.wire.headers import JoinHint, MergeMessage
from raincheck.impl.wire.merge_bodies import MergeBody

from .layer import Ground
from .merge_checks import overlap

PAUSE = 0.5
"""At least so long is the time between two attempts to merge, at most twice as long."""
_KNOWN = 64
"""The most coordinators of other groups that are kept in mind."""
_FRESH = 3.0
"""So long after it was heard of is another group taken for one that is there."""
_REST = 16.0
"""The longest time for which a coordinator that was waited for in vain is not asked to merge."""


class FoundGroup(NamedTuple):
    """Another group: its view, where its coordinator is found, and when that was heard."""

    view: View
    place: Endpoint
    at: float


class FoundGroups:
    """The other groups, as far as a member has heard of them lately."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._groups: dict[Address, FoundGroup] = {}  # by their coordinators
        self._told: dict[Endpoint, float] = {}  # when something was said about a group there
        self._vain: dict[Address, tuple[float, float]] = {}  # left alone: for how long, and until

    def __bool__(self) -> bool:
        return bool(self._groups)

    def __len__(self) -> int:
        return max(len(self._groups), len(self._told), len(self._vain))

    def met(self, theirs: View, who: Address, place: Endpoint, via: Endpoint, now: float) -> bool:
        """Note another group: `who`, found at `via`, has told its view, and where its leader is.

        Returns whether the leader is still to be asked, which has to say so itself.
        """
        ground = self._ground
        first = ground.membership.members[0]
        if first != ground.me:
            if self.seldom(place, now):
                ground.outbox.send_header(JoinHint(ground.me, *place, 0, 0), first)
        elif place != via:
            return self.seldom(place, now)
        elif who == theirs.members[0]:
            self._forget(theirs)
            if who in self._groups or len(self._groups) < _KNOWN:
                self._groups[who] = FoundGroup(theirs, place, now)
        return False

    def installed(self, ours: View) -> None:
        """Forget the groups whose members are here: if one parts again, that is another view."""
        self._forget(ours)

    def _forget(self, later: View) -> None:
        """Forget the groups in whose place there is this view, with some of their members."""
        for who, group in list(self._groups.items()):
            if group.view.id.counter < later.id.counter and overlap(group.view, later.members):
                del self._groups[who]

    def seldom(self, place: Endpoint, now: float) -> bool:
        """Whether nothing was said about that place for a while."""
        if now - self._told.get(place, float("-inf")) < PAUSE:
            return False
        self._told[place] = now
        _bound(self._told)
        return True

    def apart(self, ours: Collection[Address], now: float) -> Mapping[Address, FoundGroup]:
        """Return the groups heard of lately that have none of these, but for those left alone."""
        fresh = {who: group for who, group in self._groups.items() if now - group.at < _FRESH}
        self._groups = fresh
        self._vain = {who: rest for who, rest in self._vain.items() if who in fresh}
        alone = {who for who, (_, until) in self._vain.items() if now < until}
        return {
            who: each
            for who, each in fresh.items()
            if who not in alone and not overlap(each.view, ours)
        }

    def in_vain(self, who: Address, now: float) -> None:
        """Leave a coordinator alone, each time for longer: this side has waited for it in vain."""
        pause = min(2 * self._vain.get(who, (PAUSE, now))[0], _REST)
        self._vain[who] = pause, now + pause
        _bound(self._vain)

    def answered(self, who: Address) -> None:
        """Note that a coordinator has answered for its side."""
        self._vain.pop(who, None)


class Coordinators:
    """The coordinators of a merge: where they are found, and what was sent there last."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._places: dict[Address, Endpoint] = {}
        self._cookies: dict[Endpoint, int] = {}
        self._last: dict[Endpoint, tuple[Address, MergeBody]] = {}

    def __len__(self) -> int:
        return max(len(self._places), len(self._cookies), len(self._last))

    def begin(self, places: Mapping[Address, Endpoint]) -> None:
        """Begin a merge with these."""
        self._places = dict(places)

    def learn(self, who: Address, place: Endpoint, partners: Collection[Address]) -> bool:
        """Learn where a coordinator is found; return whether that is where it was before.

        Of too many, those that are no partners of the present merge are forgotten.
        """
        if who in self._places:
            return self._places[who] == place
        if len(self._places) >= _KNOWN:
            spare = (each for each in self._places if each not in partners)
            self._places.pop(next(spare, who), None)
        self._places[who] = place
        return True

    def proved(self, place: Endpoint, cookie: int) -> None:
        """Take the cookie that a coordinator has given to this one, and send what it refused."""
        if self._cookies.get(place) != cookie and place in self._last:
            self._cookies[place] = cookie
            _bound(self._cookies)
            self._transmit(*self._last[place], place)

    def send(self, to: Address, body: MergeBody) -> None:
        """Send a message, if it is known where."""
        place = self._places.get(to)
        if place is not None:
            self._last[place] = to, body
            _bound(self._last)
            self._transmit(to, body, place)

    def _transmit(self, to: Address, body: MergeBody, place: Endpoint) -> None:
        ground, cookie = self._ground, self._cookies.get(place, 0)
        question = ground.cookies.merge_question(place)
        header = MergeMessage(ground.me, to, cookie, question, ground.config.merging, body)
        ground.outbox.send_to(header, place)


def _bound(table: dict[Any, Any]) -> None:
    """Forget the first entry of a table that has grown too large."""
    if len(table) > _KNOWN:
        del table[next(iter(table))]
