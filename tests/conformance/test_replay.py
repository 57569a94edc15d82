"""Replay: every edge on the real cores, and each planted fault is noticed where it sits."""

from __future__ import annotations

import argparse
import json
from collections import Counter, deque
from functools import cache
from pathlib import Path

import pytest

from raincheck.conformance.bindings.sequencer import binding as mapping
from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Ui
from raincheck.conformance.replay.group import Group, Impossible
from raincheck.conformance.replay.moves import Move, printed
from raincheck.conformance.replay.probes import Probes
from raincheck.conformance.replay.replay import Prepared, plain_core, replay
from raincheck.conformance.verbs.generate import (
    ACTIONS,
    add_arguments,
    coverage_of,
    prepare,
    read_schedules,
    result_of,
    run,
)
from raincheck.impl import messages as wire
from raincheck.impl.sequencer import events as impl
from raincheck.impl.sequencer.core import Repairs, Sequencer
from raincheck.model.machine.runs import Address, Run

CASES = {case.name: case for case in load_cases()}
REPAIRED = ["join", "leave", "demote", "return", "f5-repaired", "f10-repaired", "f13-repaired"]
UNDONE = ["f1-seed", "f3-seed", "f5-undone", "f6-seed", "f9-undone", "f10-one-seed", "f14-undone"]


@cache
def prepared(name: str) -> Prepared:
    """A case's graph and walks."""
    return prepare(CASES[f"sequencer-{name}"])


@pytest.mark.parametrize("name", [*REPAIRED, *UNDONE])
def test_every_edge_of_the_case_is_taken_by_the_real_cores(name: str) -> None:
    done = replay(prepared(name))
    assert done.mismatches == []
    assert (done.covered, done.missing) == (done.edges, [])
    assert done.actions.total() == done.edges
    case = CASES[f"sequencer-{name}"]
    assert case.distinct in (None, done.states)
    assert done.refusals > 0


def test_all_actions_are_taken_and_all_guards_seen_false() -> None:
    probes = Probes()
    # What the repaired protocol never meets, a gap, takes a case with a repair undone.
    done = [replay(prepared(name), probes=probes) for name in [*REPAIRED, "f3-undone"]]
    reached = sum((each.actions for each in done), start=Counter[str]())
    assert set(reached) == set(ACTIONS)
    assert probes.untried() == []
    assert coverage_of("sequencer", reached, probes).verdict == "holds"


def test_an_action_or_guard_that_nothing_reaches_is_a_finding() -> None:
    probes = Probes()
    done = replay(prepared("f3-repaired"), probes=probes)
    found = coverage_of("sequencer", done.actions, probes)
    assert found.verdict == "violated"
    assert "never taken: Crash" in found.detail
    assert "never false: Join" not in found.detail
    assert "never false: ReceiveForward: Running(n)" in found.detail


# ---------------------------------------------------------------- planted faults


class Forgetful(Sequencer):
    """It forgets one sender's entry when a view is installed."""

    def handle(self, event: impl.Event) -> list[impl.Effect]:
        """Handle the event, then forget."""
        effects = super().handle(event)
        if isinstance(event, impl.InstallView):
            self.received_table.clear()
        return effects


class Talkative(Sequencer):
    """It takes new messages while it still has to resend."""

    @property
    def may_send(self) -> bool:
        """Whether it is a member is all it asks."""
        return self.status == "member"


class Confused(Sequencer):
    """It multicasts contents that are not those that it was given."""

    def handle(self, event: impl.Event) -> list[impl.Effect]:
        """Handle the event with the contents of somebody else."""
        if isinstance(event, impl.ReceiveForward):
            other = mapping.payloads("a", 1, 1)
            event = event._replace(forward=event.forward._replace(payloads=other))
        return super().handle(event)


class Clumsy(Sequencer):
    """It raises what no handler may raise."""

    def handle(self, event: impl.Event) -> list[impl.Effect]:
        """Fail on a view."""
        if isinstance(event, impl.InstallView):
            raise KeyError("members")
        return super().handle(event)


class Stubborn(Sequencer):
    """It refuses to resend."""

    def handle(self, event: impl.Event) -> list[impl.Effect]:
        """Clear what is to be resent before it is asked to."""
        if isinstance(event, impl.Resend):
            self.resend = deque()
        return super().handle(event)


@pytest.mark.parametrize(
    ("core", "problem", "where"),
    [
        (Forgetful, "the states differ", "receivedTable["),
        (Confused, "the states differ", "stream[a]"),
        (Talkative, "accepts what its guard forbids: Send", "HoldSends"),
        (Clumsy, "raises KeyError: 'members'", "InstallView"),
        (Stubborn, "the implementation refuses: Resend is not enabled", ""),
    ],
)
def test_a_planted_fault_is_found_and_located(
    core: type[Sequencer], problem: str, where: str
) -> None:
    case = prepared("join")
    done = replay(case, make=core)
    (mismatch,) = done.mismatches
    text = mismatch.text()
    assert problem in mismatch.problem
    assert where in text
    assert text.endswith(printed(mismatch.moves))
    assert case.moves(case.walks[mismatch.walk - 1])[: mismatch.step] == mismatch.moves
    # The same walk alone shows it again, and the sound core passes it.
    again = replay(case, make=core, walks=[mismatch.walk])
    assert [each.text() for each in again.mismatches] == [text]
    assert replay(case, walks=[mismatch.walk]).mismatches == []
    assert result_of("sequencer", case, done).verdict == "violated"


