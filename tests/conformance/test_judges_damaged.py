"""Checkers are damaged around their rules; survivors are named, and too many are a failure."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from raincheck.__main__ import main
from raincheck.conformance.field.ring import fence
from raincheck.conformance.judges import damage
from raincheck.conformance.judges.around import every
from raincheck.conformance.judges.damage import (
    KINDS,
    Damage,
    Exchange,
    Trial,
    chosen,
    damages,
    limited,
    trials,
)
from raincheck.conformance.judges.planting import planted_for
from raincheck.conformance.judges.reach import reached
from raincheck.conformance.judges.survivors import REASONS, reason_of
from raincheck.conformance.outcome import HOLDS, VIOLATED
from raincheck.conformance.protocols.registry import installed_alone
from raincheck.conformance.verbs.mutate import damaged_judges


@cache
def all_damages() -> tuple[Damage, ...]:
    """Return every damage; to find them parses all checkers."""
    return damages()


def test_every_kind_of_damage_is_found_and_each_has_its_own_name() -> None:
    assert {each.kind for each in all_damages()} == set(KINDS)
    keys = [each.key for each in all_damages()]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("name", every())
def test_what_is_said_of_an_input_is_what_its_table_says(name: str, tmp_path: Path) -> None:
    shown = every()[name]
    with installed_alone():
        assert tuple(shown.ask(tmp_path)) == shown.said


def test_an_input_is_for_a_module_that_is_damaged() -> None:
    modules = {damage.source.module for damage in all_damages()}

    assert {name.partition(":")[0] for name in every()} <= modules


def test_an_input_reaches_the_lines_that_run_and_no_others() -> None:
    path = Path(fence.__file__)
    with reached(frozenset({str(path)})) as lines:
        fence.judged([])

    text = path.read_text().splitlines()
    run = {text[number - 1].strip() for _, number in lines}
    assert "return list(found.values())" in run
    assert "greatest = write" not in run


def test_a_damage_that_no_input_reaches_is_shown_to_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(damage._Asking, "lines", lambda *_: set())
    monkeypatch.setattr(damage._Asking, "answer", lambda *_: pytest.fail("an input was asked"))

    assert [trial.noticed for trial in trials(all_damages()[:2])] == ["", ""]


def test_a_damage_is_done_and_undone(tmp_path: Path) -> None:
    one = next(
        d for d in all_damages() if d.source.module == "field.ring.fence" and d.kind == KINDS[0]
    )
    plants = list(planted_for(one.source).values())

    def told() -> list[str]:
        said = []
        for number, plant in enumerate(plants):
            folder = tmp_path / str(len(list(tmp_path.iterdir()))) / str(number)
            folder.mkdir(parents=True)
            said += plant.bad(folder)
        return said

    before = told()
    with Exchange(one).done():
        within = told()

    assert within != before
    assert told() == before


def test_the_planted_inputs_notice_a_damage_by_its_kind() -> None:
    wanted = [
        next(d for d in all_damages() if d.source.module == "field.ring.fence" and d.kind == kind)
        for kind in (KINDS[0], KINDS[1])
    ]

    assert all(trial.noticed for trial in trials(wanted))


def test_a_checker_that_does_not_end_is_noticed() -> None:
    def endless() -> None:
        while True:
            pass

    with pytest.raises(damage.TooLong), limited(0.05):
        endless()


def test_the_seed_draws_the_damages() -> None:
    assert chosen(1, 20) == chosen(1, 20)
    assert chosen(1, 20) != chosen(2, 20)
    assert len(chosen(1, 20)) == 20
    assert chosen(1, None) == all_damages()


def test_survivors_are_named_with_their_reason_and_too_many_fail() -> None:
    some = all_damages()[:20]

    def result(noticed: int) -> tuple[str, object]:
        found = damaged_judges(
            [Trial(d, "seen" if n < noticed else "", "") for n, d in enumerate(some)]
        )
        return found.verdict, found.figures["survivors"]

    assert result(20) == (HOLDS, {})
    verdict, survivors = result(19)
    assert (verdict, survivors) == (
        HOLDS,
        {str(some[19]): "open: no planted input reaches it yet"},
    )
    assert result(18)[0] == VIOLATED


def test_a_survivor_of_which_it_is_known_says_why() -> None:
    assert "memory" in reason_of("trace.run check_run: observer blinded: turns += 1")
    assert reason_of("trace.x F.f: comparison turned: a == b") == ""


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in REASONS])
def test_a_reason_is_that_of_some_damage(pattern: str) -> None:
    assert [each for each in all_damages() if re.search(pattern, each.key)]


def test_a_damage_that_has_a_reason_is_tried_only_if_all_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(damage, "_noticed", lambda *_: "seen")
    some = [next(each for each in all_damages() if reason_of(each.key)), all_damages()[0]]

    assert [trial.noticed for trial in trials(some)] == ["seen", "seen"]
    assert [trial.noticed for trial in trials(some, excused=False)] == ["", "seen"]


@pytest.mark.slow
def test_a_damage_that_has_a_reason_is_noticed_by_nobody() -> None:
    excused = [each for each in all_damages() if reason_of(each.key)]

    assert [f"{each.damage}: {each.noticed}" for each in trials(excused) if each.noticed] == []


def test_the_verb_damages_the_judges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from raincheck.conformance.verbs import mutate

    monkeypatch.setattr(mutate, "all_rules", list)
    monkeypatch.setattr(mutate, "tried", lambda: iter(()))
    wanted = [
        next(d for d in all_damages() if d.source.module == "field.ring.fence" and d.kind == kind)
        for kind in (KINDS[0], KINDS[1])
    ]
    monkeypatch.setattr(mutate, "chosen_damages", lambda *_: wanted)

    code = main(["mutate", "--judges", "--damages", "2", "--json", "--out", str(tmp_path)])

    results = json.loads(capsys.readouterr().out)["results"]
    (result,) = (each for each in results if not each["name"].startswith("step "))
    assert code == 0
    assert (result["tried"], result["noticed"]) == (2, 2)
    assert str(wanted[0]) in (tmp_path / "judges.txt").read_text()


@pytest.mark.parametrize("words", [["--damages", "3"], ["--judges", "--damages", "-1"]])
def test_damages_that_make_no_sense_are_refused(words: list[str]) -> None:
    assert main(["mutate", *words]) == 3
