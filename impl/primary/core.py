"""PRIMARY: a view becomes primary if it has a majority of the last primary view, in two rounds.

The twin of `spec/Primary.tla`: one handler per action, with the action's name in snake_case and its
guard first. `handle` takes an event of `primary/events.py` and returns the effects. A handler whose
guard is false raises NotEnabled and changes nothing.

In a new view every member multicasts what it remembers (INFO). With the INFOs of all each decides,
all in the same way. If the view can become primary, it records that it attempts it, and says so
(ATTEMPT); it is primary when all members have. A member that has attempted a view and was cut off
cannot know whether another one has formed it, so it remembers that until a later view is primary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address, ViewId

from .decision import Repairs, decide
from .events import Attempt, Decide, Effect, Event, Form, Info, InstallView, Session, SetVotes

__all__ = ["NO_VIEW", "Primary", "Repairs"]

NO_VIEW = ViewId(0, Address("", 0))
"""The id of the view of a process that is in none."""


class Primary:
    """The state of one member; the attributes have the names of the spec's variables."""

    def __init__(
        self,
        me: Address,
        *,
        expected: int,
        votes: int = 1,
        found: bool = False,
        repairs: Repairs | None = None,
    ) -> None:
        """`expected`: all votes together; `found`: an operator says that a history may begin."""
        self.me = me
        self.expected = expected
        self.votes = votes
        self.found = found
        self.repairs = repairs or Repairs()
        self.view = NO_VIEW
        self.members: frozenset[Address] = frozenset()
        self.stage = "none"  # or "asking", "attempting", "primary", "refused"
        self.last: Session | None = None
        self.attempts: frozenset[Session] = frozenset()
        self._handlers: dict[type[Any], Callable[[Any], list[Effect]]] = {
            InstallView: self._install_view,
            Decide: self._decide,
            Form: self._form,
            SetVotes: self._set_votes,
        }

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; raises NotEnabled where its guard is false."""
        return self._handlers[type(event)](event)

    @property
    def primary(self) -> bool:
        """Whether this member's view is primary."""
        return self.stage == "primary"

    def _install_view(self, event: InstallView) -> list[Effect]:
        """Tell the others in the new view what this member remembers."""
        self.view, self.members = event
        self.stage = "asking"
        return [Info(self.me, self.view, self.votes, self.found, self.last, self.attempts)]

    def _decide(self, event: Decide) -> list[Effect]:
        """Attempt the view, or know that it is not primary."""
        told = frozenset(info.sender for info in event.infos)
        self._demand("Decide", "asking", "INFO", told)
        session, last, since = decide(self.view, event.infos, self.expected, self.repairs)
        if self.repairs.last_primary or self.last is None:
            self.last = last
        self.attempts &= since
        if session is None:
            self.stage = "refused"
            return []
        if not self.repairs.two_rounds:
            self._formed(session)
            return []
        self.stage = "attempting"
        self.attempts |= {session}
        return [Attempt(self.me, self.view)]

    def _form(self, event: Form) -> list[Effect]:
        """All have attempted it: the view is primary."""
        self._demand("Form", "attempting", "ATTEMPT", event.attempted)
        session = next(each for each in self.attempts if each.view == self.view)
        if not self.repairs.last_primary and self.last is not None:
            session = self.last
        self._formed(session)
        return []

    def _set_votes(self, event: SetVotes) -> list[Effect]:
        """Have other votes, which count from the next view on."""
        if event.votes == self.votes:
            raise NotEnabled("SetVotes", {"votes[n] # k": event.votes})
        self.votes = event.votes
        return []

    def _formed(self, session: Session) -> None:
        self.stage, self.last, self.attempts = "primary", session, frozenset()

    def _demand(self, action: str, stage: str, kind: str, heard: frozenset[Address]) -> None:
        """Raise NotEnabled unless this is the stage, and all members have been heard."""
        false: dict[str, object] = {}
        if self.stage != stage:
            false[f'stage[n] = "{stage}"'] = self.stage
        if heard != self.members:
            false[f'AllHave(n, "{kind}")'] = heard
        if false:
            raise NotEnabled(action, false)
