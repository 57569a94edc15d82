"""The protocol that exists only to be judged, with an event of a type that msgspec cannot read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple

from raincheck.model.machine.machine import Accepted

from . import pingpong


class Muse(NamedTuple):
    """Think of a number, which is a large one."""

    what: Literal[1_000_000_000_000_000_000_000]  # type: ignore[valid-type]


def _muse(_: Any, me: Any, __: Muse) -> Any:
    return Accepted(me)


BINDING: Final = replace(
    pingpong.BINDING,
    inputs={**pingpong.BINDING.inputs, "Muse": Muse},
    handlers={**pingpong.BINDING.handlers, "Muse": _muse},
)
