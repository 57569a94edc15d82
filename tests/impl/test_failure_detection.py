"""Failure detection: a suspicion counts only when a direct question was not answered either."""

from collections import Counter

import pytest

from raincheck.impl.gms.events import Suspect, Trust
from raincheck.impl.messages import Address, Digest, ViewId
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.failure_detection import _FORMER, FailureDetection
from raincheck.impl.stack.layer import Ground, Layer, piled
from raincheck.impl.stack.outbox import Outbox
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import Alive, AreYouAlive

A, B, C = (Address(name, 0) for name in "abc")
CONFIG = StackConfig(heartbeat=0.1, suspect_after=1.0, verify_after=0.2)
CODEC = Codec("raincheck", 60_000)


class Streams(Layer):
    """Below: makes the signs of life."""

    def alive(self, _to):
        return Alive(A, ViewId(1, A), 0, False, Digest())


class Gms(Layer):
    """Above: what it is passed."""

    def up(self, event, now):
        self.passed = [*getattr(self, "passed", ()), (event, now)]


def layer(outbox):
    ground = Ground(A, CONFIG, outbox)
    made = FailureDetection(ground)
    piled([Streams(ground), made, Gms(ground)])
    return made


def detection():
    outbox = Outbox(CODEC)
    outbox.endpoints |= {m: (f"10.0.0.{n}", 1) for n, m in enumerate((A, B, C), 1)}
    made = layer(outbox)
    made.watch((A, B, C), (), 0.0)
    return made, outbox


def run(made, outbox, until, heard=(), since=0.0):
    """Let the timer fire as it wants to, `heard` speaking all the time; what went out."""
    sent, now = [], since
    while (due := made.deadline()) <= until:
        now = max(now, due)
        for member in heard:
            made.heard(member, now)
        made.handle_timer(now)
        sent += [(now, CODEC.decode(out.data).header, out.to) for out in outbox.drain()]
    return sent


def test_a_silent_member_is_asked_and_then_suspected():
    made, outbox = detection()

    sent = run(made, outbox, 1.15, heard=[B])
    asked = [(at, header) for at, header, _ in sent if isinstance(header, AreYouAlive)]
    assert {header.to for _, header in asked} == {C}
    assert len(asked) >= 2
    assert made.counters["are_you_alive"] == len(asked)
    assert made.take() == []

    run(made, outbox, 1.3, heard=[B], since=1.15)
    assert made.take() == [Suspect(C)]
    assert made.take() == []


def test_signs_of_life_are_given_at_an_even_pace_also_while_somebody_is_asked():
    made, outbox = detection()
    sent = run(made, outbox, 1.45)
    assert any(isinstance(header, AreYouAlive) for _, header, _ in sent)
    beats = [round(at, 3) for at, header, to in sent if isinstance(header, Alive) if len(to) == 2]
    assert beats == [round(0.1 * n, 3) for n in range(15)]


def test_whoever_answers_the_question_is_not_suspected():
    made, outbox = detection()
    run(made, outbox, 1.1, heard=[B])
    made.heard(C, 1.15)

    run(made, outbox, 2.0, heard=[B], since=1.15)

    assert made.take() == []


def test_a_suspected_member_that_is_heard_again_is_trusted():
    made, outbox = detection()
    run(made, outbox, 1.5, heard=[B])
    assert made.take() == [Suspect(C)]

    made.heard(C, 1.6)

    assert made.take() == [Trust(C)]
    assert made.suspected == set()


def test_what_was_found_goes_up_to_gms_once_and_in_order():
    made, outbox = detection()
    run(made, outbox, 1.5)
    made.heard(C, 1.6)
    assert made.stirred

    assert not made.step(1.6)
    assert made.above.passed == [(each, 1.6) for each in (Suspect(B), Suspect(C), Trust(C))]
    assert not made.stirred
    made.step(1.7)
    assert len(made.above.passed) == 3


def test_who_is_asked_gives_a_sign_of_life():
    made, outbox = detection()
    made.asked(AreYouAlive(B, A), 0.0)
    [answer] = outbox.drain()
    assert isinstance(CODEC.decode(answer.data).header, Alive)
    assert answer.to == (("10.0.0.2", 1),)
    made.asked(AreYouAlive(B, C), 0.0)
    assert outbox.drain() == []


