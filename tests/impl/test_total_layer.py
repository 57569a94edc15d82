"""TOTAL in the stack: whole groups in virtual time (docs/protocols/total.md, "In the stack")."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raincheck.conformance.campaigns.promises import Broken, check, check_quiet, logs
from raincheck.conformance.campaigns.stories import TROUBLES, Story, campaign
from raincheck.impl.errors import ConfigError
from raincheck.impl.messages import Address, Payloads, ViewId
from raincheck.impl.simulation.group import Link, Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.repairs import LayerRepairs
from raincheck.impl.total.core import Repairs
from raincheck.impl.wire.headers import (
    CONTROL,
    FORWARDS,
    CumSeqAckBody,
    DataHeader,
    InstallBody,
    RequestBody,
    UnicastHeader,
)

from .losing import CODEC, TRIP, LosingGroup

TOTAL = StackConfig(order="total")
A, B, C = (Address(name, 0) for name in "abc")
FIRST = ViewId(1, A)


class Group(LosingGroup):
    """One with TOTAL."""

    def __init__(self, *names: str, config: StackConfig = TOTAL, **how: Any) -> None:
        super().__init__(*names, config=config, **how)

    def core(self, name: str) -> Any:
        """TOTAL's core of that member."""
        return self[name].stack.cores["total"]

    def delivered(self) -> list[int]:
        """How many messages each has delivered."""
        return [node.messages for node in self.nodes.values()]

    def judge(self) -> None:
        """What is promised, and that nothing waits."""
        check(logs(self))
        check_quiet(self)


# ------------------------------------------------------------------ messages


def test_a_message_takes_one_trip_to_the_sequencer_and_one_from_it() -> None:
    group = Group("a", "b", "c")
    start, times = group.now, []
    group.send("b", [b"x"] * 3)
    for node in group.nodes.values():
        group.run_until(lambda node=node: node.messages == 3)  # type: ignore[misc]
        times.append(round((group.now - start) / TRIP))
    assert times == [1, 2, 2]


def test_no_request_or_broadcast_is_repeated_where_nothing_is_lost() -> None:
    group, sent = Group("a", "b", "c"), list[str]()

    def count(source: str, _to: str, header: Any) -> bool:
        body = header.body if isinstance(header, UnicastHeader) else header
        if isinstance(body, RequestBody | DataHeader | CumSeqAckBody):
            sent.append(f"{source} {type(body).__name__}")
        return False

    group.loses = count
    group.send("b", [b"x"])
    group.run(3.0)
    acks = ["b CumSeqAckBody", "c CumSeqAckBody"]
    assert sorted(sent) == sorted(["b RequestBody", "a DataHeader", "a DataHeader", *acks])
    group.judge()


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_group_keeps_its_promises_through_each_kind_of_trouble(trouble: str) -> None:
    assert campaign(range(1), trouble, order="total") == {}


@pytest.mark.slow
@pytest.mark.parametrize("trouble", TROUBLES)
def test_forty_groups_keep_their_promises_through_each_kind_of_trouble(trouble: str) -> None:
    assert campaign(range(1, 41), trouble, order="total") == {}


def test_a_core_that_forgets_its_messages_with_the_view_is_noticed() -> None:
    def forget(story: Story) -> None:
        story.group.layers = LayerRepairs(total=Repairs(resends=False))

    broken = campaign(range(10), "two crash", forget, enough=1, order="total")
    assert [words.split(":")[0] for words in broken.values()] == ["lost"]


# ------------------------------------------------------------------ views


def test_a_new_sequencer_delivers_its_own_messages_once_it_can_multicast_them() -> None:
    """b's block() takes long: until it has the view, and the latch is open, it delivers nothing."""
    config = replace(TOTAL, multicast_window=8, unicast_window=8, max_bundle=2048)
    group = Group("a", "b", "c", config=config)
    group.loses = lambda source, _to, header: source == "a" and isinstance(header, DataHeader)
    group.send("b", [b"x" * 1000] * 40)
    group.run(0.05)
    assert len(group.core("b").forward_table) == 8
    group.crash("a")
    group.run_until(lambda: group.in_one_view("b", "c"))
    group.run(1.0)
    assert group.delivered()[1:] == [40, 40]
    group.judge()


def test_a_second_crash_before_the_new_sequencer_has_begun_loses_and_doubles_nothing() -> None:
    for late in range(12):
        group = Group("a", "b", "c", "d")
        group.send("b", [b"b"] * 3)
        group.send("c", [b"c"] * 3)
        group.run(0.0005)
        group.crash("a")
        group.run_until(lambda: len(group["b"].stack.members) == 3)  # noqa: B023
        group.run(late * TRIP / 4)
        group.crash("b")
        group.run_until(lambda: group.in_one_view("c", "d"))  # noqa: B023
        group.run(6.0)
        group.judge()


