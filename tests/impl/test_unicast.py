"""UNICAST: in order, exactly once, over a network that loses; with bounded buffers."""

import random

import pytest

from raincheck.impl.messages import Address
from raincheck.impl.stack.application import Application
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.layer import Ground, piled
from raincheck.impl.stack.outbox import Outbox
from raincheck.impl.stack.unicast_layer import UnicastLayer
from raincheck.impl.unicast.events import Peer
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import CONTROL, FORWARDS, UnicastAck, UnicastHeader, ViewAckBody

A, B = Address("a", 0), Address("b", 0)
CODEC = Codec("x", 60_000)


class Pair:
    """Two ends; `carry` takes everything across, but what `lost` says of each datagram's number."""

    def __init__(self, **settings):
        config = StackConfig(**settings)
        self.now = 0.0
        self.sent = 0
        self.received = []
        self.outboxes = {}
        self.ends = {}
        for me, other in ((A, B), (B, A)):
            outbox = self.outboxes[me] = Outbox(CODEC)
            outbox.endpoints[other] = (other.node, 1)
            ground = Ground(me, config, outbox, 1)
            self.ends[me] = UnicastLayer(ground)
            piled([self.ends[me], Application(ground)])

    def send(self, *numbers, lane=FORWARDS):
        for number in numbers:
            self.ends[A].send(B, lane, ViewAckBody(number), self.now)

    def carry(self, lost=lambda _: False, consume=True):
        for me, other in ((A, B), (B, A)):
            for out in self.outboxes[me].drain():
                self.sent += 1
                if lost(self.sent):
                    continue
                header, payloads = CODEC.decode(out.data)
                if hasattr(header, "body"):
                    self.ends[other].receive(header, payloads, self.now)
                else:
                    self.ends[other].receive_ack(header, self.now)
            self.ends[other].handle_timer(self.now)
        if consume:
            self.consume(FORWARDS)

    def consume(self, lane):
        while (datagram := self.ends[B].pull(lane, self.now)) is not None:
            self.received.append(datagram[0].body.counter)

    def pass_time(self, seconds, **how):
        self.now += seconds
        for end in self.ends.values():
            end.handle_timer(self.now)
        self.carry(**how)

    def finish(self):
        for _ in range(100):
            self.pass_time(0.1)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_lost_is_sent_again_until_all_has_arrived_once_and_in_order(seed):
    pair, lots = Pair(unicast_window=8), random.Random(seed)

    for first in range(1, 101, 10):
        pair.send(*range(first, first + 10))
        pair.pass_time(0.03, lost=lambda _: lots.random() < 0.3)
    pair.finish()

    assert pair.received == list(range(1, 101))
    assert sum(sum(end.kept()) for end in pair.ends.values()) == 0
    assert all(end.deadline() == float("inf") for end in pair.ends.values())


def test_a_gap_is_reported_at_once_and_closed_without_waiting_for_the_timer():
    pair = Pair()
    pair.send(1, 2, 3)

    pair.carry(lost=lambda number: number == 1)
    assert pair.received == []
    pair.pass_time(0.006, lost=lambda _: False)
    pair.pass_time(0.001)

    assert pair.received == [1, 2, 3]
    assert pair.now < StackConfig().retransmit_after


def test_the_last_datagram_is_sent_again_by_the_timer_with_growing_pauses():
    pair = Pair(retransmit_after=0.1, retransmit_max=0.4)
    pair.send(1)
    outbox, end = pair.outboxes[A], pair.ends[A]

    times = []
    while pair.now < 2.0:
        times += [round(pair.now, 3)] * len(outbox.drain())
        pair.now = end.deadline()
        end.handle_timer(pair.now)

    assert times == [0.0, 0.1, 0.3, 0.7, 1.1, 1.5, 1.9]


def test_a_busy_receiver_makes_its_sender_wait_and_both_buffers_stay_bounded():
    pair = Pair(unicast_window=4)

    pair.send(*range(1, 21))
    for _ in range(50):
        pair.pass_time(0.05, consume=False)
        assert len(list(pair.ends[B].kept())) == 1
        assert sum(pair.ends[B].kept()) <= 4 + 1
    assert pair.received == []
    pair.finish()

    assert pair.received == list(range(1, 21))


def test_news_of_an_open_window_may_be_lost():
    pair = Pair(unicast_window=2)
    pair.send(*range(1, 8))
    pair.carry(consume=False)

    pair.consume(FORWARDS)
    pair.pass_time(0.02, lost=lambda _: True)
    pair.finish()

    assert pair.received == list(range(1, 8))


def test_duplicates_are_counted_and_dropped():
    pair = Pair()
    pair.send(1)
    [out] = pair.outboxes[A].drain()
    header, _ = CODEC.decode(out.data)

    pair.ends[B].receive(header, None, 0.0)
    pair.ends[B].receive(header, None, 0.0)
    pair.consume(FORWARDS)
    pair.ends[B].receive(header, None, 0.0)
    pair.consume(FORWARDS)

    assert pair.received == [1]
    assert pair.outboxes[B].counters["unicast_duplicate"] == 2


def test_the_lanes_do_not_hold_each_other_up():
    pair = Pair(unicast_window=2)
    pair.send(1, 2, 3, 4)
    pair.send(99, lane=CONTROL)

    pair.carry(consume=False)
    pair.consume(CONTROL)

    assert pair.received == [99]


def test_a_sender_that_begins_anew_is_recognised_and_the_old_connection_is_dead():
    pair = Pair()
    pair.send(1, 2)
    old = [CODEC.decode(out.data)[0] for out in pair.outboxes[A].drain()]
    pair.ends[B].receive(old[0], None, 0.0)
    pair.ends[A].forget([B])

    pair.send(7)
    pair.carry()
    pair.ends[B].receive(old[1], None, 0.0)
    pair.carry()

    assert pair.received == [7]
    assert pair.outboxes[B].counters["stale_connection"] == 1


def test_a_late_duplicate_does_not_open_a_closed_connection_again():
    pair = Pair()
    pair.send(1)
    [out] = pair.outboxes[A].drain()
    header, _ = CODEC.decode(out.data)
    end = pair.ends[B]
    end.receive(header, None, 0.0)
    pair.consume(FORWARDS)
    end.forget([A])

    end.receive(header, None, 0.0)
    pair.consume(FORWARDS)

    assert len(pair.received) == 1
    assert end.connections() == 0
    assert pair.outboxes[B].counters["stale_connection"] == 1
    pair.ends[A].forget([B])
    pair.send(2)
    pair.carry()
    assert len(pair.received) == 2


def test_only_so_many_closed_connections_are_remembered():
    end = Pair().ends[B]
    for number in range(1, 5000):
        source = Address("a", number)
        end.receive(UnicastHeader(source, B, FORWARDS, 1, 1, ViewAckBody(1)), None, 0.0)
        end.forget([source])

    assert len(end.core.closed) == 4096
    assert Peer("a", 4999, FORWARDS) in end.core.closed


def test_an_acknowledgement_of_what_was_never_sent_changes_nothing():
    pair = Pair()
    pair.send(1)
    pair.carry()
    pair.pass_time(0.01, lost=lambda _: True)
    pair.ends[A].receive_ack(UnicastAck(B, A, FORWARDS, 1, 99, 99, ((1, 1 << 50),)), pair.now)

    assert pair.outboxes[A].counters["stale_ack"] == 1
    assert sum(pair.ends[A].kept()) == 1
