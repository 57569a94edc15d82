"""LOCKS' model: tables, and that promises break without their rules."""

from __future__ import annotations

import dataclasses

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.locks.events import INPUTS, Epoch, Post, Request, Ticket
from raincheck.model.locks.handlers import HANDLERS, Rules, changed
from raincheck.model.locks.promises import invariants
from raincheck.model.locks.proof.walks import instance
from raincheck.model.locks.state import State
from raincheck.model.locks.system import machine
from raincheck.model.machine.explore import explore

RULES = Rules()
FIRST = Epoch(1, "a")
CASES = {case.name: case for case in load_cases() if case.protocol == "locks"}


def post(*wanted: Request, place: int = 1) -> Post:
    return Post("a", FIRST, place, None, False, False, (), frozenset(), wanted)


def request(member: str, mode: str) -> Request:
    return Request(member, 1, 1, "x", mode)


def test_every_input_has_its_handler() -> None:
    assert INPUTS.keys() == HANDLERS.keys()


@pytest.mark.parametrize(
    ("modes", "holding"),
    [("w", 1), ("ww", 1), ("rr", 2), ("rw", 1), ("wr", 1), ("rwr", 1), ("rrw", 2)],
)
def test_a_writer_is_alone_and_nobody_passes_a_writer_that_waits(modes: str, holding: int) -> None:
    kinds = {"r": "read", "w": "write"}
    lines = [request(chr(97 + i), kinds[mode]) for i, mode in enumerate(modes)]
    table = changed(RULES, (), post(*lines))
    assert [line.fence is not None for line in table] == [i < holding for i in range(len(modes))]


def test_a_reader_passes_a_writer_that_waits_only_without_the_rule() -> None:
    modes = ("read", "write", "read")
    lines = [request(member, mode) for member, mode in zip("abc", modes, strict=True)]
    table = changed(dataclasses.replace(RULES, in_order=False), (), post(*lines))
    assert [line.fence is not None for line in table] == [True, False, True]
    left = post(place=2)._replace(ended=frozenset({Ticket("a", 1, 1)}))
    table = changed(dataclasses.replace(RULES, in_order=False), table, left)
    assert [line.fence is not None for line in table] == [False, True]


def test_names_do_not_wait_for_each_other() -> None:
    other = request("b", "write")._replace(name="y")
    table = changed(RULES, (), post(request("a", "write"), other))
    assert all(line.fence is not None for line in table)


def test_every_rule_is_a_constant_of_the_cases() -> None:
    names = {field.name for field in dataclasses.fields(RULES)}
    undone = {
        case.name.removeprefix("locks-").removesuffix("-undone")
        for case in CASES.values()
        if case.name.endswith("-undone")
    }
    assert len(names) == 12
    assert undone == {
        "chained",
        "parent",
        "ahead",
        "ask",
        "off",
        "session",
        "earlier",
        "gone",
        "fence",
        "told",
        "newest",
        "own",
        "order",
        "starved",  # by the same rule as order
    }


@pytest.mark.parametrize(
    ("case", "rule", "broken"),
    [
        ("locks-ask-repaired", "all_ask", "OneWriterOrReaders"),
        ("locks-session-repaired", "sessions", "FenceUnique"),
        ("locks-chained-repaired", "chained", "OneCurrent"),
        ("locks-order-repaired", "in_order", "NobodyPasses"),
    ],
)
def test_a_rule_taken_back_breaks_its_promise(case: str, rule: str, broken: str) -> None:
    system = machine(CASES[case].constants)
    system.rules = dataclasses.replace(system.rules, **{rule: False})
    constants = dataclasses.replace(system.constants, rules=system.rules)
    promise = invariants(constants)[broken]
    assert explore(system, invariants={broken: promise}).violation is not None


# ---------------------------------------------------------------- a fence that is told late


class Story:
    """A run of five members, step by step; e is cut off and comes back, b and c crash."""

    def __init__(self, *, repaired: bool) -> None:
        everybody = frozenset("abcde")
        self.system = instance(
            machine(CASES["locks-crash"].constants),
            {"nodes": tuple("abcde"), "founders": everybody, "writers": frozenset("be")}
            | {"crashers": frozenset("bc"), "max_crashes": 2, "max_epoch": 3, "max_wants": 2}
            | dict.fromkeys(("rejoiners", "left_out", "keepers"), frozenset("e")),
        )
        self.system.rules = dataclasses.replace(RULES, epoch_when_told=repaired)
        (self.state,) = self.system.initial()

    def do(self, actions: str, node: str, epoch: int = 1, agree: str = "", kept: str = "") -> None:
        for action in actions.split():
            self.state = next(
                move.target
                for move in self.system.moves(self.state)
                if (move.action, move.args[0]) == (action, node)
                and self._is_meant(action, node, move.target, epoch, agree, kept)
            )

    def _is_meant(
        self, action: str, node: str, after: State, epoch: int, agree: str, kept: str
    ) -> bool:
        if action == "Make":
            made = max(after.tokens, key=lambda token: token.epoch)
            return made.members == {*agree} and made.places == {*agree, *kept}
        return action != "Arrive" or self.system.local(after, node).epoch == (
            epoch,
            {1: "a", 2: "b", 3: "d"}[epoch],
        )


@pytest.mark.parametrize("repaired", [True, False])
def test_a_fence_that_is_told_after_a_lost_one_is_of_a_later_epoch(repaired: bool) -> None:
    """LCK-F13 with five members, by cuts and crashes: no token is lost on its way."""
    story = Story(repaired=repaired)
    hop = "Arrive Depart"
    story.do("Want", "b")
    for node in "abcd":
        story.do(hop, node)
    story.do("Want", "e")
    for node in "ea":
        story.do(hop, node)
    story.do("Arrive Drop Depart", "b")  # e has the lock now, and is cut off
    for node in "cd":
        story.do(hop, node)
    story.do("Want", "b")
    story.do("Make", "b", agree="abcd")
    story.do(hop, "b", epoch=2)  # it gives e up, and has the lock; c does not get the token
    story.do("Crash", "c")
    story.do("Crash", "b")
    story.do("Make", "d", agree="ad", kept="e")
    story.do("Arrive", "d", epoch=3)
    story.do("Join", "e")
    story.do("Depart", "d")
    promises = invariants(story.system.constants)
    assert all(holds(story.state) for holds in promises.values())

    story.do("Arrive", "e", epoch=3)

    assert {name for name, holds in promises.items() if not holds(story.state)} == (
        set() if repaired else {"FencesMonotone"}
    )
    told = [next(iter(each)) for each in story.state.given[1:]]
    assert [(each.member, each.fence.epoch.n, each.fence.place, each.late) for each in told] == [
        ("b", 2, 4, False),
        ("e", 3 if repaired else 1, 3, False),
    ]
