"""NAKACK: every stream in order and without gaps at every member; buffers end with stability."""

import random
from itertools import product

import pytest

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address, Digest, Payloads, Run, View, ViewId
from raincheck.impl.nakack.core import Nakack
from raincheck.impl.nakack.events import Deliver, Dropped, Freeze, ReceiveData
from raincheck.impl.nakack.streams import Held, Repairs, Stream
from raincheck.impl.sequencer.events import Data
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.layer import Ground
from raincheck.impl.stack.nakack_layer import NakackLayer
from raincheck.impl.stack.outbox import Outbox
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import Alive, DataHeader, Fetch, Nak

A, B, C = (Address(name, 0) for name in "abc")
CODEC = Codec("x", 60_000)


def view(counter, *members, joiners=()):
    return View(ViewId(counter, members[0]), members, joiners)


class Net:
    """Members in one view, and their deliveries as (source, bundle's number)."""

    def __init__(self, *members, **settings):
        self.now = 0.0
        self.outboxes, self.ends, self.delivered = {}, {}, {}
        config = StackConfig(**settings)
        for me in members:
            outbox = self.outboxes[me] = Outbox(CODEC)
            outbox.endpoints.update({other: (other.node, 1) for other in (A, B, C)})
            self.ends[me] = NakackLayer(Ground(me, config, outbox, 1))
            self.delivered[me] = []
        for me in members:
            self.ends[me].begin(view(1, *members), 0.0)

    def multicast(self, source, times=1):
        end = self.ends[source]
        for _ in range(times):
            run = Run(source, end.core.sent + 1, 1)
            payloads = Payloads.pack([b"x"])
            end.multicast(Data(run, end.core.view, payloads, end.core.sent + 1, 1), self.now)

    def carry(self, lost=lambda _source, _to: False):
        by_node = {me.node: me for me in self.ends}
        for source in self.ends:
            for out in self.outboxes[source].drain():
                for node, _ in out.to:
                    to = by_node.get(node)
                    if to is not None and not lost(source, to):
                        self.receive(to, out.data)
        for me in self.ends:
            self.deliver(me)

    def receive(self, to, raw):
        header, payloads = CODEC.decode(raw)
        end = self.ends[to]
        if isinstance(header, DataHeader):
            end.receive_data(header, payloads, raw, self.now)
        elif isinstance(header, Alive):
            end.receive_alive(header, self.now)
        elif isinstance(header, Nak):
            end.receive_nak(header, self.now)

    def deliver(self, me):
        while (bundle := self.ends[me].deliver()) is not None:
            self.delivered[me].append((bundle.header.source, bundle.header.seqno))
        self.ends[me].purge(self.stable())
        self.ends[me].acknowledge(self.now)

    def stable(self):
        """What all have delivered, as STABLE would find out."""
        members = next(iter(self.ends.values())).core.members
        ends = [self.ends[me] for me in members if me in self.ends]
        if len(ends) < len(members):
            return Digest()  # somebody has not voted
        digests = [dict(end.digests().delivered.entries) for end in ends]
        return Digest(tuple((m, min(d.get(m, 0) for d in digests)) for m in sorted(digests[0])))

    def pass_time(self, seconds, **how):
        self.now += seconds
        for end in self.ends.values():
            end.handle_timer(self.now)
        self.carry(**how)

    def finish(self):
        for _ in range(60):
            for me, end in self.ends.items():  # MEMBERSHIP's signs of life
                others = [member for member in end.core.members if member != me]
                self.outboxes[me].multicast(CODEC.encode(end.alive(others)), others)
            self.pass_time(0.1)

    def numbers(self, me, source):
        return [number for who, number in self.delivered[me] if who == source]


@pytest.mark.parametrize("seed", range(15))
def test_every_member_delivers_every_stream_in_order_in_spite_of_losses(seed):
    net, lots = Net(A, B, C, multicast_window=100), random.Random(seed)

    for source, _ in product((A, B), range(30)):
        net.multicast(source)
        net.pass_time(0.003, lost=lambda _s, _t: lots.random() < 0.3)
    net.finish()

    for me, source in product((A, B, C), (A, B)):
        assert net.numbers(me, source) == list(range(1, 31))
    assert all(sum(end.kept()) == 0 for end in net.ends.values())
    assert all(end.deadline() == float("inf") for end in net.ends.values())