def test_an_edge_that_was_not_replayed_is_named_and_violates() -> None:
    case = prepared("f3-repaired")
    part = replay(case, walks=[1])
    assert 0 < part.covered < part.edges
    found = result_of("sequencer", case, part)
    assert found.verdict == "violated"
    assert f"{part.edges - part.covered} edges were not replayed" in found.detail
    assert part.missing[0] in found.detail
    # Asked for one walk, one walk is what is wanted.
    assert result_of("sequencer", case, part, whole=False).verdict == "holds"


def test_a_part_of_a_graph_never_passes_for_the_whole() -> None:
    part = prepare(CASES["sequencer-join"], whole=100, part=50)
    assert not part.complete
    done = replay(part)
    found = result_of("sequencer", part, done)
    assert (found.verdict, found.figures["part"]) == ("holds", True)
    assert "only the first" in found.detail


# ---------------------------------------------------------------- the mapping


def test_contents_that_are_not_the_senders_are_seen() -> None:
    who = wire.Address("b", 1)
    run = wire.Run(who, 3, 2)
    mine = mapping.singles(run, mapping.payloads("b", 7, 2))
    assert mine == (Run(Address("b", 1), 3, 1, 7), Run(Address("b", 1), 4, 1, 8))
    assert mapping.singles(run, mapping.payloads("c", 7, 2))[0].payload == mapping.DAMAGED
    assert mapping.singles(run, mapping.payloads("b", 7, 3))[0].payload == mapping.DAMAGED
    nothing = wire.Run(who, 3, 0)
    assert mapping.singles(nothing, mapping.payloads("b", 7, 0))[0].payload == mapping.DAMAGED


def test_the_mapping_reads_every_variable_of_the_core() -> None:
    core = Sequencer(wire.Address("b", 2), repairs=Repairs())
    members = (wire.Address("a", 0), wire.Address("b", 2))
    core.found(wire.View(wire.ViewId(1, members[0]), members))
    before = mapping.local_of(core)
    core.handle(impl.Send(mapping.payloads("b", 1, 3)))
    early = impl.Forward(wire.Run(members[0], 1, 2), 2, mapping.payloads("a", 1, 2), 1, 0)
    core.handle(impl.ReceiveForward(members[0], early))
    core.handle(impl.Leave())
    core.received_table[members[0]] = 4
    after = mapping.local_of(core)
    changed = {name for name, old in before._asdict().items() if getattr(after, name) != old}
    assert changed == {"status", "seqno", "said", "forward_table", "received_table", "early"}
    assert (after.forward_table, after.seqno, after.incarnation) == (((1, 3),), 3, 2)
    assert [each.messages.first for each in after.early] == [1, 2]


def test_moves_are_read_back_from_json_and_nonsense_is_refused() -> None:
    for case in ("join", "demote"):
        for walk in prepared(case).walks[:50]:
            moves = prepared(case).moves(walk)
            again = [Move.from_json(json.loads(json.dumps(move.as_json()))) for move in moves]
            assert tuple(again) == moves
    with pytest.raises(ValueError, match="is no step of a schedule"):
        Move.from_json({"args": ["a"]})


def test_a_move_that_does_not_fit_the_network_is_refused() -> None:
    system = prepared("join").system
    group = Group(system.constants, plain_core(system))
    for action in ("ReceiveForward", "ReceiveData", "InstallView", "Join", "Restart", "Dance"):
        with pytest.raises(Impossible):
            group.perform(Move(action, ("a", "b")))


# ---------------------------------------------------------------- the verb


def arguments(out: Path, *words: str) -> argparse.Namespace:
    """The parsed arguments, as __main__ makes them."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    args = parser.parse_args(words)
    args.out, args.dry_run, args.seed, args.json = out, False, 1, True
    args.cache, args.no_cache = None, True
    return args


def test_the_verb_writes_schedules_that_replay(tmp_path: Path) -> None:
    file = tmp_path / "schedules.jsonl"
    words = ["sequencer-f13-repaired", "--out-schedules", str(file)]
    outcome = run(arguments(tmp_path / "one", *words), Ui(json=True, quiet=True))
    assert outcome.verdict == "holds"
    (result,) = outcome.results
    assert result.figures["covered"] == result.figures["edges"]
    records = list(read_schedules(file))
    assert len(records) == result.figures["walks"]
    again = run(arguments(tmp_path / "two", "--schedule", str(file)), Ui(json=True, quiet=True))
    assert again.verdict == "holds"
    assert [each.figures["steps"] for each in again.results] == [len(m) for _, m in records]


def test_one_walk_is_told_step_by_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sequencer-f13-repaired", "--walk", "2"]
    outcome = run(arguments(tmp_path / "run", *words), Ui())
    assert outcome.reproduce == "raincheck generate sequencer-f13-repaired --walk 2"
    assert printed(prepared("f13-repaired").moves(prepared("f13-repaired").walks[1])) in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--walk", "1"], "--walk is a walk of one case"),
        (["sequencer-f3-repaired", "--walk", "999"], "has walks 1 to"),
        (["no-such"], "There is no case no-such"),
        (["--schedule", "nowhere.jsonl"], "Cannot read nowhere.jsonl"),
        (["--schedule", "x", "--walk", "1"], "--schedule brings its own cases"),
    ],
)
def test_wrong_calls_are_told_in_one_sentence(
    words: list[str], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=sentence):
        run(arguments(tmp_path / "run", *words), Ui(json=True, quiet=True))


@pytest.mark.parametrize("line", ["", "{", '{"case": "x"}', '{"steps": [{"args": []}]}'])
def test_a_bad_file_of_schedules_is_told_in_one_sentence(line: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(f"{line}\n" if line else "")
    with pytest.raises(UsageError, match=r"bad\.jsonl"):
        run(arguments(tmp_path / "run", "--schedule", str(file)), Ui(json=True, quiet=True))
