"""FRAG's model: what each handler does, and that its promises break where a rule is taken back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.frag.events import (
    Deliver,
    Forget,
    Fragment,
    GivenUp,
    GiveUp,
    InstallView,
    Keep,
    ReceiveFragment,
    ReceiveGiveUp,
    Send,
    SendFragment,
)
from raincheck.model.frag.handlers import HANDLERS, INPUTS, Kept, Local, Rules, Sending
from raincheck.model.frag.system import machine
from raincheck.model.machine.explore import explore
from raincheck.model.machine.machine import Accepted, Refused
from raincheck.model.machine.runs import Address

A, B, C = (Address(name, 0) for name in "abc")
RULES = Rules()
ME = Local(A, view=1, members=(A, B), epoch=1)
CASES = {case.name: case for case in load_cases() if case.protocol == "frag"}


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


def fragments(sender: Address, *parts: int, of: int, epoch: int = 1) -> Iterable[ReceiveFragment]:
    return [ReceiveFragment(sender, 1, epoch, part, of) for part in parts]


def test_every_input_has_its_handler() -> None:
    assert INPUTS.keys() == HANDLERS.keys()


def test_a_message_is_delivered_with_its_last_fragment() -> None:
    me, outputs = after(ME, *fragments(B, 0, 1, of=3))
    assert outputs == (Keep(B, 1),)
    assert me.kept == ((B, ((1, Kept(2, 3)),)),)

    me, outputs = after(me, *fragments(B, 2, of=3))
    assert outputs == (Keep(B, 1), Deliver(B, 1))
    assert me.kept == ()


def test_what_is_out_of_place_or_of_another_epoch_changes_nothing() -> None:
    me, _ = after(ME, *fragments(B, 0, of=3))
    for each in (
        *fragments(B, 0, 2, of=3),
        *fragments(B, 1, of=2),
        *fragments(B, 1, of=3, epoch=2),
    ):
        assert after(me, each) == (me, ())


def test_a_sender_keeps_its_message_until_it_has_delivered_it() -> None:
    me, outputs = after(ME, Send(1, 2), SendFragment(1), SendFragment(1))
    assert outputs == (Fragment(1, 1, 1, 2),)
    assert me.sending == ((1, Sending(2, 2)),)

    me, _ = after(me, *fragments(A, 0, 1, of=2))
    assert me.sending == ()


def test_with_joiners_all_begin_anew_and_else_only_the_departed_are_forgotten() -> None:
    me, _ = after(ME, Send(1, 2), SendFragment(1), *fragments(A, 0, of=2), *fragments(B, 0, of=2))

    gone, outputs = after(me, InstallView(2, (A,), ()))
    assert outputs == (Forget(B, 1),)
    assert gone.epoch == 1
    assert gone.sending == ((1, Sending(2, 1)),)

    anew, outputs = after(me, InstallView(2, (A, B, C), (C,)))
    assert outputs == (Forget(A, 1), Forget(B, 1))
    assert anew.epoch == 2
    assert anew.sending == ((1, Sending(2, 0)),)


def test_what_is_given_up_is_forgotten_by_all() -> None:
    me, outputs = after(ME, Send(1, 2), SendFragment(1), GiveUp(1))
    assert outputs == (GivenUp(1),)
    me, _ = after(me, *fragments(A, 0, of=2))
    me, outputs = after(me, ReceiveGiveUp(A, 1))
    assert outputs == (Forget(A, 1),)
    assert after(me, ReceiveGiveUp(A, 1)) == (me, ())


def test_refusals_have_the_words_of_the_specification() -> None:
    full, _ = after(ME, Send(1, 3))
    sent, _ = after(full, *[SendFragment(1)] * 3)
    assert refused(Local(A), Send(1, 1)) == ["Running(n)"]
    assert refused(full, Send(1, 1)) == ["m \\notin DOMAIN sending[n]"]
    assert refused(full, Send(2, 2)) == ["MaySend(n, k)"]
    assert refused(ME, SendFragment(1)) == ["m \\in DOMAIN sending[n]"]
    assert refused(sent, SendFragment(1)) == ["sending[n][m].sent < sending[n][m].parts"]
    assert refused(sent, GiveUp(1)) == ["sending[n][m].sent < sending[n][m].parts"]
    assert refused(ME, *fragments(C, 0, of=2)) == ["f.from \\in CurrentView(n).members"]
    assert refused(ME, InstallView(1, (A,), ())) == ["view[n] < v"]


@pytest.mark.parametrize(
    ("case", "rule", "broken"),
    [
        ("frag-f3-repaired", "checks_epoch", "NoDuplicates"),
        ("frag-f4-repaired", "forgets_departed", "Bounded"),
    ],
)
def test_a_promise_breaks_where_its_rule_is_taken_back(case: str, rule: str, broken: str) -> None:
    system = machine(CASES[case].constants)
    found = explore(system, invariants=system.invariants)
    assert found.complete
    assert found.violation is None
    assert (len(found.graph), found.depth) == (CASES[case].distinct, CASES[case].depth)

    system.rules = dataclasses.replace(system.rules, **{rule: False})
    assert explore(system, invariants={broken: system.invariants[broken]}).violation is not None