def test_announcements_alone_find_the_loss_of_the_last_multicast_and_end_with_it():
    net = Net(A, B, C, retransmit_after=0.05, retransmit_max=0.2)
    net.multicast(A)
    net.carry(lost=lambda _s, _t: True)
    assert net.ends[A].deadline() == pytest.approx(0.05)

    sent = []
    while net.now < 0.6:
        net.now = net.ends[A].deadline()
        net.ends[A].handle_timer(net.now)
        for out in net.outboxes[A].drain():
            header, _ = CODEC.decode(out.data)
            assert (header.asking, header.highest) == (True, 1)
            sent.append((round(net.now, 3), len(out.to)))
    assert sent == [(0.05, 2), (0.15, 2), (0.35, 2), (0.55, 2), (0.75, 2)]

    while (due := net.ends[A].deadline()) < float("inf") or net.numbers(C, A) != [1]:
        net.pass_time(max(0.0, min(end.deadline() for end in net.ends.values()) - net.now))
        assert due < 5.0
    assert net.numbers(B, A) == net.numbers(C, A) == [1]


def test_who_has_been_acknowledged_has_nothing_to_announce():
    net = Net(A, B)
    net.multicast(A)
    net.carry()
    net.carry()
    net.pass_time(0.1)
    assert net.ends[A].core.lagging() == ()

    net.ends[A].sending.announce(net.now)
    assert net.outboxes[A].drain() == []
    assert net.ends[A].deadline() == float("inf")


def test_who_lags_is_reminded_only_so_long_after_the_last_progress():
    net = Net(A, B, retransmit_after=0.05)
    net.multicast(A, 2)
    first, second = net.outboxes[A].drain()
    net.now = 0.03
    net.receive(B, first.data)
    net.deliver(B)
    net.ends[A].receive_alive(net.ends[B].alive((A,)), net.now)
    assert net.ends[A].core.lagging() == (B,)
    assert net.ends[A].deadline() == pytest.approx(0.08)

    net.receive(B, second.data)
    net.deliver(B)
    net.ends[A].receive_alive(net.ends[B].alive((A,)), net.now)
    assert net.ends[A].deadline() == float("inf")


def test_who_lacks_nothing_asks_for_nothing():
    net = Net(A, B)
    net.multicast(A)
    net.carry()
    net.pass_time(0.1)
    net.outboxes[B].drain()
    net.ends[B].reading.ask(A, 1.0)
    assert net.outboxes[B].drain() == []
    assert net.ends[B].deadline() == float("inf")


def test_who_is_alone_keeps_nothing_of_those_who_are_gone():
    net = Net(A, B, C)
    net.multicast(B)
    net.carry(lost=lambda _s, to: to == C)
    nak = Nak(C, B, ((1, 1),))
    for number, members, again in ((2, (A, C), 1), (3, (A,), 0)):
        net.ends[A].install_view(view(number, *members), 1.0)
        net.outboxes[A].drain()
        net.ends[A].receive_nak(nak, 1.0)
        assert len(net.outboxes[A].drain()) == again
        assert net.ends[A].counters["multicast_retransmitted"] == 1
    assert sum(net.ends[A].kept()) == 0


def test_a_duplicate_is_counted_and_delivered_once():
    net = Net(A, B)
    net.multicast(A)
    [out] = net.outboxes[A].drain()
    for _ in range(3):
        net.receive(B, out.data)
        net.deliver(B)

    assert net.numbers(B, A) == [1]
    assert net.ends[B].counters["multicast_duplicate"] == 2


def test_neither_strangers_nor_oneself_can_be_frozen():
    net = Net(A, B)
    net.multicast(A)
    assert net.ends[A].freeze([A, Address("x", 0)]) == Digest()

    net.multicast(A)
    net.deliver(A)
    assert net.numbers(A, A) == [1, 2]


def test_the_loss_of_the_last_multicast_is_found_by_signs_of_life():
    net = Net(A, B)
    net.multicast(A)

    net.carry(lost=lambda _s, _t: True)
    net.finish()

    assert net.numbers(B, A) == [1]


def test_a_gap_is_asked_for_after_a_moment_and_not_before():
    net = Net(A, B, nak_delay=0.002)
    net.multicast(A)
    net.carry(lost=lambda _s, _t: True)
    net.multicast(A)
    net.carry()

    assert net.ends[B].deadline() == pytest.approx(0.002)
    net.pass_time(0.001)
    assert net.outboxes[B].counters["naks"] == 0
    net.pass_time(0.001)
    net.carry()

    assert net.numbers(B, A) == [1, 2]
    assert net.outboxes[B].counters["naks"] == 1


def test_a_member_hears_its_own_multicasts_by_the_same_path():
    net = Net(A)
    net.multicast(A, 3)
    net.carry()

    assert net.numbers(A, A) == [1, 2, 3]
    assert sum(net.ends[A].kept()) == 0


def test_the_window_closes_until_the_slowest_member_has_acknowledged():
    net = Net(A, B, C, multicast_window=4)
    net.multicast(A, 4)

    net.carry(lost=lambda _s, to: to == C)
    net.pass_time(0.01, lost=lambda s, to: C in (s, to))
    assert not net.ends[A].may_multicast()
    assert net.ends[A].core.lagging() == (C,)
    net.finish()

    assert net.ends[A].may_multicast()
    assert net.ends[A].drained


