"""Functions of the application that it gives to a member after it has connected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

from raincheck.impl.arguments import PLAIN_FUNCTION, check_call, optional

F = TypeVar("F", bound=Callable[..., object])
_KIND = optional(PLAIN_FUNCTION)


class Hook(Generic[F]):
    """An attribute that is a function, or None; setting it to anything else is an ArgumentError."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, member: None, owner: type) -> Self: ...

    @overload
    def __get__(self, member: object, owner: type) -> F | None: ...

    def __get__(self, member: Any, owner: type) -> Self | F | None:
        return self if member is None else member.__dict__.get(self._name)

    def __set__(self, member: object, function: F | None) -> None:
        check_call(self._name, function, _KIND)
        member.__dict__[self._name] = function
