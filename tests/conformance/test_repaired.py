"""Which cases count as evidence for the protocols as they are implemented."""

import re
from dataclasses import replace

import pytest

from raincheck.conformance.repaired import needs_of, repaired
from raincheck.conformance.tlc.catalog import Case, load_assumptions, load_catalog, spec_folder

AS_NAMED = re.compile("undone|-seed$").search
"""What a case's name alone says against it."""
CASES = {case.name: case for case in load_catalog()}


def repairs_of(module: str) -> set[str]:
    """The constants that a specification's text calls repairs."""
    text = (spec_folder() / f"{module}.tla").read_text(encoding="utf-8")
    block = re.search(r"Repairs of the text's holes\.\n(.*?)\n\n", text, re.DOTALL)
    assert block is not None
    return set(re.findall(r"^ +(\w+),? +\\\*", block[1], re.MULTILINE))


def undone_in(case: Case) -> set[str]:
    """The repairs that a case's configuration takes back."""
    text = case.cfg.read_text(encoding="utf-8")
    off = set(re.findall(r"^ *(\w+) *= *FALSE", text, re.MULTILINE))
    if not re.search(r'^ *JoinPolicy *= *"table"', text, re.MULTILINE):
        off.add("JoinPolicy")
    return off & repairs_of("Sequencer")


def test_a_case_of_sequencer_counts_if_no_repair_is_taken_back() -> None:
    mine = [case for case in CASES.values() if case.module.stem == "MCSequencer"]
    counted = {case.name for case in mine if repaired(case)}

    assert len(repairs_of("Sequencer")) == 9
    assert counted == {
        case.name for case in mine if not undone_in(case) and not AS_NAMED(case.name)
    }
    assert any(undone_in(case) and not AS_NAMED(case.name) for case in mine)
    assert len(counted) > 10
    assert len(mine) - len(counted) > 10


@pytest.mark.parametrize("name", ["flush-f1-undone", "flush-f2-undone", "flush-f4-undone"])
def test_a_repair_that_is_taken_back_counts_for_nothing_whatever_the_case_is_called(
    name: str,
) -> None:
    case = CASES[name]

    assert not repaired(case)
    assert not repaired(replace(case, name=f"{case.protocol}-plain"))


@pytest.mark.parametrize("name", ["flush-f1-repaired", "gms-f1-repaired"])
def test_a_case_of_the_implemented_protocol_counts_but_for_its_name(name: str) -> None:
    case = CASES[name]

    assert repaired(case)
    assert not repaired(replace(case, name=f"{case.protocol}-x-undone"))
    assert not repaired(replace(case, name=f"{case.protocol}-x-seed"))


def test_a_property_needs_the_one_assumption_that_a_case_lacks() -> None:
    needs = needs_of(tuple(CASES.values()), load_assumptions())

    assert needs["sequencer", "TotalOrder"] == ("VirtualSynchrony",)
    assert needs["sequencer", "Validity"] == ("FifoForward",)
    assert ("sequencer", "InView") not in needs
    # What is broken only with a repair taken back as well says nothing of an assumption.
    undone = {n: c for n, c in CASES.items() if c.module.stem == "MCSequencer" and undone_in(c)}
    assert needs_of(tuple(undone.values()), load_assumptions()) == {}
