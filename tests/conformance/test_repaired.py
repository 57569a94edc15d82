"""The cases that count as evidence for the protocols as they are implemented."""

import re
from dataclasses import replace

import pytest

from raincheck.conformance.bindings.binding import binding_of, bound_protocols
from raincheck.conformance.cases.tables import Case, load_assumptions, load_cases, spec_folder
from raincheck.conformance.evidence.needs import needs_of
from raincheck.conformance.verbs.mirror import has_model, machine_of
from raincheck.model.sequencer import handlers as sequencer

CASES = {case.name: case for case in load_cases()}
PROTOCOLS = sorted({case.protocol for case in CASES.values()})
MODELLED = [protocol for protocol in PROTOCOLS if has_model(protocol)]


def of(protocol: str) -> list[Case]:
    return [case for case in CASES.values() if case.protocol == protocol]


def repairs_of(case: Case) -> set[str]:
    """The constants that a specification's text calls repairs, or rules if it repairs nothing."""
    spec = case.module.name.removeprefix("MC")
    path = spec_folder() / spec
    text = (path if path.is_file() else case.module).read_text(encoding="utf-8")
    block = re.search(r"^ +\\\* (?:Repairs|Rules)[^\n]*\n(.*?)\n\n", text, re.DOTALL | re.MULTILINE)
    assert block is not None
    return set(re.findall(r"^ +(\w+),? +\\\*", block[1], re.MULTILINE))


def rules_in(case: Case) -> object:
    """The rules that the model has under the case's constants."""
    machine = machine_of(case.protocol, case.constants, case.name)
    return machine.rules  # type: ignore[attr-defined]


def usual(protocol: str) -> object:
    """The rules of the implementation, by the model's own defaults."""
    if protocol not in bound_protocols():  # not implemented yet
        return type(rules_in(of(protocol)[0]))()
    return sequencer.Rules() if protocol == "sequencer" else binding_of(protocol).rules()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_repair_of_the_specification_has_its_implemented_value_in_the_table(
    protocol: str,
) -> None:
    case = of(protocol)[0]
    repairs = repairs_of(case)

    assert len(repairs) >= 2
    assert repairs - {"KeepFences"} <= set(case.implemented)
    assert not set(case.implemented) & set(case.assumed)


@pytest.mark.parametrize("protocol", MODELLED)
def test_the_table_and_the_model_agree_on_what_is_implemented(protocol: str) -> None:
    sizes = {"window", "retain", "expected", "cache", "use_mcast", "members"}
    around = {"prompt", "own_copy", "flushed"}  # PBCAST's surroundings
    sizes |= around if protocol == "pbcast" else set()
    known = {n: v for n, v in vars_of(usual(protocol)).items() if n not in sizes}
    for case in of(protocol):
        mine = {n: v for n, v in vars_of(rules_in(case)).items() if n not in sizes}
        if case.as_implemented:
            assert mine == known, case.name
        elif mine == known:
            # What the model has outside its rules: who leads, how a view is cut, and such.
            assert set(case.unlike) & AROUND, case.name


AROUND = {"KeepsPlace", "OneQueue", "NextUnsuspected", "CutBy", "AppliedFirst", "RetryJoin"} | {
    *("DigestFirst", "PlusOne", "ViewInBand", "ChecksView", "Places", "AsksAnew"),
}
"""Rules that the model has among its constants and not among its rules."""


def vars_of(rules: object) -> dict[str, object]:
    fields = type(rules).__dataclass_fields__  # type: ignore[attr-defined]
    return {name: getattr(rules, name) for name in fields}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_case_counts_exactly_if_no_rule_is_other_than_implemented(protocol: str) -> None:
    for case in of(protocol):
        other = {name for name, value in case.implemented.items() if case.constants[name] != value}
        assert case.as_implemented == (not other), case.name
        for name in case.implemented:
            value = case.constants[name]
            changed = not value if isinstance(value, bool) else f"{value} not"
            if case.as_implemented:
                changed_case = replace(case, constants={**case.constants, name: changed})
                assert not changed_case.as_implemented


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_name_of_a_case_says_nothing_of_it(name: str) -> None:
    case = CASES[name]

    for other in ("x-undone", "x-seed", "x-repaired", "plain"):
        assert replace(case, name=other).as_implemented == case.as_implemented
    if name.endswith("-seed"):
        # An assumption is the environment's: to doubt it leaves the protocol as it is.
        assert not case.as_implemented or case.lacking
    if "undone" in name and case.as_implemented:
        assert len(case.lacking) == 1


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.lacking])
def test_an_assumption_that_is_not_granted_leaves_the_protocol_as_it_is(case: Case) -> None:
    granted = replace(case, constants={**case.constants, **case.assumed})

    assert not granted.lacking
    assert granted.as_implemented == case.as_implemented


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("stable-late", "LastMessage"),
        ("stable-f1-shrink", "VoteCheck"),
        ("flush-changed", "Design"),
        ("flush-f1-repaired", "Design"),
        ("gms-f3-last-survivors", "InstallWhen"),
        ("nakack-f4-expected", "DigestMeans"),
        ("stack-f1-unfrozen", "Freeze"),
        ("sequencer-f10-any-synchronous", "JoinPolicy"),
    ],
)
def test_an_instance_of_a_design_that_is_not_implemented_is_no_evidence(
    name: str, rule: str
) -> None:
    assert rule in CASES[name].unlike
    assert not CASES[name].as_implemented


@pytest.mark.parametrize(
    ("protocol", "counted", "holding"),
    [
        *(("flush", 24, 20), ("gms", 23, 20), ("nakack", 12, 11), ("raincore", 120, 93)),
        *(("layers", 18, 18), ("sequencer", 51, 35), ("stable", 5, 5), ("stack", 6, 6)),
        *(("merging", 7, 7), ("merging_stable", 3, 3), ("merging_state", 6, 6)),
        ("merging_gms", 3, 3),
        *(("state_transfer", 24, 22), ("unicast", 26, 24)),
    ],
)
def test_so_many_cases_speak_of_the_implemented_protocol(
    protocol: str, counted: int, holding: int
) -> None:
    mine = [case for case in of(protocol) if case.as_implemented]

    assert (len(mine), sum(case.expected == "holds" for case in mine)) == (counted, holding)


def test_a_property_needs_the_one_assumption_that_a_case_lacks() -> None:
    needs = needs_of(tuple(CASES.values()), load_assumptions())

    assert needs["sequencer", "TotalOrder"] == ("VirtualSynchrony",)
    assert needs["sequencer", "Validity"] == ("FifoForward",)
    assert needs["nakack", "Recoverable"] == ("SafePurge",)
    assert ("sequencer", "InView") not in needs
    # Who lacks two says of neither that it is needed.
    both = CASES["sequencer-f1-undone"]
    both = replace(both, constants={**both.constants, "FifoForward": False})
    assert both.lacking == ("FifoForward", "VirtualSynchrony")
    assert needs_of([both], load_assumptions()) == {}
    # What is broken only with a repair taken back as well says nothing of an assumption.
    undone = [case for case in CASES.values() if case.unlike]
    assert any(case.expected != "holds" and case.lacking for case in undone)
    assert needs_of(undone, load_assumptions()) == {}
