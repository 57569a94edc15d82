"""Words mean cases, protocols and globs; what means nothing is answered with near names."""

import json
from pathlib import Path

import pytest

from raincheck.__main__ import main
from raincheck.conformance.cases.names import meant
from raincheck.conformance.errors import UsageError

NAMED = {"flush-crash": 1, "flush-join": 2, "state-transfer-crash": 3, "flush-deep": 4}
GROUPS = {
    "flush": ["flush-crash", "flush-join", "flush-deep"],
    "state_transfer": ["state-transfer-crash"],
    "late": ["flush-deep"],
}


def test_words_mean_what_they_name_each_once_and_in_their_order() -> None:
    def of(*words: str) -> tuple[int, ...]:
        return meant(words, NAMED, GROUPS, usual=lambda item: item != 4, unusual="wait")

    assert of("flush-join", "flush") == (2, 1)
    assert of("state-transfer", "state_transfer") == (3,)
    assert of("*-crash") == (1, 3)
    assert of("flush-*") == (1, 2)
    # What is unusual comes by its own name only.
    assert of("flush-deep") == (4,)
    with pytest.raises(UsageError, match=r"Every case of late is left out: wait\."):
        of("late")


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("flush-crush", "There is no mutant flush-crush: did you mean flush-crash"),
        ("zebra", "There is no mutant zebra. The protocols are flush, state_transfer, late"),
        ("zebra-*", "No mutant matches zebra-*. The protocols are flush"),
    ],
)
def test_a_word_that_means_nothing_is_answered_with_near_ones(word: str, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        meant([word], NAMED, GROUPS, what="mutant")

    assert sentence in str(refused.value)


def test_all_words_that_mean_nothing_are_named() -> None:
    with pytest.raises(UsageError) as refused:
        meant(["flush-crush", "late", "zebra"], NAMED, GROUPS, what="mutant")

    assert "no mutant flush-crush: did you mean flush-crash" in str(refused.value)
    assert "no mutant zebra." in str(refused.value)


@pytest.mark.parametrize("verb", ["check", "mirror", "generate", "prove", "mutate", "explain"])
def test_every_verb_takes_protocols_and_globs_and_knows_near_names(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "state-transfer", "--dry-run"]) == 0
    assert main([verb, "state_tran*", "--dry-run"]) == (3 if verb == "mutate" else 0)
    assert main([verb, "state_transfre", "--dry-run"]) == 3
    assert "did you mean state_transfer" in capsys.readouterr().err


def test_the_list_says_what_there_is_and_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["check", "--list", "sequencer-f13-*"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("sequencer-f13-repaired ") and "holds: " in line for line in lines)

    assert main(["check", "--list", "sequencer-f13-undone", "--json"]) == 0
    (case,) = json.loads(capsys.readouterr().out)["cases"]
    assert {key: case[key] for key in ("name", "protocol", "tier", "expected")} == {
        "name": "sequencer-f13-undone",
        "protocol": "sequencer",
        "tier": "full",
        "expected": "Agreement",
    }
    assert case["words"]
    assert list(tmp_path.iterdir()) == []
