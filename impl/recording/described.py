"""A protocol's description for its recorder: what its core's values are called in records.

`ByName` describes a core that has the specification's names; `FromBinding`
(`conformance/bindings/recorded.py`) any core with a binding. Records of a form of their own, as
SEQUENCER's, override what differs in `UsualForm` (`sequencer.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from raincheck.impl.messages import Address

from .canonical import field_names, is_record, plain
from .writer import Record

DATAGRAM = "datagram"


class Parcel(NamedTuple):
    """A network message: its name, its other end, its content, and its channel.

    `channel` is "datagram", or names a FIFO channel between two processes.
    """

    message: str
    other: Address | None
    """The receiver of what is sent, None for all; the sender of what has arrived."""
    content: Record
    channel: str
    place: int | None = None
    """The number in its channel that the message carries; without it both ends count."""
    size: int = 1
    """How many messages it carries, each of which takes a number."""
    to_all: bool = False
    """Whether what has arrived was sent to all: its channel's name has no receiver."""


class Described(Protocol):
    """The description of a protocol for its recorder; the names are the specification's.

    It serves one recorder only, so it may remember what the core's state was. `UsualForm` has those
    methods that a protocol needs for a form of its own.
    """

    @property
    def protocol(self) -> str:
        """The protocol's name."""

    def variables(self, core: Any) -> Record:
        """Return the core's state."""

    def args(self, event: Any, effects: Sequence[Any]) -> Record:
        """Return the event's fields."""

    def sent(self, effect: Any) -> Iterable[Parcel]:
        """Yield the effect's network messages, one for each receiver."""

    def arrived(self, event: Any) -> Parcel | None:
        """Return the network message that the event consumes."""

    def ordered(self, common: Record) -> Record:
        """Return the fields that header and events begin with, in the order of the records."""

    def opening(self, core: Any, variables: Record) -> Record:
        """Return what the header says of the core's beginning."""

    def stamp(self, core: Any) -> Record:
        """Return what each event's record has beside its index, such as a clock."""

    def parts(self, core: Any, event: Any, effects: Sequence[Any]) -> Record | None:
        """Return what the event has changed, where records do not have whole variables."""

    def given(self, core: Any) -> Record:
        """Return the variables that others may change between two events."""

    def contents(self, parcel: Parcel) -> Record:
        """Return what a sent message's record has beside its id and receiver."""

    def indications(self, effect: Any) -> Iterable[tuple[str, Any]]:
        """Yield the effect's indications to the layer above, where records have them (`told`)."""


class UsualForm:
    """The form of records that docs/trace-format.md has for most protocols."""

    __slots__ = ()

    def ordered(self, common: Record) -> Record:
        """Run, node, incarnation, protocol: the checker's fast path knows this order."""
        return common

    def opening(self, _core: Any, variables: Record) -> Record:
        """The variables."""
        return {"initial": variables}

    def stamp(self, _core: Any) -> Record:
        """Nothing."""
        return {}

    def parts(self, _core: Any, _event: Any, _effects: Sequence[Any]) -> Record | None:
        """Each variable is whole."""
        return None

    def given(self, _core: Any) -> Record:
        """Nothing."""
        return {}

    def contents(self, parcel: Parcel) -> Record:
        """The message's name and fields."""
        return {"message": parcel.message, "content": parcel.content}

    def indications(self, _effect: Any) -> Iterable[tuple[str, Any]]:
        """Nothing."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ByName(UsualForm):
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

    def args(self, event: Any, _effects: Sequence[Any]) -> Record:
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
