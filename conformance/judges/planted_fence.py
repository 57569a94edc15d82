"""Faults planted for the rules of `field/ring/fence.py`: writes under a lock that is not held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from raincheck.conformance.field.ring.fence import Fence, Resource, Write, fence_of, judged

from .planting import Ask, Complaints, Plant, Planted

_FIRST: Final[Fence] = (1, "a", 0, 1, 0)
_SECOND: Final[Fence] = (1, "a", 0, 2, 0)


def _log(*writes: tuple[str, Fence, bool]) -> Ask:
    """Ask what is wrong with these writes."""
    log = [Write(*write, float(at)) for at, write in enumerate(writes)]
    return lambda _: [f"{found.promise}: {found.facts['what']}" for found in judged(log)]


_GOOD: Final = _log(("a", _FIRST, True), ("b", _SECOND, True), ("a", _FIRST, False))


def _tried(*fences: Fence) -> Ask:
    """Ask which of these writes a resource refuses."""

    def ask(_: Any) -> Complaints:
        resource = Resource(clock=lambda: 0.0)
        return [f"{fence} is refused" for fence in fences if not resource.write("a", fence)]

    return ask


def _read(value: Any) -> Callable[[Any], Complaints]:
    def ask(_: Any) -> Complaints:
        try:
            fence_of(value)
        except ValueError as error:
            return [str(error)]
        return []

    return ask


PLANTED: Final[dict[str, Planted]] = {
    "field.ring.fence": {
        "Resource.accepts: not fence >= self.greatest": Plant(
            good=_tried(_FIRST, _SECOND),
            bad=_tried(_SECOND, _FIRST),
            words=f"{_FIRST} is refused",
        ),
        "fence_of: … is no fence": Plant(
            good=_read([1, "a", 0, 1, 0]),
            bad=_read(3),
            words="3 is no fence",
            breaks=UnboundLocalError,
            why="a fence that cannot be read cannot be compared",
        ),
        "judged: two members hold the token at the same number": Plant(
            good=_GOOD,
            bad=_log(("a", _FIRST, True), ("b", _FIRST, True)),
            words="FenceUnique: two members hold the token at the same number",
        ),
        "judged: a smaller fence was accepted after a greater one": Plant(
            good=_GOOD,
            bad=_log(("b", _SECOND, True), ("a", _FIRST, True)),
            words="Fenced: a smaller fence was accepted after a greater one",
        ),
        "judged: refused, although none greater had come": Plant(
            good=_GOOD,
            bad=_log(("a", _FIRST, False)),
            words="Fenced: refused, although none greater had come",
        ),
    },
}
