"""GMS's model against its specification, and what it finds when a repair is undone."""

from dataclasses import replace

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.gms.events import BeginChange, ReceivePrepare, Suspend, View, ViewId
from raincheck.model.gms.handlers import HANDLERS, INPUTS, Local, Rules, begin_change, founder
from raincheck.model.gms.system import GmsSystem, machine
from raincheck.model.machine.explore import explore
from raincheck.model.machine.machine import Accepted, Refused
from raincheck.model.machine.runs import Address

CASES = {case.name: case for case in load_cases()}
A, B, C, D = (Address(name, 0) for name in "abcd")
FIRST = View(ViewId(1, A), (A, B, C))


def instance(case: str, **rules: object) -> GmsSystem:
    """The instance of a case, with some repairs set otherwise."""
    constants = machine(CASES[f"gms-{case}"].constants).constants
    return GmsSystem(replace(constants, rules=replace(constants.rules, **rules)))


def violated(system: GmsSystem, *names: str) -> set[str]:
    """Those of the named invariants that do not hold everywhere."""
    graph = explore(system, invariants={}).graph
    return {n for n in names if not all(map(system.invariants[n], graph.states))}


@pytest.mark.parametrize("case", ["crash", "leave", "return", "transfer", "dig-f1-repaired"])
def test_the_repaired_protocol_keeps_every_promise(case: str) -> None:
    system = instance(case)

    assert violated(system, *system.invariants) == set()


@pytest.mark.parametrize(
    ("undone", "promise"),
    [
        ({"takeover": False}, "SingleSequenceOfViews"),
        ({"view_acks": False}, "SingleSequenceOfViews"),
        ({"install_when": "first"}, "SingleSequenceOfViews"),
    ],
)
def test_each_repair_is_needed(undone: dict[str, object], promise: str) -> None:
    assert violated(instance("f2-undone", takeover=True), promise) == set()
    assert violated(instance("f2-undone", **{"takeover": True} | undone), promise) == {promise}


def test_every_action_of_the_handlers_has_its_input() -> None:
    assert list(INPUTS) == list(HANDLERS)
    assert all(kind.__name__ == name for name, kind in INPUTS.items())


def test_the_first_member_that_is_not_gone_leads() -> None:
    follower = founder("b", FIRST)._replace(suspects=frozenset({C}))
    refused = begin_change(Rules(), follower, BeginChange())
    assert isinstance(refused, Refused)
    assert [conjunct.text for conjunct in refused.conjuncts] == ["Leader(n) = Address(n)"]

    next_one = follower._replace(suspects=frozenset({A}))
    answer = begin_change(Rules(), next_one, BeginChange())

    assert isinstance(answer, Accepted)
    assert answer.outputs == (Suspend((B, C)),)
    assert answer.local.gone == {A}


def test_a_leader_that_is_behind_leaves_out_nobody_whom_it_cannot_know() -> None:
    ahead = Local("c", "member", view=View(ViewId(2, A), (A, B, C, D), (D,)))

    answer = HANDLERS["ReceivePrepare"](Rules(), ahead, ReceivePrepare(B, 1, (B, C)))

    assert answer.local.gone == {A}