def test_a_request_that_comes_before_its_view_waits_for_it() -> None:
    """Of a merged view a is the sequencer, and installs it long after d, whose message waits."""
    group = Group("b", config=replace(TOTAL, on_merge="callback"))
    group.start("a")
    group.run_until(lambda: group.in_one_view("a", "b"))
    group.partition("ab", "cd")
    group.start("c", "d", founders=True)

    def lost(source: str, to: str, header: Any) -> bool:
        body = header.body if isinstance(header, UnicastHeader) else None
        of_d = isinstance(body, RequestBody) and (source, to) == ("d", "c")
        return of_d or (isinstance(body, InstallBody) and to == "a")

    group.loses = lost
    group.send("d", [b"x"] * 3)
    group.heal()
    group.run_until(lambda: len(group["d"].stack.members) == 4)
    assert group["d"].stack.members[0] == A
    group.run(0.1)
    assert len(group["a"].stack.members) == 2
    assert [group[name].messages for name in "abcd"] == [0] * 4
    group.loses = lambda *_: False
    group.run(8.0)
    assert [group[name].messages for name in "abcd"] == [3] * 4
    check_quiet(group)


def test_a_sequencer_whose_application_takes_nothing_sequences_nothing() -> None:
    group = Group("a", "b", "c")
    group["a"].stack.hold(group.now)
    group.send("a", [b"x"])
    group.send("b", [b"x"])
    group.run(0.5)
    assert group.delivered() == [0, 0, 0]
    group.release("a")
    group.run(6.0)
    assert group.delivered() == [2, 2, 2]
    group.judge()


def test_a_joiner_needs_nothing_of_what_was_before() -> None:
    group = Group("a", "b")
    group.send("b", [b"x"] * 5)
    group.run(0.5)
    group.start("c")
    group.run_until(lambda: group.in_one_view("a", "b", "c"))
    group.send("b", [b"y"])
    group.send("c", [b"z"])
    group.run(6.0)
    assert [run.first for run, _ in group["c"].delivered if run.sender == B] == [6]
    group.judge()


# ------------------------------------------------------------------ memory


def test_a_member_that_acknowledges_nothing_stops_the_sequencer_and_is_named() -> None:
    group = Group("a", "b", "c", config=replace(TOTAL, retain_window=16, max_bundle=2048))

    def of_c(source: str, _to: str, header: Any) -> bool:
        mine = source == "c" and isinstance(header, UnicastHeader)
        return mine and isinstance(header.body, CumSeqAckBody)

    group.loses = of_c
    for _ in range(60):
        group.send("b", [b"x" * 1500])
        group.run(0.02)
    assert len(group.core("a").history) == 16
    why = group["a"].stack.missing(group.now)
    assert why[C] == "to acknowledge what it has delivered"
    assert B not in why

    group.loses = lambda *_: False
    group.run(10.0)
    assert group.delivered() == [60] * 3
    group.judge()


def test_a_sequencer_that_is_alone_keeps_nothing() -> None:
    group = Group("a")
    for _ in range(100):
        group.send("a", [b"x"])
        group.run(0.01)
    assert group.delivered() == [100]
    assert group.core("a").history == {}


# ------------------------------------------------------------------ who differs


@pytest.mark.parametrize("order", ["sequencer", "total"])
def test_a_joiner_with_another_order_is_refused_and_both_sides_say_so(order: str) -> None:
    other = ({"sequencer", "total"} - {order}).pop()
    group = Simulator(1, config=StackConfig(order=order))
    group.start("a", "b", founders=True)
    group.settings["c"] = {"order": other}
    group.start("c")
    group.run(3.0)
    left = group["c"].left
    assert left is not None
    assert f"/{other.upper()}/" in left.split("the group's is")[0]
    assert f"/{order.upper()}/" in left.split("the group's is")[1]
    dropped = [each for each in group["a"].dropped if each.reason == "join_refused"]
    assert [each.detail.count(f"/{order.upper()}/") for each in dropped] == [1]
    assert group.in_one_view("a", "b")


@pytest.mark.parametrize("merging", ["callback", "state"])
def test_groups_with_different_orders_do_not_merge(merging: str) -> None:
    group = Simulator(1, config=StackConfig(on_merge=merging))
    for name in "cd":
        group.settings[name] = {"order": "total"}
    group.partition("ab", "cd")
    group.start("a", "b")
    group.run_until(lambda: group.in_one_view("a", "b"))
    group.start("c", "d")
    group.run_until(lambda: group.in_one_view("c", "d"))
    group.heal()
    group.run(20.0)
    refused = [d for node in group.nodes.values() for d in node.dropped]
    words = [each.detail for each in refused if each.reason == "merge_refused"]
    assert any("order=total" in sentence for sentence in words)
    assert not any(len(node.views[-1].members) > 2 for node in group.nodes.values())


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"delivery": "safe"}, "its sequencer delivers at once"),
        ({"primary": "majority", "expected_votes": 3, "on_merge": "state"}, "former members"),
        ({"open_latch_after": 1.0}, "virtual synchrony"),
    ],
)
def test_what_total_does_not_offer_is_refused(other: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=rf"order='total' does not go with .*{words}"):
        StackConfig(order="total", **other)


