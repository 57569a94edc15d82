"""The door of a group for the coordinators of other groups, who want to merge.

A message of a merge is taken only from a coordinator that has proved where it is found, by a cookie
that was sent there as to a joiner, that `admit` lets in, and whose group has the same `on_merge`,
`delivery` and rule for what is primary. All else is dropped, counted, and reported with its source.
"""

from __future__ import annotations

from collections.abc import Callable

from raincheck.impl.messages import Endpoint
from raincheck.impl.wire.headers import Excluded, JoinHint, MergeMessage

from .group import Group
from .merge_checks import overlap

Drop = Callable[[str, Endpoint, str, float], object]


class MergeDoor:
    """The entrance of MERGE2's messages, and of what is heard of other groups."""

    def __init__(self, group: Group, drop: Drop) -> None:
        self._group = group
        self._drop = drop
        self._ground = ground = group.ground
        self._membership = ground.membership
        self._merges = ground.config.merging

    def receive(self, message: MergeMessage, endpoint: Endpoint, now: float) -> None:
        """Handle a message of a merge, which anybody may have sent."""
        ground, source = self._ground, message.source
        if message.to != ground.me or not self._membership.running:
            ground.outbox.counters["not_for_me"] += 1
            return
        if self._merges == "leave" or message.merges != self._merges:
            self._refuse(endpoint, self._differs(str(source), message.merges), now)
            return
        if not self._group.gms.admission.may_join(source, endpoint):
            self._refuse(endpoint, f"{source} is not admitted", now)
            return
        place = ground.outbox.endpoints.get(source, endpoint)
        if place != endpoint and self._membership.knows(source):
            self._drop("forged", endpoint, f"MergeMessage in the name of {source}", now)
            return
        cookie = ground.cookies.merger(source, endpoint)
        if message.cookie != cookie:  # where it is found is not proved yet
            hint = JoinHint(ground.me, "here", 0, cookie, message.question)
            ground.outbox.send_to(hint, endpoint)
            return
        problem = self._group.merge.receive(source, message.body, endpoint, now)
        if problem:
            self._refuse(endpoint, f"{source} sent {problem}", now)

    def takes_cookie(self, hint: JoinHint, endpoint: Endpoint) -> bool:
        """Take the cookie of a coordinator that was asked to merge; return whether it is one."""
        if hint.question != self._ground.cookies.merge_question(endpoint):
            return False
        self._group.merge.coordinators.proved(endpoint, hint.cookie)
        return True

    def noted(self, endpoint: Endpoint, now: float) -> None:
        """Ask a member of another group in turn, which has asked about this one."""
        if self._merges != "leave" and self._group.merge.found.seldom(endpoint, now):
            self._group.others.ask(endpoint)

    def met(self, notice: Excluded, endpoint: Endpoint, now: float) -> bool:
        """Handle the view of another group that is to be merged; return whether it is one."""
        theirs, mine = notice.view, self._membership.view
        if notice.merges != self._merges:
            who = f"the group of {notice.source}"
            self._refuse(endpoint, self._differs(who, notice.merges), now)
        if notice.merges != self._merges or self._merges == "leave":
            # A group that gave way would lose its members' memory of primary views.
            return self._ground.config.primary is not None
        if mine is None or self._ground.me in theirs.members:
            return True  # it is late
        if notice.source in mine.members:
            if theirs.id.counter >= mine.id.counter and theirs.id != mine.id:
                self._group.gms.apart(theirs, now)
        elif not overlap(theirs, mine.members):
            place = (notice.host, notice.port) if notice.port else endpoint
            if self._group.merge.met(theirs, notice.source, place, endpoint, now):
                self._group.others.ask(place)
        return True

    def _differs(self, who: str, merges: str) -> str:
        return (
            f"{who} has on_merge={_shown(merges)}, this group has {_shown(self._merges)}; give all "
            f"members of both the same"
        )

    def _refuse(self, endpoint: Endpoint, detail: str, now: float) -> None:
        self._drop("merge_refused", endpoint, detail, now)


def _shown(merges: str) -> str:
    policy, *rest = merges.split(" ")
    return " ".join([repr(policy), *rest])
