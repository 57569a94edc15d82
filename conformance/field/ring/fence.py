"""A resource that only one member may change at a time, and that trusts nobody: it compares fences.

Each write carries the fence of the lock under which it is made. A fence smaller than the greatest
seen belongs to a late holder, and the write is refused. `judged` reads the log of all writes and
does not trust the resource either.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

Fence = tuple[int, str, int, int, int]
"""The number of an epoch, its claimer (name, incarnation), the token's number in it, and which of
the locks of one visit it is: later fences are greater.
"""
NO_FENCE: Fence = (0, "", 0, 0, 0)
_LINE = 1 << 12


class Write(NamedTuple):
    """An attempted write."""

    who: str
    fence: Fence
    accepted: bool
    at: float


class Found(NamedTuple):
    """A finding about the writes."""

    promise: str
    at: float
    facts: dict[str, Any]


class Resource:
    """Accepts writes over TCP, one line each, and keeps a log of them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.log: list[Write] = []
        self.greatest = NO_FENCE
        self._clock = clock
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def start(self) -> str:
        """Listen, and return the address."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_LINE)
        host, port = self._server.sockets[0].getsockname()
        return f"{host}:{port}"

    async def close(self) -> None:
        """Stop accepting connections."""
        if self._server is not None:
            self._server.close()
            for writer in self._open:
                writer.close()
            await self._server.wait_closed()

    def write(self, who: str, fence: Fence) -> bool:
        """Return whether the write is accepted."""
        accepted = self.accepts(fence)
        if accepted:
            self.greatest = fence
        self.log.append(Write(who, fence, accepted, self._clock()))
        return accepted

    def accepts(self, fence: Fence) -> bool:
        """Tell whether no greater fence has been seen yet."""
        return fence >= self.greatest

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            with suppress(OSError, ValueError, KeyError, TypeError):
                while line := await reader.readline():
                    asked = json.loads(line)
                    accepted = self.write(str(asked["who"]), fence_of(asked["fence"]))
                    writer.write(b"accepted\n" if accepted else b"refused\n")
        finally:
            self._open.discard(writer)
            writer.close()


class Access:
    """A member's connection to the resource."""

    def __init__(self, who: str, place: str) -> None:
        self._who = who
        self._host, _, port = place.rpartition(":")
        self._port = int(port)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def write(self, fence: Fence) -> bool:
        """Write under that fence, and return whether it was accepted."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        line = json.dumps({"who": self._who, "fence": fence}, separators=(",", ":"))
        writer.write(line.encode() + b"\n")
        return await reader.readline() == b"accepted\n"

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()


def fence_of(value: Any) -> Fence:
    """Return the fence that the JSON value is; raise ValueError if it is none."""
    try:
        epoch, node, incarnation, number, turn = value
    except TypeError as error:
        raise ValueError(f"{value!r} is no fence") from error
    return int(epoch), str(node), int(incarnation), int(number), int(turn)


def judged(log: Iterable[Write]) -> list[Found]:
    """Return the findings about the writes, the first of each kind.

    Fenced: no write was accepted after one with a greater fence, and none was refused without one.
    FenceUnique: no two members have used the same number.
    """
    found: dict[str, Found] = {}
    greatest: Write | None = None
    holders: dict[Fence, Write] = {}

    def wrong(promise: str, one: Write, two: Write, what: str) -> None:
        facts = {"members": [one.who, two.who], "fences": [one.fence, two.fence], "what": what}
        found.setdefault(promise, Found(promise, two.at, facts))

    for write in log:
        other = holders.setdefault((*write.fence[:4], 0), write)
        if other.who != write.who:
            wrong("FenceUnique", other, write, "two members hold the token at the same number")
        late = greatest is not None and write.fence < greatest.fence
        if late and write.accepted:
            assert greatest is not None
            wrong("Fenced", greatest, write, "a smaller fence was accepted after a greater one")
        if not late and not write.accepted:
            wrong("Fenced", greatest or write, write, "refused, although none greater had come")
        if write.accepted and not late:
            greatest = write
    return list(found.values())
