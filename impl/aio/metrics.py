"""The figures of a member at one moment, for people and for Prometheus."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

_TRANSPORT = "transport."

_Line: TypeAlias = tuple[str, int, str, str]
"""A figure's name, value and kind, and what it means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures(ABC):
    """The figures that members of a group and of a ring have in common.

    Those that grow begin at 0 with each life.
    """

    member: str
    """Its address."""
    status: str
    """ "joining", "member", "leaving" or "left"."""
    view: int
    """The number of the view installed, or committed, last; 0 before the first."""
    members: int
    """The members of that view."""
    pending: int
    """Messages to all that it has sent and not yet delivered itself."""
    waiting_for: int
    """Members that it waits for at this moment; `missing` says for what."""
    inbox: int
    """Bytes delivered that the application has not taken yet."""
    sent: int
    """Datagrams sent."""
    received: int
    """Datagrams received, whatever became of them."""
    events: Mapping[str, int] = field(default_factory=dict)
    """How often something worth counting has happened, by name: datagrams dropped, by reason, and
    sent again, suspicions, … Those of the transport have `transport.` before them."""

    def prometheus(self) -> str:
        """Return the figures in Prometheus' text format, version 0.0.4."""
        return "".join(line + "\n" for line in self._lines())

    def figures(self) -> dict[str, int]:
        """Return the figures but `events`, by the names that they are exported under."""
        return {name: value for name, value, _, _ in (*self._common(), *self._own())}

    def _lines(self) -> Iterator[str]:
        label, of_what = self._of()
        of = f'{label}="{_escaped(of_what)}",member="{_escaped(self.member)}"'
        for name, value, kind, words in (*self._common(), *self._own()):
            yield f"# HELP raincheck_{name} {words}"
            yield f"# TYPE raincheck_{name} {kind}"
            yield f"raincheck_{name}{{{of}}} {value}"
        yield "# HELP raincheck_events_total What was dropped, sent again, suspected and so on."
        yield "# TYPE raincheck_events_total counter"
        for event, count in sorted(self.events.items()):
            yield f'raincheck_events_total{{{of},event="{_escaped(event)}"}} {count}'

    @abstractmethod
    def _of(self) -> tuple[str, str]:
        """Return what it is a member of, as the label has it, and its name."""

    def _common(self) -> Iterator[_Line]:
        yield "up", int(self.status in ("member", "leaving")), "gauge", "Whether it is a member."
        yield "view", self.view, "gauge", "The number of the view installed last."
        yield "members", self.members, "gauge", "The members of that view."
        yield "pending_messages", self.pending, "gauge", "Messages sent and not yet delivered here."
        yield "waiting_for_members", self.waiting_for, "gauge", "Members that it waits for."
        yield "inbox_bytes", self.inbox, "gauge", "Bytes delivered and not yet taken."
        yield "datagrams_sent_total", self.sent, "counter", "Datagrams sent."
        yield "datagrams_received_total", self.received, "counter", "Datagrams received."

    @abstractmethod
    def _own(self) -> Iterator[_Line]:
        """Return the figures that only this kind of member has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics(Figures):
    """The figures of a member of a group."""

    group: str
    coordinator: bool
    """Whether this member sequences the messages of the view."""
    blocked: bool
    """Whether a view change or a state transfer keeps it from sending."""
    buffered: int
    """Datagrams that the protocols keep, to be put in order or sent again."""
    primary: bool = True
    """Whether the view is primary; without `primary=` every view is."""

    def _of(self) -> tuple[str, str]:
        return "group", self.group

    def _own(self) -> Iterator[_Line]:
        yield "coordinator", int(self.coordinator), "gauge", "Whether it sequences the messages."
        yield "blocked", int(self.blocked), "gauge", "Whether it may not send at this moment."
        yield "primary", int(self.primary), "gauge", "Whether the view is primary."
        yield "buffered_datagrams", self.buffered, "gauge", "Datagrams that the protocols keep."


@dataclass(frozen=True, slots=True, kw_only=True)
class RingMetrics(Figures):
    """The figures of a member of a ring."""

    ring: str
    agreement: bool
    """Whether the members agree upon the view, so that the lock can be granted."""
    token: str
    """ "eating" (the token is here), "hungry" (it will come) or "starving" (it is asked for)."""
    locked: bool
    """Whether this member's application has the lock."""
    epoch: int
    """The epoch of the last token that was here: how often a lost one was made anew."""
    passes: int
    """The number of that token, which grows with each pass."""
    locks_held: int = 0
    """Named locks that tasks of this member hold."""
    locks_waited_for: int = 0
    """Its tasks that wait for named locks."""
    locks_acquired: int = 0
    """Named locks that its tasks have acquired."""
    locks_lost: int = 0
    """Those that were lost while they were held."""
    lock_wait_ms: int = 0
    """Milliseconds that tasks have waited for those that were acquired, in total."""

    def _of(self) -> tuple[str, str]:
        return "ring", self.ring

    def _own(self) -> Iterator[_Line]:
        yield "agreement", int(self.agreement), "gauge", "Whether the members agree upon the view."
        yield "token_here", int(self.token == "eating"), "gauge", "Whether the token is here."
        yield "token_asked_for", int(self.token == "starving"), "gauge", "Whether it may be lost."
        yield "locked", int(self.locked), "gauge", "Whether the application has the lock."
        yield "epoch", self.epoch, "gauge", "How often a lost token was made anew."
        yield "token_passes", self.passes, "gauge", "The number of the last token that was here."
        yield "locks_held", self.locks_held, "gauge", "Named locks that its tasks hold."
        yield "locks_waited_for", self.locks_waited_for, "gauge", "Tasks that wait for named locks."
        yield "locks_acquired_total", self.locks_acquired, "counter", "Named locks acquired."
        yield "locks_lost_total", self.locks_lost, "counter", "Named locks lost while held."
        yield "lock_wait_ms_total", self.lock_wait_ms, "counter", "Time waited for those acquired."


def events_of(counters: Mapping[str, int]) -> dict[str, int]:
    """Return the counters that no other figure has."""
    own = {"inbox.bytes", f"{_TRANSPORT}sent", f"{_TRANSPORT}received"}
    return {name: count for name, count in counters.items() if name not in own}


def _escaped(text: str) -> str:
    """Return a label's value as the text format has it."""
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
