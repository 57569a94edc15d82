"""The verb prove: what it reports, what it leaves behind, and how it fails."""

import json

import pytest

from raincheck.__main__ import main
from raincheck.conformance.protocols.registry import offering

SEQUENCER = ("sequencer",)


def prove(capsys, tmp_path, *words):
    code = main(
        ["prove", "--json", "--quiet", "--no-cache", "--out", str(tmp_path / "out"), *words]
    )
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_it_proves_a_property_and_shows_every_action_with_its_seconds(capsys, tmp_path):
    code, outcome = prove(capsys, tmp_path, *SEQUENCER, "--property", "TotalOrder", "--seeds", "1")

    assert code == 0
    assert outcome["verdict"] == "holds"
    assert outcome["reproduce"] == ("raincheck prove sequencer --property TotalOrder --seeds 1")
    results = {result["name"]: result for result in outcome["results"]}
    assert results["sequencer-TotalOrder"]["seeds"] == [1]
    assert results["sequencer-step-Send"]["obligations"] > 100
    assert results["sequencer-step-ViewChange"]["seconds"] > 0
    assert results["sequencer-vacuity"]["enabled"] == 23
    assert "sequencer-Agreement" not in results
    text = (tmp_path / "out" / "invariant.txt").read_text()
    assert "SameTable\n  receivedTable depends only on the view" in text
    attempts = json.loads((tmp_path / "out" / "obligations.json").read_text())
    assert all(each["proved"] and each["seed"] == 1 for each in attempts)


@pytest.mark.slow
def test_it_proves_what_breaks_a_circle_beside_another_protocol(capsys, tmp_path):
    words = ("nakack", "--property", "AcksAreTrue", "--seeds", "1")
    code, outcome = prove(capsys, tmp_path, *words)

    assert code == 0
    results = {result["name"]: result for result in outcome["results"]}
    found = results["nakack-circle-stable"]
    assert found["verdict"] == "holds"
    assert found["breaks"] == ["nakack", "stable"]
    assert found["obligations"] > found["glue"] > 300
    assert "without SameDelivered" in found["caught"]
    assert "stable.StableHolds\n" in (tmp_path / "out" / "nakack-circle-stable.txt").read_text()
    attempts = json.loads((tmp_path / "out" / "nakack-circle-stable.json").read_text())
    owed = {each["claim"] for each in attempts if each["kind"] == "owed"}
    assert {"nakack.Purge", "stable.SendDigest: first"} <= owed


@pytest.mark.slow
def test_without_a_repair_it_is_violated_and_the_counterexample_is_kept(capsys, tmp_path):
    code, outcome = prove(capsys, tmp_path, *SEQUENCER, "--without", "ExactNext", "--seeds", "1")

    assert code == 1
    results = {result["name"]: result for result in outcome["results"]}
    assert results["sequencer-step-ReceiveData"]["verdict"] == "violated"
    assert results["sequencer-GapFree"]["verdict"] == "inconclusive"
    (report,) = (tmp_path / "out" / "counterexamples").iterdir()
    assert report.name == "HeardWithoutGap-ReceiveData-delivered.txt"
    assert report.read_text().startswith("before:\n  view 1:")
    assert report.read_text() in results["sequencer-step-ReceiveData"]["detail"] + "\n"


@pytest.mark.slow
def test_what_times_out_is_inconclusive(capsys, tmp_path, monkeypatch):
    from raincheck.conformance.verbs import prove as module

    monkeypatch.setattr(module, "attempt", _undecided)

    code, outcome = prove(capsys, tmp_path, *SEQUENCER, "--property", "Fifo", "--seeds", "1")

    assert code != 0
    assert {r["verdict"] for r in outcome["results"] if r["name"] == "sequencer-Fifo"} == {
        "inconclusive"
    }


def _undecided(obligation, seed, timeout):
    from raincheck.model.proof.induction import Attempt

    left = obligation.kind == "implied"
    return Attempt(obligation, seed, not left, timeout / 1000, "unknown (timeout)" if left else "")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--seeds", "one"], "give numbers with commas between"),
        (["--seeds", "-1"], "not negative"),
        ([*SEQUENCER, "--property", "Beauty"], "TotalOrder, Agreement"),
        ([*SEQUENCER, "--without", "Luck"], "VirtualSynchrony, TrueSources"),
        (["paxos"], "sequencer"),
    ],
)
def test_a_wrong_option_is_a_sentence_and_exit_code_3(capsys, tmp_path, words, sentence):
    code = main(["prove", "--out", str(tmp_path / "out"), *words])

    assert code == 3
    assert sentence in capsys.readouterr().err


def test_a_dry_run_says_what_would_be_proved_and_proves_nothing(capsys, tmp_path):
    code = main(["prove", "-n", "--out", str(tmp_path / "out")])

    assert code == 0
    said = capsys.readouterr().out
    assert "conjuncts of sequencer is true initially and after" in said
    assert "TotalOrder" in said
    assert said.count("seeds 1, 2") == len(offering("proof"))
    assert not (tmp_path / "out").exists()
