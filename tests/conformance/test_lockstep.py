"""Lockstep: model and real cores stay the same, whatever happens; a planted fault parts them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from raincheck.conformance.replay.lockstep import Walked, lockstep
from raincheck.conformance.replay.moves import Move
from raincheck.conformance.replay.pair import Differs, Pair, instance, shortened, system_of
from raincheck.conformance.verbs.generate import play, read_schedules
from raincheck.impl.messages import Address as ImplAddress
from raincheck.impl.sequencer import events as impl
from raincheck.impl.sequencer.core import Repairs, Sequencer
from raincheck.model.machine.runs import Address
from raincheck.model.sequencer.handlers import Rules
from raincheck.model.sequencer.state import View

SEED = 1


@pytest.mark.slow
@pytest.mark.parametrize("virtual_synchrony", [True, False])
def test_model_and_cores_stay_the_same(virtual_synchrony: bool) -> None:
    walked = lockstep(seed_=SEED, examples=40, virtual_synchrony=virtual_synchrony)
    print(f"seed {SEED}: {walked.examples} examples, {walked.steps} steps")
    assert walked.mismatch is None, walked.text()
    assert walked.examples >= 40
    assert walked.steps > walked.moves > 400, "runs of several messages travelled"
    often = {"Send", "ReceiveForward", "ReceiveData", "InstallView", "ViewChange"}
    assert often <= set(walked.actions)
    assert walked.refused.total() > 400
    assert walked.figures()["steps"] == sum(walked.actions.values()) == walked.steps


def test_the_same_seed_walks_the_same_way() -> None:
    first, again, other = (lockstep(seed_=seed, examples=5, moves=20) for seed in (3, 3, 4))
    assert (first.actions, first.steps, first.moves) == (again.actions, again.steps, again.moves)
    assert first.actions != other.actions


def unheld(who: ImplAddress) -> Sequencer:
    """A core that takes new messages before it has resent the old ones."""
    return Sequencer(who, repairs=Repairs(hold_sends=False))


def test_a_planted_fault_is_shrunk_to_a_schedule_that_replays(tmp_path: Path) -> None:
    walked = lockstep(seed_=SEED, examples=60, make=unheld)
    assert walked.mismatch is not None
    assert "accepts what its guard forbids: Send" in walked.mismatch.problem
    system, moves = walked.system, walked.mismatch.moves
    assert system is not None
    assert len(moves) <= 8
    for i in range(len(moves)):
        assert shortened(system, unheld, moves[:i] + moves[i + 1 :]) is None, "not the shortest"
    assert "raincheck generate --schedule" in walked.text()
    file = tmp_path / "lockstep.jsonl"
    file.write_text(walked.text().splitlines()[-1] + "\n")
    ((record, again),) = read_schedules(file)
    assert tuple(again) == moves
    system = system_of(record)
    assert system is not None
    # The sound core passes the schedule, the damaged one fails at its last move.
    assert play(system, "again", moves, str(file)).verdict == "holds"
    pair = Pair(system, unheld)
    for move in moves[:-1]:
        pair.play(move)
    with pytest.raises(Differs):
        pair.play(moves[-1])


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
    walked = lockstep(seed_=SEED, examples=60, make=ForgetsRuns)
    assert walked.mismatch is not None
    assert any(move.count > 1 for move in walked.mismatch.moves)
    assert [each.variable for each in walked.mismatch.differences] == ["receivedTable"]
    # The same with one message at a time goes unnoticed.
    pair = Pair(instance(), ForgetsRuns)
    for move in [Move("Send", ("a",)), Move("ReceiveData", ("b", "a"))] * 2:
        pair.play(move)


def test_a_broken_promise_is_noticed_although_both_sides_agree() -> None:
    """Without the hold both sides may agree, and what is promised must still be asked."""
    rules = Rules(exact_next=False, hold_sends=False)
    system = instance("abc", virtual_synchrony=False, rules=rules)
    repairs = Repairs(exact_next=False, hold_sends=False)
    pair = Pair(system, lambda who: Sequencer(who, repairs=repairs))
    assert pair.promised == ()
    pair.promised = ("GapFree",)
    after = View((Address("b", 0), Address("c", 0)), frozenset())
    moves = [
        Move("Send", ("c",)),
        Move("Crash", ("a",)),
        Move("ViewChange", view=after),
        Move("InstallView", ("b",)),
        Move("InstallView", ("c",)),
        Move("Send", ("c",)),
        Move("ReceiveForward", ("b", "c")),
    ]
    for move in moves:
        pair.play(move)
    with pytest.raises(Differs, match="GapFree is violated"):
        pair.play(Move("ReceiveData", ("b", "b")))


def test_a_move_that_the_model_does_not_allow_is_told() -> None:
    pair = Pair(instance())
    with pytest.raises(ValueError, match="does not allow Join"):
        pair.play(Move("Join", ("a",)))


def test_a_schedule_says_all_that_is_needed_to_replay_it() -> None:
    pair = Pair(instance(founders="ab", virtual_synchrony=False))
    pair.play(Move("Send", ("b",), count=3))
    record = json.loads(json.dumps(pair.schedule()))
    again = system_of(record)
    assert again is not None
    assert again.constants == pair.system.constants
    assert [Move.from_json(step) for step in record["steps"]] == pair.moves


def test_nothing_found_is_nothing_told() -> None:
    assert Walked(1).text() == ""
