"""Values for `bindings/conversion.py` in every shape that it knows, and in others."""

from __future__ import annotations

import enum
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from raincheck.conformance.bindings.conversion import ShapeError, reader_of, shaped
from raincheck.model.machine.runs import Address
from raincheck.model.machine.values import ModelValue

from .planting import Complaints, Shown


class _Level(enum.IntEnum):
    HIGH = 7


class _Pair(NamedTuple):
    one: int
    two: int


class _Reversed(NamedTuple):
    two: int
    one: int


class _Around(NamedTuple):
    table: tuple[int, ...]


def _shapes(*asked: tuple[Any, Any, str]) -> Shown:
    """Ask for each value in the shape of its type; a refusal begins with a dash."""

    def ask(_: Path) -> Complaints:
        return [_answer(value, wanted) for value, wanted, _ in asked]

    return Shown(ask, tuple(answer for _, _, answer in asked))


def _answer(value: Any, wanted: Any) -> str:
    try:
        return repr(shaped(value, wanted))
    except ShapeError as error:
        return f"- {error}"


def _same(_: Path) -> Complaints:
    """Return which values are taken as they are, and what becomes of a list that is changed."""
    pair, row = _Pair(1, 2), [2, 1]
    made = shaped(row, list[int])
    made.append(0)
    return [str(shaped(pair, _Pair) is pair), repr(shaped(row, list[int]))]


def _read(_: Path) -> Complaints:
    """Return records made of an object's attributes, one of which is not to be read."""
    read = reader_of(_Pair, frozenset({"two"}))
    return [repr(read(SimpleNamespace(one=1))), repr(reader_of(_Pair)(_Reversed(2, 1)))]


AROUND: Final[dict[str, dict[str, Shown]]] = {
    "bindings.conversion": {
        "a value of another kind is taken where it means the same, and nowhere else": _shapes(
            (ModelValue("a"), str, "'a'"),
            (ModelValue("a"), int, "- ModelValue('a') is no int"),
            (("a", 0), str, "'a'"),
            (("a", 0), bytes, "- ('a', 0) is no bytes"),
            (("a", 0, 1), str, "- ('a', 0, 1) is no str"),
            (("a",), str, "- ('a',) is no str"),
            ((0, 0), str, "- (0, 0) is no str"),
            (("a", "b"), str, "- ('a', 'b') is no str"),
            (3, float, "3.0"),
            (True, float, "- True is no float"),
            (3, str, "- 3 is no str"),
            (_Level.HIGH, int, "7"),
            (_Level.HIGH, str, f"- {_Level.HIGH!r} is no str"),
        ),
        "a record of the type is itself, and no two are given one list": Shown(
            _same, ("True", "[2, 1]")
        ),
        "a field that is not to be read is None": Shown(
            _read, ("_Pair(one=1, two=None)", "_Pair(one=1, two=2)")
        ),
        "the first alternative that fits is taken": _shapes(
            ([1, 2], int | tuple[int, ...], "(1, 2)"),
            ("3", int | None, "- '3' is no int | None"),
        ),
        "a set stays one where a set is wanted, and is in order where a row is": _shapes(
            ([2, 1, 2], set[int], "{1, 2}"),
            ([2, 1, 2], frozenset[int], "frozenset({1, 2})"),
            ({1, 2}, set[int], "{1, 2}"),
            ({8, 1}, tuple[int, ...], "(1, 8)"),
            ({"b", 1, "a"}, tuple[int | str, ...], "(1, 'a', 'b')"),
            (deque([2, 1]), list[int], "[2, 1]"),
            ({"b": 2, "a": 1}, tuple[tuple[str, int], ...], "(('a', 1), ('b', 2))"),
        ),
        "a record around a table is the table": _shapes(
            ([[1, 2]], tuple[int, ...], "(1, 2)"),
            ([[1, 2], [3]], tuple[int, ...], "- [1, 2] is no int"),
            ([1, 2], _Around, "_Around(table=(1, 2))"),
            ([[1, 2]], _Around, "_Around(table=(1, 2))"),
            ([1], _Around, "_Around(table=(1,))"),
            ([1], _Pair, "- _Pair: _Pair.__new__() missing 1 required positional argument: 'two'"),
        ),
        "a record's fields are known by their names, whatever their order": _shapes(
            (_Reversed(2, 1), _Pair, "_Pair(one=1, two=2)"),
            (_Around((1,)), _Pair, "- _Pair has no table"),
            (_Pair._make(("x", 2)), _Pair, "- one: 'x' is no int"),
            ("a", Address, "Address(node='a', incarnation=0)"),
            ("a", _Pair, "- 'a' is no _Pair"),
        ),
    },
}
