"""Traces of any protocol's core: one record for each event that it handled (docs/trace-format.md).

`attach` sets a recorder between a core and who calls it; without one nothing is there and nothing
costs anything. It only looks: what the core does and returns is the same with and without it.

Messages carry nothing for its sake. In a FIFO channel both ends count; a datagram's contents are
its name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address

from .canonical import field_names, is_record, plain
from .writer import VERSION, Record

DATAGRAM = "datagram"


class Parcel(NamedTuple):
    """A network message: its name, its other end, its content, and its channel.

    `channel` is "datagram", or names a FIFO channel between two processes.
    """

    message: str
    other: Address
    content: Record
    channel: str


class Described(Protocol):
    """The description of a protocol for its recorder; the names are the specification's."""

    @property
    def protocol(self) -> str:
        """The protocol's name."""

    def variables(self, core: Any) -> Record:
        """Return the core's state."""

    def parts(self, core: Any, event: Any) -> Record | None:
        """Return what the event has changed, where records do not have whole variables."""

    def given(self, core: Any) -> Record:
        """Return the variables that others may change between two events."""

    def args(self, event: Any) -> Record:
        """Return the event's fields."""

    def sent(self, effect: Any) -> Iterable[Parcel]:
        """Yield the effect's network messages, one for each receiver."""

    def indications(self, effect: Any) -> Iterable[tuple[str, Any]]:
        """Yield the effect's indications to the layer above, where records have them (`told`)."""

    def arrived(self, event: Any) -> Parcel | None:
        """Return the network message that the event consumes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByName:
    """The description of a core that has the specification's names, with a few exceptions."""

    protocol: str
    names: tuple[str, ...]
    """The core's attributes that are variables of the specification."""
    channels: Mapping[str, str]
    """The channel of each network message, by the specification's name."""
    arrivals: Mapping[str, str] = field(default_factory=dict)
    """The events by which messages arrive, if not named "Receive" and the message's name."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """The specification's names of effects and messages' bodies, where they differ."""
    extra: frozenset[str] = frozenset()
    """Fields that the specification lacks."""

    def variables(self, core: Any) -> Record:
        """The attributes."""
        return {name: plain(getattr(core, name)) for name in self.names}

    def parts(self, _core: Any, _event: Any) -> None:
        """Each variable is whole."""

    def given(self, _core: Any) -> Record:
        """Nothing."""
        return {}

    def args(self, event: Any) -> Record:
        """The fields, but for the extra ones."""
        return self._fields(event)

    def sent(self, effect: Any) -> Iterable[Parcel]:
        """An effect with `to` is a message, or carries one as its `body`."""
        if not hasattr(effect, "to"):
            return
        body = getattr(effect, "body", effect)
        body = effect if not is_record(type(body)) else body
        name = type(body).__name__
        name = self.renamed.get(name, name)
        if name not in self.channels:
            return
        content = self._fields(body)
        content.pop("to", None)
        to = effect.to
        for each in [to] if isinstance(to, str | Address) else to:
            yield Parcel(name, _address(each), content, self.channels[name])

    def indications(self, _effect: Any) -> Iterable[tuple[str, Any]]:
        """Nothing."""
        return ()

    def arrived(self, event: Any) -> Parcel | None:
        """The message that arrives by this event."""
        action = type(event).__name__
        for name, channel in self.channels.items():
            if self.arrivals.get(name, f"Receive{name}") == action:
                content = self._fields(event)
                content.pop("sender", None)
                return Parcel(name, _address(event.sender), content, channel)
        return None

    def _fields(self, value: Any) -> Record:
        names = field_names(type(value))
        return {name: plain(getattr(value, name)) for name in names if name not in self.extra}


def _address(who: Any) -> Address:
    return Address(who, 0) if isinstance(who, str) else Address(*who)


class Recorder:
    """Makes the records of one core and hands them to `write`."""

    def __init__(
        self,
        described: Described,
        run: str,
        me: Address,
        nodes: Collection[str],
        write: Callable[[Record], None],
        *,
        constants: Record | None = None,
        real: bool = False,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """With a clock each record has its time, for information only.

        `real`: the records are those of the protocol's `Binding.real`.
        """
        self._clock = clock
        self._real = {"real": True} if real else {}
        self._described = described
        self._write = write
        self._me = me
        self._nodes = sorted({*nodes, me.node})
        self._constants = constants or {}
        self._who = {"run": run, "node": me.node, "incarnation": me.incarnation}
        self._common = {**self._who, "protocol": described.protocol}
        self._index = 0
        self._before: Record | None = None
        self._given: Record = {}
        self._sent: dict[tuple[str, Address], int] = {}
        self._received: dict[tuple[str, Address], int] = {}

    def begin(self, core: Any) -> None:
        """Write the header, with the core's initial state, before the first event."""
        if self._before is not None:
            return
        self._before = self._described.variables(core)
        self._write(
            {
                "kind": "header",
                "version": VERSION,
                **self._common,
                "nodes": self._nodes,
                "constants": self._constants,
                "initial": self._before,
                **self._real,
            }
        )

    def look(self, core: Any) -> None:
        """Before an event, note what others have changed since the last one."""
        known = self._before or {}
        given = self._described.given(core)
        news = {name: value for name, value in given.items() if value != known[name]}
        self._given |= news
        self._before = known | news

    def resume(self, index: int, state: Record) -> None:
        """Continue the file of an earlier process, after that record and in that state."""
        self._index, self._before = index, state

    def handled(self, core: Any, event: Any, effects: Iterable[Any]) -> None:
        """Write the record of an event."""
        effects = tuple(effects)
        described, self._index = self._described, self._index + 1
        sent = [parcel for effect in effects for parcel in described.sent(effect)]
        record: Record = {
            "kind": "event",
            **self._common,
            "index": self._index,
            "action": type(event).__name__,
            "args": described.args(event),
            "received": self._consumed(event),
            "sent": [self._named(parcel) for parcel in sent],
            "changed": self._changed(core, event),
        }
        if told := [each for effect in effects for each in described.indications(effect)]:
            record["told"] = told
        if self._given:
            record["given"], self._given = self._given, {}
        if self._clock is not None:
            record["at"] = round(self._clock(), 6)
        self._write(record)

    def _changed(self, core: Any, event: Any) -> Record:
        parts = self._described.parts(core, event)
        if parts is not None:
            return parts
        before, after = self._before or {}, self._described.variables(core)
        self._before = after
        return {name: after[name] for name in after if after[name] != before.get(name)}

    def refused(self, event: Any) -> None:
        """Count a message that the core refused, as it has taken a number in its channel."""
        self._consumed(event)

    def footer(self, core: Any) -> None:
        """Write the footer: no event is missing at the end, even if there was none."""
        self.begin(core)
        self._write({"kind": "footer", **self._who, "index": self._index})

    def _named(self, parcel: Parcel) -> Record:
        ends = (*self._me, *parcel.other)
        return {
            "id": self._id(parcel, ends, self._sent),
            "to": list(parcel.other),
            "message": parcel.message,
            "content": parcel.content,
        }

    def _consumed(self, event: Any) -> list[Any] | None:
        parcel = self._described.arrived(event)
        if parcel is None:
            return None
        return self._id(parcel, (*parcel.other, *self._me), self._received)

    def _id(
        self, parcel: Parcel, ends: tuple[Any, ...], counts: dict[tuple[str, Address], int]
    ) -> list[Any]:
        if parcel.channel == DATAGRAM:
            # The short fields are for people: checks compare the contents.
            short = (each for each in parcel.content.values() if not isinstance(each, list))
            return [parcel.message, *ends, *short]
        key = (parcel.channel, parcel.other)
        counts[key] = counts.get(key, 0) + 1
        return [parcel.channel, *ends, counts[key]]


def attach(core: Any, recorder: Recorder) -> None:
    """Record every event that the core handles from now on; a core has at most one recorder."""
    handle = core.handle

    def recorded(event: Any) -> Any:
        recorder.begin(core)
        recorder.look(core)
        try:
            effects = handle(event)
        except NotEnabled:
            recorder.refused(event)
            raise
        recorder.handled(core, event, effects)
        return effects

    core.handle = recorded


def detach(core: Any) -> None:
    """Remove the recorder from the core."""
    vars(core).pop("handle", None)
