"""STABLE: what all have delivered is purged, nothing else, whatever the network does to digests."""

import random
from collections import Counter

import pytest

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address, Digest, View, ViewId
from raincheck.impl.sequencer.events import Stop
from raincheck.impl.stable.core import Repairs, Stable
from raincheck.impl.stable.events import (
    Heard,
    InstallView,
    Purge,
    ReceiveDigest,
    ReceiveStability,
    Resume,
    SendDigest,
    SendStability,
    Stability,
    StableDigest,
    Suspend,
    Vote,
)
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.layer import Ground, Layer, piled
from raincheck.impl.stack.outbox import Outbox
from raincheck.impl.stack.passing import Digests
from raincheck.impl.stack.stable_layer import StableLayer
from raincheck.impl.stack.timers import NEVER
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import Stability as StabilityHeader
from raincheck.impl.wire.headers import StableDigest as StableDigestHeader

A, B, C = (Address(name, 0) for name in "abc")
CODEC = Codec("x", 60_000)


def vector(**at):
    return Digest(tuple((Address(name, 0), at[name]) for name in sorted(at)))


def member(me=A, view=1, members=(A, B), **undone):
    core = Stable(me, repairs=Repairs(**undone))
    core.handle(InstallView(view, members))
    return core


def vote(core, sender, digest, view=1):
    """The digest of somebody else, or one's own."""
    if sender == core.me:
        return core.handle(SendDigest(digest, digest))
    return core.handle(ReceiveDigest(sender, view, digest, digest))


# ---------------------------------------------------------------------- the core


def test_stability_is_the_lowest_of_all_votes():
    core = member(members=(A, B, C))

    vote(core, A, vector(a=5, b=2, c=9))
    vote(core, B, vector(a=3, b=4, c=9))
    with pytest.raises(NotEnabled, match="pending"):
        core.handle(SendStability())
    vote(core, C, vector(a=4, b=3, c=9))
    effects = core.handle(SendStability())

    lowest = vector(a=3, b=2, c=9)
    assert effects == [Stability((B, C), 1, lowest, Digest()), Purge(lowest)]
    assert core.heard_from == {A, B, C}  # it counts anew at once


def test_a_digest_goes_to_all_others_and_is_ones_own_vote():
    core = member(members=(A, B, C))

    effects = vote(core, A, vector(a=5, b=2, c=0))

    assert effects == [StableDigest((B, C), 1, vector(a=5, b=2, c=0), vector(a=5, b=2, c=0))]
    assert core.heard_from == {B, C}


def test_every_digest_tells_what_its_sender_has_received():
    core = member()

    effects = core.handle(ReceiveDigest(B, 1, vector(a=1, b=1), vector(a=1, b=2)))

    assert effects == [Heard(B, vector(a=1, b=2))]


def test_digests_and_stability_of_another_view_change_nothing():
    core = member(view=2)
    vote(core, A, vector(a=5, b=5))

    assert vote(core, B, vector(a=5, b=5), view=1) == []
    assert vote(core, B, vector(a=5, b=5), view=3) == []
    assert core.handle(ReceiveStability(B, 1, vector(a=5, b=5), Digest())) == []
    assert core.heard_from == {B}


def test_a_late_digest_does_not_lower_what_its_sender_has_said_since():
    core = member()
    vote(core, B, vector(a=5, b=5))
    vote(core, B, vector(a=1, b=5))  # overtaken on its way
    vote(core, A, vector(a=7, b=7))

    assert Purge(vector(a=5, b=5)) in core.handle(SendStability())


def test_stability_of_another_replaces_ones_own_only_if_it_covers_it():
    core = member()
    vote(core, A, vector(a=5, b=5))
    vote(core, B, vector(a=5, b=5))

    old = core.handle(ReceiveStability(B, 1, vector(a=1, b=1), Digest()))
    assert old == [Purge(vector(a=1, b=1))]
    assert core.pending == {A: 5, B: 5}

    core.handle(ReceiveStability(B, 1, vector(a=5, b=5), Digest()))
    assert core.pending is None


