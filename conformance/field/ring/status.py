"""The statuses of a token ring's members, and the events that follow from their changes.

Members send a `Status` whenever it changes (`watch.py` shows them); they need not report anything
else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

RECENT: Final = 8
"""The number of the last events that are kept."""
_VIEWS: Final = 3
"""The number of a member's last views that are shown."""


class Status(NamedTuple):
    """The status of a member. `at` is in seconds since the run began."""

    node: str
    at: float
    up: str = "up"
    """"new", "up", "down" or "left", as in the model."""
    view_state: str = "chaos"
    token_state: str = "hungry"
    epoch: tuple[int, str] = (0, "")
    seq: int = 0
    nodelist: tuple[str, ...] = ()
    views: tuple[tuple[int, tuple[str, ...] | None], ...] = ()
    """Its last views with their indices; None is NULL."""
    locks: int = 0
    """How often its application has had the lock."""
    messages: int = 0
    """How many messages it has delivered."""
    said: tuple[str, ...] = ()
    """Its reports that the other fields do not show."""

    @property
    def number(self) -> tuple[int, str, int]:
        """Return the number of the token that it has, or had last."""
        return (*self.epoch, self.seq)

    def as_json(self) -> dict[str, Any]:
        """Return the record as a line of a member carries it."""
        return self._asdict()

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Return the status in a record, ignoring other fields; raise ValueError if it is none."""
        try:
            known = {name: record[name] for name in cls._fields if name in record}
            n, by = known.get("epoch", (0, ""))
            views = tuple(
                (int(index), None if members is None else _names(members))
                for index, members in known.get("views", ())
            )
            return cls(
                **known
                | {
                    "node": _name(record["node"]),
                    "at": float(record["at"]),
                    "epoch": (int(n), _name(by)),
                    "seq": int(known.get("seq", 0)),
                    "nodelist": _names(known.get("nodelist", ())),
                    "views": views,
                    "said": tuple(map(_name, known.get("said", ()))),
                }
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is no status of a member: {error}") from error


def _name(value: Any) -> str:
    """Return a name from another process without characters that a terminal would obey."""
    return "".join(each if each.isprintable() else "?" for each in str(value))


def _names(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(map(_name, values))


class Event(NamedTuple):
    """An event: its time, and a few words."""

    at: float
    text: str

    def __str__(self) -> str:
        return f"{self.at:8.2f} s  {self.text}"


class Story:
    """The state of all members and the recent events, as their statuses come in."""

    def __init__(self) -> None:
        self.members: dict[str, Status] = {}
        self.recent: deque[Event] = deque(maxlen=RECENT)
        self.now = 0.0
        self.locks = 0
        self.messages = 0
        self._noted: set[tuple[object, ...]] = set()

    def update(self, status: Status) -> list[Event]:
        """Take a status; return the events since the member's last one."""
        before = self.members.get(status.node)
        self.members[status.node] = status
        self.now = max(self.now, status.at)
        self.locks += _more(status.locks, before.locks if before else 0)
        self.messages += _more(status.messages, before.messages if before else 0)
        return [self.note(status.at, text) for text in self._texts(before, status)]

    def note(self, at: float, text: str) -> Event:
        """Note an event that the harness reports, such as a fault that it injects."""
        event = Event(at, _name(text))
        self.now = max(self.now, at)
        self.recent.append(event)
        return event

    def _texts(self, before: Status | None, now: Status) -> list[str]:
        node = now.node
        was = before or Status(node, now.at, up="new", token_state="", seq=-1)
        if was.up != now.up:
            back = "is up" if was.up == "new" else "is back"
            ends = {"down": "is down", "left": "has left", "new": "is gone"}
            yours = [f"{node} {ends.get(now.up, back)}"]
        else:
            yours = []
        if now.up == "up":
            if now.token_state == "starving" != was.token_state:
                yours.append(f"{node} is starving and sends a 911")
            yours += self._token(was, now)
            yours += self._views(was, now)
        return yours + [f"{node}: {text}" for text in now.said]

    def _token(self, was: Status, now: Status) -> list[str]:
        """Return the token's events, each once: made anew, members taken off or put on."""
        texts = []
        regenerated = was.token_state == "starving" and (
            now.epoch > was.epoch and now.epoch[1] == now.node
        )
        if regenerated and self._first("regenerated", now.epoch):
            texts.append(f"{now.node} regenerates the token, in epoch {epoch_text(now.epoch)}")
        gone = [each for each in was.nodelist if each not in now.nodelist]
        come = [each for each in now.nodelist if each not in was.nodelist]
        known = was.nodelist and now.nodelist
        if known and (gone or come) and self._first("list", now.epoch, was.nodelist, now.nodelist):
            parts = [f"without {' '.join(gone)}"] if gone else []
            parts += [f"with {' '.join(come)}"] if come else []
            texts.append(f"the ring goes on {' and '.join(parts)}: {list_text(now.nodelist)}")
        return texts

    def _views(self, was: Status, now: Status) -> list[str]:
        known = dict(was.views)
        return [
            f"{now.node} commits view {index}: {list_text(members)}"
            for index, members in now.views
            if members is not None and known.get(index) is None and was.up == "up"
        ]

    def _first(self, *what: object) -> bool:
        if what in self._noted:
            return False
        self._noted.add(what)
        return True

    @property
    def up(self) -> list[Status]:
        """Return the members that are up, the newest number first."""
        up = [status for status in self.members.values() if status.up == "up"]
        return sorted(up, key=lambda status: (status.number, status.node), reverse=True)

    def rings(self) -> list[tuple[str, ...]]:
        """Return the lists by which tokens go round, newest first; two of them after a partition.

        A starving member has lost its ring, so its list counts only if everybody starves.
        """
        up = self.up
        rings: list[tuple[str, ...]] = []
        drawn: set[str] = set()
        for status in [each for each in up if each.token_state != "starving"] or up:
            if status.nodelist and drawn.isdisjoint((status.node, *status.nodelist)):
                rings.append(status.nodelist)
                drawn.update(status.nodelist)
        return rings

    def outside(self) -> list[Status]:
        """Return the members that are up and on none of the rings."""
        inside = {name for ring in self.rings() for name in ring}
        return sorted(status for status in self.up if status.node not in inside)

    def sign(self, status: Status) -> str:
        """Return "●" for the holder of the token; "○" for one whose token has been passed on since.

        Statuses do not arrive in the order in which they are sent.
        """
        if status.up != "up" or status.token_state != "eating":
            return " "
        same = (each for each in self.up if each.nodelist == status.nodelist)
        return "●" if status.number == max(each.number for each in same) else "○"

    def summary(self) -> str:
        """Return the ring as a whole, in one line."""
        counts = f"locks {self.locks}, messages {self.messages}"
        if not self.up:
            return f"{self.now:.1f} s: nobody is up, {counts}"
        holders = [each.node for each in self.up if self.sign(each) == "●"]
        lists = " and ".join(map(list_text, self.rings()))
        return (
            f"{self.now:.1f} s: {len(self.up)} up, ring {lists or 'of nobody'}, token "
            f"{number_text(self.up[0])} at {' and '.join(holders) or 'nobody'}, "
            f"{counts}"
        )


def _more(now: int, before: int) -> int:
    """Return how much a member's count has grown; the count of a new life begins at 0."""
    return now - before if now >= before else now


def epoch_text(epoch: tuple[int, str]) -> str:
    """Return an epoch as people read it: "2/a", or "0"."""
    return f"{epoch[0]}/{epoch[1]}" if epoch[1] else str(epoch[0])


def number_text(status: Status) -> str:
    """Return a token's number: "2/a:157"; the first epoch is left out."""
    return f"{epoch_text(status.epoch)}:{status.seq}" if status.epoch[1] else str(status.seq)


def list_text(members: Sequence[str] | None) -> str:
    """Return a list of members: "ABC", or with blanks if names are longer; NULL is "–"."""
    if members is None:
        return "–"
    return ("" if all(len(each) == 1 for each in members) else " ").join(members)


def views_text(status: Status) -> str:
    """Return the last views with their indices: "1 abcd · 2 – · 3 acd"."""
    shown = [f"{index} {list_text(members)}" for index, members in status.views[-_VIEWS:]]
    return ("… " if len(status.views) > _VIEWS else "") + " · ".join(shown)
