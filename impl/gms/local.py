"""One member's knowledge of the group, and the parts that its handlers share."""

from __future__ import annotations

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address, View

from .events import (
    Effect,
    Install,
)
from .views import Repairs


class Local:
    """The state of one member; the attributes have the names of the spec's variables."""

    def __init__(self, me: Address, *, repairs: Repairs | None = None) -> None:
        self.node = me.node
        self.incarnation = me.incarnation
        self.repairs = repairs or Repairs()
        self.me = me if self.repairs.incarnations else Address(me.node, 0)
        self.status = "joining"  # "member", "left", "excluded"
        self.view: View | None = None  # the view that is installed
        self.held: tuple[View, ...] = ()  # decided by a leader, and not installed here yet
        self.promised: Address | None = None  # the leader whose flush this member takes part in
        self.declined = 0  # as a joiner: takes no JOIN_RSP up to this view any more
        self.suspects: set[Address] = set()  # taken for crashed until they are heard again
        self.gone: set[Address] = set()  # for good: left, replaced, or left out by a leader
        # As a leader:
        self.joining: set[Address] = set()  # who asks to be admitted
        self.transfer = False  # the state transfer wants the group flushed
        self.phase = "idle"  # "flushing", "installing", "finishing"
        self.proposal: View | None = None  # the view that the change is about
        self.waiting: set[Address] = set()  # who does not hold it, then who has not installed it

    def begin(self, view: View) -> None:
        """Begin as a member of a first view."""
        self.status = "member"
        self.view = view

    # ------------------------------------------------------------------ to look at

    @property
    def running(self) -> bool:
        """Whether this process takes part in the protocol."""
        return self.status == "member"

    @property
    def members(self) -> tuple[Address, ...]:
        """The members of the installed view."""
        return self.view.members if self.view is not None else ()

    @property
    def leader(self) -> Address | None:
        """The leader of the next change, as far as this member knows."""
        out = self.suspects | self.gone
        return next((member for member in self.members if member not in out), None)

    @property
    def decides(self) -> bool:
        """Whether this member leads a change of its view.

        The leader of a side that has installed a merged view does not, if another one comes first
        in that view, although its own part is not at its end.
        """
        first = next((member for member in self.members if member not in self.gone), None)
        return self.phase != "idle" and first == self.me

    @property
    def wanted(self) -> bool:
        """Whether a view change or a flush is needed."""
        out = self.suspects | self.gone
        return bool(self.joining or self.transfer) or not out.isdisjoint(self.members)

    @property
    def may_begin(self) -> bool:
        """Whether `BeginChange` is enabled."""
        return self.running and self.phase == "idle" and self.leader == self.me and self.wanted

    @property
    def may_install(self) -> bool:
        """Whether `InstallView` is enabled."""
        return self.running and self.phase == "installing" and not self.waiting

    def unknown_to(self, counter: int) -> tuple[Address, ...]:
        """Return the joiners of a view that a leader in view number `counter` has not installed.

        Such a leader does not know them, so they are not left out by its flush.
        """
        view = self.view
        return view.joiners if view is not None and counter < view.id.counter else ()

    @property
    def may_finish(self) -> bool:
        """Whether `Finish` is enabled."""
        return self.running and self.phase == "finishing" and not self.waiting

    def refuses(self, joiner: Address) -> Address | None:
        """Return the member that bars a joiner: a later incarnation of its node, if any."""
        later = [
            m for m in self.members if m.node == joiner.node and m.incarnation > joiner.incarnation
        ]
        return next((m for m in later if m not in self.gone), None)

    # ------------------------------------------------------------------ parts of handlers

    def _install(self, view: View) -> list[Effect]:
        """Install the view, and forget what was known of former members."""
        self.view = view
        stay = set(view.members) - set(view.joiners)
        self.gone &= stay  # a joiner may be readmitted without having learnt of its first admission
        self.suspects &= stay
        self.joining -= set(view.members)
        if self.repairs.pending == "updated":
            self.held = ()
        else:
            self.held = tuple(v for v in self.held if v.id.counter > view.id.counter)
        return [Install(view)]

    def _queue(self, joiner: Address) -> None:
        """Queue a joiner; of each node the latest incarnation is admitted."""
        same = {a for a in self.joining if a.node == joiner.node}
        if all(a.incarnation <= joiner.incarnation for a in same):
            self.joining = self.joining - same | {joiner}

    def _is_gone(self, member: Address) -> None:
        self.gone.add(member)
        self.suspects.discard(member)
        self.waiting.discard(member)

    def _guard(self, action: str, text: str, holds: bool, value: object) -> None:
        if not holds:
            raise NotEnabled(action, {text: value})
