"""NAKACK's model: what each handler does, and that the promises break where a repair is undone."""

import dataclasses

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.machine.explore import explore
from raincheck.model.machine.liveness import leads_to
from raincheck.model.machine.machine import Accepted, Refused
from raincheck.model.machine.runs import Address
from raincheck.model.nakack.events import (
    Acknowledge,
    Alive,
    Announce,
    Ask,
    Crash,
    Data,
    Deliver,
    Delivered,
    Fetch,
    Freeze,
    HeardOf,
    InstallView,
    Join,
    Multicast,
    Nak,
    Purge,
    ReceiveAlive,
    ReceiveData,
    ReceiveNak,
)
from raincheck.model.nakack.handlers import HANDLERS, INPUTS, Local, Rules, founder, stream_of
from raincheck.model.nakack.system import ENVIRONMENT, machine

A, B, C = (Address(name, 0) for name in "abc")
RULES = Rules(window=2, retain=3)
CASES = {case.name: case for case in load_cases() if case.protocol == "nakack"}


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


def member(node="b"):
    return founder(node, (A, B, C))


def data(seqno, view=1, sender=A, source=A):
    return ReceiveData(sender, source, seqno, view)


def test_every_input_has_its_handler():
    assert HANDLERS.keys() == INPUTS.keys()
    assert all(kind.__name__ == name for name, kind in INPUTS.items())


def test_a_multicast_goes_to_all_others_and_to_oneself():
    me, sent = after(member("a"), Multicast())
    assert sent == (Data(B, A, 1, 1), Data(C, A, 1, 1))

    _, passed_up = after(me, Deliver(A))
    assert passed_up == (Delivered(A, 1, 1),)


def test_acknowledgements_open_the_window_and_purging_what_is_kept():
    me, _ = after(member("a"), Multicast(), Multicast())
    assert refused(me, Multicast()) == ["sent[n] - Lowest(n) < Window"]

    acks = ReceiveAlive(B, 0, False, 2), ReceiveAlive(C, 0, False, 2)
    me, _ = after(me, *acks, Multicast())
    me, _ = after(me, *(ack._replace(delivered=3) for ack in acks))
    assert refused(me, Multicast()) == ["Cardinality(DOMAIN stream[n][n].held) < Retain"]

    me, _ = after(me, Deliver(A), Purge(A, 3), Multicast())
    assert me.sent == 4
    assert [k for k, _ in stream_of(me.stream, A).held] == [2, 3, 4]


def test_what_is_missing_is_asked_for_and_sent_again_by_whoever_has_it():
    me, _ = after(member(), data(2), HeardOf(C, A, 2))
    assert after(me, Ask(A, A))[1] == (Nak(A, A, (1,)),)
    assert after(me, Ask(A, C))[1] == (Nak(C, A, (1,)),)
    assert refused(me, Ask(A, B)) == ["to = s \\/ (AskHolders /\\ to = stream[n][s].holder)"]

    holder, _ = after(member("c"), data(1))
    assert after(holder, ReceiveNak(B, A, (1, 2)))[1] == (Data(B, A, 1, 1),)
    assert refused(me, Deliver(A)) == ["k \\in DOMAIN stream[n][s].held"]


def test_announcements_show_what_is_missing_or_are_answered():
    sender, _ = after(member("a"), Multicast(), ReceiveAlive(B, 0, False, 1))
    assert after(sender, Announce())[1] == (Alive(C, 1, True, 0),)

    me, _ = after(member(), ReceiveAlive(A, 1, True, 0))
    assert stream_of(me.stream, A).missing() == (1,)
    me, _ = after(me, data(1), Deliver(A), Acknowledge(A), ReceiveAlive(A, 1, True, 0))
    assert after(me, Acknowledge(A))[1] == (Alive(A, 0, False, 1),)
    assert refused(member(), Acknowledge(A)) == ["s \\in owed[n]"]


