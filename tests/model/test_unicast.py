"""UNICAST's model: what each handler does, and that the promises break where a repair is undone."""

import dataclasses

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.machine.explore import explore
from raincheck.model.machine.machine import Accepted, Refused
from raincheck.model.machine.runs import Address
from raincheck.model.unicast.events import (
    Ack,
    Acknowledge,
    Consume,
    Deliver,
    Forget,
    Message,
    Receive,
    ReceiveAck,
    Retransmit,
    Send,
)
from raincheck.model.unicast.handlers import HANDLERS, INPUTS, Local, Rules
from raincheck.model.unicast.system import machine

A, B = Address("a", 0), Address("b", 0)
RULES = Rules()
CASES = {case.name: case for case in load_cases() if case.protocol == "unicast"}


def content(number, talk=1):
    return (0, 0, talk, number)


def after(me, *events, rules=RULES):
    """The local state and the outputs of the last event."""
    outputs = ()
    for event in events:
        answer = HANDLERS[type(event).__name__](rules, me, event)
        assert isinstance(answer, Accepted), answer
        me, outputs = answer
    return me, outputs


def refused(me, event, rules=RULES):
    answer = HANDLERS[type(event).__name__](rules, me, event)
    assert isinstance(answer, Refused)
    return [conjunct.text for conjunct in answer.conjuncts]


def sends(*numbers):
    return [Send(B, content(number)) for number in numbers]


def arrive(*numbers):
    return [Receive(A, 1, number, content(number)) for number in numbers]


def test_every_input_has_its_handler():
    assert INPUTS.keys() == HANDLERS.keys()


def test_a_sender_stays_within_the_window_until_it_hears_what_was_consumed():
    me, outputs = after(Local("a"), *sends(1, 2, 3))
    assert outputs == ()
    me, outputs = after(me, ReceiveAck(B, 1, 2, 0, ()))
    assert outputs == ()
    me, outputs = after(me, ReceiveAck(B, 1, 2, 1, ()))
    assert outputs == (Message(B, 1, 3, content(3)),)


def test_what_is_named_missing_leaves_again_at_once():
    me, _ = after(Local("a"), *sends(1, 2))

    _, outputs = after(me, ReceiveAck(B, 1, 0, 0, (1,)))

    assert outputs == (Message(B, 1, 1, content(1)),)


def test_the_timer_sends_the_oldest_or_a_probe():
    me, _ = after(Local("a"), *sends(1, 2, 3))
    assert after(me, Retransmit(B))[1] == (Message(B, 1, 1, content(1)),)
    me, _ = after(me, ReceiveAck(B, 1, 2, 0, ()))

    assert after(me, Retransmit(B))[1] == (Message(B, 1, 3, content(3)),)
    assert refused(me, Retransmit(B), Rules(probe=False)) == ["s.acked + 1 <= s.out \\/ Probe"]


def test_a_receiver_passes_up_in_order_and_names_what_is_missing():
    me, _ = after(Local("b"), *arrive(2))
    assert refused(me, Consume(A)) == ["r.consumed < r.arrived"]
    assert after(me, Acknowledge(A))[1] == (Ack(A, 1, 0, 0, (1,)),)

    me, _ = after(me, *arrive(1))
    me, first = after(me, Consume(A))
    me, second = after(me, Consume(A))

    assert (*first, *second) == (Deliver(A, content(1)), Deliver(A, content(2)))
    assert after(me, Acknowledge(A))[1] == (Ack(A, 1, 2, 2, ()),)


def test_what_is_beyond_the_window_is_dropped_but_answered():
    me, _ = after(Local("b"), *arrive(3))

    assert me.receivers[0][1].buffer == ()
    assert after(me, Acknowledge(A))[1] == (Ack(A, 1, 0, 0, ()),)


@pytest.mark.parametrize(
    ("closed", "event", "taken"),
    [
        (False, Receive(A, 1, 2, content(2)), True),
        (False, Receive(A, 2, 1, content(1, 2)), True),
        (True, Receive(A, 1, 2, content(2)), False),
        (True, Receive(A, 2, 1, content(1, 2)), True),
    ],
)
def test_a_closed_connection_stays_closed(closed, event, taken):
    me, _ = after(Local("b"), *arrive(1), *([Forget(A)] if closed else []))

    assert (after(me, event)[0] != me) == taken


def test_an_older_connection_is_dropped_and_its_acknowledgement_too():
    me, _ = after(Local("b"), Receive(A, 2, 1, content(1, 2)))
    assert after(me, *arrive(1))[0] == me
    me, _ = after(Local("a"), *sends(1), Forget(B), Send(B, content(1, 2)))

    assert after(me, ReceiveAck(B, 1, 1, 1, ()))[0] == me
    assert after(me, ReceiveAck(B, 2, 1, 1, ()))[0] != me


def test_a_machine_says_which_constant_is_missing():
    constants = dict(CASES["unicast-live"].constants)
    del constants["Probe"]

    with pytest.raises(ValueError, match="constant Probe"):
        machine(constants)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, case in CASES.items()
        if case.expected not in ("holds", "EventuallyConsumed", "ConsumedThoughClosed")
    ],
)
def test_an_undone_repair_breaks_the_promise_in_the_model_too(name):
    case = CASES[name]
    system = machine(case.constants)
    broken = {case.expected: system.invariants[case.expected]}

    assert explore(system, invariants=broken, limit=30_000).violation is not None


@pytest.mark.parametrize("name", ["unicast-live", "unicast-f1-repaired", "unicast-f10-repaired"])
def test_repaired_all_promises_hold_in_every_state(name):
    case = CASES[name]
    system = machine(case.constants)
    promised = {n: holds for n, holds in system.invariants.items() if n in case.properties}

    found = explore(system, invariants=promised)

    assert len(promised) == 5
    assert found.complete
    assert found.violation is None
    assert (len(found.graph), found.depth) == (case.distinct, case.depth)


def test_the_rules_are_the_specs_constants():
    names = {name.replace("_", "") for name in Rules.__dataclass_fields__}
    constants = {name.lower() for name in CASES["unicast-live"].constants}

    assert names <= constants
    assert dataclasses.asdict(RULES).keys() == Rules.__dataclass_fields__.keys()
