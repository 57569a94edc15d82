"""Part (b) of streams while their files grow: who may still send, and who may still ask for a row.

Nobody knows all files beforehand. Rows are kept for the members of the last views of those whose
files grow, with or without a file, and for everybody whose file has grown lately. Who comes later,
and asks for rows that are gone, is not judged here: the files are read once more at the end.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np

from raincheck.conformance.trace.channels_compared import Compared
from raincheck.conformance.trace.columns import NUMBER, Channel, Table
from raincheck.conformance.trace.promised import Followed
from raincheck.conformance.trace.streams import NEVER, Streams

QUIET: Final = 10.0
"""Seconds after which a process that writes nothing, and that nobody has in its view, is not waited
for any more."""


class LiveStreams(Streams):
    """The rows of streams that somebody may still ask for."""

    def __init__(self) -> None:
        super().__init__(())
        self.late = False
        """Whether somebody asked for rows that are gone: then this says nothing of its stream."""
        self._closed: set[str] = set()
        self._grew: dict[str, float] = {}
        self._followed: dict[str, Followed] = {}
        self._gone: dict[str, int] = {}
        self._awaited: Collection[str] = ()
        self._finished = False

    def grew(self, who: str, file: Followed, now: float) -> None:
        """Note that this file has more records."""
        self._grew[who] = now
        if who not in self._followed:
            self._followed[who] = file
            self.reading.add(who)
            self.follow(who, file)
        if file.ended:
            self.close(who)

    def close(self, who: str) -> None:
        """Note that nothing comes of this process any more: its footer was read, or it is gone."""
        self._closed.add(who)
        self.reading.discard(who)

    @property
    def found(self) -> dict[str, Compared]:
        """The streams of which a reader's rows do not fit."""
        return self._bad

    def await_at(self, now: float) -> None:
        """Find out for whom rows are kept from now on."""
        lately = {who for who, at in self._grew.items() if now - at < QUIET}
        views = [self._followed[who].members for who in lately]
        named = {f"{node}.{life}" for members in views for node, life in members}
        self._awaited = (lately | named) - self._closed

    def finish(self) -> dict[str, Compared]:
        """Compare the rest: nothing comes any more."""
        self._finished = True
        return super().finish()

    def _goes_on(self, sender: str) -> bool:
        return not self._finished and sender not in self._closed

    def _readers(self) -> Collection[str]:
        return self._awaited

    def _read(self, who: str, end: Channel | None) -> int:
        closed = self._finished or who in self._closed
        if closed or (end is not None and end.text in self._bad):
            return NEVER
        return 0 if end is None else end.count

    def _drop(self, name: str, dropped: Table) -> None:
        self._gone[name] = int(dropped[-1, NUMBER])

    def _compare(self, name: str, text: str) -> None:
        received = self._waiting[text]
        missed = int(np.searchsorted(received[:, NUMBER], self._gone.get(name, 0), side="right"))
        if missed and text not in self._bad:
            self.late = True
            self._waiting[text] = received[missed:]
        super()._compare(name, text)
