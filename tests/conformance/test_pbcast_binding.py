"""PBCAST's traces: its invariants are evaluated on them, and what breaks one is noticed."""

from __future__ import annotations

from typing import Any

import pytest

from raincheck.conformance.bindings.pbcast.invariants import INVARIANTS
from raincheck.conformance.trace.invariants.asked import OfState, OfStep, Unshown
from raincheck.model.machine.runs import Address
from raincheck.model.pbcast.events import GetDigest, GotDigest, Heard, ReceiveGossip, Request
from raincheck.model.pbcast.handlers import Known, Local, Rules

A, B = Address("a", 0), Address("b", 0)
ALL = frozenset((A, B))
ONE = frozenset((1,))
SAID = ((A, 1),)
KNOWN = Known(A, 1, 1, SAID, ALL, frozenset(), SAID, unsent=False)
GOOD = Local(B, view=1, members=ALL, cache=(KNOWN,), delivered=SAID, held=((A, ONE),))
COPY = ReceiveGossip(A, A, 1, 1, SAID, frozenset((A,)), frozenset((B,)), SAID, SAID)
ASKED = Request(frozenset((A,)), ((A, ONE),))


def holds(name: str, after: Local, *step: Any) -> bool | None:
    (part,) = INVARIANTS.of[name]
    if isinstance(part, OfState):
        return part.evaluate(Rules(), None, after)
    assert isinstance(part, OfStep)
    before, event, outputs = step
    assert type(event).__name__ in part.actions
    return part.holds(before, event, after, outputs)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("TypeOK", GOOD._replace(members=frozenset((A,)))),
        ("TypeOK", GOOD._replace(purged=((A, 2),))),
        ("TypeOK", GOOD._replace(purged=SAID)),
        ("TypeOK", GOOD._replace(cache=(KNOWN._replace(seen=frozenset((A,))),))),
        ("TypeOK", GOOD._replace(cache=(KNOWN._replace(lowest=((A, 2),)),))),
        ("TypeOK", GOOD._replace(cache=(KNOWN._replace(view=2),))),
        ("LagKept", GOOD._replace(lag=1, purged=SAID, held=())),
        ("HeardAreMembers", GOOD._replace(heard=frozenset((Address("c", 0),)))),
    ],
)
def test_a_state_that_breaks_an_invariant_is_noticed(name: str, bad: Local) -> None:
    assert holds(name, GOOD)
    assert not holds(name, bad)


def test_a_request_for_what_is_held_is_noticed() -> None:
    lacking = GOOD._replace(delivered=(), held=())

    assert holds("NoFutileAsk", lacking, lacking, COPY, (Heard(ALL), ASKED))
    assert holds("NoFutileAsk", GOOD, GOOD, COPY, (Heard(ALL),)) is None
    assert holds("NoFutileAsk", GOOD, GOOD, COPY, (ASKED,)) is False


def test_a_digest_for_another_layer_is_noticed() -> None:
    asked = GetDigest("STATE_TRANSFER")

    assert holds("AnswerToAsker", GOOD, GOOD, asked, (GotDigest("STATE_TRANSFER", SAID),))
    assert not holds("AnswerToAsker", GOOD, GOOD, asked, (GotDigest("GMS", SAID),))


def test_what_a_trace_cannot_show_is_named() -> None:
    unshown = {name for name, parts in INVARIANTS.of.items() if isinstance(parts[0], Unshown)}

    assert unshown == {
        *("NothingOutOfReach", "AskedHas"),
        *("RoundCollects", "RoundDelivers", "FloodEnds"),
    }
