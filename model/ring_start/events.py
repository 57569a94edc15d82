"""The inputs and outputs of a starting process: the twin of what `spec/RingStart.tla` asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from raincheck.model.machine.runs import Address

Founders: TypeAlias = frozenset[Address]
"""A founding, and the identity of its ring: those that have recorded it, or shall."""


class Info(NamedTuple):
    """What a process answers: "asking", "left", "attempting" or "member", and of which ring."""

    sender: Address
    stage: str
    ring: Founders


class Late(NamedTuple):
    """An answer under way; `before`: sent before all were asked again."""

    to: str
    info: Info
    before: bool = False


class Start(NamedTuple):
    """The process starts, or starts again."""


class Hear(NamedTuple):
    """The answer of another process."""

    info: Info


INPUTS: Mapping[str, type[Any]] = {kind.__name__: kind for kind in (Start, Hear)}
