"""The membership: the one place where layers ask which processes are members."""

from __future__ import annotations

from collections.abc import Set

from raincheck.impl.messages import Address, View


class Membership:
    """The installed view, the views about to be installed, and the suspected and departed members.

    The stack sets this process's status, GMS what is known of the others.
    """

    def __init__(self, me: Address) -> None:
        self.me = me
        self.become("joining")
        self.view: View | None = None
        """The view installed last; it stays when this process is out."""
        self.held: tuple[View, ...] = ()
        """Views that a leader has decided, and that are not installed here yet."""
        self.suspected: Set[Address] = frozenset()
        """Members taken for crashed until they are heard again."""
        self.excluded = ""
        """The reason why this process was excluded; "" if it was not."""
        self.gone: Set[Address] = frozenset()
        """Members that are out for good: left, replaced, or left out by a leader."""

    def become(self, status: str) -> None:
        """Set the status: "joining", "member", "leaving", "stopped" (says goodbye) or "left"."""
        self.status = status
        self.running = status in ("member", "leaving")
        """Whether this process takes part in the group."""
        self.over = status in ("stopped", "left")
        """Whether this process takes no part in the group any more."""

    @property
    def members(self) -> tuple[Address, ...]:
        """The members of the installed view."""
        return self.view.members if self.view is not None else ()

    @property
    def others(self) -> list[Address]:
        """The members without this process."""
        return [member for member in self.members if member != self.me]

    def knows(self, who: Address) -> bool:
        """Whether `who` is a member of this view, or of one that is about to be installed."""
        if self.excluded:
            return False
        if self.view is not None and who in self.view.members:
            return True
        return any(who in view.members for view in self.held)
