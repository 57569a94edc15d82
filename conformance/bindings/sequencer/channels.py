"""The ends of the network's channels at one node, according to its trace.

Law of this file: it keeps what the model leaves to the network: how far this node has written and
read each channel. It packs the rows that are compared with the other end, and knows nothing of the
handlers.
"""

from array import array

from raincheck.conformance.trace.events import Address as PlainAddress
from raincheck.conformance.trace.events import Entry, MessageId
from raincheck.conformance.trace.rows import Rows
from raincheck.model.machine.runs import Address


class Sender:
    """A sender of messages: its address in the model, and its codes in the packed rows."""

    __slots__ = ("address", "code", "key")

    def __init__(self, plain: PlainAddress, rows: Rows) -> None:
        self.address = Address(*plain)
        self.code = rows.code_of(plain[0])
        self.key = rows.key_of(plain)


class Reader:
    """One channel as its receiver sees it: the position of the next read, and its rows."""

    __slots__ = ("add", "at", "channel", "life", "node", "plain")

    def __init__(self, channel: MessageId, rows: "array[int]") -> None:
        self.channel = channel
        self.node, self.life = str(channel[1]), int(channel[2])
        self.plain: PlainAddress = (self.node, self.life)
        self.at = 0
        self.add = rows.frombytes


class Writer:
    """One channel as its sender sees it: its receiver, how much was written, its rows."""

    __slots__ = ("add", "at", "channel", "to")

    def __init__(self, channel: MessageId, to: PlainAddress | None, rows: "array[int]") -> None:
        self.channel = channel
        self.to = to
        self.at = 0
        self.add = rows.frombytes


class Channels:
    """All the channels of one (node, incarnation)."""

    def __init__(self, mine: PlainAddress, rows: Rows) -> None:
        self.rows = rows
        self.mine = mine
        self.streams: dict[MessageId, Reader] = {}
        """The streams of DATA that it reads."""
        self.forwards: dict[MessageId, Reader] = {}
        """The channels of FORWARDs that it reads."""
        self.senders: dict[PlainAddress, Sender] = {}
        self._writers: dict[Address | None, Writer] = {}

    def sender(self, plain: PlainAddress) -> Sender:
        """Return the sender with that address."""
        found = self.senders.get(plain)
        if found is None:
            found = self.senders[plain] = Sender(plain, self.rows)
        return found

    def stream(self, channel: MessageId) -> Reader:
        """Begin to read a stream of DATA."""
        reader = Reader(channel, self.rows.received_on(channel))
        self.streams[channel] = reader
        return reader

    def forward(self, channel: MessageId) -> Reader:
        """Begin to read a channel of FORWARDs."""
        reader = Reader(channel, self.rows.received_on(channel))
        self.forwards[channel] = reader
        return reader

    def writer(self, to: Address | None) -> Writer:
        """Return the channel of FORWARDs to that address, or for None the stream of DATA."""
        writer = self._writers.get(to)
        if writer is None:
            plain: PlainAddress | None = None if to is None else (to.node, to.incarnation)
            kind: tuple[str, ...] = ("DATA",) if to is None else ("FORWARD",)
            channel: MessageId = (*kind, *self.mine, *(plain or ()))
            writer = self._writers[to] = Writer(channel, plain, self.rows.sent_on(channel))
        return writer

    def read_up_to(self, channel: MessageId) -> int:
        """Return how far this node has read a channel of either kind."""
        reader = self.streams.get(channel) or self.forwards.get(channel)
        return reader.at if reader is not None else 0

    def positions(self) -> dict[PlainAddress, int]:
        """Return how far it has read each stream."""
        return {reader.plain: reader.at for reader in self.streams.values()}

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
            reader.at = 0

    def written(self) -> dict[MessageId, int]:
        """Return how many messages it wrote to each channel."""
        return {writer.channel: writer.at for writer in self._writers.values()}