def test_a_process_that_was_asleep_suspects_nobody_at_once():
    made, outbox = detection()
    made.handle_timer(0.0)
    outbox.drain()

    made.handle_timer(60.0)  # the clock has jumped, or the machine was suspended

    assert made.take() == []
    assert made.counters["overslept"] == 1
    sent = run(made, outbox, 60.9, since=60.0)
    assert not any(isinstance(header, AreYouAlive) for _, header, _ in sent)


def test_those_who_were_taken_out_by_suspicion_are_notified_now_and_then():
    made, outbox = detection()
    run(made, outbox, 1.5, heard=[B])
    made.watch((A, B), (), 1.5)

    sent = run(made, outbox, 4.0, heard=[B], since=1.5)

    to_c = [at for at, header, to in sent if to == (("10.0.0.3", 1),)]
    assert 2 <= len(to_c) <= 3
    made.watch((A, B, Address("c", 1)), (Address("c", 1),), 4.0)  # it has come back
    sent = run(made, outbox, 6.0, heard=[B, Address("c", 1)], since=4.0)
    assert not any(to == (("10.0.0.3", 1),) for _, _, to in sent)


def test_whoever_left_is_not_bothered():
    made, outbox = detection()
    made.watch((A, B), (), 0.5)

    sent = run(made, outbox, 4.0, heard=[B], since=0.5)

    assert not any(to == (("10.0.0.3", 1),) for _, _, to in sent)


def test_a_new_view_does_not_hide_the_silence_of_who_stays():
    made, outbox = detection()
    run(made, outbox, 0.9, heard=[B])
    made.watch((A, B, C), (), 0.9)
    assert made.silence(0.9) == {C: 0.9}
    run(made, outbox, 1.3, heard=[B], since=0.9)
    assert made.take() == [Suspect(C)]

    made.watch((A, B, C), (C,), 1.3)  # it is admitted again, and begins to speak now
    assert made.silence(1.5) == {}
    assert made.suspected == set()


def test_who_comes_into_view_begins_to_be_silent_then():
    made, _ = detection()
    stranger = Address("d", 0)
    made.watch((A, B, stranger), (), 5.0)
    assert made.silence(5.4) == {B: 5.4, stranger: pytest.approx(0.4)}


def test_of_many_who_were_taken_out_only_so_many_are_notified():
    outbox = Outbox(CODEC)
    many = [Address(f"m{n}", 0) for n in range(_FORMER + 10)]
    outbox.endpoints |= {m: ("10.0.1.1", n) for n, m in enumerate(many)}
    made = layer(outbox)
    made.watch((A, *many), (), 0.0)
    run(made, outbox, 1.5)
    assert made.suspected == set(many)
    made.watch((A,), (), 1.5)

    told = Counter(to for _, _, to in run(made, outbox, 3.6, since=1.5))
    assert len(told) == _FORMER == 64
    assert set(told.values()) == {2}
    assert sum(made.was_member(m, outbox.endpoints[m]) for m in many) == _FORMER
    assert not any(made.was_member(m, ("10.0.1.2", 1)) for m in many)


def test_those_who_were_taken_out_are_notified_in_their_order_so_that_runs_can_be_repeated():
    outbox = Outbox(CODEC)
    many = [Address(f"m{n:02}", 0) for n in range(20)]
    outbox.endpoints |= {m: ("10.0.1.1", n) for n, m in enumerate(many)}
    made = layer(outbox)
    made.watch((A, *many), (), 0.0)
    run(made, outbox, 1.5)
    made.watch((A,), (), 1.5)

    ports = [to[0][1] for _, _, to in run(made, outbox, 2.6, since=1.5) if to]
    assert ports == list(range(20))


def test_a_few_signs_of_life_are_missed_before_somebody_is_called_silent():
    made, _ = detection()
    made.heard(B, 0.1)
    assert made.silence(0.29) == {}
    assert made.silence(0.31) == {C: 0.31}
    assert made.silence(0.41) == {B: pytest.approx(0.31), C: 0.41}
