"""PBCAST's core: what all have delivered is purged, nothing else, whatever the network loses."""

from __future__ import annotations

from typing import Any

import pytest

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address, Digest
from raincheck.impl.pbcast.core import Known, Pbcast, Repairs
from raincheck.impl.pbcast.events import (
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
from raincheck.impl.simulation.gossiping import TEXT, GossipingGroup, Settings

A, B, C = (Address(name, 0) for name in "abc")
ALL = frozenset((A, B, C))
ONE = frozenset((1,))


def member(who: Address, **settings: Any) -> Pbcast:
    core = Pbcast(who, **settings)
    core.handle(InstallView(1, ALL, Digest()))
    return core


def digest(at: int) -> Digest:
    return Digest(((A, at),) if at else ())


def copy(*seen: Address, number: int = 1, view: int = 1, has: int = 1) -> ReceiveGossip:
    """A copy of a gossip of a, which has delivered one message, as its last relay sends it."""
    left = ALL - frozenset(seen)
    one = digest(1)
    return ReceiveGossip(seen[-1], A, number, view, one, ALL - left, left, one, digest(has))


# ------------------------------------------------------------------ one member


def test_a_message_goes_out_is_kept_and_is_delivered() -> None:
    core = member(A)
    assert core.handle(Multicast()) == [Data(frozenset((B, C)), 1), Delivered(A, 1)]
    assert core.handle(ReceiveRequest(B, ((A, ONE),))) == [Response(frozenset((B,)), ((A, ONE),))]
    assert core.handle(ReceiveRequest(B, ((A, frozenset((2,))),))) == []


def test_messages_are_delivered_in_order() -> None:
    core = member(B)
    assert core.handle(Arrive(A, 2)) == []
    assert core.handle(ReceiveResponse(A, ((A, ONE),))) == [Delivered(A, 2)]
    assert core.handle(Arrive(A, 1)) == []


def test_a_slow_consumer_takes_messages_itself() -> None:
    core = member(B, prompt=False)
    assert core.handle(Arrive(A, 1)) == []
    assert core.handle(Deliver(A)) == [Delivered(A, 1)]
    with pytest.raises(NotEnabled):
        core.handle(Deliver(A))


def test_a_gossip_is_merged_and_sent_again_until_all_have_seen_it() -> None:
    core = member(B)
    asked = Request(frozenset((A,)), ((A, ONE),))
    assert core.handle(copy(A)) == [Heard(frozenset((A,))), asked]
    assert [each.not_seen for each in core.unsent()] == [frozenset((C,))]
    core.handle(ReceiveResponse(A, ((A, ONE),)))
    core.handle(copy(A, C))
    (known,) = core.unsent()
    assert known == Known(A, 1, 1, digest(1), ALL, frozenset(), Digest(), unsent=True)
    (sent,) = core.handle(Forward(A, 1, frozenset((A, C))))
    assert isinstance(sent, Gossip)
    assert (sent.seen, sent.has) == (ALL, digest(1))
    assert core.unsent() == []
    assert core.streams.purged == {}  # it lacked the message when it first saw the gossip


def test_what_all_have_delivered_is_purged_but_for_the_lag() -> None:
    for lag, left in ((0, {}), (1, {A: {1}})):
        core = member(B, lag=lag)
        core.handle(Arrive(A, 1))
        core.handle(copy(A, C))
        assert core.streams.held == left


def test_the_relay_is_asked_for_what_it_has_and_the_origin_for_the_rest() -> None:
    effects = member(B).handle(copy(A, C, has=0))
    assert effects[1:] == [Request(frozenset((A,)), ((A, ONE),))]
    effects = member(B).handle(copy(A, C, has=1))
    assert effects[1:] == [Request(frozenset((C,)), ((A, ONE),))]


def test_old_gossips_and_those_of_other_views_do_nothing() -> None:
    core = member(B)
    core.handle(copy(A, number=2))
    known = list(core.cache)
    assert core.handle(copy(A, C, number=1)) == []
    assert core.handle(copy(A, C, number=2, view=2)) == []
    assert core.cache == known
    core.handle(InstallView(2, ALL, Digest()))
    assert core.cache == []


def test_the_failure_detector_hears_of_those_that_have_seen_a_gossip() -> None:
    core = member(B)
    core.handle(copy(A, C))
    assert core.heard == {A, C}
    core.handle(Check())
    with pytest.raises(NotEnabled):
        core.handle(Check())


def test_the_layer_that_asks_gets_the_digest() -> None:
    core = member(B)
    core.handle(Arrive(A, 1))
    assert core.handle(GetDigest("STATE_TRANSFER")) == [GotDigest("STATE_TRANSFER", digest(1))]


def test_a_joiner_begins_behind_its_digest() -> None:
    core = Pbcast(C)
    with pytest.raises(NotEnabled):
        core.handle(Multicast())
    core.handle(InstallView(2, ALL, digest(3)))
    assert core.handle(Arrive(A, 3)) == []
    assert core.handle(Arrive(A, 4)) == [Delivered(A, 4)]


@pytest.mark.parametrize(
    "event",
    [
        SendGossip(frozenset()),
        SendGossip(frozenset((A,))),
        Forward(A, 1, frozenset((B,))),
        Arrive(Address("d", 0), 1),
        InstallView(1, ALL, Digest()),
        InstallView(2, frozenset((B,)), Digest()),
    ],
)
def test_what_is_not_enabled_changes_nothing(event: Any) -> None:
    core = member(A)
    with pytest.raises(NotEnabled):
        core.handle(event)
    assert (core.view, core.number, core.cache) == (1, 0, [])


# ------------------------------------------------------------------ whole groups


def test_gossips_go_to_all_where_there_is_multicast() -> None:
    core = member(A, use_mcast=True)
    with pytest.raises(NotEnabled):
        core.handle(SendGossip(frozenset((B,))))
    (sent,) = core.handle(SendGossip(frozenset((B, C))))
    assert isinstance(sent, Gossip)
    assert sent.not_seen == frozenset((B, C))


def flooded(repairs: Repairs | None, lag: int, seed: int) -> GossipingGroup:
    """A group of ten in which three multicast, and a third of all datagrams is lost."""
    settings = Settings(members=10, loss=0.3, desired=1.0, pause=0.05, lag=lag, repairs=repairs)
    group = GossipingGroup(settings, seed)
    for _ in range(20):
        for sender in group.addresses[:3]:
            group.multicast(sender)
        group.run(1.0)
        assert repairs is not None or group.unsafely_purged() == 0
    return group


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_lost_all_get_everything_and_nothing_is_purged_too_early(seed: int) -> None:
    group = flooded(None, 0, seed)
    group.run(60.0)
    assert group.unsafely_purged() == 0
    assert len(group.delivered) == 60
    assert all(len(by) == 10 for by in group.delivered.values())
    assert {
        core.streams.purged[a] for core in group.cores.values() for a in group.addresses[:3]
    } == {20}


@pytest.mark.parametrize("lag", [0, 2])
def test_a_lag_in_place_of_digests_purges_what_others_lack(lag: int) -> None:
    assert any(flooded(Repairs(gathers=False), lag, seed).unsafely_purged() for seed in range(3))


def test_as_the_text_has_it_nothing_is_purged_among_ten() -> None:
    group = flooded(TEXT, 0, 0)
    group.run(60.0)
    assert all(len(by) == 10 for by in group.delivered.values())
    assert sum(bool(core.streams.purged) for core in group.cores.values()) < 10


def test_late_join_handlers_keep_their_lag() -> None:
    group = flooded(None, 4, 0)
    group.run(60.0)
    kept = {len(core.streams.held[group.addresses[0]]) for core in group.cores.values()}
    assert kept == {4}


@pytest.mark.parametrize(("begins", "least", "most"), [(False, 0.85, 1.15), (True, 0.4, 0.75)])
def test_a_member_gossips_as_often_as_the_text_says_but_for_the_beginning(
    begins: bool, least: float, most: float
) -> None:
    found = 0
    for seed in range(10 if begins else 1):
        settings = Settings(members=20, desired=1.0, pause=0.01, latency=0.001, begins=begins)
        group = GossipingGroup(settings, seed)
        group.run(20.0 if begins else 200.0)
        found += len(group.begun)
    assert least * 200 < found < most * 200
