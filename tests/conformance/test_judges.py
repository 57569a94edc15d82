"""Every rule of every checker has an input that it alone complains of, and is missed without it."""

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from raincheck.__main__ import main
from raincheck.conformance.judges import muted_in_turn
from raincheck.conformance.judges.muted_in_turn import all_rules
from raincheck.conformance.judges.muting import muted
from raincheck.conformance.judges.planted_invariants import STEPS
from raincheck.conformance.judges.planting import (
    Ask,
    Complaints,
    Plant,
    planted_for,
    redundant_of,
    unshown,
)
from raincheck.conformance.judges.rules import PACKAGE, Rule, Source, rules_of, unheard
from raincheck.conformance.judges.sources import SOURCES
from raincheck.conformance.verbs import mutate

RULES = all_rules()
EXCUSED = [rule for rule in RULES if rule.key in redundant_of(rule.source)]
NEEDED = [rule for rule in RULES if rule not in EXCUSED]
_good: dict[Ask, Complaints] = {}
"""What was said of the good inputs; many faults are planted in the same one."""


def name_of(rule: Rule) -> str:
    return f"{rule.source.module}-{rule.key}"[:120]


def asking(tmp_path: Path, good: Ask | None = None) -> Callable[[Ask], Complaints]:
    """Let an input be judged in a folder of its own; the good one once for all faults."""

    def ask(question: Ask) -> Complaints:
        if question in _good:
            return _good[question]
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        told = question(folder)
        if question is good:
            _good[question] = told
        return told

    return ask


@pytest.mark.parametrize("rule", NEEDED, ids=map(name_of, NEEDED))
def test_a_planted_fault_is_reported_by_its_rule_alone(rule: Rule, tmp_path: Path) -> None:
    plant = planted_for(rule.source).get(rule.key)
    place = f"conformance/judges/{rule.source.planted}.py"
    assert plant is not None, f"{rule} has no planted input in {place}"

    problem = unshown(plant, rule, asking(tmp_path, plant.good))

    assert not problem, f"{rule}: {problem}"


@pytest.mark.parametrize("source", SOURCES, ids=[source.module for source in SOURCES])
def test_no_planted_input_is_for_a_rule_that_is_gone(source: Source) -> None:
    known = {rule.key for rule in rules_of(source)}
    told, excused = planted_for(source), redundant_of(source)

    assert known
    assert sorted((told.keys() | excused.keys()) - known) == []
    assert sorted(told.keys() & excused.keys()) == []


@pytest.mark.parametrize("rule", EXCUSED, ids=map(name_of, EXCUSED))
def test_nobody_misses_a_rule_that_is_excused(rule: Rule, tmp_path: Path) -> None:
    ask = asking(tmp_path)
    for plant in planted_for(rule.source).values():
        told = ask(plant.bad)
        with muted(rule):
            assert ask(plant.bad) == told


@pytest.mark.parametrize("source", SOURCES, ids=[source.module for source in SOURCES])
def test_no_sentence_of_a_checker_is_outside_its_rules(source: Source) -> None:
    assert unheard(source) == []


# ---------------------------------------------------------------- the finder and the muter

TOY = Source(
    module="complainer",
    planted="planted_nothing",
    complaints=frozenset({"wrong", "ValueError"}),
    builders=frozenset({"wrong"}),
    predicates=frozenset({"in_range"}),
    witnesses=frozenset({"witness", "verdict"}),
    reasons=frozenset({"said", "told"}),
    tables=frozenset({"verdicts", "told"}),
    flags=frozenset({"bad", "far"}),
)


@pytest.fixture
def toy() -> Iterator[ModuleType]:
    """The checker that complains in every way."""
    name = f"{PACKAGE}.complainer"
    path = Path(__file__).parent / "toys" / "complainer.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[name]


def in_context(module: Any, x: int) -> list[str]:
    with module.around(x) as told:
        return list(told)


