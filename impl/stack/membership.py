"""The membership: the one place where layers ask which processes are members."""

from __future__ import annotations

from collections.abc import Set

from raincheck.impl.messages import Address, View


class Membership:
    """The installed view, those that are about to be, and who is on the way out.

    The stack says what becomes of this process, GMS what it knows of the others.
    """

    def __init__(self, me: Address) -> None:
        self.me = me
        self.become("joining")
        self.view: View | None = None
        """The view installed last, kept when this process is out."""
        self.held: tuple[View, ...] = ()
        """Decided by a leader, and not installed here yet."""
        self.suspected: Set[Address] = frozenset()
        """Taken for crashed, until they are heard again."""
        self.excluded = ""
        """Why this process is out though it did not leave."""
        self.gone: Set[Address] = frozenset()
        """For good: left, replaced, or left out by a leader."""

    def become(self, status: str) -> None:
        """Be "joining", "member", "leaving", "stopped" (it says goodbye), or "left"."""
        self.status = status
        self.running = status in ("member", "leaving")
        """Whether this process takes part in the group."""
        self.over = status in ("stopped", "left")
        """Whether it does not any more."""

    @property
    def members(self) -> tuple[Address, ...]:
        """The members of the installed view."""
        return self.view.members if self.view is not None else ()

    @property
    def others(self) -> list[Address]:
        """These, without this process."""
        return [member for member in self.members if member != self.me]

    def knows(self, who: Address) -> bool:
        """Whether that is a member of this view, or of one that is about to be installed."""
        if self.excluded:
            return False
        return who in self.members or any(who in view.members for view in self.held)
