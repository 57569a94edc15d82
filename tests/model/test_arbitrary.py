"""Arbitrary states of a model: parts of states, put where others of the same type were."""

from random import Random
from typing import NamedTuple

from raincheck.model.machine.arbitrary import Arbitrary


class Lamp(NamedTuple):
    colour: str
    switched: int
    lit: bool


class House(NamedTuple):
    lamps: tuple[Lamp, ...]
    keys: frozenset[str]
    diary: tuple[str, ...]


def house(colour: str, switched: int, *, lit: bool, keys: str, diary: str) -> House:
    lamp = Lamp(colour, switched, lit)
    return House((lamp, Lamp("red", 0, False)), frozenset(keys), tuple(diary))


HOUSES = (
    house("red", 0, lit=False, keys="a", diary=""),
    house("green", 1, lit=True, keys="ab", diary="xy"),
    house("red", 2, lit=False, keys="", diary="yyy"),
)


def made(number: int = 2000, seed: int = 1) -> list[House]:
    arbitrary = Arbitrary(HOUSES, Random(seed))
    return [arbitrary.state() for _ in range(number)]


def test_every_part_keeps_its_type_and_rows_keep_their_length() -> None:
    for state in made():
        assert isinstance(state, House)
        assert len(state.lamps) == 2
        for lamp in state.lamps:
            assert isinstance(lamp, Lamp)
            assert lamp.colour in ("red", "green")
            assert type(lamp.switched) is int
            assert lamp.switched >= 0
            assert type(lamp.lit) is bool
        assert state.keys <= {"a", "b"}
        assert set(state.diary) <= {"x", "y"}


def test_what_no_given_state_has_together_is_met() -> None:
    states = made()

    assert any(lamp == Lamp("green", 0, False) for state in states for lamp in state.lamps)
    assert any(state.lamps[0].lit and state.lamps[1].lit for state in states)
    assert any(lamp.switched > 10 for state in states for lamp in state.lamps)
    assert any(state.keys == {"b"} for state in states)
    assert any(len(state.diary) > 4 for state in states)
    assert any(state.diary[:1] == ("x",) and len(state.diary) == 1 for state in states)


def test_the_same_seed_makes_the_same_states() -> None:
    assert made(200) == made(200)
    assert made(200) != made(200, seed=2)


def test_records_of_two_kinds_that_are_equal_are_told_apart() -> None:
    class Bulb(NamedTuple):
        colour: str
        switched: int
        lit: bool

    class Shop(NamedTuple):
        shelf: frozenset[Lamp | Bulb]

    shops = [Shop(frozenset({Lamp("red", 1, True)})), Shop(frozenset({Bulb("red", 1, True)}))]
    arbitrary = Arbitrary(shops, Random(1))
    kinds = {type(each) for _ in range(300) for each in arbitrary.state().shelf}

    assert kinds == {Lamp, Bulb}
