"""Replay and lockstep by a protocol's binding: sound cores pass, planted faults are found."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import pytest

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.errors import Inconclusive, UsageError
from raincheck.conformance.replay.cores import Cores, Mismatch, Problem
from raincheck.conformance.replay.coverage import guards_of, untried
from raincheck.conformance.replay.lockstep import Instance, Walked, lockstep
from raincheck.conformance.replay.replay import Prepared, replay
from raincheck.impl.errors import NotEnabled
from raincheck.model.machine.machine import Accepted


def prepared(toy: SimpleNamespace, **constants: Any) -> Prepared:
    return Prepared("handover-small", toy.binding, toy.system.machine(constants))


def damaged(toy: SimpleNamespace, damage: Callable[[Any], None]) -> Callable[[Any, Any], Any]:
    def make(rules: Any, local: Any) -> Any:
        core = toy.binding.make_core(rules, local)
        damage(core)
        return core

    return make


def walked(toy: SimpleNamespace, make: Any = None, runs: int = 30, **constants: Any) -> Walked:
    case = prepared(toy, **constants)
    instances = [Instance(case.name, case.system, case.probes())]
    return lockstep(toy.binding, instances, seed=1, runs=runs, make=make)


def test_bindings_are_found_by_the_protocols_name(
    toy: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert binding_of("handover") is toy.binding
    with pytest.raises(UsageError, match="There is no protocol handower: did you mean handover"):
        binding_of("handower")
    with pytest.raises(Inconclusive, match="stack offers no binding"):
        binding_of("stack")
    monkeypatch.delattr(toy.mapping, "BINDING")
    with pytest.raises(UsageError, match="has no BINDING"):
        binding_of("handover")


def test_the_system_is_asked_for_the_moves_of_each_state_once(toy: SimpleNamespace) -> None:
    asked: Counter[Any] = Counter()
    system = toy.system.machine({})
    moves = system.moves
    system.moves = lambda state: (asked.update([state]), moves(state))[1]

    case = Prepared("handover-small", toy.binding, system)
    replay(case)

    assert asked.keys() == set(case.index.graph.states)
    assert set(asked.values()) == {1}


def test_sound_cores_replay_every_edge(toy: SimpleNamespace) -> None:
    case = prepared(toy)

    done = replay(case)

    assert done.mismatch is None
    assert done.covered == done.edges == len(case.index) > 50
    assert done.missing == []
    assert set(done.actions) == {*toy.model.INPUTS, "Lose"}
    assert done.refusals > 10


class Counted:
    """A core that counts the inputs which it and the others have accepted."""

    def __init__(self, core: Any, handled: Counter[str]) -> None:
        self.core, self.handled = core, handled

    def handle(self, event: Any) -> Any:
        effects = self.core.handle(event)
        self.handled["accepted"] += 1
        return effects

    def __getattr__(self, name: str) -> Any:
        return getattr(self.core, name)


def test_no_core_goes_a_way_for_nothing_that_one_has_gone(toy: SimpleNamespace) -> None:
    case, handled = prepared(toy), Counter[str]()

    def make(rules: Any, local: Any) -> Any:
        return Counted(toy.binding.make_core(rules, local), handled)

    done = replay(case, make=make)

    assert done.mismatch is None
    assert done.covered == done.edges
    assert handled["accepted"] < done.steps / 2


@pytest.mark.parametrize("wrong", range(8))
def test_a_fault_after_any_one_way_is_found_where_every_walk_is_gone_whole(
    toy: SimpleNamespace, wrong: int
) -> None:
    """The core is wrong after one way only, drawn by its number, and right after all others."""
    case = prepared(toy)

    class Wrong:
        def __init__(self, core: Any) -> None:
            self.core, self.way = core, core.node

        def handle(self, event: Any) -> Any:
            effects = self.core.handle(event)
            self.way += f" {event}"
            return [*effects, "more"] if crc32(self.way.encode()) % 8 == wrong else effects

        def __getattr__(self, name: str) -> Any:
            return getattr(self.core, name)

    def make(rules: Any, local: Any) -> Any:
        return Wrong(toy.binding.make_core(rules, local))

    expected = (0, 0)
    for number, walk in enumerate(case.walks, 1):
        cores, done = Cores(toy.binding, case.system, make), 0
        cores.begin(case.state(walk.start))
        try:
            for edge in walk.edges:
                done += 1
                cores.perform(case.move(edge))
        except Problem:
            expected = number, done
            break
    found = replay(case, make=make)

    assert expected != (0, 0)
    assert (found.walk, found.mismatch.step if found.mismatch else 0) == expected


def test_a_case_with_a_repair_undone_is_replayed_on_cores_without_it(toy: SimpleNamespace) -> None:
    case = prepared(toy, turns=1, rules=toy.model.Rules(fresh_only=False))

    assert replay(case).mismatch is None
    sound = replay(case, make=lambda _, local: toy.binding.make_core(toy.model.Rules(), local))
    assert sound.mismatch is not None


def forget_turn(core: Any) -> None:
    receive = core._receive_token

    def wrong(event: Any) -> Any:
        effects = receive(event)
        core.turn = min(core.turn, 1)
        return effects

    core._receive_token = wrong


def say_nothing(core: Any) -> None:
    receive = core._receive_token
    core._receive_token = lambda event: receive(event)[:1]


def take_again(core: Any) -> None:
    receive = core._receive_thanks

    def wrong(event: Any) -> Any:
        core.thanked.discard(tuple(event))
        return receive(event)

    core._receive_thanks = wrong


def refuse_late(core: Any) -> None:
    handle = core._pass

    def wrong(event: Any) -> Any:
        core.holds, before = False, core.holds
        if before:
            core.holds = before
        else:
            core.turn += 1
        return handle(event)

    core._pass = wrong


def raise_it(core: Any) -> None:
    def wrong(_event: Any) -> Any:
        raise KeyError("lost")

    core._receive_thanks = wrong


def wrong_start(core: Any) -> None:
    core.turn = 7


def unknown_shape(core: Any) -> None:
    core.turn = "one"


FAULTS = [
    (forget_turn, r"turn\[[ab]\]: expected 2, is 1"),
    (say_nothing, "the outputs differ"),
    (take_again, "accepts what its guard forbids"),
    (refuse_late, r"refuses, but changes its state: Pass\("),
    (raise_it, "raises KeyError: 'lost'"),
    (wrong_start, "begins otherwise"),
    (unknown_shape, "the state does not fit the model"),
]


@pytest.mark.parametrize(("damage", "text"), FAULTS)
def test_replay_finds_a_fault(
    toy: SimpleNamespace, damage: Callable[[Any], None], text: str
) -> None:
    done = replay(prepared(toy), make=damaged(toy, damage))

    assert done.mismatch is not None
    assert_reported(done.mismatch, text)
    assert done.covered < done.edges


@pytest.mark.parametrize(("damage", "text"), FAULTS)
def test_lockstep_finds_a_fault_and_shortens_the_way_to_it(
    toy: SimpleNamespace, damage: Callable[[Any], None], text: str
) -> None:
    found = walked(toy, damaged(toy, damage))

    assert found.mismatch is not None
    assert_reported(found.mismatch, text)
    assert len(found.mismatch.moves) <= 5


def assert_reported(mismatch: Mismatch, text: str) -> None:
    import re

    assert re.search(text, mismatch.text()), mismatch.text()


def test_lockstep_goes_beyond_the_graph_and_is_repeatable(toy: SimpleNamespace) -> None:
    found = walked(toy)

    assert found.mismatch is None
    assert found.runs == 30
    assert found.steps > 300
    assert found.refusals > 50
    assert walked(toy) == found


def test_an_input_that_cannot_come_is_left_out(toy: SimpleNamespace) -> None:
    def of_a_peer(_rules: Any, local: Any, event: Any) -> bool:
        return getattr(event, "sender", local.peers[0]) in local.peers

    seen: set[tuple[str, str]] = set()
    handler = toy.binding.handlers["ReceiveThanks"]

    def watching(rules: Any, me: Any, event: Any) -> Any:
        seen.add((me.node, event.sender))
        return handler(rules, me, event)

    watched = {**toy.binding.handlers, "ReceiveThanks": watching}
    toy.binding = replace(toy.binding, handlers=watched)
    assert walked(toy).mismatch is None
    assert ("a", "a") in seen

    seen.clear()
    toy.binding = replace(toy.binding, assumes=of_a_peer)
    assert walked(toy).mismatch is None
    assert seen <= {("a", "b"), ("b", "a")}


def test_a_model_that_cannot_answer_is_a_finding(toy: SimpleNamespace) -> None:
    def brittle(_rules: Any, me: Any, event: Any) -> Any:
        assert event.sender != me.node, "never happens"
        return Accepted(me)

    handlers = {**toy.binding.handlers, "ReceiveThanks": brittle}
    toy.binding = replace(toy.binding, handlers=handlers)
    found = walked(toy)

    assert found.mismatch is not None
    assert "the model cannot answer" in found.mismatch.text()


def test_every_conjunct_of_a_guard_is_known_and_an_untried_one_shows(toy: SimpleNamespace) -> None:
    texts = guards_of(toy.binding)
    assert texts == ("holds[n]", "to \\in Peers(n)", "<<s, t>> \\notin thanked[n]")

    # Nobody can offer what is not handled, so its guard does not count.
    unhandled = replace(toy.binding, unhandled=frozenset({"Restart", "ReceiveThanks"}))
    assert guards_of(unhandled) == texts[:2]

    case = prepared(toy)
    probes = case.probes()
    assert untried(toy.binding, probes.refused) == list(texts)
    replay(case, probes=probes)
    assert untried(toy.binding, probes.refused) == []


def test_a_core_refuses_with_an_exception_of_its_own(toy: SimpleNamespace) -> None:
    class NotNow(Exception):
        """A stranger's word for a guard that is false."""

    class Stranger:
        def __init__(self, core: Any) -> None:
            self.core = core

        def handle(self, event: Any) -> Any:
            try:
                return self.core.handle(event)
            except NotEnabled as refused:
                raise NotNow(str(refused)) from refused

    def make(rules: Any, local: Any) -> Any:
        return Stranger(core_of(rules, local))

    core_of = toy.binding.make_core
    theirs = replace(
        toy.binding,
        make_core=make,
        refusal=NotNow,
        local_of=lambda stranger: toy.binding.core_local(stranger.core),
    )
    case = Prepared("handover-small", theirs, toy.system.machine({}))
    done = replay(case)
    assert done.mismatch is None
    assert done.refusals > 10

    unnamed = replace(theirs, refusal=NotEnabled)
    found = replay(Prepared("handover-small", unnamed, toy.system.machine({}))).mismatch
    assert found is not None
    assert "raises NotNow" in found.problem
