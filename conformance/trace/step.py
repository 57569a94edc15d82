"""One step of a member, as the model takes it."""

from __future__ import annotations

from typing import Any, NamedTuple


class Step(NamedTuple):
    """A step of a member."""

    action: str
    at: int
    """The index of its event."""
    before: Any
    """The member's state."""
    event: Any
    after: Any
    outputs: tuple[Any, ...]
