"""The model of FLUSH: its counts are TLC's, and each repair is needed."""

from typing import Any

import pytest

from raincheck.conformance.cases.tables import Case, load_cases
from raincheck.model.flush import events as ev
from raincheck.model.flush.events import Fetch, Fid
from raincheck.model.flush.handlers import HANDLERS, INPUTS, Local, Rules, fetches_of, lacks
from raincheck.model.flush.promises import INVARIANTS
from raincheck.model.flush.system import machine
from raincheck.model.machine.explore import explore
from raincheck.model.machine.machine import Accepted, Refused
from raincheck.model.machine.runs import Address

A, B, C = (Address(name, 0) for name in "abc")


CASES = [case for case in load_cases() if case.protocol == "flush"]


def _name(case: Case) -> str:
    return case.name


SMALL = [c for c in CASES if c.expected == "holds" and (c.distinct or 9999) <= 800]
UNDONE = [c for c in CASES if c.expected in INVARIANTS and c.name.endswith("-undone")]


@pytest.mark.parametrize("case", SMALL, ids=_name)
def test_the_model_has_as_many_states_as_tlc_counts(case: Case) -> None:
    asked = {name: INVARIANTS[name] for name in case.properties if name in INVARIANTS}
    found = explore(machine(case.constants), invariants=asked)

    assert asked
    assert (found.complete, len(found.graph)) == (True, case.distinct)
    assert found.violation is None
    assert found.depth == case.depth


@pytest.mark.parametrize("case", UNDONE, ids=_name)
def test_each_repair_is_needed(case: Case) -> None:
    system = machine(case.constants)
    asked = {case.expected: INVARIANTS[case.expected]}

    found = explore(system, invariants=asked)
    assert found.violation is not None


def test_every_input_has_a_handler() -> None:
    assert set(INPUTS) == set(HANDLERS)
    assert {ev.ARRIVES[name] for name in ev.ARRIVES} <= set(INPUTS)


def test_the_holder_is_the_sender_if_it_takes_part() -> None:
    digests = {A: ((A, 1), (C, 2)), B: ((A, 0), (C, 2)), C: ((A, 0), (C, 3))}
    assert fetches_of((A, B, C), digests) == (Fetch(A, 1, A), Fetch(C, 3, C))
    assert fetches_of((A, B), digests) == (Fetch(A, 1, A),)
    assert lacks(digests[B], (Fetch(A, 1, A),))
    assert not lacks(digests[A], (Fetch(A, 1, A),))
    assert not lacks((), (Fetch(A, 1, A),)), "who does not read a stream lacks nothing of it"


FID = Fid(1, A, 1)


@pytest.mark.parametrize(
    ("me", "event", "false"),
    [
        (Local(A, 1, (A, B), latch=True), ev.Multicast(), ["~latch[n]"]),
        (Local(A, 1, (A, B)), ev.Resume(), ["suspended[n]"]),
        (Local(A, 1, (A, B)), ev.BlockOk(()), ['blocked[n] = "calling"']),
        (Local(A, 1, (A, B)), ev.Reconciled(), ["fetching[n] # {}"]),
        (
            Local(A, 1, (A, B), asked=FID),
            ev.Suspend((B,)),
            ["asked[n] = NoFlush", "n \\in participants[n]"],
        ),
        (
            Local(A, 1, (A, B), frozen=frozenset({B})),
            ev.ReceiveMulticast(B, 1),
            ["c \\notin frozen[n]"],
        ),
        (Local(A, 1, (A, B)), ev.InstallView(3, (B,)), ["v = view[n] + 1", "n \\in NodesOf(new)"]),
    ],
)
def test_a_refusal_names_what_is_false(me: Local, event: Any, false: list[str]) -> None:
    answer = HANDLERS[type(event).__name__](Rules(), me, event)
    assert isinstance(answer, Refused)
    assert [conjunct.text for conjunct in answer.conjuncts] == false


def test_a_multicast_that_was_to_be_fetched_is_taken_of_a_frozen_stream() -> None:
    me = Local(
        A, 1, (A, B), blocked="yes", frozen=frozenset({B}), fetching=(Fetch(B, 1, A),), flush=FID
    )
    assert isinstance(
        HANDLERS["ReceiveMulticast"](Rules(), me, ev.ReceiveMulticast(B, 1)), Accepted
    )
    assert isinstance(HANDLERS["ReceiveMulticast"](Rules(), me, ev.ReceiveMulticast(B, 2)), Refused)


def test_a_constant_that_is_missing_is_named() -> None:
    constants = dict(next(c for c in CASES if c.name == "flush-join").constants)
    del constants["FlushIds"]
    with pytest.raises(ValueError, match="FlushIds"):
        machine(constants)
