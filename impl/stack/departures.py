"""The reasons why members are no longer in a view: known here, or sent along with the view.

They are for people only; no protocol rests on them. The leader of a view change sends those that it
knows with the view, so that members which have noticed nothing themselves can name them too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from raincheck.impl.messages import Address, View, ViewId
from raincheck.impl.wire.headers import REASON_LENGTH

Departure: TypeAlias = tuple[Address, str]
"""A member that is not in the next view, and why; `LEFT` if it has said so itself."""

LEFT: Final = ""
UNKNOWN: Final = "another member has taken it for gone"


class Departures:
    """The reasons that one member knows."""

    def __init__(self) -> None:
        self._here: dict[Address, str] = {}
        self._sent: dict[ViewId, dict[Address, str]] = {}

    def note(self, member: Address, why: str) -> None:
        """Note why a member is taken for gone; the first reason stands."""
        self._here.setdefault(member, why[:REASON_LENGTH])

    def forget(self, member: Address) -> None:
        """A suspected member has been heard again."""
        if self._here.get(member) != LEFT:
            self._here.pop(member, None)

    def learn(self, view: ViewId, departures: Iterable[Departure]) -> None:
        """Take what the leader says of a view that it wants to be installed."""
        self._sent[view] = dict(departures)

    def between(self, old: View | None, new: View) -> tuple[Departure, ...]:
        """Return those who are in the first view and not in the second, and why."""
        if old is None:
            return ()
        sent = self._sent.get(new.id, {})
        lives = {joiner.node: joiner for joiner in new.joiners}
        found = list[Departure]()
        for member in old.members:
            if member not in new.members:
                why = sent.get(member, self._here.get(member))
                if member.node in lives and why != LEFT:
                    why = f"it is back as {lives[member.node]}"
                found.append((member, UNKNOWN if why is None else why))
        return tuple(found)

    def installed(self, view: View) -> None:
        """Keep the reasons of members of this view only."""
        self._here = {who: why for who, why in self._here.items() if who in view.members}
        self._sent = {which: why for which, why in self._sent.items() if which > view.id}
