"""Groups that collect, and repair, by gossip: whole stacks in virtual time (docs/stack.md)."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import raincheck
from raincheck.conformance.campaigns.promises import check, check_quiet, logs
from raincheck.conformance.campaigns.stories import TROUBLES, campaign
from raincheck.impl.errors import ConfigError, NotMember
from raincheck.impl.messages import Address, ViewId
from raincheck.impl.pbcast.core import Repairs
from raincheck.impl.simulation.application import Application
from raincheck.impl.simulation.group import Link, Node, Simulator
from raincheck.impl.simulation.loop import SimulatedNetwork, run
from raincheck.impl.simulation.members import SimulatedChannel
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.gossip_layer import GossipLayer
from raincheck.impl.stack.repairs import LayerRepairs
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import GossipCopy, GossipRequest, Nak

A, B, C = (Address(name, 0) for name in "abc")
CODEC = Codec("raincheck", 60_000)
FIRST = ViewId(1, A)
REPAIRS = ["requests", "gossip"]


def group_of(*names: str, repair: str = "requests", loss: float = 0.0, **how: Any) -> Simulator:
    """Founders that collect by gossip."""
    config = StackConfig(stability="gossip", repair=repair, **how.pop("config", {}))
    link = Link(loss=loss, delay=(0.0005, 0.003))
    group = Simulator(how.pop("seed", 1), config=config, link=link, **how)
    group.start(*names, founders=True)
    return group


def load(group: Simulator, names: str, rounds: int = 20) -> None:
    """Each says something now and then."""
    for number in range(rounds):
        group.send(names[number % len(names)], [b"x"] * 3)
        group.run(0.02)


def layer(node: Node) -> GossipLayer:
    return node.stack._group.find(GossipLayer)


def agree(node: Node) -> None:
    """PBCAST's core has the same numbers as NAKACK."""
    streams = {m: s for m, s in node.stack.cores["nakack"].stream.items() if s.delivered}
    core = node.stack.cores["pbcast"].streams
    assert core.delivered == {member: stream.delivered for member, stream in streams.items()}
    for member, stream in streams.items():
        assert core.held.get(member, set()) == {*stream.buffer, *stream.retained}


def all_is_forgotten(group: Simulator) -> None:
    for node in group.up:
        agree(node)
        assert node.stack.buffered() == 0
        assert not node.stack.cores["pbcast"].streams.held


# ------------------------------------------------------------------ what is promised


@pytest.mark.parametrize("repair", REPAIRS)
@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_messages_come_to_all_and_are_forgotten_across_a_crash_and_a_join(
    repair: str, loss: float
) -> None:
    group = group_of(*"abcde", repair=repair, loss=loss)
    load(group, "abcde", 30)
    group.run(3.0)
    asked = {
        kind: sum(node.stack.counters[kind] for node in group.nodes.values()) > 0
        for kind in ("naks", "gossip_requests")
    }
    lossy = loss > 0  # while no view changes, one of the two asks
    assert asked == {
        "naks": lossy and repair == "requests",
        "gossip_requests": lossy > asked["naks"],
    }
    group.crash("e")
    load(group, "abcd", 40)
    group.start("f")
    group.run_until(lambda: group.in_one_view(*"abcdf"))
    load(group, "abcdf")
    group.leave("b")
    group.run_until(lambda: group.in_one_view(*"acdf"))
    group.run(8.0)
    check(logs(group))
    check_quiet(group)
    all_is_forgotten(group)


def stable(group: Simulator) -> None:
    """Nobody has forgotten what a member of its view lacks."""
    there = {node.address: node for node in group.up}
    for node in there.values():
        for other in (there[m] for m in node.stack.members if m in there):
            if other.stack.view != node.stack.view:
                continue
            delivered = other.stack.cores["pbcast"].streams.delivered
            for member, at in node.stack.cores["pbcast"].streams.purged.items():
                assert at <= delivered.get(member, 0), (node.name, other.name, member)


