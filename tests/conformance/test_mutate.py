"""Mutants: each is what it says, is noticed where it says, and one that does nothing survives."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.bindings.sequencer.binding import BINDING
from raincheck.conformance.cases.tables import Case, load_cases, spec_folder
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Result, Ui
from raincheck.conformance.outcome import HOLDS
from raincheck.conformance.replay.damage import damaged_binding
from raincheck.conformance.replay.killers import cases_for, try_mutant
from raincheck.conformance.replay.mutants import (
    Mutant,
    damaged,
    load_mutants,
    write_spec,
)
from raincheck.conformance.verbs import mutate
from raincheck.conformance.verbs.mutate import (
    actions_reached,
    add_arguments,
    chosen,
    fits,
    has_model,
    properties_broken,
    run,
    table,
    try_implementation,
    try_spec,
)
from raincheck.impl.sequencer import core as implementation

CASES = {case.name: case for case in load_cases()}
MUTANTS = {mutant.name: mutant for mutant in load_mutants()}
SPEC = [mutant for mutant in MUTANTS.values() if mutant.of_spec]
CODE = [mutant for mutant in MUTANTS.values() if not mutant.of_spec]
SEQUENCER = [mutant for mutant in CODE if mutant.protocol == "sequencer"]
REPLAYED = [mutant for mutant in SEQUENCER if mutant.cases]
OTHERS = [mutant for mutant in CODE if mutant not in SEQUENCER]


def harmless(**fields: object) -> Mutant:
    """A mutant of the implementation that changes nothing."""
    given: dict[str, object] = {
        "name": "harmless",
        "shows": "nothing",
        "protocol": "sequencer",
        "file": "impl/sequencer/core.py",
        "edits": (("self.early: list[Forward] = []", "self.early: list[Forward] = list()"),),
        "cases": ("sequencer-f3-repaired",),
    }
    return Mutant(**{**given, **fields})  # type: ignore[arg-type]


# ---------------------------------------------------------------- the list


def test_every_mutant_fits_its_file_and_names_cases_that_exist(tmp_path: Path) -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in spec_folder().glob("*.tla")}
    for mutant in MUTANTS.values():
        assert mutant.shows.endswith("."), mutant.name
        assert set(mutant.cases) <= set(CASES), mutant.name
        if mutant.of_spec:
            assert damaged(texts[mutant.file], mutant) != texts[mutant.file], mutant.name
            for name in mutant.cases:
                kept = CASES[name].expected in (
                    "holds",
                    "not found",
                )  # the latter where it is simulated
                assert kept, f"{mutant.name}: {name} is broken already"
                assert mutant.breaks in CASES[name].properties, mutant.name
        elif mutant.file:
            protocol = mutant.protocol
            assert damaged_binding(protocol, mutant).protocol == protocol

    write_spec(SPEC[0], spec_folder(), tmp_path)
    changed = {name for name, text in texts.items() if (tmp_path / name).read_text() != text}
    assert changed == {SPEC[0].file}


def test_each_repair_has_a_mutant_that_undoes_it() -> None:
    undone = {name for mutant in SEQUENCER for name in mutant.undo or ()}
    assert undone == set(implementation.Repairs.__dataclass_fields__)


def test_each_property_has_a_mutant_or_is_expected_to_fail() -> None:
    noticed = [Result(mutant.name, "sequencer", "holds") for mutant in SPEC]
    found = properties_broken(CASES.values(), SPEC, noticed, "sequencer")
    assert found.verdict == "holds", found.detail
    # Had the mutants survived, the properties would be unbroken.
    survived = [Result(mutant.name, "sequencer", "violated") for mutant in SPEC]
    found = properties_broken(CASES.values(), SPEC, survived, "sequencer")
    assert found.verdict == "violated"
    assert "no mutant breaks TypeOK" in found.detail


def test_each_action_is_reached_and_one_that_is_not_is_a_finding() -> None:
    names = ["f3-repaired", "f10-repaired", "f13-repaired"]
    few: list[Case] = [CASES[f"sequencer-{name}"] for name in names]
    found = actions_reached(few, "sequencer")
    assert found.verdict == "violated"
    assert "no small case reaches Crash" in found.detail
    assert "reaches Join" not in found.detail
    names = ["f11-repaired", "f9-repaired", "join", "f12-repaired"]
    names += ["f19-repaired", "f19-sources", "f19-contents", "f16-safe-agreement"]
    more = [CASES[f"sequencer-{name}"] for name in names]
    assert actions_reached([*few, *more], "sequencer").verdict == "holds"


MODELLED = sorted({case.protocol for case in CASES.values() if has_model(case.protocol)})


@pytest.mark.parametrize("protocol", MODELLED)
def test_every_property_that_holds_somewhere_has_a_mutant_that_breaks_it(protocol: str) -> None:
    killed = [Result(mutant.name, mutant.protocol, HOLDS) for mutant in SPEC]

    found = properties_broken(CASES.values(), SPEC, killed, protocol)

    assert found.verdict == HOLDS, found.detail
    first = next(mutant.breaks for mutant in SPEC if mutant.protocol == protocol)
    others = [mutant for mutant in SPEC if mutant.breaks != first]
    lacking = properties_broken(CASES.values(), others, killed, protocol)
    assert f"no mutant breaks {first}" in lacking.detail


# ---------------------------------------------------------------- mutants of the implementation


@pytest.mark.parametrize("mutant", REPLAYED, ids=lambda mutant: mutant.name)
def test_replay_or_lockstep_notices_the_mutant(mutant: Mutant) -> None:
    cases = cases_for(mutant, CASES.values())
    # Replay in the mutant's own cases finds what lockstep does not meet in its first runs.
    found = try_implementation(mutant, cases, seed=1, runs=10, both=False)
    assert found.verdict == "holds", found.detail


@pytest.mark.slow
@pytest.mark.parametrize("mutant", OTHERS, ids=lambda mutant: mutant.name)
def test_a_mutant_of_another_protocol_is_noticed(mutant: Mutant) -> None:
    # As many runs as the verb makes.
    assert try_mutant(mutant, cases_for(mutant, CASES.values()), runs=400, both=False).found


@pytest.mark.parametrize("name", [m.name for m in SEQUENCER if not m.cases])
def test_what_only_runs_can_show_is_noticed_too(name: str) -> None:
    assert cases_for(MUTANTS[name], CASES.values()) == []
    row = try_mutant(MUTANTS[name], [], seed=1)
    assert 1 <= row.runs <= 50
    assert bool(row.played) == bool(MUTANTS[name].schedule)


def test_a_mutant_that_does_nothing_survives_and_violates() -> None:
    found = try_implementation(harmless(), [CASES["sequencer-f3-repaired"]], seed=1, runs=4)
    assert (found.verdict, found.figures["killed_by"]) == ("violated", "")
    assert "survives" in found.detail
    assert "SURVIVES" in table([harmless()], [found])


def test_a_schedule_that_sound_cores_fail_is_refused() -> None:
    mutant = MUTANTS["impl-known-part-delivered-again"]
    wrong = replace(mutant, schedule=(*mutant.schedule, {"action": "Join", "args": ["a"]}))
    with pytest.raises(UsageError, match="again: step 16, Join, is not possible"):
        try_mutant(wrong, [], runs=1)


def test_the_damage_is_done_to_a_copy() -> None:
    mutant = MUTANTS["impl-duplicate-delivered"]
    made = damaged_binding("sequencer", mutant)
    assert binding_of("sequencer") is BINDING
    members = (("a", 0),)
    core = made.make_core(made.rules(), made.local("a", "member", view=1, members=members)).core
    assert type(core).__name__ == "Sequencer"
    assert not isinstance(core, implementation.Sequencer)
    source = Path(implementation.__file__).read_text(encoding="utf-8")
    assert mutant.edits[0][0] in source
    assert damaged(source, mutant) != source


# ---------------------------------------------------------------- mutants of the specification


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize("mutant", [m for m in SPEC if m.quick], ids=lambda mutant: mutant.name)
def test_tlc_notices_the_mutant(mutant: Mutant) -> None:
    found = try_spec(mutant, [CASES[name] for name in mutant.cases])
    assert found.verdict == "holds", found.detail


def test_a_quick_mutant_breaks_what_no_quick_case_breaks() -> None:
    """A case that TLC finds broken is as good a witness, and costs no run of its own."""
    broken = {(case.protocol, case.expected) for case in CASES.values() if case.tier == "quick"}
    quick = {mutant.name: (mutant.protocol, mutant.breaks) for mutant in SPEC if mutant.quick}

    assert {name for name, property_ in quick.items() if property_ in broken} == set()
    assert len(set(quick.values())) == len(quick) > 0


@pytest.mark.java
def test_a_specification_that_is_not_damaged_survives() -> None:
    same = Mutant(
        "same",
        "nothing",
        "sequencer",
        file="Sequencer.tla",
        edits=(("(* Sending *)", "(* sending *)"),),
        breaks="Agreement",
    )
    found = try_spec(same, [CASES["sequencer-f1-repaired"]])
    assert found.verdict == "violated"
    assert "still holds Agreement" in found.detail


@pytest.mark.java
def test_a_specification_that_tlc_cannot_read_is_no_success() -> None:
    broken = Mutant(
        "broken",
        "nothing",
        "sequencer",
        file="Sequencer.tla",
        edits=(("(* Sending *)", "(("),),
        breaks="Agreement",
    )
    found = try_spec(broken, [CASES["sequencer-f1-repaired"]])
    assert found.verdict == "inconclusive"


# ---------------------------------------------------------------- what is refused


def test_an_edit_that_does_not_fit_is_reported() -> None:
    with pytest.raises(UsageError, match="occurs 0 times"):
        damaged("x = 1", harmless(edits=(("y", "z"),)))
    with pytest.raises(UsageError, match="occurs 2 times"):
        damaged("y = y", harmless(edits=(("y", "z"),)))
    with pytest.raises(UsageError, match="is not valid Python"):
        damaged_binding("sequencer", harmless(edits=(("from __future__ import annotations", "("),)))
    with pytest.raises(UsageError, match=r"sequencer does not use impl/nothing/core\.py"):
        damaged_binding("sequencer", harmless(file="impl/nothing/core.py"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "no table of mutants"),
        ("x = [", "is not TOML"),
        ("mutant = []", "no table of mutants"),
        ("[mutant]\nm = 1\n", r"mutant m: it must be a \[mutant"),
        ('[mutant.m]\ncases = []\nshows = "."\n', "either undo, or file"),
        ('[mutant.m]\nshow = "."\n', "show is no key"),
        ("[mutant.m]\n", "missing or wrong"),
        (
            '[mutant.m]\nundo = { x = 1 }\ncases = []\nshows = "."\n'
            'schedule = [{ action = "A" }]\n',
            "schedule and instance go together",
        ),
        (
            '[mutant.m]\nundo = { x = 1 }\ncases = []\nshows = "."\nschedule = [{ }]\n',
            "is no step of a schedule",
        ),
        (
            '[mutant.m]\nfile = "S.tla"\nfind = "a"\nreplace = "b"\ncases = []\nshows = "."\n',
            "cases and property are needed for a .tla",
        ),
    ],
)
def test_a_bad_list_is_reported_in_one_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "ping.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=sentence):
        load_mutants(path)


def test_a_mutant_is_that_of_its_table_and_has_its_name_alone(tmp_path: Path) -> None:
    text = '[mutant.m]\nundo = { x = 1 }\ncases = []\nshows = "."\n'
    (tmp_path / "ping.toml").write_text(text)
    assert [(each.name, each.protocol) for each in load_mutants(tmp_path)] == [("m", "ping")]

    (tmp_path / "pong.toml").write_text(text)
    with pytest.raises(UsageError, match=r"pong\.toml: there are two mutants m"):
        load_mutants(tmp_path)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"protocol": "sequencre"}, "mutant harmless: the catalog has no protocol sequencre"),
        ({"cases": ("sequencer-f99",)}, "mutant harmless: the catalog has no case sequencer-f99"),
        ({"cases": ("flush-join",)}, "mutant harmless: flush-join is no case of sequencer"),
    ],
)
def test_a_mutant_that_would_be_passed_over_is_refused(
    fields: dict[str, object],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fits([harmless()], CASES)
    with pytest.raises(UsageError, match=sentence):
        fits([harmless(**fields)], CASES)

    monkeypatch.setattr(mutate, "load_mutants", lambda: (harmless(**fields),))
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    args = parser.parse_args(["unicast"])
    args.out, args.dry_run, args.seed = tmp_path / "run", True, 1
    with pytest.raises(UsageError, match=sentence):
        mutate.run(args, Ui(json=True, quiet=True))


def test_only_known_mutants_can_be_chosen() -> None:
    with pytest.raises(UsageError, match="There is no mutant nobody"):
        chosen(MUTANTS.values(), ["nobody"], ["sequencer"], quick=False)
    quick = chosen(MUTANTS.values(), [], [], quick=True)
    assert 0 < len(quick) < len(MUTANTS)
    assert all(mutant.quick for mutant in quick)


def test_the_verb_says_who_noticed(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    args = parser.parse_args(["impl-no-hold"])
    args.out, args.dry_run, args.seed = tmp_path / "run", False, 1
    outcome = run(args, Ui(json=True, quiet=True))
    assert outcome.verdict == "holds"
    assert outcome.reproduce == "raincheck mutate impl-no-hold"
    text = (tmp_path / "run" / "mutants.txt").read_text()
    assert "impl-no-hold" in text
    assert "replay sequencer-f6-repaired walk" in text
    assert "lockstep in " in text

    args = parser.parse_args(["impl-no-hold", "--quick"])
    args.out, args.dry_run, args.seed = tmp_path / "quick", False, 1
    outcome = run(args, Ui(json=True, quiet=True))
    assert outcome.reproduce == "raincheck mutate impl-no-hold --quick"
    assert "impl-no-hold" in (tmp_path / "quick" / "mutants.txt").read_text()
