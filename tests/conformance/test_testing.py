"""A project's own tests are given replay, lockstep by Hypothesis, and traces that must conform."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.errors import UsageError
from raincheck.conformance.protocols.registry import offering
from raincheck.impl.messages import Address, Payloads, View, ViewId
from raincheck.impl.sequencer import events as seq
from raincheck.impl.sequencer.core import Sequencer
from raincheck.testing import Recording, assert_conforms, assert_replays, lockstep_machine

FEW = settings(
    max_examples=8,
    stateful_step_count=25,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)
MANY = settings(FEW, max_examples=400, phases=[Phase.generate])  # what is found is not made small


def keeping_votes(rules: Any, local: Any) -> Any:
    """STABLE's core with a repair undone, whatever the rules say."""
    return binding_of("stable").make_core(replace(rules, clear_votes=False), local)


@pytest.mark.parametrize("protocol", [each.name for each in offering("binding")])
def test_every_protocol_goes_in_lockstep_with_its_model(protocol: str) -> None:
    run_state_machine_as_test(lockstep_machine(protocol), settings=FEW)


def test_lockstep_by_hypothesis_finds_a_core_that_lacks_a_repair() -> None:
    machine = lockstep_machine("stable", cases=["stable-f1-repaired"], make=keeping_votes)

    with pytest.raises(AssertionError, match=r"the (states|outputs) differ"):
        run_state_machine_as_test(machine, settings=MANY)


def test_replay_holds_and_finds_a_core_that_lacks_a_repair() -> None:
    assert_replays("stable", cases=["stable-return"])

    with pytest.raises(AssertionError, match=r"stable-return, walk \d+, step \d+"):
        assert_replays("stable", cases=["stable-return"], make=keeping_votes)


def test_what_cannot_be_asked_is_reported() -> None:
    with pytest.raises(UsageError, match="There is no protocol"):
        assert_replays("nothing")
    with pytest.raises(UsageError, match="There is no case"):
        lockstep_machine("stable", cases=["stable-nothing"])
    with pytest.raises(UsageError, match="no case that holds with all rules"):
        lockstep_machine("stable", cases=["stable-f1-seed"])


@pytest.fixture
def cores(toy: SimpleNamespace) -> dict[str, Any]:
    """The two nodes of a small protocol, a with the token."""
    first, second = next(iter(toy.system.machine({}).initial())).locals
    rules = toy.model.Rules()
    return {"a": toy.binding.make_core(rules, first), "b": toy.binding.make_core(rules, second)}


def hand_over(toy: SimpleNamespace, cores: dict[str, Any]) -> None:
    """The token goes from a to b."""
    a, b = Address("a", 0), Address("b", 0)
    cores["a"].handle(toy.core.Pass(b))
    cores["b"].handle(toy.core.ReceiveToken(a, 1))


def test_recorded_cores_conform(
    toy: SimpleNamespace, cores: dict[str, Any], tmp_path: Path
) -> None:
    recording = Recording(tmp_path)
    recording.of("handover", **cores)
    hand_over(toy, cores)

    recording.check()

    assert len(list(tmp_path.glob("*.jsonl"))) == 2


def sequenced(a: Sequencer, b: Sequencer) -> None:
    """b forwards a message to a, which multicasts it; both deliver it."""
    (sent,) = b.handle(seq.Send(Payloads.pack([b"hello"])))
    assert isinstance(sent, seq.SendForward)
    (multicast,) = a.handle(seq.ReceiveForward(b.me, sent.forward))
    assert isinstance(multicast, seq.Multicast)
    for core in (a, b):
        core.handle(seq.ReceiveData(a.me, multicast.data))


@pytest.mark.parametrize("hasty", [False, True])
def test_a_core_whose_records_have_a_form_of_their_own_is_recorded_too(
    tmp_path: Path, hasty: bool
) -> None:
    a, b = (Sequencer(Address(name, 0)) for name in "ab")
    for core in (a, b):
        core.found(View(ViewId(1, a.me), (a.me, b.me)))
    recording = Recording(tmp_path)
    recording.of("sequencer", a=a, b=b)
    sequenced(a, b)
    if hasty:
        b.seqno += 1  # behind the recorder's back
        b.handle(seq.Send(Payloads.pack([b"again"])))

    if not hasty:
        recording.check()
        return
    with pytest.raises(AssertionError, match="sequencer: violated"):
        recording.check()


def test_a_core_that_does_other_than_its_model_does_not_conform(
    toy: SimpleNamespace, cores: dict[str, Any], tmp_path: Path
) -> None:
    cores["b"].repairs = toy.core.Repairs(thanks=False)
    recording = Recording(tmp_path)
    recording.of("handover", **cores)
    hand_over(toy, cores)

    with pytest.raises(AssertionError, match="handover: violated"):
        recording.check()


def test_a_trace_that_is_cut_short_and_one_that_is_not_there_fail(
    toy: SimpleNamespace, cores: dict[str, Any], tmp_path: Path
) -> None:
    recording = Recording(tmp_path)
    recording.of("handover", **cores)
    hand_over(toy, cores)
    recording.check()
    path = next(tmp_path.glob("*.b.*.jsonl"))
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))

    with pytest.raises(AssertionError, match="inconclusive"):
        assert_conforms(tmp_path)
    with pytest.raises(UsageError):
        assert_conforms(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="takes the cores by their names"):
        Recording(tmp_path).of("handover")


def test_what_fails_in_lockstep_is_shortened_and_not_varied() -> None:
    phases = lockstep_machine("gms").TestCase.settings.phases

    assert Phase.generate in phases
    assert Phase.shrink in phases
    assert Phase.explain not in phases
