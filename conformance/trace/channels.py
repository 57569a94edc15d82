"""Part (b) as the files are read: both ends of each channel, compared and dropped piece by piece.

Law of this file: what it finds does not depend on the order in which the files are read. How much
it must keep does: read in the order of the clocks, no more than is under way between the nodes.
"""

from array import array
from collections.abc import Iterable, Mapping

import numpy as np

from .events import Address, MessageId
from .findings import Finding, Summary
from .localrun import LocalRun
from .network import Mismatch, Table, channel_finding, compare_channel, table

NOTHING: Table = table(b"")
NEVER = 1 << 62


class Channels:
    """The rows of all channels that not all of their readers have consumed yet."""

    def __init__(self, expected: Iterable[Address]) -> None:
        self.reading = set(expected)
        """The files that are not at their end yet."""
        self._runs: dict[Address, LocalRun] = {}
        self._sent: dict[MessageId, Table] = {}
        self._waiting: dict[tuple[Address, MessageId], Table] = {}
        self._bad: dict[tuple[Address, MessageId], Mismatch] = {}

    def follow(self, who: Address, run: LocalRun) -> None:
        """Take that file's rows from now on, whenever it is time to `settle`."""
        self._runs[who] = run

    def settle(self) -> int:
        """Compare what both ends have told, drop what nobody needs; return the rows that stay."""
        for run in self._runs.values():
            for channel, packed in run.rows.sent.items():
                if packed:
                    self._sent[channel] = _joined(self._sent.get(channel), packed)
        for who, run in self._runs.items():
            for channel, packed in run.rows.received.items():
                if packed:
                    known = self._waiting.get((who, channel))
                    self._waiting[who, channel] = _joined(known, packed)
        for who, channel in list(self._waiting):
            self._compare(who, channel)
        for channel in list(self._sent):
            rows = self._sent[channel]
            left = rows[rows[:, 0] > self._consumed(channel)]
            if len(left) or self._sender(channel) in self.reading:
                self._sent[channel] = left.copy()
            else:
                del self._sent[channel]
        for who in set(self._runs) - self.reading:
            del self._runs[who]
        kept = (*self._sent.values(), *self._waiting.values())
        return sum(len(rows) for rows in kept)

    def finish(self, summaries: Mapping[Address, Summary]) -> list[Finding]:
        """Compare the rest, and say what does not fit."""
        self.reading.clear()
        self.settle()
        found = (
            channel_finding(summaries, who, channel, bad)
            for (who, channel), bad in self._bad.items()
        )
        return [finding for finding in found if finding is not None]

    def _compare(self, who: Address, channel: MessageId) -> None:
        """Compare a reader's rows as far as the sender's are known."""
        received = self._waiting.pop((who, channel))
        if (who, channel) in self._bad:
            return  # only the first mismatch of a reader is told
        sent = self._sent.get(channel, NOTHING)
        known = len(received)
        if self._sender(channel) in self.reading:
            last = int(sent[-1, 0]) if len(sent) else 0
            known = int(np.searchsorted(received[:, 0], last, side="right"))
        bad = compare_channel(sent, received[:known])
        if bad is not None:
            self._bad[who, channel] = bad
        elif known < len(received):
            self._waiting[who, channel] = received[known:]

    def _consumed(self, channel: MessageId) -> int:
        """The position up to which nobody will ask for this channel's rows again."""
        if channel[0] == "FORWARD":
            readers: Iterable[Address] = ((str(channel[3]), int(channel[4])),)
        else:
            readers = self.reading | {who for who, other in self._waiting if other == channel}
        return min((self._read(who, channel) for who in readers), default=NEVER)

    def _read(self, who: Address, channel: MessageId) -> int:
        waiting = self._waiting.get((who, channel))
        if waiting is not None:
            return int(waiting[0, 0]) - 1
        if who not in self.reading or (who, channel) in self._bad:
            return NEVER
        run = self._runs.get(who)
        return 0 if run is None else run.trace.channels.read_up_to(channel)

    @staticmethod
    def _sender(channel: MessageId) -> Address:
        return (str(channel[1]), int(channel[2]))


def _joined(known: Table | None, packed: "array[int]") -> Table:
    """The rows known and the new ones; those are taken out of their array."""
    fresh = table(packed.tobytes())
    del packed[:]
    return fresh if known is None or not len(known) else np.concatenate((known, fresh))