def test_who_is_suspended_takes_no_part_until_the_next_view():
    core = member()
    vote(core, B, vector(a=5, b=5))
    core.handle(Suspend())

    with pytest.raises(NotEnabled, match="suspended"):
        vote(core, A, vector(a=5, b=5))
    assert vote(core, B, vector(a=5, b=5)) == []
    assert core.handle(ReceiveStability(B, 1, vector(a=5, b=5), Digest())) == []

    core.handle(InstallView(2, (A, B, C)))
    assert (core.suspended, core.heard_from) == (False, {A, B, C})


def test_a_view_change_that_is_given_up_ends_the_suspension():
    core = member()
    core.handle(Suspend())
    core.handle(Resume())

    assert vote(core, A, vector(a=5, b=5))


def test_views_only_go_forward_and_contain_their_members():
    core = member(view=2)

    with pytest.raises(NotEnabled, match="v > view"):
        core.handle(InstallView(2, (A, B)))
    with pytest.raises(NotEnabled, match="Members"):
        core.handle(InstallView(3, (B, C)))
    assert core.view == 2


def test_before_the_first_view_nothing_is_enabled():
    core = Stable(A)

    for event in (
        SendDigest(Digest(), Digest()),
        ReceiveDigest(B, 1, Digest(), Digest()),
        SendStability(),
        ReceiveStability(B, 1, Digest(), Digest()),
        Suspend(),
        Resume(),
        Vote(B),
    ):
        with pytest.raises(NotEnabled, match=type(event).__name__):
            core.handle(event)


# ---------------------------------------------------------------------- each repair undone


def test_without_the_check_a_member_ahead_in_the_next_view_votes_for_this_one():
    core = member(vote_check="any")
    vote(core, A, vector(a=5, b=5))
    vote(core, B, vector(a=5, b=5, c=0), view=2)

    assert core.pending is not None


def test_comparing_members_cannot_tell_a_view_from_its_return():
    core = member(view=3, vote_check="members")

    stale = core.handle(ReceiveStability(B, 1, vector(a=5, b=5), Digest()))

    assert stale == [Purge(vector(a=5, b=5))]


def test_foreign_digests_can_reset_for_ever():
    core = member(foreign="reset")
    vote(core, A, vector(a=5, b=5))
    vote(core, B, vector(a=5, b=5), view=7)

    assert core.heard_from == {A, B}


def test_r6_to_the_letter_resets_the_list_and_keeps_the_minimum():
    core = member(vote_check="members", foreign="list")
    vote(core, A, vector(a=5, b=5))
    vote(core, B, vector(a=1, b=1, c=1))

    assert core.heard_from == {A, B}
    assert core.vector == {A: 5, B: 5}


def test_r6_to_the_letter_may_count_the_digest_of_other_members():
    core = member(vote_check="members", foreign="counted")
    vote(core, A, vector(a=5, b=5))
    vote(core, B, vector(a=6, b=4, c=1))

    assert core.heard_from == {A}
    assert core.vector == {A: 5, B: 4, C: 1}


def test_votes_can_be_carried_into_the_next_view():
    core = member(reset_on_view=False)
    vote(core, B, vector(a=5, b=5))
    core.handle(InstallView(2, (A, B, C)))
    vote(core, A, vector(a=5, b=5, c=0), view=2)

    assert core.pending is not None  # and c was not asked


def test_a_stale_minimum_can_go_out():
    core = member(atomic_vote=False)
    vote(core, A, vector(a=5, b=5))
    vote(core, B, vector(a=1, b=5))
    core.handle(Vote(B))
    core.handle(Vote(A))

    assert core.pending == {A: 5, B: 5}


def test_votes_can_wait_for_a_stability_that_is_lost():
    core = member(clear_votes=False)
    vote(core, A, vector(a=5, b=5))
    vote(core, B, vector(a=5, b=5))
    effects = core.handle(SendStability())

    assert effects == [Stability((A, B), 1, vector(a=5, b=5), Digest())]
    vote(core, A, vector(a=6, b=6))
    vote(core, B, vector(a=6, b=6))
    assert core.pending is None  # and never again


def test_what_was_received_can_wait_for_stability():
    core = member(last_message="stability")
    core.handle(SendDigest(vector(a=1, b=0), vector(a=1, b=0)))
    core.handle(ReceiveDigest(B, 1, vector(a=0, b=0), vector(a=0, b=2)))

    assert Heard(A, vector(a=1, b=2)) in core.handle(SendStability())


