"""A value crosses between model, code and JSON by the wanted type alone, or not at all."""

from collections import deque
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from raincheck.conformance.bindings.conversion import ShapeError, frozen, named, plain, shaped
from raincheck.impl.messages import Address, Digest
from raincheck.model.machine.values import ModelValue

Pairs = tuple[tuple[Address, int], ...]
A, B = Address("a", 0), Address("b", 1)


class Ping(NamedTuple):
    to: Address
    number: int = 1


class Body(Struct, frozen=True, array_like=True, tag="P"):
    to: Address
    number: int


@dataclass(frozen=True)
class Note:
    number: int


@pytest.mark.parametrize(
    ("value", "wanted", "shape"),
    [
        (A, str, "a"),
        ("a", Address, A),
        (["b", 1], Address, B),
        (ModelValue("a"), str, "a"),
        ({B: 2, A: 1}, Pairs, ((A, 1), (B, 2))),
        (((A, 1),), dict[Address, int], {A: 1}),
        ([["a", 0], ["b", 1]], frozenset[Address], frozenset({A, B})),
        ({B, A}, tuple[Address, ...], (A, B)),
        (deque([1, 2]), tuple[int, ...], (1, 2)),
        ((1, 2), deque[int], deque([1, 2])),
        (None, Address | None, None),
        (["a", 0], Address | None, A),
        (Body(A, 3), Ping, Ping(A, 3)),
        ({"to": "a"}, Ping, Ping(A, 1)),
        (Ping(A, 3), Body, Body(A, 3)),
        ((3,), Note, Note(3)),
        (Digest(((A, 3),)), Pairs, ((A, 3),)),
        ([[[["a", 0], 3]]], Pairs, ((A, 3),)),
        (((A, 3), (B, 4)), Digest, Digest(((A, 3), (B, 4)))),
        (((A, 3),), Digest, Digest(((A, 3),))),
        ((), Digest, Digest(())),
        (["x"], Any, ("x",)),
        ("up", Literal["up", "down"], "up"),
        ("00ff", bytes, b"\x00\xff"),
    ],
)
def test_it_fits(value: Any, wanted: Any, shape: Any) -> None:
    made = shaped(value, wanted)

    assert made == shape
    assert type(made) is type(shape)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (True, int),
        (1, bool),
        ("1", int),
        (1, str),
        ([1, 2, 3], Address),
        ({"to": "a", "colour": "red"}, Ping),
        ({"number": 3}, Ping),
        ([["a", -1], [1, 1]], tuple[Address, ...]),
        ("abc", tuple[str, ...]),
        ("sideways", Literal["up", "down"]),
        ([1], tuple[int, int]),
        (3, dict[str, int]),
    ],
)
def test_it_does_not_fit(value: Any, wanted: Any) -> None:
    with pytest.raises(ShapeError):
        shaped(value, wanted)


def test_an_error_says_where() -> None:
    with pytest.raises(ShapeError, match="number: 'x' is no int"):
        shaped({"to": "a", "number": "x"}, Ping)


def test_what_is_plain_is_json_and_always_the_same() -> None:
    assert plain({B: {3, 1}, A: frozenset()}) == [[["a", 0], []], [["b", 1], [1, 3]]]
    assert plain(Body(A, 1)) == [["a", 0], 1]
    assert plain({None, 2}) == [None, 2]


def test_what_is_frozen_can_be_a_key() -> None:
    assert frozen([[1], {"b": [2]}, {3}]) == ((1,), (("b", (2,)),), frozenset({3}))
    assert named(Note(3)) == {"number": 3}


class Holder(NamedTuple):
    inside: tuple[Body, ...]


class Pot(Struct):
    number: int


class Pots(NamedTuple):
    pots: tuple[Pot, ...]


@pytest.mark.parametrize("wanted", [Pairs, Digest])
def test_what_was_read_before_hides_no_value_that_only_equals_it(wanted):
    kept = ((A, 1), (B, 0))
    assert shaped(kept, wanted) == shaped(kept, wanted)

    for equal in (((A, True), (B, 0)), ((A, 1), (B, False)), ((A, 1.0), (B, 0))):
        assert equal == kept
        with pytest.raises(ShapeError):
            shaped(equal, wanted)


@given(st.lists(st.dictionaries(st.sampled_from([A, B, "a"]), st.integers(0, 2)), max_size=6))
def test_a_table_that_changes_is_read_anew(tables):
    table: dict[Any, int] = {}
    for each in tables:
        table.clear()
        table.update(each)
        names = [key if isinstance(key, Address) else Address(key, 0) for key in table]
        assert sorted(shaped(table, Pairs)) == sorted(zip(names, table.values(), strict=True))


def test_a_record_around_one_that_changes_is_read_anew():
    @dataclass
    class Open:
        to: Address
        number: int

    body = Open(A, 1)
    first = shaped(((body,),), Holder)
    body.number = 2

    assert first == Holder((Body(A, 1),))
    assert shaped(((body,),), Holder) == Holder((Body(A, 2),))


def test_what_may_change_is_made_anew_for_each():
    value = (((3,),),)
    first, second = shaped(value, Pots), shaped(value, Pots)

    first.pots[0].number = 4

    assert second == Pots((Pot(3),))
