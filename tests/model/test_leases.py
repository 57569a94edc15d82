"""LEASES' model: what a client and a member answer, and that promises break without their rules."""

from __future__ import annotations

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.leases.events import (
    INPUTS,
    Asked,
    ComeBack,
    Drop,
    GivesBack,
    ReceiveAsk,
    ReceiveTell,
    Says,
    Session,
    Told,
    Want,
    Wants,
)
from raincheck.model.leases.handlers import (
    HANDLERS,
    Client,
    Member,
    Rules,
    come_back,
    drop,
    receive_ask,
    receive_tell,
    want,
)
from raincheck.model.leases.system import machine
from raincheck.model.machine.explore import explore
from raincheck.model.machine.machine import Accepted, Refused

RULES = Rules()
CASES = {case.name: case for case in load_cases() if case.protocol == "leases"}
WAITS = Client("c", "m", clock=2, sent=(0,), wants=True, request=1)
HAS = Told("m", "c", 1, 1, 1, 7, over=False)


def words(answer: object) -> list[str]:
    assert isinstance(answer, Refused), answer
    return [each.text for each in answer.conjuncts]


def test_every_input_has_its_handler() -> None:
    assert INPUTS.keys() == HANDLERS.keys()


def test_a_lease_begins_when_the_client_has_sent_what_is_answered() -> None:
    answer = receive_tell(RULES, WAITS, ReceiveTell(HAS, "m"))
    assert isinstance(answer, Accepted)
    me = answer.local
    assert (me.until, me.fence, me.believes) == (3, 7, True)
    late = me._replace(clock=3)
    assert not late.believes
    assert words(drop(RULES, late, Drop())) == ["Awake(c)"]
    assert words(receive_tell(RULES, WAITS._replace(clock=3), ReceiveTell(HAS, "m"))) == [
        "clock[c] < LeaseOf(c, t)"
    ]


def test_a_client_takes_its_leave_of_a_member_that_leaves() -> None:
    over = HAS._replace(fence=0, over=True)
    answer = receive_tell(RULES, WAITS, ReceiveTell(over, "n"))
    assert isinstance(answer, Accepted)
    me = answer.local
    assert (me.at, me.session, me.sent, me.wants) == ("n", 2, (), True)
    assert answer.outputs == (Asked("m", "c", 1, 2, 0),)
    assert isinstance(want(RULES, me._replace(wants=False), Want()), Accepted)


def test_a_member_asks_for_what_is_new_and_gives_back_what_is_gone() -> None:
    asked = Asked("m", "c", 1, 1, 1)
    answer = receive_ask(RULES, Member("m", clock=2), ReceiveAsk(asked))
    assert isinstance(answer, Accepted)
    first = Session("c", 1, 1, 2, 1, 1)
    assert answer.outputs == (Wants(first), Says(first))
    assert words(receive_ask(RULES, answer.local, ReceiveAsk(asked))) == ["a.number > old.asked"]
    other = receive_ask(RULES, answer.local, ReceiveAsk(Asked("m", "c", 1, 2, 2)))
    assert isinstance(other, Accepted)
    second = Session("c", 1, 2, 2, 2, 2)
    assert other.outputs == (GivesBack(first), Wants(second), Says(second))


@pytest.mark.parametrize(
    "case",
    [
        "lease-undone",
        "sending-undone",
        "own-undone",
        "leave-undone",
        "late-undone",
        "return-undone",
    ],
)
def test_a_promise_breaks_where_its_rule_is_taken_back(case: str) -> None:
    found = CASES[f"leases-{case}"]
    system = machine(found.constants)
    broken = explore(system, invariants={found.expected: system.invariants[found.expected]})
    assert broken.violation is not None
    assert broken.violation.invariant == found.expected


def test_a_member_stays_away_while_a_client_may_believe_in_what_it_had() -> None:
    down = Member("m", clock=5, up=False)
    early = come_back(RULES, down, ComeBack(3))
    assert words(early) == ["WaitsToReturn => since[m] >= GiveUp"]
    assert words(come_back(RULES, Member("m"), ComeBack(4))) == ["~up[m]"]
    answer = come_back(RULES, down, ComeBack(4))
    assert isinstance(answer, Accepted)
    assert answer.local == Member("m", clock=5)
    assert answer.outputs == (GivesBack(None),)
    assert isinstance(come_back(Rules(waits_to_return=False), down, ComeBack(0)), Accepted)


def test_a_client_that_is_silent_or_stands_still_does_not_believe_too_long() -> None:
    system = machine(CASES["leases-crash"].constants)
    found = explore(system, invariants=system.invariants)
    assert found.complete
    assert found.violation is None