def play(seed: int, repair: str, layers: LayerRepairs | None = None) -> Simulator:
    lots = Random(seed)
    group = group_of(*"abcd", repair=repair, loss=0.3, seed=seed, layers=layers)
    for number in range(120):
        group.send(lots.choice("abc"), [b"x"])
        if number == 60:
            group.crash("d")
        group.run(lots.choice((0.005, 0.03)))
        stable(group)
    return group


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(REPAIRS))
def test_nobody_forgets_what_a_member_lacks(seed: int, repair: str) -> None:
    play(seed, repair)


def test_who_takes_a_gossip_seen_for_a_message_had_is_noticed() -> None:
    with pytest.raises(AssertionError, match=r"assert .* <= "):
        play(1, "gossip", LayerRepairs(pbcast=Repairs(gathers=False)))


@pytest.mark.parametrize("repair", REPAIRS)
@pytest.mark.parametrize(
    "trouble", ["join", "coordinator crashes", "slow application", "long pause", "halves"]
)
def test_stories_hold(trouble: str, repair: str) -> None:
    assert not campaign(range(2), trouble, stability="gossip", repair=repair)


@pytest.mark.slow
@pytest.mark.parametrize("delivery", ["agreed", "safe"])
@pytest.mark.parametrize("trouble", sorted(TROUBLES))
def test_every_story_holds(trouble: str, delivery: str) -> None:
    for repair in REPAIRS:
        how = {"delivery": delivery, "stability": "gossip", "repair": repair}
        assert not campaign(range(100, 106), trouble, **how)


@pytest.mark.parametrize("repair", REPAIRS)
def test_safe_delivery_states_large_messages_and_calls_go_on_as_ever(repair: str) -> None:
    config = {"delivery": "safe", "max_bundle": 4096}
    group = group_of(*"abc", repair=repair, loss=0.05, config=config)
    group.with_state = True
    group.application = lambda: Application(padding=50_000)
    load(group, "abc")
    group.start("d")
    group.run_until(lambda: group.in_one_view(*"abcd"), 30.0)
    load(group, "abcd")
    group.run(8.0)
    check(logs(group), uniform=True)
    check_quiet(group)
    before = group["d"].messages
    number = group["b"].stack.send_large(b"x" * 40_000)
    group["b"].stack.flush(group.now)
    group.call("c", b"who")
    group.send_to("a", "c", b"alone")
    group.run(8.0)
    assert not group["b"].stack.under_way(number)
    assert group["d"].messages == before + 1
    check_quiet(group)
    all_is_forgotten(group)


# ------------------------------------------------------------------ what is kept


def test_a_member_alone_forgets_what_it_has_delivered_and_goes_on_sending() -> None:
    group = group_of("a", config={"retain_window": 8})
    for _ in range(60):
        group.send("a", [b"x"])
        group.run(0.05)
    group.run(2.0)
    assert group["a"].messages == 60
    all_is_forgotten(group)


def test_a_sender_whose_windows_fill_has_a_gossip_begun_at_once() -> None:
    def seconds(retain: int) -> float:
        group = group_of(*"abc", config={"retain_window": retain, "desired_avg_gossip": 60.0})
        start = group.now
        for _ in range(200):
            group.send("a", [b"x" * 50_000])
            group.run(0.001)
        group.run_until(lambda: group["c"].messages == 200, 100.0)
        return group.now - start

    assert seconds(32) < 5.0


def test_nothing_is_sent_while_there_is_nothing_to_collect() -> None:
    group = group_of(*"abc")
    load(group, "abc")
    group.run(5.0)
    before = [node.stack.counters["gossip_copies"] for node in group.nodes.values()]
    group.run(60.0)
    assert [node.stack.counters["gossip_copies"] for node in group.nodes.values()] == before
    assert layer(group["a"]).deadline() == float("inf")


def test_members_that_are_gone_are_forgotten_however_many_there_were() -> None:
    group = group_of("a", "b")
    for _ in range(12):
        group.start("c") if "c" not in group.nodes else group.restart("c")
        group.run_until(lambda: group.in_one_view("a", "b", "c"))
        load(group, "abc", 6)
        group.crash("c")
        group.run_until(lambda: group.in_one_view("a", "b"))
    group.run(5.0)
    core = group["a"].stack.cores["pbcast"]
    assert {*core.streams.delivered, *core.streams.held, *core.streams.purged} <= {A, B}
    assert layer(group["a"]).kept() <= 2
    all_is_forgotten(group)


