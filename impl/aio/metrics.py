"""The figures of a member at one moment, for people and for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_TRANSPORT = "transport."


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """The figures of a member; those that grow begin at 0 with each life."""

    group: str
    member: str
    """Its address."""
    status: str
    """ "joining", "member", "leaving" or "left"."""
    view: int
    """The counter of the view installed last, 0 before the first."""
    members: int
    """The members of that view."""
    coordinator: bool
    """Whether this member sequences the messages of that view."""
    blocked: bool
    """Whether a view change or a state transfer keeps it from sending."""
    pending: int
    """Messages to all that it has sent and not yet delivered itself."""
    waiting_for: int
    """Members that it waits for at this moment; `Channel.missing` says for what."""
    inbox: int
    """Bytes delivered that the application has not taken yet."""
    buffered: int
    """Datagrams that the protocols keep, to be put in order or sent again."""
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

    def _lines(self) -> Iterator[str]:
        of = f'group="{_escaped(self.group)}",member="{_escaped(self.member)}"'
        for name, value, kind, words in self._figures():
            yield f"# HELP raincheck_{name} {words}"
            yield f"# TYPE raincheck_{name} {kind}"
            yield f"raincheck_{name}{{{of}}} {value}"
        yield "# HELP raincheck_events_total What was dropped, sent again, suspected and so on."
        yield "# TYPE raincheck_events_total counter"
        for event, count in sorted(self.events.items()):
            yield f'raincheck_events_total{{{of},event="{_escaped(event)}"}} {count}'

    def _figures(self) -> Iterator[tuple[str, int, str, str]]:
        yield "up", int(self.status in ("member", "leaving")), "gauge", "Whether it is a member."
        yield "view", self.view, "gauge", "The counter of the view installed last."
        yield "members", self.members, "gauge", "The members of that view."
        yield "coordinator", int(self.coordinator), "gauge", "Whether it sequences the messages."
        yield "blocked", int(self.blocked), "gauge", "Whether it may not send at this moment."
        yield "pending_messages", self.pending, "gauge", "Messages sent and not yet delivered here."
        yield "waiting_for_members", self.waiting_for, "gauge", "Members that it waits for."
        yield "inbox_bytes", self.inbox, "gauge", "Bytes delivered and not yet taken."
        yield "buffered_datagrams", self.buffered, "gauge", "Datagrams that the protocols keep."
        yield "datagrams_sent_total", self.sent, "counter", "Datagrams sent."
        yield "datagrams_received_total", self.received, "counter", "Datagrams received."


def events_of(counters: Mapping[str, int]) -> dict[str, int]:
    """Return the counters that no other figure has."""
    own = {"inbox.bytes", f"{_TRANSPORT}sent", f"{_TRANSPORT}received"}
    return {name: count for name, count in counters.items() if name not in own}


def _escaped(text: str) -> str:
    """Return a label's value as the text format has it."""
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
