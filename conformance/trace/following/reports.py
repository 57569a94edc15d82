"""The errors of a record or a header that cannot be used, with their places in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from raincheck.conformance.bindings.conversion import ShapeError


class Unusable(Exception):
    """The record cannot be used; the text says why."""


def within(where: str, make: Callable[..., Any], *given: Any) -> Any:
    """Return what is made of that; a ShapeError names the place."""
    try:
        return make(*given)
    except ShapeError as error:
        raise ShapeError(f"{where}: {error}") from error
