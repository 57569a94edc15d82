"""A run that its theory follows, and every way in which it does not, of a tank that is filled."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest

from raincheck.model.machine.composed import Move
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.following import Following, Step
from raincheck.model.proof.induction import Conjunct, Theory, Transition
from raincheck.model.proof.logic import Expr, Function, World

RIM = 4
BEGIN = 1
"""The level at the beginning: none that a table leaves out."""


def initial(s: World) -> tuple[Expr, Mapping[str, Function]]:
    """Some water is in it, and nobody has filled it."""
    return s.level() == BEGIN and s.poured() == 0, {"level": lambda: BEGIN, "poured": lambda: 0}


FILL = Transition(
    "Fill",
    "",
    (("amount", "number"),),
    lambda s, amount: s.level() + amount <= s.rim(),
    lambda s, amount: {
        "level": lambda: s.level() + amount,
        "poured": lambda: s.poured() + amount,
    },
)
BELOW = Conjunct("Below", "It does not overflow.", (), lambda s: s.level() <= s.rim())
COUNTED = Conjunct("Counted", "It is what was filled.", (), lambda s: s.poured() < s.level())
TANK = Theory(
    "tank",
    {"level": ((), "number"), "poured": ((), "number"), "ordered": ((), "bool")},
    {"rim": ((), "number")},
    (Conjunct("Deep", "It has room.", (), lambda s: s.rim() > BEGIN),),
    initial,
    (FILL,),
    (BELOW, COUNTED),
    (),
)
NO = Conjunct("Never", "It is false.", (), lambda _: False)


class Run(Following[int]):
    """A run of the model: a state is the level, `Fill(n)` raises it by n, each told for itself."""

    def __init__(self, levels: Sequence[int], theory: Theory = TANK, rim: int = RIM) -> None:
        first, *rest = levels
        moves = [
            Move("Wait" if new == old else "Fill", (new - old,), new)
            for old, new in zip(levels, rest, strict=False)
        ]
        super().__init__(first, moves, theory)
        self.frame = Frame(theory, {}, {"rim": lambda: rim}, lambda *_: True)

    def steps(self, number: int) -> Iterator[Step]:
        """One transition for each unit."""
        yield from [("Fill", (1,))] * int(str(self.moves[number].args[0]))

    def differs(self, tables: Tables, state: int) -> str | None:
        """The level is all that the model shows."""
        return None if self.frame.world(tables).level() == state else "level"


def test_a_run_is_followed_step_by_step_and_each_time_anew() -> None:
    run = Run([1, 2, 2, 4])

    assert run.difference() == ""
    assert run.taken == ["Fill"] * 3
    assert run.difference() == ""
    assert run.taken == ["Fill"] * 3
    assert Run([1]).difference() == "", "a run without a step"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"axioms": (*TANK.axioms, NO)}, "Never is false"),
        ({"axioms": (NO, *TANK.axioms)}, "Never is false"),
        ({"initial": lambda s: (False, initial(s)[1])}, "no initial state"),
        ({"initial": lambda s: (s.level() == 0, initial(s)[1])}, "no initial state"),
        ({"initial": lambda _: (True, {})}, "the first state: level differs"),
        (
            {"transitions": (replace(FILL, guard=lambda s, _: s.level() < 2),)},
            "step 2, Fill(2,): the guard of Fill(1,) is false",
        ),
        (
            {"transitions": (replace(FILL, updates=lambda _, n: {"level": lambda: n + 1}),)},
            "step 2, Fill(2,): level differs",
        ),
        (
            {"invariant": (BELOW, replace(COUNTED, body=lambda s: s.poured() < 2))},
            "step 2, Fill(2,): Counted is false",
        ),
        (
            {"invariant": (replace(BELOW, body=lambda s: s.level() < 4), COUNTED)},
            "step 2, Fill(2,): Below is false",
        ),
    ],
)
def test_a_theory_that_says_another_thing_does_not_follow(
    changes: dict[str, object], told: str
) -> None:
    assert Run([1, 2, 4]).difference() == ""

    assert Run([1, 2, 4], replace(TANK, **changes)).difference() == told  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("levels", "rim", "told"),
    [
        ([1, 2], 1, "Deep is false"),
        ([2, 3], 4, "the first state: level differs"),
        ([1, 3, 5], 4, "step 2, Fill(2,): the guard of Fill(1,) is false"),
    ],
)
def test_a_run_that_is_not_the_theorys_is_not_followed(
    levels: list[int], rim: int, told: str
) -> None:
    assert Run(levels, rim=rim).difference() == told


def test_a_step_of_no_consequence_must_leave_all_as_it_is() -> None:
    class Silent(Run):
        def steps(self, number: int) -> Iterator[Step]:
            return iter(()) if number else super().steps(number)

    assert Silent([1, 2, 2]).difference() == ""
    assert Silent([1, 2, 3]).difference() == "step 2, Fill(1,): level differs"


def test_what_the_theory_leaves_open_until_a_step_is_settled_then() -> None:
    """Who fills it must have been told to: nothing in the model's states shows that before."""

    class Ordered(Run):
        def ready(self, number: int, tables: Tables) -> Tables:
            return {**tables, "ordered": {(): self.moves[number].action == "Fill"}}

    asking = replace(TANK, transitions=(replace(FILL, guard=lambda s, _: s.ordered()),))
    assert Ordered([1, 2, 2, 4], asking).difference() == ""
    assert Run([1, 2], asking).difference() == "step 1, Fill(1,): the guard of Fill(1,) is false"
