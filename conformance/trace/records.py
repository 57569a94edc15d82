"""The trace records of protocols with a binding, as `docs/trace-format.md` defines them."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

Natural = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Address = tuple[str, Natural]
"""A node and its incarnation."""


class Header(msgspec.Struct, tag_field="kind", tag="header", kw_only=True):
    """Whose file it is, and the local state in which it begins."""

    version: int
    run: str
    protocol: str
    node: str
    incarnation: Natural
    nodes: tuple[str, ...]
    constants: dict[str, Any] = {}
    initial: Any = None
    real: bool = False
    merges: bool = False
    """Whether groups of this name merge, and number their views alike until they do."""
    said: Natural = 0
    """SEQUENCER: how many messages this node's earlier incarnations sent in all."""


class Sent(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A message that the event sent."""

    id: list[Any]
    to: Address
    message: str
    content: dict[str, Any]


class Event(msgspec.Struct, tag_field="kind", tag="event", kw_only=True):
    """One event that the core handled."""

    run: str
    protocol: str
    node: str
    incarnation: Natural
    index: Natural
    action: str
    args: dict[str, Any]
    received: list[Any] | None = None
    sent: tuple[Sent, ...] = ()
    changed: dict[str, Any] = {}
    told: tuple[tuple[str, Any], ...] = ()
    given: dict[str, Any] = {}
    at: float | None = None


class Footer(msgspec.Struct, tag_field="kind", tag="footer", kw_only=True):
    """A clean end: nothing follows `index`."""

    run: str
    node: str
    incarnation: Natural
    index: Natural


DECODER: Final = msgspec.json.Decoder(Header | Event | Footer)