# ------------------------------------------------------------------ who may join, and settings


def of(network: SimulatedNetwork, name: str, number: int, **gossip: str) -> SimulatedChannel:
    return SimulatedChannel(
        cluster="shop", name=name, incarnation=1, bind=(f"10.0.0.{number}", 7000), network=network,
        initial_hosts=[("10.0.0.1", 7000)], **gossip,
    )  # fmt: skip


@pytest.mark.parametrize("gossip", [{"stability": "gossip"}, {}])
def test_a_process_with_another_stability_or_repair_is_told_why_it_cannot_join(
    gossip: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    both = {"stability": "gossip", "repair": "gossip"}

    async def story() -> None:
        async with asyncio.timeout(60), AsyncExitStack() as exits:
            network = SimulatedNetwork()
            first = raincheck.Channel.connecting(of(network, "a", 1, **both))
            await exits.enter_async_context(first)
            other = raincheck.Channel.connecting(of(network, "b", 2, **gossip))
            why = r"repair=requests .*the group's is .*stability=gossip repair=gossip"
            with pytest.raises(NotMember, match=why):
                await exits.enter_async_context(other)

    run(story())
    assert "the group's is" in caplog.text  # at the group's member, too


def test_messages_come_through_channels() -> None:
    both = {"stability": "gossip", "repair": "gossip"}

    async def story() -> None:
        async with asyncio.timeout(60), AsyncExitStack() as exits:
            network = SimulatedNetwork()
            channels = [
                await exits.enter_async_context(
                    raincheck.Channel.connecting(of(network, name, number, **both))
                )
                for number, name in enumerate("ab", 1)
            ]
            await channels[0].wait_for_members(2)
            await channels[1].send(b"x" * 100_000)
            assert len((await anext(aiter(channels[0]))).payload) == 100_000

    run(story())


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"stability": "talk"}, "stability is 'talk'; choose one of 'votes', 'gossip'"),
        ({"repair": "talk"}, "repair is 'talk'; choose one of 'requests', 'gossip'"),
        ({"repair": "gossip"}, "repair='gossip' needs stability='gossip'"),
        ({"stability": "gossip", "on_merge": "callback"}, "stability='gossip' do not merge"),
        ({"stability": "gossip", "stack": StackConfig(open_latch_after=1.0)}, "virtual synchrony"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        raincheck.Channel.connect("shop", **options)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("desired_avg_gossip", 0.0),
        ("gossip_delay", 0.0),
        ("gossip_fanout", 0),
        ("gossip_interval", -1.0),
    ],
)
def test_times_and_numbers_that_cannot_be_are_refused(setting: str, value: float) -> None:
    with pytest.raises(ConfigError, match=setting):
        StackConfig(**{setting: value})  # type: ignore[arg-type]


# ------------------------------------------------------------------ the door

GOOD = GossipCopy(B, FIRST, 1, 1, b"\2", (0, 0, 0), (0, 0, 0), (0, 0, 0))
FAR = (1 << 50, 0, 0)
LIES = {
    "of another view": [
        GossipCopy(B, FIRST, 9, 1, b"\2", (0,) * 3, (0,) * 3, (0,) * 3),
        GossipCopy(B, FIRST, 1, 1, b"\2", (0,) * 2, (0,) * 3, (0,) * 3),
    ],
    "that it has not seen": [GossipCopy(B, FIRST, 1, 1, b"\1", (0,) * 3, (0,) * 3, (0,) * 3)],
    "seen by more than": [GossipCopy(B, FIRST, 1, 1, b"\12", (0,) * 3, (0,) * 3, (0,) * 3)],
    "of this member": [GossipCopy(B, FIRST, 0, 7, b"\3", (0,) * 3, (0,) * 3, (0,) * 3)],
    "gathers more": [GossipCopy(B, FIRST, 1, 1, b"\2", (0,) * 3, (1, 0, 0), (0,) * 3)],
    "a gossip with message": [
        GossipCopy(B, FIRST, 1, 1, b"\2", FAR, (0,) * 3, (0,) * 3),
        GossipCopy(B, FIRST, 1, 1, b"\2", (0,) * 3, (0,) * 3, FAR),
    ],
    "a request for messages": [
        GossipRequest(B, FIRST, ((9, ((1, 1),)),)),
        GossipRequest(B, FIRST, ((0, ((1, 1),)), (0, ((1, 1),)))),
        GossipRequest(B, FIRST, ((0, ((1, 1 << 50),)),)),
        GossipRequest(B, FIRST, ((0, ((2, 1),)),)),
    ],
}


