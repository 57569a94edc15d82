"""The history of a ring's views, as an application reads it."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import NamedTuple

from .messages import Address
from .waiting import Signal

_KEPT = 1000  # for a reader that does not keep up; the oldest go first


class RingView(NamedTuple):
    """A view and its place in the history, which is the same at all members."""

    at: int
    members: tuple[Address, ...] | None
    """In the order of the ring; None where this member knows no view, and another may."""

    def __str__(self) -> str:
        return f"view {self.at} [{' '.join(map(str, self.members or ()))}]"


class Readers:
    """Those who iterate over the views as they come."""

    def __init__(self, settled: Signal) -> None:
        self._settled = settled
        self._readers: list[deque[RingView]] = []

    def add(self, view: RingView) -> None:
        """This one has been committed."""
        for reader in self._readers:
            reader.append(view)

    async def read(
        self, first: Iterable[RingView], ended: Callable[[], bool]
    ) -> AsyncIterator[RingView]:
        """Iterate over these, and then over those that come."""
        mine = deque(first, maxlen=_KEPT)
        self._readers.append(mine)
        try:
            while True:
                while mine:
                    yield mine.popleft()
                if ended():
                    return
                await self._settled.wait()
        finally:
            self._readers.remove(mine)
