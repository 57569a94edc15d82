"""Waiting for other tasks, and sharing the event loop with them."""

from __future__ import annotations

import asyncio

TURN = 0.002
"""Seconds after which a task that never has to wait lets the loop do its other duties."""


class Signal:
    """Wakes all who wait for it at this moment; remembers nothing."""

    def __init__(self) -> None:
        self._waiters: list[asyncio.Future[None]] = []

    async def wait(self) -> None:
        """Return when `fire` is called next."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        finally:
            if waiter in self._waiters:  # cancelled
                self._waiters.remove(waiter)

    def fire(self) -> None:
        """Wake everybody, the longest waiting first."""
        if self._waiters:
            waiters, self._waiters = self._waiters, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)
