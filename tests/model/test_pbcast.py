"""PBCAST's model: what each handler does, and that promises break where a rule is taken back."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.machine.explore import explore
from raincheck.model.machine.machine import Accepted, Refused
from raincheck.model.machine.runs import Address
from raincheck.model.pbcast.events import (
    INPUTS,
    Arrive,
    Check,
    Data,
    Deliver,
    Delivered,
    Forward,
    GetDigest,
    Gossip,
    GotDigest,
    Heard,
    InstallView,
    Multicast,
    ReceiveGossip,
    ReceiveRequest,
    ReceiveResponse,
    Request,
    Response,
    SendGossip,
)
from raincheck.model.pbcast.handlers import HANDLERS, Known, Local, Rules
from raincheck.model.pbcast.proof.walks import everything
from raincheck.model.pbcast.state import Datagram
from raincheck.model.pbcast.system import machine

RULES = Rules()
A, B, C = Address("a", 0), Address("b", 0), Address("c", 0)
ALL = frozenset((A, B, C))
ONE = frozenset((1,))
CASES = {case.name: case for case in load_cases() if case.protocol == "pbcast"}


def member(who: Address, **fields: Any) -> Local:
    return Local(who, view=1, members=ALL, **fields)


def after(me: Local, *events: Any, rules: Rules = RULES) -> tuple[Local, tuple[Any, ...]]:
    """The local state and the outputs of the last event."""
    outputs: tuple[Any, ...] = ()
    for event in events:
        answer = HANDLERS[type(event).__name__](rules, me, event)
        assert isinstance(answer, Accepted), answer
        me, outputs = answer
    return me, outputs


def refused(me: Local, event: Any) -> list[str]:
    answer = HANDLERS[type(event).__name__](RULES, me, event)
    assert isinstance(answer, Refused)
    return [conjunct.text for conjunct in answer.conjuncts]


def copy(seen: frozenset[Address], number: int = 1, sender: Address = A) -> ReceiveGossip:
    """A copy of a gossip of a, which has delivered its own first message."""
    return ReceiveGossip(
        sender,
        A,
        number,
        1,
        ((A, 1),),
        seen,
        ALL - seen,
        ((A, 1),),
        ((A, 1),) if sender == A else (),
    )


def test_every_input_has_its_handler() -> None:
    assert INPUTS.keys() == HANDLERS.keys()


def test_a_multicast_is_delivered_to_its_sender_at_once() -> None:
    me, outputs = after(member(A), Multicast())
    assert outputs == (Data(frozenset((B, C)), 1), Delivered(A, 1))
    assert (me.sent, me.delivered, me.held) == (1, ((A, 1),), ((A, ONE),))
    assert refused(Local(A), Multicast()) == ["Running(n)"]


def test_messages_behind_a_gap_wait() -> None:
    me, outputs = after(member(B), Arrive(A, 2))
    assert (me.delivered, me.held, outputs) == ((), ((A, frozenset((2,))),), ())
    me, outputs = after(me, ReceiveResponse(A, ((A, ONE),)))
    assert (me.delivered, outputs) == (((A, 2),), (Delivered(A, 2),))
    assert refused(me, Arrive(Address("d", 0), 1)) == ["s \\in Members(n)"]


def test_a_slow_consumer_takes_one_message_at_a_time() -> None:
    rules = Rules(prompt=False)
    me, outputs = after(member(B), Arrive(A, 1), rules=rules)
    assert (me.delivered, outputs) == ((), ())
    me, outputs = after(me, Deliver(A), rules=rules)
    assert (me.delivered, outputs) == (((A, 1),), (Delivered(A, 1),))
    assert refused(me, Deliver(A)) == ["delivered[n][s] + 1 \\in held[n][s]"]


def test_a_gossip_goes_to_some_of_those_that_have_not_seen_it() -> None:
    me, outputs = after(member(A, delivered=((A, 1),)), SendGossip(frozenset((B,))))
    said = ((A, 1),)
    assert outputs == (
        Gossip(frozenset((B,)), A, 1, 1, said, frozenset((A,)), frozenset((B, C)), said, said),
    )
    assert me.number == 1
    assert refused(me, SendGossip(frozenset())) == ["to \\in Recipients(n, …)"]
    assert refused(me, Forward(A, 1, frozenset((B,)))) == ["e.unsent"]


def test_who_gets_a_copy_asks_for_what_it_lacks_and_sends_the_gossip_again() -> None:
    me, outputs = after(member(B), copy(frozenset((A,))))
    assert outputs == (Request(frozenset((A,)), ((A, ONE),)),)
    (known,) = me.cache
    assert known == Known(A, 1, 1, ((A, 1),), frozenset((A, B)), frozenset((C,)), (), unsent=True)
    assert refused(me, Forward(A, 1, frozenset((A,)))) == ["to \\in Recipients(n, e.notSeen)"]
    me, outputs = after(me, Forward(A, 1, frozenset((C,))))
    assert outputs[0].seen == frozenset((A, B))
    assert not me.cache[0].unsent


def test_the_relay_is_asked_for_what_it_has_and_the_origin_for_the_rest() -> None:
    digest = ((A, 2),)
    seen = ReceiveGossip(B, A, 1, 1, digest, ALL - {C}, frozenset((C,)), (), ((A, 1),))
    _, outputs = after(member(C), seen)
    assert outputs == (
        Request(frozenset((B,)), ((A, ONE),)),
        Request(frozenset((A,)), ((A, frozenset((2,))),)),
    )


def test_who_completes_a_gossip_purges_and_tells_all() -> None:
    me = member(C, delivered=((A, 1),), held=((A, ONE),))
    me, outputs = after(me, copy(frozenset((A, B))))
    assert (me.purged, me.held, outputs) == (((A, 1),), (), ())
    assert refused(me, Forward(A, 1, frozenset((A,)))) == ["to \\in Recipients(n, e.notSeen)"]
    me, outputs = after(me, Forward(A, 1, frozenset((A, B))))
    assert outputs[0].not_seen == frozenset()


def test_copies_are_merged_and_the_lowest_digest_counts() -> None:
    me, _ = after(member(B), copy(frozenset((A,))), ReceiveResponse(A, ((A, ONE),)))
    me, _ = after(me, copy(frozenset((A, C)), sender=C))
    assert me.cache[0].seen == ALL
    assert me.purged == ()  # it had not delivered the message when it first saw the gossip
    assert me.cache[0].unsent


def test_older_gossips_and_those_of_other_views_are_ignored() -> None:
    me, _ = after(member(B), copy(frozenset((A,)), number=2))
    assert after(me, copy(frozenset((A,)), number=1)) == (me, ())
    other = copy(frozenset((A,)), number=3)._replace(view=2)
    assert after(me, other) == (me, ())


def test_a_handler_of_late_joiners_keeps_its_lag() -> None:
    held = ((A, frozenset((1, 2))),)
    me = member(C, lag=1, delivered=((A, 2),), held=held)
    said = ((A, 2),)
    seen = ReceiveGossip(B, A, 1, 1, said, ALL - {C}, frozenset((C,)), said, said)
    me, _ = after(me, seen)
    assert (me.purged, me.held) == (((A, 1),), ((A, frozenset((2,))),))


def test_what_is_held_is_sent_again() -> None:
    me = member(A, delivered=((A, 1),), held=((A, ONE),))
    _, outputs = after(me, ReceiveRequest(B, ((A, frozenset((1, 2))),)))
    assert outputs == (Response(frozenset((B,)), ((A, ONE),)),)
    _, outputs = after(me, ReceiveRequest(B, ((A, frozenset((2,))),)))
    assert outputs == ()


def test_a_watching_member_hears_of_those_that_have_seen_a_gossip() -> None:
    me, outputs = after(member(B, watches=True), copy(frozenset((A, C))))
    assert Heard(frozenset((A, C))) in outputs
    me, _ = after(me, Check())
    assert me.heard == frozenset()
    assert refused(me, Check()) == ["heard[n] # {}"]


def test_a_digest_goes_to_the_layer_that_asks() -> None:
    me = member(B, delivered=((A, 1),))
    assert after(me, GetDigest("STATE_TRANSFER"))[1] == (GotDigest("STATE_TRANSFER", ((A, 1),)),)


def test_a_joiner_begins_at_the_digest_of_its_view() -> None:
    me, _ = after(Local(C), InstallView(2, ALL, ((A, 3),)))
    assert (me.view, me.delivered, me.held) == (2, ((A, 3),), ())
    assert refused(me, InstallView(2, ALL, ())) == ["v > view[n]"]
    assert refused(me, InstallView(3, frozenset((A,)), ())) == ["n \\in views[v].members"]


@pytest.mark.parametrize(
    ("case", "rule", "value", "broken"),
    [
        ("pbcast-f1-repaired", "gathers", False, "OnlyStablePurged"),
        ("pbcast-f2-repaired", "merges", False, "RoundCollects"),
        ("pbcast-f11-repaired", "view_check", "members", "HeardAreMembers"),
        ("pbcast-f9-repaired", "tagged", False, "AnswerToAsker"),
    ],
)
def test_a_promise_breaks_where_its_rule_is_taken_back(
    case: str, rule: str, value: Any, broken: str
) -> None:
    system = machine(CASES[case].constants)
    found = explore(system)
    assert found.complete
    assert found.violation is None
    assert (len(found.graph), found.depth) == (CASES[case].distinct, CASES[case].depth)

    system.rules = dataclasses.replace(system.rules, **{rule: value})
    assert explore(system, invariants={broken: system.invariants[broken]}).violation is not None


def test_the_order_of_steps_does_not_depend_on_how_a_set_lies_in_memory() -> None:
    """0 and 8 want one place in a small set, so that the one that comes first comes out first."""
    lies, stands = frozenset((0, 8)), frozenset((8, 0))
    assert lies == stands
    assert list(lies) != list(stands)
    system = everything(machine(CASES["pbcast-f1-repaired"].constants))
    (start,) = system.initial()

    def losses(numbers: frozenset[int]) -> list[Any]:
        wanted = (numbers, frozenset((3, 4)))
        bodies = [Request(frozenset(), ((C, some),)) for some in wanted]
        net = frozenset(Datagram(A, B, "Request", body) for body in bodies)
        moves = system.moves(start._replace(net=net))
        return [move.target.net for move in moves if move.action == "Lose"]

    assert len(losses(lies)) == 2
    assert losses(lies) == losses(stands)
