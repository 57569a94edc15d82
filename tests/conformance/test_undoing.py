"""Damage to any protocol's implementation by its binding: an edited source, a repair undone."""

import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from raincheck.__main__ import main
from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.errors import UsageError
from raincheck.conformance.replay.damage import damaged_binding, without
from raincheck.conformance.replay.killers import (
    beyond,
    try_mutant,
    twins,
    undone_switches,
)
from raincheck.conformance.replay.lockstep import Instance
from raincheck.conformance.replay.mutants import Mutant
from raincheck.conformance.replay.replay import Prepared
from raincheck.conformance.replay.replayable import WHOLE
from raincheck.conformance.replay.undoing import Undone, named, table, undo


def mutant(**fields: Any) -> Mutant:
    given: dict[str, Any] = {
        "name": "deaf",
        "shows": "THANKS is heard.",
        "protocol": "handover",
        "file": "core.py",
        "edits": (("self.thanked.add((event.sender, event.turn))", "pass"),),
    }
    return Mutant(**{**given, **fields})


HARMLESS = mutant(edits=(("self.turn = 0", "self.turn = 0 + 0"),))


def test_the_case_that_breaks_without_a_repair_shows_its_twin() -> None:
    cases = [case for case in load_cases() if case.protocol == "nakack"]

    for switch, first in (("view_tag", ["nakack-f11-repaired"]), ("keep_all", [])):
        found = twins(cases, switch)
        assert [each.name for each in found][:1] == first
        assert {each.expected for each in found} <= {"holds"}
        sizes = [each.distinct or 0 for each in found]
        assert sizes == sorted(sizes)


def test_an_edited_source_is_noticed_by_replay_and_lockstep(toy: SimpleNamespace) -> None:
    row = try_mutant(mutant(), [toy.case])

    assert row.found
    assert row.replayed.startswith("handover-small walk ")
    assert 1 <= row.runs <= 10


def test_what_changes_nothing_survives(toy: SimpleNamespace) -> None:
    row = try_mutant(HARMLESS, [toy.case], runs=10)

    assert not row.found
    assert row.result().verdict == "violated"
    assert "nobody notices in 10 runs" in row.result().detail


def test_the_damage_is_done_to_a_copy(toy: SimpleNamespace) -> None:
    before = dict(sys.modules)

    made = damaged_binding("handover", mutant())

    assert binding_of("handover") is toy.binding
    assert made is not toy.binding
    assert type(made.make_core(toy.model.Rules(), toy.model.Local("a", ("b",)))) is not (
        toy.core.Handover
    )
    assert {name: sys.modules.get(name) for name in before} == before


def test_an_edit_that_does_not_fit_is_reported(toy: SimpleNamespace) -> None:
    assert toy.binding.protocol == "handover"
    with pytest.raises(UsageError, match="occurs 0 times"):
        damaged_binding("handover", mutant(edits=(("nowhere", ""),)))
    with pytest.raises(UsageError, match="is not valid Python"):
        damaged_binding("handover", mutant(edits=(("class Handover:", "class"),)))
    with pytest.raises(UsageError, match=r"does not use nothing\.py"):
        damaged_binding("handover", mutant(file="nothing.py"))
    assert binding_of("handover") is toy.binding


def test_each_repair_undone_is_found_within_so_many_runs(toy: SimpleNamespace) -> None:
    rows = undone_switches(["handover"], [toy.case], runs=50)

    assert [row.repair for row in rows] == ["fresh_only", "thanks"]
    for row in rows:
        assert row.protocol == "handover"
        assert row.replayed
        assert 1 <= row.runs <= 50
    assert undone_switches(["handover"], [toy.case], runs=50, quick=True)[0].replayed == ""
    assert undone_switches(["stack", "nobody"], [toy.case]) == []


def test_a_switch_that_does_nothing_is_not_found(toy: SimpleNamespace) -> None:
    idle = replace(
        toy.binding, make_core=lambda _, local: toy.binding.make_core(toy.model.Rules(), local)
    )
    case = Prepared("handover-small", toy.binding, toy.system.machine({}))
    instances = [Instance(case.name, case.system, case.probes())]

    row = undo(idle, {"thanks": False}, without(idle, {"thanks": False}), [case], instances, runs=5)

    assert (row.found, row.tried) == (False, 5)
    with pytest.raises(UsageError, match="has no switch luck: it has fresh_only, thanks"):
        without(idle, {"luck": False})


def test_what_sound_cores_do_as_well_finds_nothing(toy: SimpleNamespace) -> None:
    # A core that never thanks, whatever its rules: the model is another protocol's.
    lame = replace(
        toy.binding,
        make_core=lambda _, local: toy.binding.make_core(toy.model.Rules(thanks=False), local),
    )
    case = Prepared("handover-small", lame, toy.system.machine({}))
    instances = [Instance(case.name, case.system, case.probes())]
    switches = {"fresh_only": False}

    row = undo(lame, switches, without(lame, switches), [case], instances, runs=50)

    assert (row.found, row.result().verdict) == (False, "violated")
    assert "cores with every repair also differ from the model" in row.result().detail


def test_what_no_quick_case_shows_is_replayed_in_the_larger_ones(toy: SimpleNamespace) -> None:
    large = replace(toy.case, tier="full")

    rows = undone_switches(["handover"], [large], runs=0)

    assert all(row.replayed.startswith(f"{large.name} walk ") for row in rows)
    assert len(rows) == 2
    assert beyond([toy.case, large, replace(large, expected="Safe")]) == [large]
    assert beyond([replace(large, distinct=WHOLE + 1)]) == []


def test_a_switch_with_more_values_is_named_with_its_own() -> None:
    assert named({"thanks": False, "window": 1}) == "thanks, window = 1"
    row = Undone("handover", named({"join_policy": "any"}), runs=1)
    assert row.result().name == "handover-without-join-policy-any"


def test_the_table_says_how_many_runs() -> None:
    rows = [
        Undone("handover", "thanks", "handover-small walk 2 step 4", 2, 7, 7),
        Undone("handover", "luck", tried=50),
    ]

    assert table(rows).splitlines() == [
        "protocol  repair undone  found by replay of            walks  lockstep runs  seed",
        "handover  thanks         handover-small walk 2 step 4  2      7              1",
        "handover  luck           -                             -      not in 50      1",
    ]


def test_the_verb_prints_the_table(
    toy: SimpleNamespace,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("raincheck.conformance.verbs.mutate.load_cases", lambda: (toy.case,))
    monkeypatch.setattr("raincheck.conformance.verbs.mutate.load_mutants", lambda: ())

    assert main(["mutate", "--undo", "--out", str(tmp_path / "out")]) == 0

    said = capsys.readouterr().out
    assert "handover  thanks" in said
    assert "raincheck mutate --undo" in said
    assert "handover  fresh_only" in (tmp_path / "out" / "undone.txt").read_text()