def test_multicasts_of_non_members_are_counted_and_dropped():
    net = Net(A, B)
    stranger = Net(C)
    stranger.ends[C].install_view(view(2, C, A, B), 0.0)
    stranger.multicast(C)
    [out] = stranger.outboxes[C].drain()

    net.receive(B, out.data)
    net.deliver(B)

    assert net.delivered[B] == []
    assert net.outboxes[B].counters["multicast_of_non_member"] == 1


def test_what_a_stranger_hands_on_as_a_members_multicast_is_counted_and_dropped():
    b = Nakack(B, window=4, retain=8)
    b.begin(1, (A, B))
    forged = ReceiveData(C, A, 1, 1, "forged", b"")

    assert b.handle(forged) == [Dropped("multicast_from_stranger")]
    with pytest.raises(NotEnabled):
        b.handle(Deliver(A))
    assert b.handle(forged._replace(sender=A)) == []
    assert b.handle(Deliver(A)) != []


def test_a_multicast_of_a_newer_view_waits_until_that_view_is_installed():
    net = Net(A, B)
    net.multicast(A)
    net.ends[A].install_view(view(2, A, B), net.now)
    net.multicast(A)
    net.carry()
    assert net.numbers(B, A) == [1]

    net.ends[B].install_view(view(2, A, B), net.now)
    net.deliver(B)

    assert net.numbers(B, A) == [1, 2]


def test_a_joiner_reads_on_from_the_digest_and_its_sender_keeps_what_it_needs():
    net = Net(A, B)
    net.multicast(A, 5)
    net.carry()
    digest = net.ends[A].digests().delivered
    assert digest == Digest(((A, 5), (B, 0)))
    joined = view(2, A, B, C, joiners=(C,))
    for me in (A, B):
        net.ends[me].install_view(joined, net.now)
    net.multicast(A, 2)
    net.carry()
    net.finish()
    assert not net.ends[A].drained

    newcomer = Net(C)
    net.ends[C], net.outboxes[C], net.delivered[C] = newcomer.ends[C], newcomer.outboxes[C], []
    net.ends[C] = NakackLayer(Ground(C, StackConfig(), net.outboxes[C], 1))
    net.outboxes[C].endpoints.update({m: (m.node, 1) for m in (A, B)})
    net.ends[C].join(joined, digest, net.now)
    net.finish()

    assert net.numbers(C, A) == [6, 7]
    assert net.ends[A].drained


def test_what_lies_beyond_the_window_is_dropped_and_fetched_later():
    net = Net(A, B, multicast_window=2)
    net.ends[A].core.window = 8  # the sender's is wider
    for number in range(1, 8):
        net.multicast(A)
        net.carry(lost=lambda _s, to, n=number: to == B and n < 7)

    assert net.outboxes[B].counters["beyond_multicast_window"] == 1
    net.finish()
    assert net.numbers(B, A) == list(range(1, 8))


def test_survivors_fetch_a_crashed_members_stream_from_whoever_has_it():
    net = Net(A, B, C)
    net.multicast(A, 3)
    net.carry(lost=lambda _s, to: to == C)
    del net.ends[A]

    assert net.ends[B].freeze([A]) == Digest(((A, 3),))
    assert net.ends[C].freeze([A]) == Digest(((A, 0),))
    wanted = (Fetch(A, 3, B),)
    net.ends[B].install_view(view(2, B, C), net.now)  # the holder may be ahead
    net.ends[C].fetch(wanted, net.now)
    assert not net.ends[C].has(wanted)
    net.finish()

    assert net.ends[C].has(wanted)
    assert net.numbers(C, A) == [1, 2, 3]


def test_a_frozen_stream_takes_no_more():
    net = Net(A, B)
    net.ends[B].freeze([A])
    net.multicast(A)
    net.carry()

    assert net.numbers(B, A) == []
    assert net.outboxes[B].counters["multicast_after_freeze"] == 1


def stable(**places):
    return Digest(tuple((Address(node, 0), at) for node, at in places.items()))


def kept(end, sender, *numbers):
    """Which bundles of a stream the member hands out when it is asked."""
    end.outbox.drain()
    end.receive_nak(Nak(B, sender, tuple((n, n) for n in numbers)), 0.0)
    found = [CODEC.decode(out.data)[0] for out in end.outbox.drain()]
    return [header.seqno for header in found if isinstance(header, DataHeader)]


def alone(me, *members, **settings):
    """One member of a view, with nobody to answer."""
    net = Net(me, **settings)
    net.ends[me].install_view(view(2, *members), 0.0)
    return net, net.ends[me]


