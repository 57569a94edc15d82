"""Lockstep in instances without bounds: runs of messages, promises, shrunk schedules."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from raincheck.conformance.bindings.binding import World
from raincheck.conformance.bindings.sequencer.binding import BINDING, make_core
from raincheck.conformance.bindings.sequencer.worlds import WORLDS, world
from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.errors import UsageError
from raincheck.conformance.replay.damage import without
from raincheck.conformance.replay.lockstep import Instance, Walked, lockstep
from raincheck.conformance.replay.replayable import Replayable, instance_of, system_for
from raincheck.conformance.replay.schedules import play, play_record, read_schedules
from raincheck.conformance.replay.steps import find_move, step_of, written
from raincheck.impl.messages import Payloads
from raincheck.impl.sequencer import events as impl
from raincheck.impl.sequencer.core import Sequencer
from raincheck.model.sequencer.handlers import Rules

SEED = 1
CASES = {case.name: case for case in load_cases()}
unheld = without(BINDING, {"hold_sends": False})
"""Cores that take new messages before they have resent the old ones."""


@cache
def instances(group: str) -> list[Instance]:
    """The instances of a group, with the inputs known of them."""
    return Replayable(BINDING, []).instances()[group]


def walked(group: str = "synchronous", runs: int = 60, **given: Any) -> Walked:
    """What so many runs over fresh probes came to."""
    fresh = [each._replace(probes=each.probes.afresh()) for each in instances(group)]
    return lockstep(BINDING, fresh, seed=given.pop("seed", SEED), runs=runs, **given)


@pytest.mark.slow  # `raincheck generate` makes 100 such runs in the audit of the same CI
@pytest.mark.parametrize("group", WORLDS)
def test_model_and_cores_stay_the_same(group: str) -> None:
    found = walked(group, runs=24)
    assert found.mismatch is None, found.text()
    assert found.text() == ""
    assert found.runs == 24
    assert found.steps > 24 * 60, "runs of several messages travelled"
    often = {"Send", "ReceiveForward", "ReceiveData", "InstallView", "ViewChange", "Join"}
    assert often | {"Crash", "Leave", "Resend", "Stop"} <= set(found.actions)
    assert found.refusals > 2000
    assert found.figures()["steps"] == sum(found.actions.values()) == found.steps


def test_the_same_seed_walks_the_same_way() -> None:
    first, again, other = (walked(runs=5, seed=seed) for seed in (3, 3, 4))
    assert (first.actions, first.steps) == (again.actions, again.steps)
    assert first.actions != other.actions


def test_a_planted_fault_is_shrunk_to_a_schedule_that_replays(tmp_path: Path) -> None:
    found = walked(make=unheld)
    assert found.mismatch is not None
    assert "accepts what its guard forbids: Send" in found.mismatch.problem
    record = found.mismatch.schedule
    assert record is not None
    steps = record["steps"]
    assert len(steps) <= 5
    system = world(**record["instance"]).system
    assert "raincheck generate --schedule" in found.text()
    file = tmp_path / "lockstep.jsonl"
    file.write_text(found.text().splitlines()[-1] + "\n")
    (again,) = read_schedules(file)
    assert again == json.loads(json.dumps(record))
    # The sound core passes the schedule; in the damaged one's last state Send is taken.
    assert play_record(again, {}, f"{file}:1").verdict == "holds"
    core = played(system, steps, unheld)
    assert core.status == "member"
    assert core.resend
    core.handle(impl.Send(Payloads.pack([b"more"])))


def played(system: Any, steps: list[dict[str, Any]], make: Any) -> Sequencer:
    """The core that made the last of the steps."""
    made: dict[str, Any] = {}

    def keep(rules: Any, local: Any) -> Any:
        made[local.node] = make(rules, local)
        return made[local.node]

    assert play(BINDING, ("again", system), steps, keep) is None
    core: Sequencer = made[steps[-1]["args"][0]].core
    return core


class ForgetsRuns(Sequencer):
    """It counts only the first message of a run."""

    def handle(self, event: impl.Event) -> list[impl.Effect]:
        """Handle the event, then forget all but the first message."""
        effects = super().handle(event)
        if isinstance(event, impl.ReceiveData) and self.received_table:
            run = event.data.messages
            self.received_table[run.sender] = run.first
        return effects


def test_only_runs_show_a_fault_that_single_messages_hide() -> None:
    forgets = partial(make_core, kind=ForgetsRuns)
    found = walked(make=forgets)
    assert found.mismatch is not None
    record = found.mismatch.schedule
    assert record is not None
    assert any(step.get("count", 1) > 1 for step in record["steps"])
    assert [each.what.partition("[")[0] for each in found.mismatch.differences] == [
        "received_table"
    ]
    # The same with one message at a time goes unnoticed.
    instance = ("one by one", world().system)
    one = [{"action": "Send", "args": ["a"]}, {"action": "ReceiveData", "args": ["b", "a"]}] * 2
    assert play(BINDING, instance, one, forgets) is None
    two = [
        {"action": "Send", "args": ["a"], "count": 2},
        {"action": "ReceiveData", "args": ["b", "a"], "count": 2},
    ]
    parted = play(BINDING, instance, two, forgets)
    assert parted is not None
    assert parted.step == 2


def test_a_batch_may_arrive_in_other_parts_than_it_was_sent_in() -> None:
    send = {"action": "Send", "args": ["a"], "count": 4}
    for sizes in ((4,), (1, 3), (2, 2), (1, 1, 2)):
        parts = [{"action": "ReceiveData", "args": ["b", "a"], "count": n} for n in sizes]
        assert play(BINDING, ("parts", world().system), [send, *parts]) is None
    too_many = {"action": "ReceiveData", "args": ["b", "a"], "count": 5}
    with pytest.raises(UsageError, match="step 2, ReceiveData, is not possible"):
        play(BINDING, ("parts", world().system), [send, too_many])


def test_a_broken_promise_is_noticed_although_both_sides_agree() -> None:
    asked = [
        each._replace(promised={"Silence": lambda state: not any(state.delivered)})
        for each in instances("weak")
    ]
    found = lockstep(BINDING, asked, seed=SEED, runs=10)
    assert found.mismatch is not None
    assert found.mismatch.problem == "Silence is violated"
    assert found.mismatch.schedule is not None
    assert [step["action"] for step in found.mismatch.schedule["steps"]] in (
        ["Send", "ReceiveData"],
        ["Send", "ReceiveForward", "ReceiveData"],
    )


def after(system: Any, steps: list[dict[str, Any]]) -> Any:
    """The state after the steps, which both sides make alike."""
    assert play(BINDING, ("here", system), steps) is None
    (state,) = system.initial()
    for step in steps:
        move = find_move(system, state, step)
        assert move is not None
        state = move.target
    return state


def view(members: str, joiners: str = "") -> dict[str, Any]:
    """The step that decides a view."""
    inside, new = ([[name, 0] for name in names] for names in (members, joiners))
    return {"action": "ViewChange", "args": [], "members": inside, "joiners": new}


def steps(text: str) -> list[dict[str, Any]]:
    """Such as "Send c 2": the second word has the arguments, the third the size."""
    found = []
    for each in text.split(", "):
        action, args, *count = each.split(" ")
        step: dict[str, Any] = {"action": action, "args": list(args)}
        found.append(step | ({"count": int(count[0])} if count else {}))
    return found


def test_without_hold_and_exact_next_a_gap_breaks_the_promise() -> None:
    rules = Rules(exact_next=False, hold_sends=False)
    made = world(founders="abc", virtual_synchrony=False, rules=rules)
    assert made.promised == {}
    gap_free = world(founders="abc", virtual_synchrony=False).promised["GapFree"]
    way = [*steps("Send c, Crash a"), view("bc"), *steps("InstallView b, InstallView c, Send c")]
    way += steps("ReceiveForward bc")
    assert gap_free(after(made.system, way))
    assert not gap_free(after(made.system, [*way, *steps("ReceiveData bb")]))


def test_over_weak_views_nothing_is_promised_of_who_has_gone() -> None:
    """SEQ-F18: R8 forgets a sender while a resend of its message is still under way."""
    system, promised = world(founders="ab", virtual_synchrony=False)
    way = [
        *steps("Send b, ReceiveForward ab"),
        view("abc", "c"),
        *steps("InstallView a, InstallView b, Join c, Resend b, ReceiveForward ab, Crash b"),
        view("ac"),
        *steps("ReceiveData ca, InstallView c, ReceiveData ca"),
    ]
    state = after(system, way)
    assert not system.invariants["Integrity"](state)
    assert promised["Integrity"](state)


# ---------------------------------------------------------------- schedules


@pytest.mark.parametrize(
    "name",
    ["sequencer-demote", "sequencer-f6-seed", "unicast-anew", "raincore-split", "stable-f1-seed"],
)
def test_every_move_is_found_again_by_its_step(name: str) -> None:
    system = system_for(CASES[name])
    level, seen = list(system.initial()), 0
    for _ in range(6):
        after = []
        for state in level:
            for move in system.moves(state):
                step = json.loads(json.dumps(step_of(system, state, move)))
                assert find_move(system, state, step) == move
                after.append(move.target)
                seen += 1
        level = list(dict.fromkeys(after))[:40]
    assert seen > 100


def test_a_move_that_the_model_does_not_have_is_reported() -> None:
    with pytest.raises(UsageError, match="step 1, Join, is not possible in here"):
        play(BINDING, ("here", world().system), [{"action": "Join", "args": ["a"]}])


def test_an_instance_that_nobody_can_make_is_reported() -> None:
    with pytest.raises(UsageError, match="sequencer has no instance"):
        instance_of(BINDING, {"colour": "red"}, "red")
    bounded = replace(BINDING, world=None)
    with pytest.raises(UsageError, match="sequencer has no instances but those of the catalog"):
        instance_of(bounded, {}, "any")
    assert isinstance(world(), World)


def test_an_argument_that_is_a_set_is_written_in_one_order() -> None:
    assert written(frozenset("cab")) == '{"a", "b", "c"}'
    assert written(("a", 0)) == str(("a", 0))
