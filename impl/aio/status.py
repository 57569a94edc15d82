"""The status of a member, which answers a live question: for people, programs, and as bytes."""

from __future__ import annotations

import platform
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from raincheck import __version__
from raincheck.impl.asking.wire import MAX_ANSWER
from raincheck.impl.errors import WireError
from raincheck.impl.messages import Address
from raincheck.impl.stack.departures import Departure

from .metrics import Metrics, RingMetrics

HISTORY = 16
"""The most views of a history."""
_TEXT = 200
_MOST = (256, 64, 16, 4)  # entries of each list; fewer where the names are so long
_NAMES = 256  # events that are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class PastView:
    """A view that the member has installed, or committed."""

    view: int
    """Its number."""
    ago: float
    """How long ago, in seconds."""
    members: int
    joined: tuple[str, ...] = ()
    """Who was not in the view before; empty in the first one."""
    left: tuple[tuple[str, str], ...] = ()
    """Who is no longer in it, and why; "": by its own wish."""

    @property
    def news(self) -> str:
        """What is new in it, as the end of a line; empty if nothing is."""
        news = [f"{member} joined" for member in self.joined]
        news += [f"{member} left" if not why else f"{member}: {why}" for member, why in self.left]
        return f": {'; '.join(news)}" if news else ""


class History:
    """The last views of a member, over all of its lives in this process."""

    def __init__(self) -> None:
        self._last: deque[tuple[float, PastView]] = deque(maxlen=HISTORY)
        self._members: tuple[Address, ...] = ()

    def add(
        self, now: float, view: int, members: tuple[Address, ...], left: Iterable[Departure]
    ) -> PastView:
        """Note a view that there is from now on, and who of the last one is not in it."""
        before = self._members
        past = PastView(
            view=view,
            ago=0.0,
            members=len(members),
            joined=tuple(str(each) for each in members if before and each not in before),
            left=tuple((str(member), why) for member, why in left),
        )
        self._members = members
        self._last.append((now, past))
        return past

    def past(self, now: float) -> tuple[PastView, ...]:
        """Return the views, the latest last."""
        return tuple(replace(past, ago=now - at) for at, past in self._last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A member at one moment. Of a very large group it names the first members only."""

    kind: Literal["group", "ring"]
    of: str
    """The name of the group or ring."""
    member: str
    """Its address: name and life."""
    endpoint: str
    """Where the others reach it."""
    transport: str
    """ "udp", "multicast" or "tcp"."""
    sealed: bool
    """Whether there is a key."""
    status: str
    """ "joining", "member", "leaving" or "left"."""
    uptime: float
    """Seconds since this life began."""
    view: int
    """The number of the last view, 0 before the first."""
    coordinator: str
    """Who sequences the messages of a group; in a ring, empty."""
    members: tuple[tuple[str, str], ...]
    """The members of the view, in order, each with its endpoint as far as it is known."""
    history: tuple[PastView, ...]
    """The last views, at most `HISTORY`; the latest is the last one."""
    missing: tuple[str, ...]
    """Whom it waits for at this moment, and for what."""
    suspected: tuple[str, ...]
    """Members that it takes for crashed at this moment."""
    wire: int
    """The version of the group's or ring's datagrams."""
    release: str = __version__
    python: str = field(default_factory=platform.python_version)
    group: Metrics | None = None
    """The figures of a member of a group."""
    ring: RingMetrics | None = None
    """The figures of a member of a ring."""

    @property
    def metrics(self) -> Metrics | RingMetrics:
        """The figures."""
        metrics = self.group or self.ring
        assert metrics is not None, "a status has the figures of its kind"
        return metrics

    def __str__(self) -> str:
        """Return it in lines, for people."""
        return "\n".join(map(_printable, self._lines()))

    def _lines(self) -> Iterator[str]:
        metrics = self.metrics
        key = ", under a key" if self.sealed else ""
        yield f"{self.member} at {self.endpoint} ({self.transport}{key})"
        doing = "is a member" if self.status == "member" else f"is {self.status}"
        yield f"{doing} of {self.kind} {self.of!r}, for {_time(self.uptime)}"
        yield f"raincheck {self.release}, wire version {self.wire}, Python {self.python}"
        by = f", coordinator {self.coordinator}" if self.coordinator else ""
        yield f"view {self.view}: {metrics.members} members{by}"
        for member, endpoint in self.members:
            yield f"  {member} {endpoint or '(place not known)'}"
        yield from _more(metrics.members - len(self.members))
        yield from _listed("waits for", self.missing, metrics.waiting_for)
        yield from _listed("suspects", self.suspected, len(self.suspected))
        if self.history:
            yield "views, the latest first:"
        for past in reversed(self.history):
            yield f"  {past.view}, {_time(past.ago)} ago, {past.members} members{past.news}"
        yield "figures:"
        for name, value in metrics.figures().items():
            yield f"  {name} {value}"
        for name, count in sorted(metrics.events.items()):
            if count:
                yield f"  {name} {count}"


def encoded(status: Status) -> bytes:
    """Return the status as the body of an answer, with fewer names if they were too many."""
    for most in _MOST:
        answer = msgspec.msgpack.encode(_shortened(status, most))
        if len(answer) <= MAX_ANSWER:
            break
    return answer


def decoded(answer: bytes) -> Status:
    """Return the status in an answer; raises WireError for what is none."""
    try:
        status = msgspec.msgpack.decode(answer, type=Status)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        raise WireError("malformed", str(problem)) from None
    if (status.group if status.kind == "group" else status.ring) is None:
        raise WireError("malformed", f"the figures of a {status.kind} are missing")
    return status


def _shortened(status: Status, most: int) -> Status:
    """Return the status with at most so many entries in each list, and no long texts."""

    def pairs(entries: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        return tuple((_cut(one), _cut(other)) for one, other in tuple(entries)[:most])

    past = [
        replace(each, joined=tuple(map(_cut, each.joined[:most])), left=pairs(each.left))
        for each in status.history[-min(most, HISTORY) :]
    ]
    short = replace(
        status,
        of=_cut(status.of),
        members=pairs(status.members),
        history=tuple(past),
        missing=tuple(map(_cut, status.missing[:most])),
        suspected=tuple(map(_cut, status.suspected[:most])),
    )
    if short.group is not None:
        group = short.group
        events = _events(group.events)
        short = replace(short, group=replace(group, group=_cut(group.group), events=events))
    if short.ring is not None:
        ring = short.ring
        short = replace(
            short, ring=replace(ring, ring=_cut(ring.ring), events=_events(ring.events))
        )
    return short


def _events(events: Mapping[str, int]) -> dict[str, int]:
    return {_cut(name): count for name, count in list(events.items())[:_NAMES] if count}


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"


def _printable(text: str) -> str:
    """Return a line without what could move the cursor: names come from the network."""
    return "".join(each if each.isprintable() else "?" for each in text)


def _listed(what: str, entries: tuple[str, ...], count: int) -> Iterator[str]:
    if not entries:
        yield f"{what} nobody"
        return
    yield f"{what}:"
    for each in entries:
        yield f"  {each}"
    yield from _more(count - len(entries))


def _more(count: int) -> Iterator[str]:
    if count > 0:
        yield f"  and {count} more"


def _time(seconds: float) -> str:
    """Return a time as people read it."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
