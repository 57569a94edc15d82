"""The member processes of a run of the ring, as the harness sees them."""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raincheck.conformance.field.lives import Life, Lives
from raincheck.conformance.field.telling import LEFT

from .status import Status

MODULE = "raincheck.conformance.field.ring.node"
Number = tuple[int, str, int]
"""A token's number, as statuses have it."""
View = tuple[int, tuple[str, ...] | None]
"""A view's index and members, None for NULL, as statuses have them."""


@dataclass(eq=False, slots=True)
class RingMember(Life):
    """One process of a member of the ring."""

    ring: Status | None = None
    """Its latest status."""
    armed: str = ""
    """Its order to itself for when it has the token: "kill" or "stop"."""
    struck: float = 0.0
    """When it did so, in seconds since the run began."""
    locks: int = 0
    refused: int = 0
    """Its writes that came too late."""
    lost: int = 0
    """Locks lost while they were held."""
    named: int = 0
    """Named locks that were given back in good order."""
    named_lost: int = 0
    """Named locks lost while they were held."""
    delivered: int = 0
    identity: str = ""
    """The identity of the ring that it is in."""

    @property
    def title(self) -> str:
        """Return its name in statuses, which is its plain name in its first life."""
        return title_of(self.name, self.incarnation)

    def heard(self, event: dict[str, Any]) -> None:
        """Take in its report."""
        match event["event"]:
            case "progress":
                self.ring = Status.from_json(event)
                self.sent, self.highest = event["sent"], event["highest"]
                self.refused, self.lost = event["refused"], event["lost"]
                self.named, self.named_lost = event["named"], event["named_lost"]
                self.locks, self.delivered = self.ring.locks, self.ring.messages
            case "joined":
                self.joined, self.identity = True, event["identity"]
            case "struck":
                self.struck = event["at"]
            case "ended":
                self.counters = event["counters"]
            case _:
                Life.heard(self, event)


def title_of(name: str, incarnation: int) -> str:
    """Return a member's name in few letters."""
    return name if not incarnation else f"{name}.{incarnation}"


class RingMembers(Lives[RingMember]):
    """All processes of all members, in the order in which they were started."""

    module = MODULE
    kind = RingMember

    def __init__(self, folder: Path, watch: Callable[[Status], None]) -> None:
        super().__init__(folder)
        self._watch = watch

    def reported(self, member: RingMember, event: dict[str, Any]) -> None:
        """Show a member's report of itself."""
        if event["event"] == "progress" and member.ring is not None:
            self._watch(member.ring)

    def ended(self, member: RingMember) -> None:
        """Show that it is gone: a killed process does not report it."""
        if member.ring is not None:
            up = "left" if member.code == LEFT else "down"
            self._watch(member.ring._replace(up=up))

    def asked_for(self, member: RingMember) -> bool:
        """Tell whether the member ended as it was asked to."""
        if member.armed == "kill" and member.code == -signal.SIGKILL:
            member.ending = "crash"
        return member.ending == "crash" or (
            member.code == LEFT and member.ending in ("leave", "done", "close")
        )


def settled(members: Iterable[RingMember]) -> bool:
    """Tell whether these agree on one list, their own, and on the same view of it."""
    return agreed(members) is not None


def agreed(members: Iterable[RingMember]) -> View | None:
    """Return the view that they are all in, with a list that is their own; None if they are not."""
    statuses = [member.ring for member in members if member.in_group]
    expected = {member.title for member in members}
    if not statuses or len(statuses) != len(expected) or None in statuses:
        return None
    views: set[View | None] = set()
    for status in statuses:
        assert status is not None
        views.add(status.views[-1] if status.views else None)
        if status.view_state != "agreement" or set(status.nodelist) != expected:
            return None
    return views.pop() if len(views) == 1 else None


def newest(members: Iterable[RingMember]) -> Number:
    """Return the greatest number of a token that one of these reports."""
    return max((each.ring.number for each in members if each.ring), default=(0, "", 0))


def gone_round(members: Collection[RingMember], since: Number) -> bool:
    """Tell whether the token has come to all of these twice since it had that number."""
    *epoch, seq = since
    due = (*epoch, seq + 2 * len(members))
    return all(each.ring is not None and each.ring.number >= due for each in members)
