"""Both ends of messages, of records that are judged in full: ids, channels and digests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from raincheck.conformance.bindings.binding import DATAGRAM, Binding
from raincheck.conformance.bindings.conversion import ShapeError, fields_of, plain, shaped
from raincheck.conformance.trace.columns import SPOILED, Channel, Columns
from raincheck.conformance.trace.records import Address, Event, Sent
from raincheck.impl.recording.core import view_number

from .forms import common_fields, wanted_of

End: TypeAlias = tuple[Channel, int, int]
"""One end of a message: its channel, a digest of what is in it, and its number there."""


class Ends:
    """The ends of the messages of one process.

    `out_of_order` is told of a message of a FIFO channel that is not the next one.
    """

    def __init__(
        self,
        binding: Binding,
        me: Address,
        columns: Columns,
        out_of_order: Callable[[str], None],
    ) -> None:
        self.binding, self.me, self.columns = binding, me, columns
        self._beside: frozenset[Address] = frozenset()
        self._since: dict[Address, int] = {}
        self._out_of_order = out_of_order

    def meet(self, local: Any, event: Any = None) -> None:
        """Note who has come into the view of that state, which an event has led to."""
        view = getattr(local, "view", None)
        holder: Any = local if hasattr(local, "members") else view
        members: frozenset[Address] = frozenset(getattr(holder, "members", ()))
        if members != self._beside:
            known = getattr(event, "view", None) if view is None else view
            self._since |= dict.fromkeys(
                members - self._beside, 0 if known is None else view_number(known)
            )
            self._beside = members

    def sent(self, sent: Sent) -> End:
        """Return this end of a message that was sent."""
        if sent.message not in self.binding.channels:
            raise ShapeError(f"{self.binding.protocol} has no message {sent.message!r}")
        digest = self._digest(sent.message, sent.content)
        return self._end(sent.id, (*self.me, *sent.to), sent.message, digest, incoming=False)

    def received(self, record: Event, event: Any) -> End | None:
        """Return this end of the message that the event consumes, if it consumes one."""
        message = next(
            (name for name in self.binding.channels if self.binding.arrival(name) == record.action),
            None,
        )
        if message is None:
            if record.received is not None:
                raise ShapeError(f"{record.action} consumes no message")
            return None
        if record.received is None:
            raise ShapeError(f"{record.action} consumes a message, and none is named")
        ends = record.received[1:5]
        if len(ends) != 4 or type(ends[1]) is not int:
            raise ShapeError(f"{json_text(record.received)} is no id of a message")
        arrived = self.binding.as_sent(message, event)
        spoiled = self.binding.spoiled.get(message)
        known = spoiled is None or not spoiled(arrived)
        digest = self._digest(message, arrived._asdict()) if known else SPOILED
        end = self._end(record.received, (*ends[:2], *self.me), message, digest, incoming=True)
        sender = getattr(arrived, self.binding.sent_by, None)
        sender = ends[:2] if sender is None else plain(self.binding.end_of(sender))
        if sender not in (ends[0], ends[:2]):
            raise ShapeError(
                f"it comes from {json_text(ends[:2])}, and the sender is {json_text(sender)}"
            )
        return end

    def _end(
        self, name: list[Any], ends: tuple[Any, ...], message: str, digest: int, *, incoming: bool
    ) -> End:
        """Return that message's end; raise ShapeError if its id is not the one it must have."""
        kind = self.binding.channels[message]
        if kind == DATAGRAM:
            if name[:5] != [message, *ends]:
                raise ShapeError(
                    f"{json_text(name)} is not the id of a {message} between {json_text(ends)}"
                )
            channel = self.columns.channel(json_text(name[:5]), incoming=incoming, fifo=False)
            return channel, digest, 0
        called = self._called(kind, ends, incoming=incoming)
        if name[:5] != [called, *ends] or len(name) != 6:
            raise ShapeError(
                f"{json_text(name)} is not an id of channel {called!r} between {json_text(ends)}"
            )
        channel = self.columns.channel(json_text(name[:5]), incoming=incoming, fifo=True)
        count = channel.count + 1
        channel.count = name[5] if type(name[5]) is int else count
        if name[5] != count:
            reason = f"message {count} of the channel is next, and this is {name[5]}"
            self._out_of_order(f"{json_text(name)}: {reason}")
        return channel, digest, channel.count

    def _called(self, kind: str, ends: tuple[Any, ...], *, incoming: bool) -> str:
        """Return what a FIFO channel is called: where groups merge, by the view in which its ends
        came together.
        """
        node, life = ends[:2] if incoming else ends[2:]
        since = self._since.get((node, life))
        return kind if since is None else f"{kind} {since}"

    def _digest(self, message: str, values: dict[str, Any]) -> int:
        """Return the digest of the contents, as far as they are compared at both ends."""
        wanted = fields_of(wanted_of(self.binding, message))
        names = common_fields(self.binding, message)
        common = {name: plain(shaped(values.get(name), wanted[name])) for name in names}
        return self.columns.digest(message.encode() + msgspec.json.encode(common))


def json_text(value: Any) -> str:
    """Return the value as JSON, always the same for the same value."""
    return msgspec.json.encode(value).decode()