def test_an_order_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="order is 'causal'; choose one of 'sequencer', 'total'"):
        StackConfig(order="causal")


# ------------------------------------------------------------------ what a member cannot send


def broadcast(seqno: int, **other: Any) -> bytes:
    """A broadcast of a's, the next one of its stream if nothing else is said."""
    usual = {"sender": A, "first": 1, "size": 1, "view": FIRST, "position": 1, "clock": 1}
    return CODEC.encode(DataHeader(A, seqno, **(usual | other)), Payloads.pack([b"evil"]))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"position": 2}, "id 2 where 1 follows"),
        ({"position": 0}, "id 0 where 1 follows"),
        ({"sender": Address("z", 0)}, "z.0's, in a.0's place"),
        ({"sender": B}, "this member's bundle 1"),
        ({"sender": C, "clock": 1 << 59}, ""),
    ],
)
def test_a_broadcast_that_cannot_follow_has_its_sequencer_suspected(
    other: dict[str, Any], words: str
) -> None:
    group = Group("a", "b", "c")
    for name in "bc":
        group.inject(name, broadcast(1, **other), group["a"].endpoint)
    group.run(4.0)
    sentences = [each.detail for each in group["b"].dropped]
    assert any(words in sentence for sentence in sentences) is bool(words)
    if words:
        assert len(group["b"].stack.members) == 2
    assert all("is not enabled" not in (node.left or "") for node in group.nodes.values())


def test_a_broadcast_of_the_view_before_is_refused() -> None:
    group = Group("a", "b", "c")
    group.start("d")
    group.run_until(lambda: group.in_one_view("a", "b", "c", "d"))
    for name in "bcd":
        group.inject(name, broadcast(1), group["a"].endpoint)
    group.run(0.2)
    assert "a broadcast of view 1" in " ".join(each.detail for each in group["b"].dropped)
    assert group.delivered() == [0] * 4


def request(seqno: int, **other: Any) -> bytes:
    """A request of b's to a, the next one if nothing else is said."""
    body = RequestBody(**({"first": 1, "size": 1, "view": FIRST, "number": 1, "tag": 1} | other))
    header = UnicastHeader(B, A, FORWARDS, 1, seqno, body)
    return CODEC.encode(header, Payloads.pack([b"evil"]))


@pytest.mark.parametrize("other", [{"tag": 2}, {"view": ViewId(3, A)}, {"view": ViewId(1, B)}])
def test_a_request_that_cannot_be_its_next_is_dropped(other: dict[str, Any]) -> None:
    group = Group("a", "b", "c")
    group.inject("a", request(1, **other), group["b"].endpoint)
    group.run(0.5)
    assert group["a"].stack.counters["refused"] == 1
    assert group.delivered() == [0, 0, 0]


def test_a_sender_that_leaves_out_messages_is_dropped_where_it_is_sequenced() -> None:
    group = Group("a", "b", "c")
    group.inject("a", request(1), group["b"].endpoint)
    group.inject("a", request(2, tag=2, number=2, first=7), group["b"].endpoint)
    group.run(0.5)
    assert group["a"].stack.counters["refused"] == 1
    assert group.core("a").next_id == 2


@pytest.mark.parametrize(("source", "to", "id_"), [("b", "a", 9), ("b", "c", 1), ("a", "b", 1)])
def test_an_acknowledgement_that_cannot_be_is_dropped(source: str, to: str, id_: int) -> None:
    group = Group("a", "b", "c")
    body = CumSeqAckBody(FIRST, id_)
    header = UnicastHeader(Address(source, 0), Address(to, 0), CONTROL, 1, 1, body)
    group.inject(to, CODEC.encode(header), group[source].endpoint)
    group.run(0.3)
    assert group[to].stack.counters["refused"] == 1
    assert group.core(to).acks == {}


# ------------------------------------------------------------------ by chance


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False))
def test_random_loads_losses_and_crashes_break_no_promise(lots: Random) -> None:
    config = replace(
        TOTAL,
        max_bundle=lots.choice([2048, 60_000]),
        retain_window=lots.choice([8, 512]),
        multicast_window=lots.choice([4, 128]),
    )
    link = Link(loss=lots.choice([0, 0.2]), delay=(0.0002, lots.choice([0.001, 0.02])))
    group = Simulator(lots.randrange(1000), link=link, config=config)
    group.start(*"abcd", founders=True)
    for _ in range(lots.randrange(5, 30)):
        name = lots.choice("abcd")
        if group[name].up and group[name].stack.status == "member":
            group.send(name, [b"x" * lots.choice([1, 900])] * lots.choice([1, 7, 60]))
        group.run(lots.random() * 0.05)
        if lots.random() < 0.1 and len(group.up) > 2:
            group.crash(lots.choice([node.name for node in group.up]))
    try:
        group.run_until(lambda: _quiet(group), 60.0)
    except TimeoutError:
        check_quiet(group)
        raise
    check(logs(group))


def _quiet(group: Simulator) -> bool:
    try:
        check_quiet(group)
    except Broken:
        return False
    return True
