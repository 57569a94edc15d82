"""A sequence of events among some members, and its picture in plain text.

Nothing here knows a protocol: counterexamples and field traces both become such events.
`sequencesvg` draws the same for browsers.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

LANE: Final = 8
"""Characters from one member's line to the next."""

ABSENT_AFTER: Final = frozenset({"crash", "leave"})
PRESENT_AFTER: Final = frozenset({"join"})
"""The marks after which a member is present."""

_DOTS: Final = {"crash": "✖", "leave": "■", "view": "◆", "join": "◇", "restart": "○", "drop": "⊘"}


@dataclass(frozen=True, slots=True)
class Message:
    """A message; `id` is the same where it is sent and received. `to` "" means everybody."""

    id: Hashable
    label: str
    to: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A variable's value before and after."""

    variable: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.variable}: {self.before} → {self.after}"


@dataclass(frozen=True, slots=True)
class Event:
    """One step of one member; of no particular member if `node` is ""."""

    number: int
    node: str
    action: str
    text: str = ""
    sent: tuple[Message, ...] = ()
    received: Message | None = None
    mark: str = ""
    """"crash", "leave", "view", "join", "restart", "drop" (a message is refused) or ""."""
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagram:
    """A story: its members, its events, and its ending."""

    title: str
    members: tuple[str, ...]
    events: tuple[Event, ...]
    absent: frozenset[str] = frozenset()
    """The members that are not there at the start."""
    facts: tuple[str, ...] = ()
    """Sentences about the whole, to stand above the picture."""
    ending: tuple[str, ...] = ()
    """Sentences to stand below it."""


def senders(diagram: Diagram) -> dict[Hashable, Event]:
    """Return the event in which each message was sent."""
    return {message.id: event for event in diagram.events for message in event.sent}


def as_text(diagram: Diagram) -> str:
    """Return the picture: a line per member, a row per event, its description to the right."""
    members = diagram.members
    sent = senders(diagram)
    absent = set(diagram.absent)
    lines = [diagram.title, *diagram.facts, ""]
    margin = max((len(str(event.number)) for event in diagram.events), default=1) + 3
    heads = "".join(_head(member) for member in members)
    lines.append(f"{'':{margin}}{heads}".rstrip())
    for event in diagram.events:
        lanes = _lanes(members, absent)
        if event.node in members:
            place = _column(members, event.node)
            source = sent.get(event.received.id) if event.received else None
            if source and source.node in members and source.node != event.node:
                _arrow(lanes, _column(members, source.node), place)
            lanes[place] = _DOTS.get(event.mark, "●")
        else:
            lanes = ["╌" if character == " " else character for character in lanes]
        head = f" {event.number:>{margin - 3}}  "
        lines.append(f"{head}{''.join(lanes)} {_call(event)}".rstrip())
        if event.mark in ABSENT_AFTER:
            absent.add(event.node)
        elif event.mark in PRESENT_AFTER:
            absent.discard(event.node)
    return "\n".join([*lines, "", *diagram.ending]).rstrip() + "\n"


def as_steps(diagram: Diagram) -> str:
    """Return the events as a numbered list with every variable that changes."""
    lines: list[str] = []
    for event in diagram.events:
        lines.append(f"{event.number:>3}. {_call(event)}")
        lines += [f"       {change}" for change in event.changes]
    return "\n".join(lines) + "\n"


def _call(event: Event) -> str:
    return f"{event.action}: {event.text}" if event.text else event.action


def _head(member: str) -> str:
    """Return the member's name, with its middle right above its line."""
    name = member[: LANE - 1]
    return f"{'':{LANE // 2 - len(name) // 2}}{name}".ljust(LANE)


def _column(members: tuple[str, ...], member: str) -> int:
    return members.index(member) * LANE + LANE // 2


def _lanes(members: tuple[str, ...], absent: set[str]) -> list[str]:
    lanes = [" "] * (LANE * len(members))
    for member in members:
        lanes[_column(members, member)] = "┊" if member in absent else "│"
    return lanes


def _arrow(lanes: list[str], source: int, target: int) -> None:
    """Draw from one line to another, across those between."""
    step = 1 if target > source else -1
    lanes[source] = "├" if step == 1 else "┤"
    for place in range(source + step, target, step):
        lanes[place] = "─" if lanes[place] == " " else "┼"
    lanes[target - step] = "▶" if step == 1 else "◀"
