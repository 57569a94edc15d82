"""The proof of state transfer: it succeeds, fails without each repair, and is about the model."""

from collections import Counter

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.proof.bounded import Search
from raincheck.model.proof.induction import attempt, obligations
from raincheck.model.state_transfer.proof.model import steps
from raincheck.model.state_transfer.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.state_transfer.system import machine

CASES = {case.name: case for case in load_cases()}
WHOLE = theory()

BREAKS = {
    "CheckCut": ("HandedRight", "ReceiveChunk: handed up"),
    "CheckChunk": ("HandedRight", "ReceiveChunk: damaged and handed up"),
    "TransferIds": ("HandedRight", "ReceiveChunk: handed up"),
    "OneReading": ("Counted", "TimeOut: another provider"),
    "HoldMessages": ("Held", "Deliver"),
    "AppliedFirst": ("ChunksTell", "Read"),
}
"""A step that is no longer kept without that repair."""


@pytest.mark.slow  # the audit proves the same with the same seeds
@pytest.mark.parametrize("seed", [1, 2])
def test_the_invariant_begins_is_kept_and_implies_same_cut(seed: int) -> None:
    found = obligations(WHOLE)

    left_open = [each for each in found if not attempt(each, seed).proved]

    assert left_open == []
    assert {each.claim for each in found if each.kind == "implied"} == {"SameCut"}
    kept = [each for each in found if each.kind == "kept"]
    assert len(kept) == len(WHOLE.invariant) * len(WHOLE.transitions)


@pytest.mark.parametrize("name", WITHOUT)
def test_without_a_repair_a_step_fails(name: str) -> None:
    subject = theory(basis_without([name]))
    claim, transition = BREAKS[name]

    found = obligations(subject, {claim}, {transition})
    asked = [o for o in found if (o.claim, o.transition) == (claim, transition)]
    assert any(not attempt(each, 1).proved for each in asked)

    conjunct = next(each for each in subject.invariant if each.name == claim)
    step = next(each for each in subject.transitions if each.name == transition)
    assert Search(subject).failure(conjunct, step) is not None


@pytest.mark.slow  # the audit asks the same of the same theory
def test_every_transition_can_happen() -> None:
    search = Search(WHOLE)

    assert [each.name for each in WHOLE.transitions if not search.enabled(each)] == []


SILENT = {
    *("ReceiveAsk", "Begin", "ReceiveDone", "ReceiveRequest", "ReceiveCredit", "ReceiveCancel"),
    *("Take", "ReadFailed", "CloseLatch", "OpenLatch", "SlipLatch", "Garble"),
}
"""The actions of which the theory says nothing, because nothing changes of what it speaks about."""


@pytest.mark.parametrize(
    "case", ["f1-repaired", "f2-repaired", "f2-undone", "f10-undone", "f11-undone", "refuse"]
)
def test_the_theory_takes_every_edge_of_the_model(case: str) -> None:
    taken: Counter[str] = Counter()
    for edge in steps(machine(CASES[f"state-transfer-{case}"].constants)):
        assert edge.transition is not None or edge.stutters, edge.move[:2]
        if edge.transition is None:
            # A message of another transfer, and the like, may be of no consequence.
            assert edge.move.action in SILENT or edge.move.action.startswith(
                ("Receive", "Suspect")
            ), edge.move[:2]
        else:
            assert edge.move.action not in SILENT
            taken[edge.transition.name] += 1

    assert {"Ask", "Read", "ReceiveChunk: handed up", "ReceiveGo: a joiner"} <= set(taken)
    if case == "f10-undone":
        assert taken["ReceiveChunk: damaged and handed up"]
    if case == "refuse":
        assert taken["StateSet: failed"]
        assert taken["ReceiveRefuse: nobody is left"]


def test_a_delivery_before_the_state_is_set_is_no_step_of_the_theory() -> None:
    values = CASES["state-transfer-f5-undone"].constants
    repaired = machine({**values, "HoldMessages": True}).constants

    refused = [
        edge
        for edge in steps(machine(values), repaired)
        if edge.transition is None and not edge.stutters
    ]

    assert refused != []
    assert {edge.move.action for edge in refused} == {"Deliver"}
