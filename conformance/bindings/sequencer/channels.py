"""The ends of the network's channels at one node, according to its trace.

Law of this file: it keeps what the model leaves to the network: how far this node has written and
read each channel. It packs the rows that are compared with the other end, and knows nothing of the
handlers.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from raincheck.conformance.trace.columns import STREAM_ROW, Columns, Stream, stable_digest
from raincheck.conformance.trace.events import Address as PlainAddress
from raincheck.conformance.trace.events import Entry, MessageId
from raincheck.conformance.trace.sequencer.rows import Rows
from raincheck.model.machine.runs import Address

_ALONE = 3
"""Parts of the name of a channel that has no receiver of its own."""


class Sender:
    """A sender of messages: its address in the model, and its codes in the packed rows."""

    __slots__ = ("address", "code", "key")

    def __init__(self, plain: PlainAddress, rows: Rows) -> None:
        self.address = Address(*plain)
        self.code = rows.code_of(plain[0])
        self.key = rows.key_of(plain)


class Reader(Stream):
    """One channel as its receiver sees it: `count` is the position of the last read."""

    __slots__ = ("address", "channel", "events", "life", "node", "plain")

    def __init__(self, channel: MessageId, mine: PlainAddress) -> None:
        name = _text(channel)
        # A stream of DATA has many readers, the other channels one.
        super().__init__(name if len(channel) > _ALONE else _text((*channel, *mine)), name)
        self.channel = channel
        self.node, self.life = str(channel[1]), int(channel[2])
        self.plain: PlainAddress = (self.node, self.life)
        self.address = Address(*self.plain)
        self.events = 0
        """The number of events that have read of it."""


class Writer(Stream):
    """One channel as its sender sees it: its receiver, and by `count` how much was written."""

    __slots__ = ("channel", "events", "to")

    def __init__(self, channel: MessageId, to: PlainAddress | None) -> None:
        super().__init__(_text(channel))
        self.channel = channel
        self.to = to
        self.events = 0
        """The number of messages written to it, of one or more of the application's each."""


class Channels:
    """All the channels of one (node, incarnation)."""

    def __init__(self, mine: PlainAddress, rows: Rows, columns: Columns) -> None:
        self.rows = rows
        self.columns = columns
        self.mine = mine
        self.streams: dict[MessageId, Reader] = {}
        """The streams of DATA that it reads."""
        self.forwards: dict[MessageId, Reader] = {}
        """The channels of FORWARDs that it reads."""
        self.senders: dict[PlainAddress, Sender] = {}
        self.since: dict[Address, int] | None = None
        """In groups that merge: the number of the view in which each member came into this one's.
        """
        self._writers: dict[Address | None, Writer] = {}
        self._former: list[Writer] = []
        """Channels to members that were parted from this one since."""
        self._speakers: dict[Address | None, Writer] = {}
        self._hearing: dict[MessageId, Reader] = {}

    def sender(self, plain: PlainAddress) -> Sender:
        """Return the sender with that address."""
        found = self.senders.get(plain)
        if found is None:
            found = self.senders[plain] = Sender(plain, self.rows)
        return found

    def stream(self, channel: MessageId) -> Reader:
        """Begin to read a stream of DATA."""
        reader = self.streams[channel] = self._reader(channel)
        return reader

    def forward(self, channel: MessageId) -> Reader:
        """Begin to read a channel of FORWARDs."""
        reader = self.forwards[channel] = self._reader(channel)
        return reader

    def _reader(self, channel: MessageId) -> Reader:
        made = Reader(channel, self.mine)
        known = self.columns.received.setdefault(made.text, made)
        assert isinstance(known, Reader)
        known.count = 0
        return known

    def writer(self, to: Address | None) -> Writer:
        """Return the channel of FORWARDs to that address, or for None the stream of DATA."""
        writer = self._writers.get(to)
        if writer is None:
            plain: PlainAddress | None = None if to is None else (to.node, to.incarnation)
            kind = "DATA" if to is None else self.forwarding(to)
            writer = self._writers[to] = self._writer(kind, plain)
        return writer

    def forwarding(self, other: Address) -> str:
        """Return what the channels of FORWARDs from and to that member are called now."""
        since = None if self.since is None else self.since.get(other)
        return "FORWARD" if since is None else f"FORWARD {since}"

    def met(self, members: Iterable[Address], view: int) -> None:
        """Note who has come into this node's view: their channels begin anew."""
        if self.since is None:
            return
        for member in members:
            old = [each for each in self.forwards if each[1:3] == (member[0], member[1])]
            for channel in old:
                del self.forwards[channel]
            if (known := self._writers.pop(member, None)) is not None:
                self._former.append(known)
            self.since[member] = view

    def speaker(self, to: Address | None) -> Writer:
        """Return the channel of ACKs to that coordinator, or for None that of SAFEs to all."""
        speaker = self._speakers.get(to)
        if speaker is None:
            plain: PlainAddress | None = None if to is None else (to.node, to.incarnation)
            speaker = self._speakers[to] = self._writer("SAFE" if to is None else "ACK", plain)
        return speaker

    def hearing(self, channel: MessageId) -> Reader:
        """Return the channel of ACKs or SAFEs; a message's number is the place it speaks of."""
        reader = self._hearing.get(channel)
        if reader is None:
            reader = self._hearing[channel] = self._reader(channel)
        return reader

    def _writer(self, kind: str, to: PlainAddress | None) -> Writer:
        made = Writer((kind, *self.mine, *(to or ())), to)
        known = self.columns.sent.setdefault(made.text, made)
        assert isinstance(known, Writer)
        return known

    def admits(self, to: PlainAddress, view: int, cut: Any, index: int, clock: int) -> None:
        """Note a JOIN_RSP that was sent, with its table and digest."""
        row = STREAM_ROW(stable_digest(msgspec.json.encode(cut)), index, view, clock)
        self._writer("JOIN_RSP", to).append(row)

    def admitted(self, by: PlainAddress, view: int, cut: Any, index: int, clock: int) -> None:
        """Note a JOIN_RSP that was received, with its table and digest."""
        reader = self._reader(("JOIN_RSP", *by, *self.mine))
        reader.append(STREAM_ROW(stable_digest(msgspec.json.encode(cut)), index, view, clock))
        reader.count = view

    def positions(self) -> dict[PlainAddress, int]:
        """Return how far it has read each stream."""
        return {reader.plain: reader.count for reader in self.streams.values()}

    def bundles(self) -> dict[str, int]:
        """Return how many messages it multicast, and how many of each stream it received."""
        writer = self._writers.get(None)
        found = {f"deliver {{}} {r.node}.{r.life}": r.events for r in self.streams.values()}
        return found | ({} if writer is None else {"multicast {}": writer.events})

    def moved(self, before: dict[PlainAddress, int]) -> tuple[Entry, ...]:
        """Return the positions that have changed."""
        now = self.positions()
        return tuple(
            (*who, now.get(who, 0))
            for who in sorted(before | now)
            if now.get(who, 0) != before.get(who, 0)
        )

    def rewind(self) -> None:
        """Forget the positions in all streams: the process has ended."""
        for reader in self.streams.values():
            reader.count = 0

    def written(self) -> dict[str, int]:
        """Return how many messages it wrote to each channel."""
        writers = (*self._former, *self._writers.values(), *self._speakers.values())
        return {writer.text: writer.count for writer in writers}


def _text(channel: MessageId) -> str:
    return msgspec.json.encode(channel).decode()