def test_without_a_suspension_more_is_voted_for_than_was_promised():
    core = member(suspend_on_join=False)
    core.handle(Suspend())

    assert vote(core, A, vector(a=6, b=5))


# ---------------------------------------------------------------------- with its clock


class Streams(Layer):
    """A NAKACK that holds what it is told to."""

    def __init__(self, ground, *members):
        super().__init__(ground)
        self.delivered = dict.fromkeys(members, 0)
        self.purged = dict.fromkeys(members, 0)
        self.heard = []

    def digests(self):
        digest = Digest(tuple(sorted(self.delivered.items())))
        return Digests(digest, digest)

    def down(self, event, now):
        if isinstance(event, Heard):
            self.heard.append((*event, now))
        elif isinstance(event, Purge):
            for member_, at in event.digest.entries:
                self.purged[member_] = max(self.purged.get(member_, 0), at)


class Group:
    """Members that exchange datagrams over a network that loses, doubles and delays them."""

    def __init__(self, *members, seed=1, loss=0.0, **settings):
        self.now, self.random, self.loss = 0.0, random.Random(seed), loss
        self.members, self.under_way, self.datagrams = members, [], []
        config = StackConfig(**settings)
        self.outboxes, self.streams, self.timers = {}, {}, {}
        for number, me in enumerate(members):
            outbox = self.outboxes[me] = Outbox(CODEC)
            outbox.endpoints |= {other: (other.node, 1) for other in members}
            ground = Ground(me, config, outbox, seed * 100 + number)
            self.streams[me], self.timers[me] = Streams(ground, *members), StableLayer(ground)
            piled([self.streams[me], self.timers[me]])
        self.view = View(ViewId(1, members[0]), members)
        for timer in self.timers.values():
            timer.enter(self.view, 0.0)

    def deliver(self, sender, to=None):
        for me in to or self.members:
            self.streams[me].delivered[sender] += 1
            self.timers[me].delivered(sender, 100, self.now)

    def run(self, seconds):
        until = self.now + seconds
        while True:
            self._transmit()
            due = min(
                [self.timers[me].deadline() for me in self.members]
                + [at for at, _, _ in self.under_way]
            )
            if due > until:
                self.now = until
                return
            self.now = max(self.now, due)
            arriving = [each for each in self.under_way if each[0] <= self.now]
            self.under_way = [each for each in self.under_way if each[0] > self.now]
            for _, to, data in arriving:
                header, timer = CODEC.decode(data).header, self.timers[to]
                if isinstance(header, StableDigestHeader):
                    timer.receive_digest(header, self.now)
                else:
                    timer.receive_stability(header, self.now)
            for timer in self.timers.values():
                timer.handle_timer(self.now)

    def _transmit(self):
        for outbox in self.outboxes.values():
            for out in outbox.drain():
                self.datagrams.append(CODEC.decode(out.data).header)
                for node, _ in out.to:
                    copies = (
                        0 if self.random.random() < self.loss else self.random.choice((1, 1, 2))
                    )
                    for _ in range(copies):
                        at = self.now + self.random.uniform(0.0001, 0.01)
                        self.under_way.append((at, Address(node, 0), out.data))


@pytest.mark.parametrize("seed", range(10))
def test_what_all_have_delivered_is_purged_by_all_in_the_end(seed):
    group = Group(A, B, C, seed=seed, loss=0.3)

    for _ in range(20):
        group.deliver(A)
        group.deliver(B, to=(A, B))
        group.run(0.1)
    group.run(60.0)

    for streams in group.streams.values():
        assert streams.purged == {A: 20, B: 0, C: 0}


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_purged_that_somebody_lacks(seed):
    group, lots = Group(A, B, C, seed=seed, loss=0.2), random.Random(seed)

    for _ in range(100):
        sender, me = lots.choice((A, B, C)), lots.choice((A, B, C))
        group.deliver(sender, to=(me,))
        group.run(0.05)
        lowest = {
            s: min(streams.delivered[s] for streams in group.streams.values()) for s in (A, B, C)
        }
        for streams in group.streams.values():
            assert all(streams.purged[s] <= lowest[s] for s in lowest)


