"""One member's knowledge of state transfers, and the repairs that its handlers may lack."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address

from .events import Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """The repairs of the text's holes, by the spec's constants. Only tests turn any of them off."""

    check_cut: bool = True
    check_chunk: bool = True
    transfer_ids: bool = True
    one_reading: bool = True
    hold_messages: bool = True
    next_provider: bool = True
    ask_again: bool = True
    living_leader: bool = True
    forget_gone: bool = True
    per_requester: bool = True
    credits: bool = True


class Serving(NamedTuple):
    """A state that is being sent: its number, the next chunk, and how far credit goes."""

    transfer: int
    next: int
    upto: int


class Local:
    """The state of one member; the attributes have the names of the spec's variables."""

    def __init__(
        self,
        me: Address,
        members: tuple[Address, ...] = (),
        *,
        window: int = 16,
        repairs: Repairs | None = None,
    ) -> None:
        self.me = me
        self.window = window
        self.repairs = repairs or Repairs()
        self.members = members
        self.view = 0  # the number of the view, for traces
        self.suspects: frozenset[Address] = frozenset()
        # the requester
        self.phase = "idle"  # "asking", "fetching", "setting", "set", "failed"
        self.leader: Address | None = None
        self.attempt = 0
        self.provider: Address | None = None
        self.candidates: tuple[Address, ...] = ()
        self.cut = 0
        self.next = 1
        self.taken = 0
        self.granted = 0
        # the provider, and the leader
        self.serving: dict[Address, Serving] = {}
        self.queue: tuple[Address, ...] = ()
        self.waiting: frozenset[Address] = frozenset()
        self.newcomer = False
        self.counters: Counter[str] = Counter()

    @property
    def holding(self) -> bool:
        """Whether deliveries are held: the state that precedes them is not set yet."""
        return self.repairs.hold_messages and self.phase in ("fetching", "setting")

    @property
    def discarding(self) -> bool:
        """Whether deliveries are discarded: the state that the application will get contains them.

        This is so at a joiner whose leader was gone before the state arrived.
        """
        return self.newcomer and self.phase == "asking"

    def missing(self) -> dict[Address, str]:
        """Return whom this member waits for, and for what."""
        found = dict.fromkeys(sorted(self.waiting), "to receive the state")
        if self.phase == "asking" and self.leader is not None:
            found[self.leader] = "to begin the state transfer"
        if self.phase == "fetching" and self.provider is not None:
            found[self.provider] = f"to send the state (chunk {self.next})"
        return found

    def _count(self, reason: str) -> list[Effect]:
        self.counters[reason] += 1
        return []

    def _guard(self, action: str, text: str, holds: bool, value: object) -> None:
        if not holds:
            raise NotEnabled(action, {text: value})
