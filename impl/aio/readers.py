"""Those who iterate over views as they come, of a group or of a ring."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Generic, TypeVar

from .waiting import Signal

V = TypeVar("V")
_KEPT = 1000  # views kept for a slow reader; the oldest are dropped


class Readers(Generic[V]):
    """Gives each reader all views since it began, at its own pace."""

    def __init__(self, settled: Signal) -> None:
        """`settled` fires whenever the member may have changed."""
        self._settled = settled
        self._readers: list[deque[V]] = []

    def add(self, view: V) -> None:
        """Add a view for all readers."""
        for reader in self._readers:
            reader.append(view)

    async def read(
        self, present: Callable[[], Iterable[V]], ended: Callable[[], bool]
    ) -> AsyncIterator[V]:
        """Iterate over the present views, then over new ones, until the member has ended."""
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
