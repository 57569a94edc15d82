"""SEQUENCER's real cores on walks of its model: their records conform, and show what is wrong."""

from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from raincheck.conformance.bindings.binding import Binding, binding_of
from raincheck.conformance.outcome import HOLDS, VIOLATED
from raincheck.conformance.replay.cores import Problem
from raincheck.conformance.replay.damage import damaged_binding
from raincheck.conformance.replay.mutants import Mutant
from raincheck.conformance.trace.events import Event, decode_lines
from raincheck.conformance.trace.findings import Finding
from raincheck.conformance.trace.generator import record_walk
from raincheck.conformance.trace.recorded_walks import TRACED, recorded
from raincheck.conformance.trace.run import check_paths
from raincheck.model.sequencer.system import SequencerSystem
from raincheck.testing import assert_conforms

BINDING = binding_of("sequencer")


@cache
def systems(group: str = "") -> list[SequencerSystem]:
    """The unbounded instances, or those of one group."""
    assert BINDING.world is not None
    worlds = [world for name, them in BINDING.worlds.items() if group in name for world in them]
    made = [BINDING.world(**world).system for world in worlds]
    assert all(isinstance(each, SequencerSystem) for each in made)
    return made  # type: ignore[return-value]


def records(folder: Path) -> list[Event]:
    found = [decode_lines(path.read_bytes()) for path in sorted(folder.glob("*.[0-9].*.jsonl"))]
    return [record for records in found for record in records if isinstance(record, Event)]


def test_the_verb_records_walks_that_conform(tmp_path: Path) -> None:
    found = recorded(BINDING, systems(), 1, tmp_path / "traces")

    assert (found.verdict, found.detail, found.figures["walks"]) == (HOLDS, "", TRACED)
    assert_conforms(tmp_path / "traces")


def test_walks_have_every_action_and_messages_in_runs(tmp_path: Path) -> None:
    for seed in range(12):
        record_walk(BINDING, systems()[seed % 6], tmp_path, run=f"r{seed:02}", seed=seed, steps=150)

    events = records(tmp_path)
    assert {event.action for event in events} == {
        "Send", "ReceiveForward", "ReceiveData", "InstallView", "Join", "Resend", "Leave", "Stop",
    }  # fmt: skip
    sizes = Counter(event.args.messages[3] for event in events if event.args.messages)
    assert set(sizes) == {1, 2, 3, 4}
    assert any(event.incarnation for event in events)
    verdicts = check_paths([tmp_path])
    assert [(each.verdict, each.findings, each.problems) for each in verdicts] == [
        (HOLDS, [], [])
    ] * 12


def test_the_promises_are_kept_where_views_are_virtually_synchronous(tmp_path: Path) -> None:
    for seed in range(6):
        system = systems("synchronous")[seed % 3]
        record_walk(BINDING, system, tmp_path, run=f"r{seed}", seed=seed, steps=150)

    found = Counter(
        (promise.name, promise.verdict)
        for verdict in check_paths([tmp_path])
        for promise in verdict.promises
        if not promise.name.startswith("Uniform")
    )
    assert not [name for name, verdict in found if verdict == VIOLATED]
    judged = {name for name, verdict in found if verdict == HOLDS}
    promised = {"TotalOrder", "Agreement", "Integrity", "Fifo", "InView", "VirtualSynchrony"}
    assert judged == promised | {"sequencer.GapFree", "sequencer.Fresh"}


def faulty(find: str, replace: str) -> Binding:
    """The binding of a core with this edit."""
    edits = ((find, replace),)
    mutant = Mutant("planted", "", "sequencer", file="impl/sequencer/core.py", edits=edits)
    return damaged_binding("sequencer", mutant)


FAULTS = {
    "a clock that does not heed the message": (
        "self.clock = max(self.clock, data.clock) + 1",
        "self.clock += 1",
        "received before it was sent",
    ),
    "a stream that counts runs": (
        "self.multicasts += run.size",
        "self.multicasts += 1",
        "it sent something else than the model sends",
    ),
    "a channel that counts runs": (
        "self.forwards[to] = before + run.size",
        "self.forwards[to] = before + 1",
        "it sent something else than the model sends",
    ),
}
"""Faults in what the model's messages do not have: only records show them."""


def complaints(binding: Binding, folder: Path) -> list[Finding]:
    for seed in range(4):
        with suppress(Problem):  # a core that gets such messages may differ: that is recorded too
            record_walk(binding, systems("weak")[seed % 3], folder, run=f"r{seed}", seed=seed)
    return [finding for each in check_paths([folder]) for finding in each.findings]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_core_that_only_records_show_is_found(tmp_path: Path, fault: str) -> None:
    find, replace, reason = FAULTS[fault]
    assert any(reason in each.reason for each in complaints(faulty(find, replace), tmp_path))


def test_a_core_that_differs_from_the_model_is_a_violation(tmp_path: Path) -> None:
    deaf = faulty("self.early.append(forward)\n            return []", "return []")

    found = recorded(deaf, systems(), 1, tmp_path / "traces")

    assert found.verdict == VIOLATED
    assert "sequencer-1-" in found.detail
    assert "early" in found.detail
