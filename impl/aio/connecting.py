"""The result of `Channel.connect`: it can be awaited, and entered with `async with`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Generic, NoReturn, TypeVar

from raincheck.impl.errors import Misused

T = TypeVar("T", bound=AbstractAsyncContextManager[Any])


class Connecting(Generic[T]):
    """A connection that is opened when it is awaited or entered."""

    def __init__(self, connect: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._connect = connect
        self._made: T | None = None
        self._entered = False

    def __await__(self) -> Generator[Any, None, T]:
        return self._connect().__await__()

    def __getattr__(self, name: str) -> NoReturn:
        """Say what is missing to who uses it as if it were open."""
        raise AttributeError(
            f"what connect() returns has no {name} before it is open: await it, or enter it with "
            f"`async with`"
        )

    async def __aenter__(self) -> T:
        if self._entered:
            raise Misused(
                "what connect() has returned is entered already; call connect() again for another "
                "member"
            )
        self._entered = True
        try:
            self._made = await self._connect()
        except BaseException:
            self._entered = False
            raise
        return self._made

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        assert self._made is not None
        self._entered = False
        await self._made.__aexit__(kind, error, at)
