"""Faults planted for the rules of `bindings/conversion.py`: values of a wrong type."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

from raincheck.conformance.bindings.conversion import ShapeError, named, shaped

from .planting import Ask, Complaints, Plant, Planted


class _Pair(NamedTuple):
    one: int
    two: int


class _Colour(enum.Enum):
    RED = 1


class _Thing:
    """A class that is no record and has no other shape of its own."""


def _complaints(make: Callable[[], Any]) -> Ask:
    def ask(_: Any) -> Complaints:
        try:
            make()
        except (ShapeError, TypeError) as error:
            return [str(error)]
        return []

    return ask


def _shape(words: str, wanted: Any, good: Any, bad: Any, **more: Any) -> Plant:
    """Plant a value that has the type, and one that does not."""
    return Plant(
        good=_complaints(lambda: shaped(good, wanted)),
        bad=_complaints(lambda: shaped(bad, wanted)),
        words=words,
        **more,
    )


_NAMED: Final = "_named.<locals>.shape_other: "

PLANTED: Final[dict[str, Planted]] = {
    "bindings.conversion": {
        "named: … is no record": Plant(
            good=_complaints(lambda: named(_Pair(1, 2))),
            bad=_complaints(lambda: named(3)),
            words="3 is no record",
        ),
        "_shaper: …: there is no shape for this type": Plant(
            good=_complaints(lambda: shaped(3, int)),
            bad=_complaints(lambda: shaped(3, 5)),
            words="5: there is no shape for this type",
            then="issubclass() arg 1 must be a class",
            why="what is no type has no subclasses",
        ),
        "_atom.<locals>.shape: … is no …": _shape("'x' is no int", int, 3, "x"),
        "_bytes: … is not hexadecimal": _shape("'xyz' is not hexadecimal", bytes, "0a", "xyz"),
        "_none: … is not null": _shape("3 is not null", None, None, 3),
        "_literal.<locals>.shape: … is none of …": _shape(
            "'x' is none of 'a', 'b'", Literal["a", "b"], "a", "x"
        ),
        "_enum.<locals>.shape: raise ShapeError(str(error)) from error": _shape(
            "9 is not a valid _Colour", _Colour, 1, 9
        ),
        "_instance.<locals>.shape: … is no …": _shape("3 is no _Thing", _Thing, _Thing(), 3),
        "_union.<locals>.shape: … is no …": _shape("'x' is no int | None", int | None, 3, "x"),
        "_many.<locals>.shape_anew: … is no …": _shape(
            "'ab' is no tuple", tuple[str, ...], ["a", "b"], "ab"
        ),
        "_many.<locals>.shape_anew: … is no …: …": _shape(
            "[[1]] is no set: unhashable type: 'list'", set[list[int]], [], [[1]]
        ),
        "_fixed.<locals>.shape: not isinstance(value, list | tuple)": _shape(
            "'ab' is no tuple of 2", tuple[str, str], ["a", "b"], "ab"
        ),
        "_fixed.<locals>.shape: len(value) != len(items)": _shape(
            "[1, 2, 3] is no tuple of 2",
            tuple[int, int],
            [1, 2],
            [1, 2, 3],
            breaks=ValueError,
            why="each value is held against one type",
        ),
        "_pairs: … is no list of pairs": _shape(
            "3 is no list of pairs",
            dict[str, int],
            [["a", 1]],
            3,
            then="'NoneType' object is not iterable",
            why="there are no pairs to go on with",
        ),
        f"{_NAMED}… is no …": _shape(
            "3 is no _Pair",
            _Pair,
            [1, 2],
            3,
            breaks=UnboundLocalError,
            why="there are no fields to go on with",
        ),
        f"{_NAMED}… has no …": _shape(
            "_Pair has no three",
            _Pair,
            {"one": 1, "two": 2},
            {"one": 1, "two": 2, "three": 3},
            breaks=KeyError,
            why="a field that is not there has no type",
        ),
        f"{_NAMED}…: …": _shape(
            "one: 'x' is no int",
            _Pair,
            {"one": 1, "two": 2},
            {"one": "x", "two": 2},
            then="missing 1 required positional argument: 'one'",
            why="without that value the record cannot be made",
        ),
        f"{_NAMED}…: … #2": _shape(
            "_Pair: _Pair.__new__() missing 1 required positional argument: 'two'",
            _Pair,
            {"one": 1, "two": 2},
            {"one": 1},
        ),
    },
}
