"""TOTAL's model: what each handler does, and that promises break where a rule is taken back."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.machine.explore import explore
from raincheck.model.machine.machine import Accepted, Refused
from raincheck.model.machine.runs import Address
from raincheck.model.total.events import (
    INPUTS,
    Acknowledge,
    Announce,
    Ask,
    Bcast,
    Broadcast,
    CumSeqAck,
    Deliver,
    InstallView,
    Last,
    Message,
    ReceiveBcast,
    ReceiveCumSeqAck,
    ReceiveLast,
    ReceiveRequest,
    ReceiveResend,
    Request,
    Resend,
    ResendRequests,
    Send,
)
from raincheck.model.total.handlers import HANDLERS, Local, Rules, founder
from raincheck.model.total.system import machine

RULES = Rules()
A, B, C = Address("a", 0), Address("b", 0), Address("c", 0)
ALL = (A, B, C)
B1, B2 = Message(B, 1), Message(B, 2)
CASES = {case.name: case for case in load_cases() if case.protocol == "total"}


def after(me: Local, *events: Any, rules: Rules = RULES) -> tuple[Local, tuple[Any, ...]]:
    """The local state and the outputs of the last event."""
    outputs: tuple[Any, ...] = ()
    for event in events:
        answer = HANDLERS[type(event).__name__](rules, me, event)
        assert isinstance(answer, Accepted), answer
        me, outputs = answer
    return me, outputs


def refused(me: Local, event: Any, rules: Rules = RULES) -> list[str]:
    answer = HANDLERS[type(event).__name__](rules, me, event)
    assert isinstance(answer, Refused)
    return [conjunct.text for conjunct in answer.conjuncts]


def test_every_input_has_its_handler() -> None:
    assert INPUTS.keys() == HANDLERS.keys()


def test_a_member_asks_the_sequencer_and_keeps_its_message_until_it_has_delivered_it() -> None:
    me, outputs = after(founder(B, ALL), Send(), Send())
    assert outputs == (Request(A, B2, 2, 1),)
    assert me.forward_table == (B1, B2)
    me, outputs = after(me, ReceiveBcast(2, B2, 1))
    assert outputs == ()
    assert me.queue == {Broadcast(2, B2)}
    assert after(me, Ask())[1] == (Resend(A, 1, 1),)
    me, outputs = after(me, ReceiveBcast(1, B1, 1))
    assert outputs == (Deliver(B1, 1, 1), Deliver(B2, 1, 2))
    assert (me.forward_table, me.passed, me.expected) == ((), 2, 3)
    assert refused(me, ResendRequests()) == ["forwardTable[n] # <<>>"]


def test_the_sequencer_takes_each_request_once_and_in_order() -> None:
    me, outputs = after(founder(A, ALL), ReceiveRequest(B, B2, 2, 1))
    assert outputs == ()  # the first one is still on its way
    me, outputs = after(me, ReceiveRequest(B, B1, 1, 1))
    assert outputs == (Bcast(None, 1, B1, 1), Deliver(B1, 1, 1))
    assert after(me, ReceiveRequest(B, B1, 1, 1)) == (me, ())
    assert after(me, ReceiveRequest(B, B2, 2, 0)) == (me, ())  # of another view
    assert after(me, ReceiveRequest(B, B2, 2, 1))[1][0] == Bcast(None, 2, B2, 1)
    assert after(founder(C, ALL), ReceiveRequest(B, B1, 1, 1))[1] == ()


def test_the_sequencer_forgets_what_all_have_acknowledged() -> None:
    me, _ = after(founder(A, ALL), Send(), ReceiveCumSeqAck(B, 1, 1))
    assert after(me, ReceiveResend(C, 1, 1))[1] == (Bcast(C, 1, Message(A, 1), 1),)
    me, _ = after(me, ReceiveCumSeqAck(C, 1, 0))  # of another view
    assert me.history
    me, _ = after(me, ReceiveCumSeqAck(C, 1, 1))
    assert not me.history
    assert refused(me, Announce()) == ["history[n] # {}"]


def test_a_member_that_knows_the_last_id_asks_for_it() -> None:
    me, _ = after(founder(A, ALL), Send())
    assert after(me, Announce())[1] == (Last(1, 1),)
    me, _ = after(founder(B, ALL), ReceiveLast(1, 1))
    assert after(me, Ask())[1] == (Resend(A, 1, 1),)
    assert refused(me, Acknowledge()) == ["expected[n] > 1"]
    me, _ = after(me, ReceiveBcast(1, Message(A, 1), 1))
    assert refused(me, Ask()) == ["Missing(n) # {}"]
    assert after(me, Acknowledge())[1] == (CumSeqAck(A, 1, 1),)


def test_a_new_view_begins_with_one_and_with_what_was_not_delivered() -> None:
    me, _ = after(founder(B, ALL), Send(), ReceiveBcast(2, Message(A, 2), 1))
    again, outputs = after(me, InstallView(2, (A, B)))
    assert outputs == (Request(A, B1, 1, 2),)
    assert (again.queue, again.expected) == (frozenset(), 1)
    leads, outputs = after(me, InstallView(2, (B, C)))
    assert outputs == (Bcast(None, 1, B1, 2), Deliver(B1, 2, 1))
    assert (leads.next_id, leads.forward_table) == (2, ())
    assert refused(me, InstallView(1, ALL)) == ["view[n] < Len(views)"]
    assert refused(me, InstallView(2, (A, C))) == ["Address(n) \\in Members(new)"]


@pytest.mark.parametrize(
    ("case", "rule", "value", "broken"),
    [
        ("total-f1-repaired", "tags", False, "Fifo"),
        ("total-f4-tags-repaired", "tags", False, "Integrity"),
        ("total-f5-repaired", "view_tag", False, "UniqueIds"),
        ("total-f7-repaired", "forget_when", "heard", "Recoverable"),
        ("total-f11-repaired", "begin", "told", "Integrity"),
    ],
)
def test_a_promise_breaks_where_its_rule_is_taken_back(
    case: str, rule: str, value: Any, broken: str
) -> None:
    system = machine(CASES[case].constants)
    asked = {
        name: holds for name, holds in system.invariants.items() if name in CASES[case].properties
    }
    found = explore(system, invariants=asked)
    assert found.complete
    assert found.violation is None
    assert (len(found.graph), found.depth) == (CASES[case].distinct, CASES[case].depth)

    system.rules = dataclasses.replace(system.rules, **{rule: value})
    assert explore(system, invariants={broken: system.invariants[broken]}).violation is not None


def test_the_other_design_leaves_a_gap_that_nobody_can_fill() -> None:
    system = machine(CASES["total-f10-undone"].constants)
    found = explore(system, invariants={"Recoverable": system.invariants["Recoverable"]})
    assert found.violation is not None
    assert found.violation.path.actions[-1] == "Crash"
