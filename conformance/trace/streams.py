"""Part (b) of streams as the files are read: both ends compared and dropped, piece by piece.

Law of this file: what it finds does not depend on the order in which the files are read. How much
it must keep does: read in the order of the clocks, no more than is under way between the nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from typing import Final, Protocol

import msgspec
import numpy as np

from .channels_compared import ABSENT, CONTENTS, EARLY, Bad, Compared
from .columns import CLOCK, DIGEST, INDEX, NUMBER, Channel, Columns, Stream, Table

NOTHING: Final[Table] = np.empty((0, 4), dtype=np.int64)
NO_ORIGINS: Final[Table] = np.empty((0, 3), dtype=np.int64)
"""The clocks have the order of the events: it need not be found."""
NEVER: Final = 1 << 62


class Followed(Protocol):
    """Whoever follows a file."""

    @property
    def columns(self) -> Columns:
        """The ends of its channels."""


def compare_stream(sent: Table, received: Table) -> Compared:
    """Compare one reader's rows with the stream's, both by number; the first that is wrong counts.

    In each block of numbers one may be found: the first of them all is the reader's.
    """
    if not len(received):
        return Compared(NO_ORIGINS)
    places = np.searchsorted(sent[:, NUMBER], received[:, NUMBER])
    if len(sent):
        partner = sent[np.minimum(places, len(sent) - 1)]
        absent = partner[:, NUMBER] != received[:, NUMBER]
        other = partner[:, DIGEST] != received[:, DIGEST]
        early = partner[:, CLOCK] >= received[:, CLOCK]
        wrong = absent | other | early
    else:
        partner = other = received
        wrong = absent = np.ones(len(received), dtype=bool)
    if not wrong.any():
        return Compared(NO_ORIGINS)
    at = int(np.argmax(wrong))
    bad: list[Bad] = []
    here = int(received[at, INDEX]), int(received[at, NUMBER]), int(received[at, CLOCK])
    there = int(partner[at, INDEX]), int(partner[at, CLOCK])
    if absent[at]:
        bad.append(Bad(ABSENT, *here))
    elif other[at]:
        bad.append(Bad(CONTENTS, *here, *there))
    else:
        bad.append(Bad(EARLY, *here, *there))
    return Compared(NO_ORIGINS, bad)


@cache
def _ends(text: str) -> tuple[str, str]:
    """The process that sends, and the one that reads, "" where several do."""
    _, node, life, *other = msgspec.json.decode(text)
    return f"{node}.{life}", f"{other[0]}.{other[1]}" if other else ""


class Streams:
    """The rows of all streams that not all of their readers have consumed yet."""

    def __init__(self, expected: Iterable[str]) -> None:
        self.reading = set(expected)
        """The processes whose files are not at their end yet."""
        self._files: dict[str, Followed] = {}
        self._sent: dict[str, Table] = {}
        self._waiting: dict[str, Table] = {}
        self._ends: dict[str, dict[str, Channel]] = {}
        """The readers' ends of each stream, by process."""
        self._bad: dict[str, Compared] = {}

    def follow(self, who: str, file: Followed) -> None:
        """Take that file's rows from now on, whenever it is time to `settle`."""
        self._files[who] = file

    def settle(self) -> int:
        """Compare what both ends have told, drop what nobody needs; return the rows that stay."""
        for who, file in self._files.items():
            for end in file.columns.sent.values():
                if isinstance(end, Stream) and end.rows:
                    self._sent[end.text] = _joined(self._sent.get(end.text), end)
            for end in file.columns.received.values():
                if isinstance(end, Stream):
                    self._ends.setdefault(end.sent_as, {})[who] = end
                    if end.rows:
                        self._waiting[end.text] = _joined(self._waiting.get(end.text), end)
        for name, ends in self._ends.items():
            for end in ends.values():
                if end.text in self._waiting:
                    self._compare(name, end.text)
        for name, rows in list(self._sent.items()):
            kept = rows[:, NUMBER] > self._consumed(name)
            left = rows[kept]
            if len(left) < len(rows):
                self._drop(name, rows[~kept])
            if len(left):
                self._sent[name] = left.copy()
            else:
                del self._sent[name]
        for who in set(self._files) - self.reading:
            del self._files[who]
        stay = (*self._sent.values(), *self._waiting.values())
        return sum(len(rows) for rows in stay)

    def finish(self) -> dict[str, Compared]:
        """Compare the rest; return the streams of which a reader's rows do not fit."""
        self.reading.clear()
        self.settle()
        return self._bad

    def _compare(self, name: str, text: str) -> None:
        """Compare a reader's rows as far as the sender's are known."""
        received = self._waiting.pop(text)
        if text in self._bad:
            return  # only the first mismatch of a reader is told
        sent = self._sent.get(name, NOTHING)
        known = len(received)
        if self._goes_on(_ends(name)[0]):
            last = int(sent[-1, NUMBER]) if len(sent) else 0
            known = int(np.searchsorted(received[:, NUMBER], last, side="right"))
        compared = compare_stream(sent, received[:known])
        if compared.bad:
            self._bad[text] = compared
        elif known < len(received):
            self._waiting[text] = received[known:]

    def _goes_on(self, sender: str) -> bool:
        """Whether more of what that process sent may come to be known."""
        return sender in self.reading

    def _drop(self, name: str, dropped: Table) -> None:
        """Take note that these rows of that stream are dropped."""

    def _consumed(self, name: str) -> int:
        """The number up to which nobody will ask for this stream's rows again.

        Rows that wait for the sender's do not count: they are behind all that it has sent so far.
        """
        ends, only = self._ends.get(name, {}), _ends(name)[1]
        readers = {only} if only else self._readers()
        return min((self._read(who, ends.get(who)) for who in readers), default=NEVER)

    def _readers(self) -> Collection[str]:
        """Who may read a stream that is for all."""
        return self.reading

    def _read(self, who: str, end: Channel | None) -> int:
        if who not in self.reading or (end is not None and end.text in self._bad):
            return NEVER
        return 0 if end is None else end.count


def _joined(known: Table | None, end: Stream) -> Table:
    """The rows known and the new ones; those are taken out of the end."""
    fresh = end.table()
    del end.rows[:]
    return fresh if known is None or not len(known) else np.concatenate((known, fresh))
