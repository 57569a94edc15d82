"""Each repair undone in the implementations: the page names them all, and the verb finds them."""

import re
from pathlib import Path

import pytest

from raincheck.conformance.bindings.binding import binding_of, bound_protocols
from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.replay.killers import undone_switches
from raincheck.conformance.replay.mutants import load_mutants
from raincheck.conformance.replay.undoing import RUNS, named

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "undone.md"
CATALOG = load_cases()
CASES = {case.name: case for case in CATALOG}


def rows_of_page() -> set[tuple[str, str]]:
    """Return protocol and repair of each row of the first table."""
    text = PAGE.read_text(encoding="utf-8").split("\n## ")[0]
    return set(re.findall(r"^\| (\w+) \| `([^`]+)` \|", text, re.MULTILINE))


def test_the_page_has_a_row_for_every_switch_of_every_protocol() -> None:
    expected = {(mutant.protocol, named(mutant.undo)) for mutant in load_mutants() if mutant.undo}
    elsewhere = {(mutant.protocol, name) for mutant in load_mutants() for name in mutant.undo or ()}
    # A composition has no core of its own, nor has a protocol that is not implemented yet.
    for protocol in bound_protocols():
        switches = binding_of(protocol).switches
        expected |= {
            (protocol, named({name: value}))
            for name, value in switches.items()
            if (protocol, name) not in elsewhere
        }

    assert rows_of_page() == expected


def test_the_tests_and_cases_that_the_page_names_exist() -> None:
    text = PAGE.read_text(encoding="utf-8")
    tests = re.findall(r"`(tests/[^`]+)`: `(test_\w+)`", text)
    cases = re.findall(r"\b[a-z]+(?:-[a-z]+)?-f\d+-[a-z]+\b", text)

    assert len(tests) >= 6
    for path, name in tests:
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), name
    assert len(cases) >= 10
    assert set(cases) <= set(CASES)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["flush", "state_transfer"])
def test_each_repair_undone_is_found_within_the_stated_number_of_runs(protocol: str) -> None:
    rows = undone_switches([protocol], CATALOG)

    assert {(row.protocol, row.repair) for row in rows} == {
        row for row in rows_of_page() if row[0] == protocol
    }
    for row in rows:
        assert row.found, row.result().detail
        assert row.replayed
        assert row.runs <= RUNS