def taken(module: Any, x: int) -> dict[str, str]:
    judge = module.Judge()
    judge.take(x)
    return dict(judge.verdicts)


def remembered(module: Any) -> Any:
    judge = module.Judge()
    judge.told.append("something")
    return judge.remembered


def overall(module: Any, *names: str) -> str | None:
    judge = module.Judge()
    judge.verdicts.update(dict.fromkeys(names, "bad"))
    verdict: str | None = judge.verdict
    return verdict


def raised(module: Any, x: int) -> str:
    try:
        taken(module, x)
    except ValueError as error:
        return str(error)
    return ""


CASES: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "parts: x < 0": (lambda m: m.parts(-1, 0), "wrong: out of range", None),
    "parts: not y >= 0": (lambda m: m.parts(0, -1), "wrong: out of range", None),
    "parts: not y < 9": (lambda m: m.parts(0, 9), "wrong: out of range", None),
    "restricted: y < 0": (lambda m: m.restricted(1, -1), "wrong: out of range", None),
    "restricted: y > 9": (lambda m: m.restricted(1, 10), "wrong: out of range", None),
    "pairs: a != 1": (lambda m: m.pairs(3, 2), "wrong: not (1, 2)", None),
    "pairs: b != 2": (lambda m: m.pairs(1, 3), "wrong: not (1, 2)", None),
    "either: wrong('x is odd') if x % 2 else None": (
        lambda m: m.either(1, 1),
        "wrong: x is odd",
        "wrong: y is odd",
    ),
    "either: wrong('y is odd') if y % 2 else None": (
        lambda m: m.either(0, 1),
        "wrong: y is odd",
        None,
    ),
    "listed: … is there": (lambda m: m.listed([1]), ["wrong: 1 is there"], []),
    "yielded: one is positive": (
        lambda m: list(m.yielded([10])),
        ["wrong: one is positive", "wrong: one is large"],
        ["wrong: one is large"],
    ),
    "yielded: one is large": (
        lambda m: list(m.yielded([10])),
        ["wrong: one is positive", "wrong: one is large"],
        ["wrong: one is positive"],
    ),
    "in_range: return False": (lambda m: m.in_range(5), False, True),
    "in_range: not x > 0": (lambda m: m.in_range(0), False, True),
    "in_range: not x < 9": (lambda m: m.in_range(9), False, True),
    "witness: return {'x': x}": (lambda m: m.witness(4), {"x": 4}, None),
    "said: it is below zero": (lambda m: m.said(-1), "wrong: it is below zero", ""),
    "said: it is above nine": (lambda m: m.said(10), "wrong: it is above nine", ""),
    "said: return wrong(reason)": (lambda m: m.said(10), "wrong: it is above nine", ""),
    "told: it is below zero": (lambda m: m.told(-1), "wrong: it is below zero", None),
    "told: it is above zero": (lambda m: m.told(1), "wrong: it is above zero", None),
    "told: return wrong(reason)": (lambda m: m.told(1), "wrong: it is above zero", None),
    "added: … is below zero": (
        lambda m: m.added([-1, 10]).told,
        ["wrong: -1 is below zero", "wrong: 10 is above nine"],
        ["wrong: 10 is above nine"],
    ),
    "added: … is above nine": (
        lambda m: m.added([-1, 10]).told,
        ["wrong: -1 is below zero", "wrong: 10 is above nine"],
        ["wrong: -1 is below zero"],
    ),
    "measured: it was more than three": (lambda m: m.measured(4), 4, 0),
    "Judge.verdict: 'a' in self.verdicts": (lambda m: overall(m, "a"), "bad", None),
    "Judge.verdict: 'b' in self.verdicts": (lambda m: overall(m, "b"), "bad", None),
    "Judge.verdict: return 'bad' if bad else None": (lambda m: overall(m, "a"), "bad", None),
    "Judge.take: it is below zero": (lambda m: raised(m, -1), "it is below zero", ""),
    "Judge.take: self.verdicts['a'] = 'bad'": (lambda m: taken(m, 10), {"a": "bad"}, {}),
    "Judge.remembered: something was told": (remembered, "wrong: something was told", None),
    "Judge.asked: something is there": (
        lambda m: m.Judge.asked(1),
        "wrong: something is there",
        None,
    ),
    "limit.<locals>.judge: more than allowed": (
        lambda m: m.limit(3)(4),
        "wrong: more than allowed",
        None,
    ),
    "around: something was there before": (
        lambda m: in_context(m, 1),
        ["wrong: something was there before"],
        [],
    ),
}
"""By rule: what to ask, the answer, and the answer without the rule."""


