"""An invariant that no state of the right types denies says nothing about the actions."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from raincheck.conformance.cases.tables import HOLDS, Case, load_cases
from raincheck.conformance.cases.tautologies import NOTHING, Denials, denials
from raincheck.conformance.errors import UsageError
from raincheck.conformance.tlc.tlc import TlcResult
from raincheck.conformance.verbs.check import Answer, judge
from raincheck.conformance.verbs.mirror import has_model, machine_of
from raincheck.model.machine.machine import Step

CASES = load_cases()
PROTOCOLS = sorted({case.protocol for case in CASES if has_model(case.protocol)})
CASE = next(case for case in CASES if case.name == "sequencer-f5-repaired")


@dataclass(frozen=True)
class Planted:
    """A machine with another's states and with invariants of the test's."""

    of: Any
    invariants: Mapping[str, Callable[[Any], bool]]
    name: str = "planted"

    def initial(self) -> Iterable[Any]:
        return self.of.initial()

    def steps(self, state: Any) -> Iterable[Step[Any]]:
        return self.of.steps(state)

    def variables(self, state: Any) -> dict[str, Any]:
        return self.of.variables(state)


def never_in_view_zero(state: Any) -> bool:
    return all(me.view == 0 or me.view > 0 for me in state.locals)


def nothing_said(state: Any) -> bool:
    """True in no run in which somebody says something."""
    return all(me.said == 0 for me in state.locals)


def cannot_be_read(state: Any) -> bool:
    return bool(state.locals[-1].no_such_field)


PLANTED = {"Types": never_in_view_zero, "Silence": nothing_said, "Unreadable": cannot_be_read}


def planted(protocol: str, constants: Mapping[str, Any], name: str) -> Planted:
    return Planted(machine_of(protocol, constants, name), PLANTED)


def asking(*names: str, idle: Iterable[str] = ()) -> Case:
    return replace(CASE, properties=names, idle=frozenset(idle), temporal=frozenset())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_some_state_of_the_right_types_denies_each_invariant_of_the_catalog(protocol: str) -> None:
    mine = [case for case in CASES if case.protocol == protocol]
    found = denials(mine, machine_of)

    assert found.never == frozenset()
    assert len(found.denied) > 2
    holding = [case for case in mine if case.expected == HOLDS]
    unasked = {name for case in holding for name in found.unasked(case)}
    assert unasked - {name for case in holding for name in case.idle} <= NO_PREDICATE


NO_PREDICATE = {
    *("TypeOK", "AnswersHold", "StopsAreSafe"),
    *("Rounds4", "MCRounds3", "MCRounds4", "PlacesKept", "MajorityListed", "OneGrant"),
}
"""The invariants that no model has, so that TLC alone asks them."""


def test_a_planted_invariant_that_follows_from_the_types_is_found() -> None:
    found = denials([asking("Types", "Silence")], planted)

    assert found.never == {"Types"}
    assert found.denied == {"Silence": CASE.name}
    assert found.states > 1000


def test_one_that_can_be_read_in_no_state_is_not_taken_for_denied() -> None:
    assert denials([asking("Unreadable")], planted).never == {"Unreadable"}


def test_what_a_case_calls_idle_is_not_asked_of_its_states() -> None:
    assert denials([asking("Types", idle=["Types"])], planted) == NOTHING


def test_a_case_that_the_model_does_not_fit_is_left_to_mirror() -> None:
    def refuses(protocol: str, _constants: Mapping[str, Any], name: str) -> Planted:
        raise UsageError(f"{protocol}: {name} does not fit")

    assert denials([asking("Types")], refuses) == NOTHING


def test_a_case_that_asks_such_an_invariant_is_inconclusive() -> None:
    case = asking("Integrity", "Fifo")
    result = TlcResult("holds", exercised=(), distinct_states=322, depth=19)
    result = replace(result, exercised=tuple(f"{name}Exercise" for name in EXERCISED))
    said = Denials({"Fifo": case.name}, frozenset({"Integrity"}), 77)

    assert judge(Answer(case, result), sanity=True).verdict == HOLDS
    assert judge(Answer(case, result), said=said).verdict == HOLDS
    judged = judge(Answer(case, result), sanity=True, said=said)
    assert judged.verdict == "inconclusive"
    assert judged.detail == (
        "Integrity: true in all of 77 states of the right types, reachable or not: "
        "it says nothing about the actions"
    )


EXERCISED = ("Integrity", "Fifo", "Senders", "MaxSaid", "Crashers")


def test_where_there_is_no_model_the_evidence_says_that_nothing_was_asked() -> None:
    case = asking("Integrity", "Fifo")

    assert NOTHING.unasked(case) == ["Integrity", "Fifo"]
    assert Denials({"Fifo": "x"}, frozenset()).unasked(case) == ["Integrity"]