def test_a_round_costs_a_digest_of_each_and_hardly_more_than_one_stability():
    members = tuple(Address(f"n{i:02}", 0) for i in range(10))
    group = Group(*members, stable_period=1.0, stable_delay=0.5)
    for _ in range(40):
        group.deliver(members[0])
        group.run(0.5)

    digests = sum(isinstance(header, StableDigestHeader) for header in group.datagrams)
    stabilities = sum(isinstance(header, StabilityHeader) for header in group.datagrams)
    assert 150 <= digests <= 270
    assert digests / stabilities > 3


def kinds(group):
    return Counter(type(header) for header in group.datagrams)


def test_rounds_are_rare_while_nothing_is_multicast():
    group = Group(A, B, C, stable_period=1.0)
    group.deliver(A)
    group.run(4.0)
    assert group.streams[C].purged[A] == 1
    group.datagrams.clear()
    group.run(60.0)
    assert 3 * 5 <= kinds(group)[StableDigestHeader] <= 3 * 11


def test_a_multicast_or_a_digest_of_somebody_who_may_lack_something_ends_that():
    for news in "multicast", "digest":
        group = Group(A, B, C, stable_period=1.0)
        group.deliver(A)
        while not group.streams[A].purged[A]:
            group.run(0.001)
        group.run(0.1)
        timer, now = group.timers[A], group.now
        assert timer.deadline() > now + 5.0

        if news == "multicast":
            timer.delivered(A, 100, now)
        else:
            digest = vector(a=1, b=0, c=0)
            timer.receive_digest(StableDigestHeader(B, group.view.id, digest, digest), now)
        assert timer.deadline() <= now + 1.25


def test_many_bytes_or_bundles_call_for_a_digest_at_once():
    group = Group(A, B, stable_bytes=300, stable_period=100.0)
    group.run(1.0)
    assert group.datagrams == []

    for _ in range(3):
        group.deliver(A)
    group.run(1.0)
    assert [streams.purged[A] for streams in group.streams.values()] == [3, 3]

    few = Group(A, B, retain_window=16, stable_period=100.0)
    few.deliver(A)
    few.run(1.0)
    assert few.datagrams == []
    few.deliver(A)
    few.run(1.0)
    assert [streams.purged[A] for streams in few.streams.values()] == [2, 2]


def test_nothing_is_sent_while_suspended_and_again_afterwards():
    group = Group(A, B)
    for timer in group.timers.values():
        timer.suspend()
    assert all(timer.deadline() == NEVER for timer in group.timers.values())
    group.deliver(A)
    group.run(10.0)
    assert group.datagrams == []

    for timer in group.timers.values():
        timer.resume(group.now)
    group.run(10.0)
    assert [streams.purged[A] for streams in group.streams.values()] == [1, 1]


def test_a_view_of_the_same_number_on_another_side_is_not_this_one():
    group = Group(A, B)
    timer = group.timers[A]

    timer.receive_digest(StableDigestHeader(B, ViewId(1, B), vector(a=9, b=9), Digest()), 1.0)
    timer.receive_stability(StabilityHeader(B, ViewId(1, B), vector(a=9, b=9)), 1.0)
    timer.receive_stability(StabilityHeader(C, ViewId(1, A), vector(a=9, b=9)), 1.0)

    assert group.streams[A].purged[A] == 0
    assert timer.counters["stable_of_other_view"] == 2
    assert timer.counters["stable_of_non_member"] == 1


def test_a_lost_last_message_is_heard_of_from_whoever_has_it():
    group = Group(A, B, C)
    group.deliver(A, to=(A, C))
    group.run(2.0)

    heard = {(holder, received.highest(A)) for holder, received, _ in group.streams[B].heard}
    assert {(A, 1), (C, 1)} <= heard


def test_lacking_names_those_who_have_not_voted():
    group = Group(A, B, C)

    group.timers[A].receive_digest(
        StableDigestHeader(B, group.view.id, vector(a=0, b=0, c=0), Digest()), 0.1
    )

    assert group.timers[A].lacking() == [A, C]


def test_who_is_out_sends_no_more():
    group = Group(A, B)
    group.timers[A].down(Stop(), group.now)

    assert group.timers[A].deadline() == NEVER