def test_a_frozen_stream_ends_at_its_gap_until_the_cut_is_fetched():
    me, _ = after(member(), data(1), data(3), Freeze(A))
    assert stream_of(me.stream, A).held == ((1, 1),)
    assert after(me, data(2))[0] == me

    me, _ = after(me, Fetch(A, 2, C), data(2, sender=C), Deliver(A), Deliver(A))
    assert stream_of(me.stream, A).delivered == 2
    assert after(me, data(3))[0] == me


def test_a_newer_views_multicast_waits_and_a_strangers_is_dropped():
    me, _ = after(member(), data(1, view=2))
    assert refused(me, Deliver(A)) == ["ViewTag => stream[n][s].held[k] <= view[n]"]
    assert after(me, InstallView(2, (A, B)), Deliver(A))[1] == (Delivered(A, 1, 2),)

    me, _ = after(member(), InstallView(2, (A, B)))
    assert after(me, data(1, source=C))[0] == me


def test_departed_streams_are_handed_out_until_the_first_stability():
    me, _ = after(member(), data(1), Deliver(A), Freeze(A), InstallView(2, (B, C)))
    assert after(me, ReceiveNak(C, A, (1,)))[1] == (Data(C, A, 1, 1),)

    me, _ = after(me, Purge(B, 0))
    assert after(me, ReceiveNak(C, A, (1,)))[1] == ()


def test_a_joiner_begins_behind_the_digest():
    me, _ = after(Local("c"), Join(2, (A, C), ((A, 4),)))
    assert after(me, data(4, view=2))[0] == me
    assert after(me, data(5, view=2), Deliver(A))[1] == (Delivered(A, 5, 2),)
    assert after(me, Crash())[0] == Local("c", status="crashed")


def test_a_machine_says_which_constant_is_missing():
    constants = dict(CASES["nakack-lossy"].constants)
    del constants["Vector"]

    with pytest.raises(ValueError, match="constant Vector"):
        machine(constants)


TEMPORAL = {"EventualDelivery", "Opens"}


@pytest.mark.parametrize(
    "name",
    [n for n, case in CASES.items() if case.expected not in ("holds", *TEMPORAL)],
)
def test_an_undone_repair_breaks_the_promise_in_the_model_too(name):
    case = CASES[name]
    system = machine(case.constants)
    broken = {case.expected: system.invariants[case.expected]}

    assert explore(system, invariants=broken, limit=30_000).violation is not None


@pytest.mark.parametrize("name", ["nakack-crash", "nakack-window", "nakack-f9-prompt"])
def test_repaired_all_promises_hold_in_every_state(name):
    case = CASES[name]
    system = machine(case.constants)
    promised = {n: holds for n, holds in system.invariants.items() if n in case.properties}

    found = explore(system, invariants=promised)

    assert len(promised) == 8
    assert found.complete
    assert found.violation is None
    assert (len(found.graph), found.depth) == (case.distinct, case.depth)


@pytest.mark.parametrize(
    ("name", "delivered"), [("nakack-f1-seed", False), ("nakack-f1-repaired", True)]
)
def test_the_last_multicast_arrives_with_the_vector_only(name, delivered):
    system = machine(CASES[name].constants)
    graph = explore(system, invariants={}).graph
    labels = {(label.action, label.args[:2]) for label in graph.labels}
    fair = {
        str(each): lambda label, each=each: (label.action, label.args[:2]) == each
        for each in labels
        if each[0] not in ENVIRONMENT
    }

    lasso = leads_to(
        graph,
        lambda state: state.locals[0].sent == 1,
        lambda state: stream_of(state.locals[1].stream, A).delivered == 1,
        fair,
    )

    assert (lasso is None) == delivered


def test_the_rules_are_the_specs_constants():
    names = {name.replace("_", "") for name in Rules.__dataclass_fields__}
    constants = {name.lower() for name in CASES["nakack-lossy"].constants}

    assert names <= constants
    assert dataclasses.asdict(RULES).keys() == Rules.__dataclass_fields__.keys()
