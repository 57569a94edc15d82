"""Those who iterate over views as they come, of a group or of a ring."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Generic, TypeVar

from .waiting import Signal

V = TypeVar("V")
_KEPT = 1000  # for a reader that does not keep up; the oldest go first


class Readers(Generic[V]):
    """Each reader has all views from the moment at which it began, at its own pace."""

    def __init__(self, settled: Signal) -> None:
        """`settled` is set whenever something has happened at the member."""
        self._settled = settled
        self._readers: list[deque[V]] = []

    def add(self, view: V) -> None:
        """This one has come."""
        for reader in self._readers:
            reader.append(view)

    async def read(
        self, present: Callable[[], Iterable[V]], ended: Callable[[], bool]
    ) -> AsyncIterator[V]:
        """Iterate over the present ones, and then over those that come, until it has ended."""
        mine = deque(present(), maxlen=_KEPT)
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
