"""The datagrams of processes that start: what is read, what is dropped, and what strangers get."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.ring.start_wire import ASK_SIZE, Said, StartFrames
from raincheck.impl.ring.starter import Starter
from raincheck.impl.ring_start.core import RingStart
from raincheck.impl.ring_start.events import Info

A, B = Address("a", 5), Address("b", 6)
AT_A, AT_B, ELSEWHERE = ("10.0.0.1", 7), ("10.0.0.2", 7), ("10.0.0.9", 7)
FRAMES = StartFrames("locks", "ab")
MEMBER = Info(A, "member", frozenset((A, B)))
GOOD = [FRAMES.ask(7), FRAMES.tell(7, MEMBER), FRAMES.tell(9, Info(B, "left", frozenset()))]


def started(core: RingStart | None = None, **places: Endpoint) -> Starter:
    """A process b that has asked."""
    core = core or RingStart(B, frozenset("ab"))
    starter = Starter("locks", core, places or {"a": AT_A}, lambda: (), pause=0.1, seed=1)
    starter.start(0.0)
    return starter


def question_to(starter: Starter, place: Endpoint) -> int:
    """What it has asked there."""
    (asked,) = [data for data, to in starter.poll_datagrams() if to == place]
    return FRAMES.read(asked).question


def test_what_is_made_is_read() -> None:
    assert FRAMES.read(GOOD[0]) == Said(7, FRAMES.members, None)
    assert FRAMES.read(GOOD[1]) == Said(7, FRAMES.members, MEMBER)
    assert len(GOOD[0]) == ASK_SIZE


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(GOOD), st.data())
def test_what_is_damaged_is_dropped_with_a_reason(good: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(good) - 1))
    flipped = good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]
    damaged = data.draw(st.sampled_from([good[:at], flipped, good + b"x"]))
    with pytest.raises(WireError):
        FRAMES.read(damaged)


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=80))
def test_noise_is_dropped(noise: bytes) -> None:
    starter = started()
    starter.receive([(noise, AT_A), (b"RS" + noise, AT_A)], 0.0)
    assert sum(starter.counters.values()) == 2
    assert starter.core.stage == "asking"


@pytest.mark.parametrize(
    ("place", "off", "reason"),
    [(AT_A, 1, "start.unasked"), (ELSEWHERE, 0, "start.unasked")],
    ids=["another question", "from elsewhere"],
)
def test_an_answer_counts_only_from_where_it_was_asked(
    place: Endpoint, off: int, reason: str
) -> None:
    starter = started()
    question = question_to(starter, AT_A)
    starter.receive([(FRAMES.tell(question + off, MEMBER), place)], 0.0)
    assert (starter.core.stage, starter.counters[reason]) == ("asking", 1)
    starter.receive([(FRAMES.tell(question, MEMBER), AT_A)], 0.0)
    assert starter.core.stage == "member"


def test_an_answer_to_the_first_question_is_none_to_the_second() -> None:
    starter = started(RingStart(A, frozenset("ab")), b=AT_B)
    first = question_to(starter, AT_B)
    asking = Info(B, "asking", frozenset())
    starter.receive([(FRAMES.tell(first, asking), AT_B)], 0.0)
    assert (starter.core.stage, starter.core.once) == ("asking", {A, B})
    assert starter.missing()["b at 10.0.0.2:7"] == "to answer"

    again = question_to(starter, AT_B)  # it asks at once
    starter.receive([(FRAMES.tell(first, asking), AT_B)], 0.0)  # this one was late
    assert (starter.core.stage, starter.counters["start.unasked"]) == ("asking", 1)
    starter.receive([(FRAMES.tell(again, asking), AT_B)], 0.0)
    assert (starter.core.stage, starter.core.ring) == ("attempting", {A, B})


def test_a_member_speaks_from_its_own_place_only() -> None:
    starter = started(RingStart(B, frozenset("abc")), a=AT_A, c=ELSEWHERE)
    asked = {to: data for data, to in starter.poll_datagrams()}
    question = FRAMES.read(asked[ELSEWHERE]).question
    starter.receive([(FRAMES.tell(question, MEMBER), ELSEWHERE)], 0.0)  # c says that it is a
    assert (starter.core.stage, starter.counters["start.stranger"]) == ("asking", 1)


def test_a_stranger_gets_no_more_bytes_than_it_sends() -> None:
    ring = frozenset(Address(f"{n:060}", n) for n in range(40))
    core = RingStart(B, frozenset("ab"))
    core.stage, core.ring = "member", ring
    starter = started(core)
    starter.poll_datagrams()
    starter.receive([(FRAMES.ask(1), ELSEWHERE), (FRAMES.ask(2), AT_A)], 0.0)
    answers: list[Any] = starter.poll_datagrams()
    assert [to for _, to in answers] == [AT_A]
    assert starter.counters["start.too_long"] == 1