def test_every_way_to_complain_is_found(toy: ModuleType) -> None:
    assert toy.parts(1, 1) is None
    assert sorted(rule.key for rule in rules_of(TOY)) == sorted(CASES)


@pytest.mark.parametrize("key", CASES)
def test_a_rule_is_taken_out_and_put_back(toy: ModuleType, key: str) -> None:
    ask, told, without = CASES[key]
    (rule,) = (rule for rule in rules_of(TOY) if rule.key == key)

    assert ask(toy) == told
    with muted(rule):
        assert ask(toy) == without
        others = {k: case for k, case in CASES.items() if k.partition(":")[0] != rule.function}
        assert all(ask(toy) == told for ask, told, _ in others.values())
    assert ask(toy) == told


def test_a_rule_is_gone_for_those_who_have_imported_the_function_before(toy: ModuleType) -> None:
    parts, made = toy.parts, toy.Judge()
    by_key = {rule.key: rule for rule in rules_of(TOY)}
    with muted(by_key["parts: x < 0"]), muted(by_key["Judge.take: it is below zero"]):
        assert parts(-1, 0) is None
        made.take(-1)
    assert parts(-1, 0) == "wrong: out of range"


def test_a_rule_is_put_back_if_the_checker_breaks(toy: ModuleType) -> None:
    rule = next(rule for rule in rules_of(TOY) if rule.key == "parts: x < 0")
    with pytest.raises(ZeroDivisionError), muted(rule):
        toy.parts(1 // 0, 0)

    assert toy.parts(-1, 0) == "wrong: out of range"


def test_a_sentence_that_no_rule_has_is_noticed(toy: ModuleType) -> None:
    assert toy.parts(1, 1) is None
    assert unheard(TOY) == []
    deaf = replace(TOY, complaints=frozenset({"wrong"}))

    assert unheard(deaf) == ["Judge.take: it is below zero"]


# ---------------------------------------------------------------- what a planted input must do


def answers(good: Complaints, bad: Complaints, without: Complaints, **more: Any) -> str:
    """What is wrong with an input of which that is said; without the rule the last."""
    rule = next(rule for rule in rules_of(TOY) if rule.key == "parts: x < 0")
    toy = sys.modules[TOY.name]

    def answer(_: Path) -> Complaints:
        return bad if toy.parts(-1, 0) else without

    plant = Plant(good=lambda _: good, bad=answer, words="out of range", **more)
    return unshown(plant, rule, lambda question: question(Path()))


TOLD = ["it is out of range"]


def test_an_input_that_shows_its_rule_is_accepted(toy: ModuleType) -> None:
    assert toy.parts(1, 1) is None
    assert answers([], TOLD, []) == ""
    assert answers([], TOLD, ["so it is"], then="so it is", why="both look at it") == ""


@pytest.mark.parametrize(
    ("good", "bad", "without", "more", "problem"),
    [
        (["it is late"], TOLD, [], {}, "somebody complains of the good input"),
        ([], ["it is late"], [], {}, "nobody says 'out of range'"),
        ([], [], [], {}, "nobody says 'out of range'"),
        ([], TOLD, TOLD, {}, "without the rule somebody still says 'out of range'"),
        ([], TOLD, ["it is late"], {}, "without the rule others complain"),
        ([], TOLD, [], {"then": "it is late", "why": "y"}, "nobody says 'it is late'"),
        ([], TOLD, ["it is late"], {"then": "it is late"}, "must be given together"),
        ([], TOLD, [], {"why": "y"}, "must be given together"),
        ([], TOLD, [], {"breaks": KeyError, "why": "y"}, "KeyError is not raised"),
    ],
)
def test_an_input_that_does_not_show_its_rule_is_refused(
    toy: ModuleType,
    good: Complaints,
    bad: Complaints,
    without: Complaints,
    more: dict[str, Any],
    problem: str,
) -> None:
    assert toy.parts(1, 1) is None
    assert problem in answers(good, bad, without, **more)


def test_what_breaks_without_the_rule_must_be_foreseen(toy: ModuleType) -> None:
    rule = next(rule for rule in rules_of(TOY) if rule.key == "parts: x < 0")

    def bad(_: Path) -> Complaints:
        if toy.parts(-1, 0):
            return TOLD
        raise KeyError("x")

    def problem(breaks: type[Exception] | None) -> str:
        why = "there is no x" if breaks else ""
        plant = Plant(good=lambda _: [], bad=bad, words="out", breaks=breaks, why=why)
        return unshown(plant, rule, lambda question: question(Path()))

    assert problem(KeyError) == ""
    assert problem(LookupError) == problem(None) == "without the rule there is KeyError: 'x'"


def test_a_rule_without_a_planted_input_is_named_with_the_place_for_it(toy: ModuleType) -> None:
    assert toy.parts(1, 1) is None
    rule = rules_of(replace(TOY, planted="planted_fence"))[0]
    assert planted_for(rule.source).get(rule.key) is None

    with pytest.raises(AssertionError) as caught:
        test_a_planted_fault_is_reported_by_its_rule_alone(rule, Path())

    assert str(caught.value).splitlines()[0] == (
        "conformance/complainer.py parts: 'x < 0' has no planted input in "
        "conformance/judges/planted_fence.py"
    )


# ---------------------------------------------------------------- the verb


def tried_by_the_verb(
    folder: Path, rules: list[Rule], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> tuple[int, list[dict[str, Any]]]:
    monkeypatch.setattr(muted_in_turn, "all_rules", lambda: rules)
    monkeypatch.setattr(mutate, "all_rules", lambda: rules)
    code = main(["mutate", "--judges", "--json", "--out", str(folder)])
    results = json.loads(capsys.readouterr().out)["results"]
    steps = [each for each in results if each["name"].startswith("step ")]
    assert len(steps) == sum(map(len, STEPS.values()))
    assert all(each["verdict"] == "holds" for each in steps)
    return code, [each for each in results if each not in steps]


def test_the_verb_takes_out_each_rule_and_says_who_misses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    some = [rule for rule in RULES if rule.source.module == "field.ring.fence"]
    code, results = tried_by_the_verb(tmp_path, some, monkeypatch, capsys)

    assert code == 0
    assert [result["name"] for result in results] == [str(rule) for rule in some]
    assert all(result["planted"] and result["noticed"] for result in results)
    assert str(some[0]) in (tmp_path / "judges.txt").read_text()


def test_a_rule_that_nobody_misses_fails_the_verb(
    tmp_path: Path,
    toy: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert toy.parts(1, 1) is None
    rule = rules_of(replace(TOY, planted="planted_fence"))[0]
    code, (result,) = tried_by_the_verb(tmp_path, [rule], monkeypatch, capsys)

    assert (code, result["verdict"]) == (1, "violated")
    assert result["detail"] == "it has no planted input in planted_fence.py"


def test_the_verb_takes_no_mutants_beside_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mutate", "--judges", "--quick"]) == 3
    assert "give it alone" in capsys.readouterr().err
