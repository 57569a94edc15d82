"""TOTAL's traces: its invariants are evaluated on them, and what breaks one is noticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from raincheck.conformance.bindings.total.binding import BINDING, begins
from raincheck.conformance.bindings.total.invariants import INVARIANTS
from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.judges.planted_invariants import Said, reported
from raincheck.conformance.trace.invariants.asked import OfState, OfStep, Unshown
from raincheck.impl.messages import Address as CoreAddress
from raincheck.impl.total.core import Total
from raincheck.model.machine.runs import Address
from raincheck.model.total.events import Broadcast, Deliver, Message, ReceiveBcast
from raincheck.model.total.handlers import Local, Rules, founder

A, B = Address("a", 0), Address("b", 0)
A1, B1 = Message(A, 1), Message(B, 1)


def heard(who: str, event: int, sender: str, seqno: int, view: int, id_: int) -> Said:
    """The note of a delivery."""
    return (who, "delivered", event, [[sender, 0], seqno, view, id_])


def installed(who: str, event: int, view: int) -> Said:
    """The note of a view."""
    return (who, "installed", event, view)


GOOD = [
    note
    for who in "ab"
    for note in (
        heard(who, 1, "a", 1, 1, 1),
        heard(who, 2, "b", 1, 1, 2),
        installed(who, 3, 2),
        heard(who, 4, "a", 2, 2, 1),
        installed(who, 6, 3),
    )
]


def test_one_order_holds() -> None:
    assert reported("total", GOOD) == []


OTHER_WAY = [
    *(heard("a", 7, "a", 3, 3, 1), heard("a", 8, "b", 2, 3, 2)),
    *(heard("b", 7, "b", 2, 3, 1), heard("b", 8, "a", 3, 3, 2)),
]
TWO_AT_ONE_ID = [heard("a", 7, "b", 2, 3, 1), heard("b", 7, "b", 3, 3, 1)]


@pytest.mark.parametrize(
    ("notes", "broken"),
    [
        (TWO_AT_ONE_ID, {"Prefix", "UniqueIds", "GapFree"}),
        (OTHER_WAY, {"TotalOrder", "Prefix", "UniqueIds"}),
        ([heard("a", 5, "b", 2, 2, 2)], {"Agreement"}),
        ([heard(who, 7, "a", 2, 3, 1) for who in "ab"], {"Integrity", "Fifo", "GapFree"}),
        ([heard(who, 7, "a", 4, 3, 1) for who in "ab"], {"GapFree"}),
    ],
)
def test_what_breaks_an_invariant_between_members_is_noticed(
    notes: list[Said], broken: set[str]
) -> None:
    complaints = reported("total", sorted([*GOOD, *notes], key=lambda note: note[2]))

    assert {each.split(" is ")[0] for each in complaints} == {f"total.{each}" for each in broken}


def test_a_state_or_step_that_is_wrong_is_noticed() -> None:
    (state,), (step,) = INVARIANTS.of["TypeOK"], INVARIANTS.of["InView"]
    assert isinstance(state, OfState)
    assert isinstance(step, OfStep)
    good = founder(B, (A, B))
    event, outputs = ReceiveBcast(1, A1, 1), (Deliver(A1, 1, 1),)

    assert state.evaluate(None, None, good)
    assert not state.evaluate(None, None, good._replace(next_id=1))
    assert not state.evaluate(None, None, good._replace(queue=frozenset({Broadcast(1, A1)})))
    assert not state.evaluate(None, None, good._replace(forward_table=(A1,)))
    assert step.holds(good, event, good, outputs)
    assert step.holds(good, event, good, ()) is None
    assert not step.holds(good, event, good, (Deliver(A1, 2, 1),))
    assert not step.holds(good, event, good._replace(members=(A,)), outputs)


def test_what_a_trace_cannot_show_is_named_and_every_invariant_is_accounted_for() -> None:
    unshown = {name for name, parts in INVARIANTS.of.items() if isinstance(parts[0], Unshown)}
    cases = [case for case in load_cases() if case.protocol == "total"]
    asked = {name for case in cases for name in case.properties if name not in case.temporal}

    assert unshown == {*("UniformTotalOrder", "UniformAgreement", "Recoverable", "FlushDelivers")}
    assert asked <= INVARIANTS.of.keys()


def test_a_core_is_made_as_its_local_state_says() -> None:
    me = founder(A, (A, B))._replace(
        history=frozenset({Broadcast(1, B1)}), taken=((B, 1),), acks=((B, 1),), next_id=2
    )
    core: Any = BINDING.make_core(Rules(), me)

    assert BINDING.core_local(core) == me
    assert BINDING.core_local(Total(CoreAddress("c", 0))) == Local(Address("c", 0))


def test_a_node_begins_as_a_founder_or_as_a_joiner() -> None:
    assert begins(Rules(), Local(A))
    assert begins(Rules(), founder(B, (A, B)))
    assert not begins(Rules(), founder(B, (A, B))._replace(expected=2))


def test_the_page_names_every_invariant() -> None:
    page = Path(__file__).parents[2] / "docs" / "trace-invariants.md"
    section = page.read_text(encoding="utf-8").partition("\n## TOTAL\n")[2].partition("\n## ")[0]

    assert [name for name in INVARIANTS.of if f"| `{name}` |" not in section] == []
