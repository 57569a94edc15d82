"""Every rule of every checker has an input that it alone complains of, and is missed without it."""

from pathlib import Path

import pytest

from raincheck.conformance.judges.planting import (
    Ask,
    Told,
    planted_for,
    redundant_of,
    untold,
)
from raincheck.conformance.judges.rules import Rule, Source, rules_of
from raincheck.conformance.judges.sources import SOURCES

RULES = [rule for source in SOURCES for rule in rules_of(source)]
_good: dict[Ask, Told] = {}
"""What was said of the good inputs; many faults are planted in the same one."""


def needed(rule: Rule) -> str:
    """What to do about a rule that nobody has planted an input for."""
    place = f"conformance/judges/{rule.source.planted}.py"
    return f"{rule} has no planted input in {place}"


@pytest.mark.parametrize("rule", RULES, ids=[f"{r.source.module}-{r.key}"[:120] for r in RULES])
def test_a_planted_fault_is_told_by_its_rule_alone(rule: Rule, tmp_path: Path) -> None:
    if rule.key in redundant_of(rule.source):
        return
    plant = planted_for(rule.source).get(rule.key)
    assert plant is not None, needed(rule)
    asked = 0

    def ask(question: Ask) -> Told:
        nonlocal asked
        if question in _good:
            return _good[question]
        asked += 1
        folder = tmp_path / str(asked)
        folder.mkdir()
        told = question(folder)
        if question is plant.good:
            _good[question] = told
        return told

    problem = untold(plant, rule, ask)

    assert not problem, f"{rule}: {problem}"


@pytest.mark.parametrize("source", SOURCES, ids=[source.module for source in SOURCES])
def test_no_planted_input_is_for_a_rule_that_is_gone(source: Source) -> None:
    known = {rule.key for rule in rules_of(source)}
    told, excused = planted_for(source), redundant_of(source)

    assert sorted((told.keys() | excused.keys()) - known) == []
    assert sorted(told.keys() & excused.keys()) == []
    assert known
    assert all(excused.values())
