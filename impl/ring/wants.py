"""Whether a member of a ring has said that it wants the token, and what the token says of it.

A token with nothing to do rests where it is. A member that wants it and does not have it says so
to all others, once, with a datagram that nobody acknowledges. The holder then passes it on at once,
and says on the token who wants it, so that it rests nowhere on the way. A member that has made use
of a visit is among those: it is likely to want the token again, and finds it at hand if nobody else
does. Where the datagram is lost the token comes when its rests are over.
"""

from __future__ import annotations

from collections.abc import Collection

from raincheck.impl.messages import Address
from raincheck.impl.raincore.events import Nodelist


class Told:
    """What the others know of this member's wants."""

    def __init__(self, me: Address) -> None:
        self._me = me
        self.used = False
        """Whether this visit of the token was made use of."""
        self.calls = False
        """Whether it wants the token once, for a newcomer or to leave."""
        self._told = False

    def arrived(self) -> None:
        """Begin a visit of the token."""
        self.used = self.calls = self._told = False

    def on_token(
        self, awaited: Collection[Address], nodelist: Nodelist, *, wants: bool
    ) -> Nodelist:
        """Return who wants the token that is passed on, in the order of the list."""
        self._told = self.used or wants
        self.calls = False
        return tuple([m for m in nodelist if m in awaited or (m == self._me and self._told)])

    def to_tell(self, nodelist: Nodelist) -> Nodelist:
        """Return whom to tell, once, that this member wants the token."""
        if self._told and not self.calls:
            return ()
        self._told, self.calls = True, False
        return tuple([member for member in nodelist if member != self._me])
