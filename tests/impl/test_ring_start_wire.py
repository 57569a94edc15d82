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
AT_A, AT_B, AT_C, ELSEWHERE = (("10.0.0.1", 7), ("10.0.0.2", 7), ("10.0.0.3", 7), ("10.0.0.9", 7))
PLACES = {"a": AT_A, "b": AT_B, "c": AT_C}
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
    said = [FRAMES.read(data) for data, to in starter.poll_datagrams() if to == place]
    (asked,) = [each.question for each in said if each.info is None]
    return asked


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


class Three:
    """Members a, b and c, and a network that holds up what it is told to."""

    def __init__(self) -> None:
        self.frames = StartFrames("locks", "abc")
        self.now = 0.0
        self.late: list[tuple[bytes, Endpoint, Starter]] = []
        self.starters: dict[str, Starter] = {}
        for name in PLACES:
            self.begin(name, 0)

    def begin(self, name: str, life: int) -> None:
        core = RingStart(Address(name, life), frozenset("abc"))
        places = {other: at for other, at in PLACES.items() if other != name}
        starter = Starter("locks", core, places, lambda: (), pause=0.1, seed=ord(name) + life)
        self.starters[name] = starter
        starter.start(self.now)

    def run(self, *held: str) -> None:
        """Let all ask, and bring what they send, but for the answers on the ways held."""
        self.now += 1.0
        for starter in self.starters.values():
            starter.handle_timer(self.now)
        while sent := [(n, *each) for n, s in self.starters.items() for each in s.poll_datagrams()]:
            for name, datagram, place in sent:
                other = next(each for each, at in PLACES.items() if at == place)
                to = self.starters[other]
                info = self.frames.read(datagram).info
                if info is None or f"{name}{other}" not in held:
                    to.receive([(datagram, PLACES[name])], self.now)
                elif info.stage == "attempting":
                    self.late.append((datagram, PLACES[name], to))

    @property
    def rings(self) -> set[Any]:
        """The rings that anybody is in."""
        return {s.core.ring for s in self.starters.values() if s.core.stage == "member"}


@pytest.mark.parametrize("anew", [True, False])
def test_a_late_answer_of_one_that_has_forgotten_founds_no_second_ring(
    anew: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not anew:
        monkeypatch.setattr(Starter, "_told_nothing", lambda *_: None)
    three = Three()
    three.run("ab", "ac")  # a has recorded a founding, which b and c do not hear
    three.run("ab", "ac")
    late = list(three.late)
    assert three.starters["b"] in [to for _, _, to in late]
    assert three.starters["a"].core.stage == "attempting"

    three.begin("a", 1)  # a forgets, and founds the ring with c, and b hears nothing of it
    three.run("ab", "bc", "cb")
    three.run("ab", "bc", "cb")
    assert len(three.rings) == 1
    for datagram, source, to in late:
        to.receive([(datagram, source)], three.now)
    assert len(three.rings) == (1 if anew else 2)

    three.run()  # in the end all are in it
    assert (len(three.rings), three.starters["b"].settled) == (1 if anew else 2, True)


def test_who_asks_anew_asks_once_for_each_question() -> None:
    starter = started()
    first = question_to(starter, AT_A)
    starter.receive([(FRAMES.ask(1), ELSEWHERE)], 0.0)  # this is not the first member
    assert len(starter.poll_datagrams()) == 1
    starter.receive([(FRAMES.ask(1), AT_A)], 0.0)
    again = question_to(starter, AT_A)
    assert again != first
    starter.receive([(FRAMES.ask(1), AT_A)], 0.0)
    assert [FRAMES.read(data).info is None for data, _ in starter.poll_datagrams()] == [False]
    starter.receive([(FRAMES.tell(first, MEMBER), AT_A)], 0.0)
    assert (starter.core.stage, starter.counters["start.unasked"]) == ("asking", 1)
    starter.receive([(FRAMES.tell(again, MEMBER), AT_A)], 0.0)
    assert starter.core.stage == "member"


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
