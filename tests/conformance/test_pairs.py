"""A repair is shown by a pair of cases: one holds, the other lacks that one rule and breaks."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from raincheck.conformance.cases.table import read_table
from raincheck.conformance.cases.tables import HOLDS, NOT_FOUND, Case, load_cases, spec_folder

CASES = load_cases()


def undone_rules() -> dict[str, str]:
    """The one rule, or assumption, that each case takes back, by the names of the cases."""
    found = {}
    for path in sorted((spec_folder() / "cases").glob("*.toml")):
        tables = read_table(path)["case"]
        for name, table in tables.items():
            undone = tables[table.get("like", name)].get("undone")
            if undone is not None:
                found[f"{path.stem.replace('_', '-')}-{name}"] = next(
                    iter(undone if isinstance(undone, dict) else [undone])
                )
    return found


def unpaired(case: Case, rule: str, cases: Collection[Case]) -> str:
    """Why no case shows that the rule alone makes the difference; "" if one does.

    Its twin holds the property that the case breaks, exercises it, and has the same constants but
    for the rule: what is larger in one of the two might be what makes the difference.
    """
    usual = {**case.implemented, **case.assumed}[rule]
    near = [
        (other, sorted(k for k, v in other.constants.items() if v != case.constants[k]))
        for other in cases
        if other.protocol == case.protocol and other.constants[rule] == usual
        if other.expected in (HOLDS, NOT_FOUND) and case.expected in other.properties
        if case.expected not in other.idle
    ]
    if not near:
        return f"{case.name}: no case without {rule} undone exercises {case.expected} and holds"
    twin, differing = min(near, key=lambda each: len(each[1]))
    if differing == [rule]:
        return ""
    more = ", ".join(
        f"{name} ({case.constants[name]}, {twin.constants[name]})"
        for name in differing
        if name != rule
    )
    return f"{case.name}: {twin.name} differs in {more} too"


def test_a_case_with_a_rule_undone_has_a_twin_of_the_same_bounds_that_holds() -> None:
    undone = undone_rules()
    broken = [case for case in CASES if case.name in undone and case.expected != HOLDS]

    assert len(broken) > 100
    assert [why for case in broken if (why := unpaired(case, undone[case.name], CASES))] == []


def test_a_repaired_case_whose_rule_can_be_undone_breaks_without_it() -> None:
    undone = undone_rules()

    def world(case: Case, rule: str) -> tuple[str, str]:
        return case.protocol, str(
            sorted((k, str(v)) for k, v in case.constants.items() if k != rule)
        )

    shown = {
        (rule, world(case, rule))
        for case in CASES
        if (rule := undone.get(case.name)) is not None and case.expected != HOLDS
    }
    paired, alone = set(), set()
    for case in CASES:
        start, repaired, _ = case.name.partition("-repaired")
        if repaired and f"{start}-undone" in undone:
            rules = {**case.implemented, **case.assumed}
            here = any((rule, world(case, rule)) in shown for rule in rules)
            (paired if here else alone).add(start)

    assert len(paired) > 30
    assert alone - paired == set()


@pytest.mark.parametrize("reading", ["stable-f1-r6-counted", "stable-f1-r6-list"])
def test_each_literal_reading_of_r6_breaks_what_its_meaning_keeps_in_the_same_world(
    reading: str,
) -> None:
    named = {case.name: case for case in CASES}
    case = named[reading]
    meant = named[f"{reading}-whole".replace("-counted", "")]

    assert meant.expected == HOLDS
    assert case.expected in meant.properties
    assert case.expected not in meant.idle
    differing = {key for key, value in case.constants.items() if value != meant.constants[key]}
    assert differing == {"Foreign"}


def test_a_twin_that_is_smaller_or_does_not_ask_is_named() -> None:
    case = next(case for case in CASES if case.name == "sequencer-f9-undone")
    twin = next(case for case in CASES if case.name == "sequencer-f9-repaired")
    smaller = replace(twin, constants={**twin.constants, "MaxSaid": 1})

    assert unpaired(case, "OwnTable", [smaller, twin]) == ""
    assert unpaired(case, "OwnTable", [smaller]).endswith(
        "sequencer-f9-repaired differs in MaxSaid (2, 1) too"
    )
    for other in (
        replace(twin, idle=frozenset({"Validity"})),
        replace(twin, properties=("TypeOK",)),
        replace(twin, expected="TypeOK"),
    ):
        assert "no case without OwnTable undone exercises Validity" in unpaired(
            case, "OwnTable", [other]
        )