@pytest.mark.parametrize("what", LIES)
def test_what_cannot_be_true_is_refused_and_reported(what: str) -> None:
    for lie in LIES[what]:
        group = group_of(*"abc", repair="gossip")
        group.inject("a", CODEC.encode(lie), group["b"].endpoint)
        (report,) = group["a"].dropped
        assert (report.reason, report.sender) == ("refused", group["b"].endpoint)
        assert what in report.detail
        load(group, "abc")
        group.run(5.0)
        all_is_forgotten(group)


def test_a_request_is_refused_where_nakack_makes_them() -> None:
    group = group_of(*"abc")
    group.inject("a", CODEC.encode(GossipRequest(B, FIRST, ())), group["b"].endpoint)
    assert "which NAKACK makes here" in group["a"].dropped[0].detail


def test_gossips_of_strangers_of_other_views_and_of_groups_without_are_dropped() -> None:
    group, votes = group_of(*"abc"), Simulator(1)
    votes.start(*"abc", founders=True)
    stranger = GossipCopy(Address("z", 0), FIRST, 1, 1, b"\2", (0,) * 3, (0,) * 3, (0,) * 3)
    group.inject("a", CODEC.encode(stranger))
    other = GossipCopy(B, ViewId(7, A), 1, 1, b"\2", (0,) * 3, (0,) * 3, (0,) * 3)
    group.inject("a", CODEC.encode(other), group["b"].endpoint)
    votes.inject("a", CODEC.encode(GOOD), votes["b"].endpoint)
    counters = group["a"].stack.counters
    assert (counters["not_a_member"], counters["pbcast_of_other_view"]) == (1, 1)
    assert votes["a"].stack.counters["of_no_layer"] == 1


VECTORS = st.tuples(*[st.sampled_from((0, 1, 2, 200, 1 << 60))] * 3)
COPIES = st.builds(
    GossipCopy, st.sampled_from((B, C)), st.just(FIRST), st.integers(0, 3),
    st.sampled_from((1, 2, 1 << 60)), st.integers(0, 15).map(lambda bits: bytes([bits])),
    VECTORS, VECTORS, VECTORS,
)  # fmt: skip
ASKED = st.tuples(st.sampled_from((1, 2, 300)), st.sampled_from((1, 2, 300, 1 << 60)))
REQUESTS = st.builds(
    GossipRequest, st.sampled_from((B, C)), st.just(FIRST),
    st.lists(st.tuples(st.integers(0, 3), st.lists(ASKED, max_size=3).map(tuple)), max_size=3)
    .map(tuple),
)  # fmt: skip
NAKS = st.builds(
    Nak, st.sampled_from((B, C)), st.sampled_from((A, B, C)), st.lists(ASKED, max_size=2).map(tuple)
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.one_of(COPIES, REQUESTS, NAKS), max_size=30), st.sampled_from(REPAIRS))
def test_whatever_members_gossip_ends_nobody_and_what_is_kept_is_bounded(
    headers: list[Any], repair: str
) -> None:
    group = group_of(*"abc", repair=repair, config={"multicast_window": 8})
    for number, header in enumerate(headers):
        group.inject("a", CODEC.encode(header), group[header.source.node].endpoint)
        if number % 5 == 0:
            group.send("a", [b"x"])
            group.run(0.01)
    group.run(2.0)
    assert [node.left for node in group.nodes.values()] == [None] * 3
    kept = layer(group["a"])
    assert kept.kept() < 3 * (1 + 2 * 8 + 10)
    assert len(kept._forwards) <= 3
    assert len(kept._asked) <= 3
