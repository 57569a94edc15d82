"""The graph around a state, as far as it is drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from .document import Around, Near

if TYPE_CHECKING:
    from .walking import Walk

MOST: Final = 9
"""The most states that are drawn in one column."""


class Found(NamedTuple):
    """A state that may be drawn, and the step that joins it to a state that is."""

    number: int
    call: str
    parent: int


def around(walk: Walk, number: int) -> Around:
    """Return the states before this one, those after it, and those after these."""
    drawn = {number: Near(str(number), 0, broken=walk.bad(number))}
    left: list[tuple[int, int]] = []

    def draw(column: int, found: Iterable[Found]) -> None:
        new: dict[int, Found] = {}
        for each in found:
            if each.number not in drawn:
                new.setdefault(each.number, each)
        for each in [*new.values()][:MOST]:
            bad = walk.bad(each.number)
            drawn[each.number] = Near(str(each.number), column, each.call, str(each.parent), bad)
        if len(new) > MOST:
            left.append((column, len(new) - MOST))

    before = walk.before.get(number, {})
    draw(-1, [Found(each, call, number) for each, call in before.items()])
    draw(1, _onwards(walk, number))
    after = [each for each, near in drawn.items() if near.column == 1]
    draw(2, [found for each in after for found in _onwards(walk, each)])
    return Around(tuple(drawn.values()), tuple(left))


def _onwards(walk: Walk, number: int) -> Iterable[Found]:
    for step in walk.moves(number):
        yield Found(walk.number_of(step.target), walk.call(step.action, step.args), number)