def test_acknowledgements_open_the_window_and_purge_nothing():
    net, end = alone(A, A, B, C, multicast_window=2)
    net.multicast(A, 2)
    net.deliver(A)
    for member in (B, C):
        end.receive_alive(Alive(member, ViewId(2, A), 0, False, stable(a=2)), 0.0)

    assert end.may_multicast()
    assert end.drained
    assert sum(end.kept()) == 2
    assert kept(end, A, 1, 2) == [1, 2]

    end.purge(stable(a=1))
    assert kept(end, A, 1, 2) == [2]


def test_what_is_not_stable_closes_the_sender_in_spite_of_acknowledgements():
    net, end = alone(A, A, B, multicast_window=2, retain_window=3)
    for number in range(1, 4):
        assert end.may_multicast()
        net.multicast(A)
        assert end.deliver().header.seqno == number
        end.receive_alive(Alive(B, ViewId(2, A), 0, False, stable(a=number)), 0.0)

    assert end.drained
    assert not end.may_multicast()
    end.purge(stable(a=1, b=0))
    assert end.may_multicast()


def test_retained_bytes_close_the_sender_too():
    settings = {"max_bundle": 2048, "retain_bytes": 4096, "multicast_window_bytes": 4096}
    _, end = alone(A, A, B, **settings)
    payloads = Payloads.pack([b"x" * 1500])
    for number in (1, 2):
        assert end.may_multicast()
        end.multicast(Data(Run(A, number, 1), 1, payloads, number, 1), 0.0)
        assert end.deliver().header.seqno == number
        end.receive_alive(Alive(B, ViewId(2, A), 0, False, stable(a=number)), 0.0)

    assert not end.may_multicast()
    end.purge(stable(a=2))
    assert end.may_multicast()


def test_nothing_is_purged_that_was_not_delivered_here():
    net, end = alone(A, A, B)
    net.multicast(A)

    end.purge(stable(a=1, b=1 << 50, z=3))

    assert kept(end, A, 1) == [1]
    net.deliver(A)
    assert net.numbers(A, A) == [1]


def test_the_lost_last_multicast_of_a_dead_sender_is_had_from_who_received_it():
    net = Net(A, B, C)
    net.multicast(A, 2)
    net.carry(lost=lambda _s, to: to == C)
    del net.ends[A]
    assert net.ends[B].digests().received == Digest(((A, 2), (B, 0), (C, 0)))

    net.ends[C].heard_of(B, net.ends[B].digests().received, net.now)
    for _ in range(3):
        net.pass_time(0.02)

    assert net.numbers(C, A) == [1, 2]


def test_a_live_sender_is_asked_before_who_announced_its_multicast():
    net, end = alone(B, A, B, C)
    end.heard_of(C, stable(a=1), 0.0)
    asked = []
    for _ in range(4):
        net.now = end.deadline()
        end.handle_timer(net.now)
        asked += [out.to[0][0] for out in net.outboxes[B].drain()]

    assert asked == ["a", "c", "a", "c"]


def test_hearsay_about_strangers_oneself_or_the_far_future_is_harmless():
    _, end = alone(B, A, B, multicast_window=2)

    end.heard_of(A, stable(b=7, z=7), 0.0)
    assert end.deadline() == float("inf")
    end.heard_of(A, stable(a=1 << 50), 0.0)
    end.handle_timer(end.deadline())
    [out] = end.outbox.drain()

    assert CODEC.decode(out.data)[0] == Nak(B, A, ((1, 4),))


def test_a_sign_of_life_is_answered_only_when_an_acknowledgement_is_wanted():
    net, end = alone(B, A, B)
    end.receive_alive(Alive(A, ViewId(2, A), 0, False, Digest()), 0.0)
    end.acknowledge(0.0)
    assert net.outboxes[B].drain() == []

    end.receive_alive(Alive(A, ViewId(2, A), 0, True, Digest()), 0.0)
    end.acknowledge(0.0)
    assert len(net.outboxes[B].drain()) == 1


# ------------------------------------------------------------------ repairs that a case undoes


def test_a_multicast_that_is_forgotten_undelivered_is_missing_again():
    stream = Stream()
    stream.accept(1, Held(1, None, b""))

    stream.purge(1, undelivered=True)

    assert stream.arrived == 0
    assert stream.gaps() == ((1, 1),)


@pytest.mark.parametrize(("freezing", "kept"), [("gap", []), ("heard", [2]), ("all", [2])])
def test_a_frozen_stream_ends_at_its_first_gap_unless_that_is_undone(freezing, kept):
    core = Nakack(A, window=8, retain=8, repairs=Repairs(freezing=freezing))
    core.status, core.members, core.stream = "member", (A, B), {B: Stream()}
    core.stream[B].accept(2, Held(1, None, b""))

    core.handle(Freeze(B))

    assert list(core.stream[B].buffer) == kept
