"""Unicasts of the application: in order for each pair, reliable, whole, across view changes."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from raincheck.impl.errors import MessageTooLarge, NotInView, NotMember, WouldBlock
from raincheck.impl.messages import Address, Frame, Payloads, ViewId
from raincheck.impl.simulation.group import Link, Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.direct_layer import Queue
from raincheck.impl.stack.frames import FragmentFrame, GivenUpFrame, encode
from raincheck.impl.wire.headers import MESSAGES, ForwardBody, MessageBody

SMALL = StackConfig(max_bundle=2048, max_message=100_000)
BAD = Link(loss=0.1, duplicate=0.05, delay=(0.0005, 0.01))


def group_of(names: str, *, seed: int = 1, link: Link | None = None, **kept: bool) -> Simulator:
    group = Simulator(seed=seed, link=link, config=SMALL, **kept)
    group.start(*names, founders=True)
    return group


def contents(group: Simulator, name: str, sender: str) -> list[bytes]:
    """What a node has had of a sender."""
    return [payload for who, _, payload in group[name].unicasts if who.node == sender]


# ------------------------------------------------------------------ what holds


@pytest.mark.parametrize("seed", range(1, 9))
def test_each_pair_has_its_messages_once_and_in_order(seed: int) -> None:
    group, draw = group_of("abc", seed=seed, link=BAD), Random(seed)
    sent: dict[tuple[str, str], list[bytes]] = {}
    for number in range(150):
        source, to = draw.choice("abc"), draw.choice("abc")
        payload = b"%d " % number + bytes(draw.choice([0, 20, 1500, 9000]))
        group.send_to(source, to, payload)
        sent.setdefault((source, to), []).append(payload)
        group.run(draw.uniform(0, 0.02))

    group.run(5)

    assert {(s, t): contents(group, t, s) for s, t in sent} == sent


def test_they_pass_while_the_group_is_blocked() -> None:
    group = Simulator(config=SMALL)
    group.blocking = True
    group.start("a", "b", founders=True)
    group["a"].app.block_takes = lambda: 3.0
    group.start("c")
    group.run_until(lambda: group["a"].app.blocked and group["b"].app.blocked)
    group.run(0.05)  # b's block() has returned

    group.send("b", [b"to all"])
    group.send_to("b", "a", b"to a")
    group.run(0.1)

    assert group["a"].app.blocked
    assert contents(group, "a", "b") == [b"to a"]
    assert group["a"].messages == 0


def test_nothing_is_taken_while_deliveries_are_held_and_memory_stays_bounded() -> None:
    group = group_of("ab")
    group["b"].stack.hold(group.now)
    stack, to = group["a"].stack, group["b"].address
    accepted = 0
    for _ in range(400):
        while stack.room_to(to) > 0:
            stack.send_to(to, bytes(1000))
            accepted += 1
        stack.flush(group.now)
        group._settle(group["a"])
        group.run(0.01)
    assert group["b"].unicasts == []
    limit = SMALL.send_buffer + 2 * SMALL.unicast_window * SMALL.max_bundle
    assert accepted * 1000 < limit
    with pytest.raises(WouldBlock, match=r"queue to b\.0 is full"):
        stack.send_to(to, b"")

    group.release("b")
    group.run(5)

    assert len(group["b"].unicasts) == accepted


def test_what_has_arrived_of_a_member_that_leaves_is_delivered_in_the_last_common_view() -> None:
    group = group_of("abc")
    group["b"].stack.hold(group.now)
    group.send_to("c", "b", b"before it leaves", bytes(9000))
    group.run(0.5)
    assert group["b"].unicasts == []

    group.leave("c")
    group.run_until(lambda: len(group["b"].views[-1].members) == 2)

    assert contents(group, "b", "c") == [b"before it leaves", bytes(9000)]
    assert {view for _, view, _ in group["b"].unicasts} == {1}


def test_a_member_leaves_when_its_unicasts_have_arrived() -> None:
    group = group_of("ab", link=Link(loss=0.3))
    for number in range(50):
        group.send_to("a", "b", b"%d" % number + bytes(1000))

    group.leave("a")
    group.run(10)

    assert group["a"].left == ""
    assert [payload[:2].strip(b"\0") for payload in contents(group, "b", "a")] == [
        b"%d" % number for number in range(50)
    ]


@pytest.mark.parametrize("seed", range(1, 9))
def test_survivors_have_all_and_of_a_crashed_member_a_prefix(seed: int) -> None:
    group, draw = group_of("abcd", seed=seed, link=BAD), Random(seed)
    sent: dict[tuple[str, str], list[bytes]] = {}
    group.at(draw.uniform(0.1, 0.6), lambda: group.crash("a"))
    for number in range(200):
        source, to = draw.choice("abcd"), draw.choice("abcd")
        live = group[source].up and group[to].address in group[source].stack.members
        if live:
            payload = b"%d " % number + bytes(draw.choice([0, 5000]))
            group.send_to(source, to, payload)
            sent.setdefault((source, to), []).append(payload)
        group.run(draw.uniform(0, 0.01))

    group.run_until(lambda: group.in_one_view("b", "c", "d"))
    group.run(5)

    for (source, to), expected in sent.items():
        had = contents(group, to, source)
        assert had == expected[: len(had)]
        assert len(had) == len(expected) or "a" in (source, to)


def test_a_receiver_that_is_behind_delivers_them_in_the_view_with_their_sender() -> None:
    group = group_of("ab")
    group.start("c")
    group.run_until(lambda: bool(group["c"].views))
    stack = group["c"].stack
    stack.send_to(group["a"].address, b"hello")
    stack.flush(group.now)
    group._settle(group["c"])
    group.run(1)

    [(sender, view, payload)] = group["a"].unicasts
    assert (sender, view, payload) == (group["c"].address, 2, b"hello")


def test_a_joiner_has_its_state_before_what_a_departed_member_sent_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    group = Simulator(config=replace(SMALL, state_timeout=60.0), with_state=True)
    group.start("a", "b", "c", founders=True)
    for name in "abc":  # none of them gives its state yet
        monkeypatch.setattr(group[name].app, "give", lambda _stack, _now: False)
    group.start("d")
    group.run_until(lambda: bool(group["d"].views) and len(group["a"].views[-1].members) == 4)
    group.send_to("a", "d", b"before it crashes", bytes(9000))
    group.run(0.05)
    group.crash("a")  # the leader, so that nobody waits for its transfer
    group.run_until(lambda: len(group["d"].views[-1].members) == 3)
    assert (group["d"].app.transferred, group["d"].unicasts) == (None, [])

    monkeypatch.undo()
    group.run_until(lambda: bool(group["d"].app.transferred))
    group.run(0.05)

    assert contents(group, "d", "a") == [b"before it crashes", bytes(9000)]
    assert {view for _, view, _ in group["d"].unicasts} == {2}


# ------------------------------------------------------------------ the caller's mistakes


def test_a_message_to_no_member_and_one_too_large_are_refused_at_the_call() -> None:
    group = group_of("ab")
    stack = group["a"].stack
    with pytest.raises(NotInView, match=r"z\.0 is not a member: a\.0 is in view 1 \[a\.0 b\.0\]"):
        stack.send_to(Address("z", 0), b"")
    with pytest.raises(NotInView):
        stack.room_to(Address("b", 1))
    with pytest.raises(MessageTooLarge):
        stack.send_to(group["b"].address, bytes(100_001))

    group.leave("a")
    with pytest.raises(NotMember):
        stack.send_to(group["b"].address, b"")


# ------------------------------------------------------------------ bad input


def pieces(*frames: FragmentFrame | GivenUpFrame | bytes) -> Payloads:
    contents = [each if isinstance(each, bytes) else encode(each) for each in frames]
    return Payloads.pack(contents, framed=any(type(each) is Frame for each in contents))


FIRST = FragmentFrame(False, 0, 0, 0, 3, b"x")
SECOND = FragmentFrame(False, 0, 0, 1, 3, b"x")


@pytest.mark.parametrize(
    "payloads",
    [
        pieces(SECOND),
        pieces(FIRST, SECOND, SECOND),
        pieces(FIRST, SECOND._replace(number=1)),
        pieces(FIRST, SECOND._replace(parts=2)),
        pieces(FIRST, FIRST),
        pieces(FIRST, b"another message"),
        pieces(FIRST._replace(parts=1 << 31)),
        pieces(FIRST._replace(parts=0)),
        pieces(FIRST._replace(content=b"")),
        pieces(FIRST._replace(framed=True, parts=1, content=encode(FIRST))),
        pieces(GivenUpFrame(1)),
        pieces(Frame(b"\xff")),
        pieces(Frame(b"")),
    ],
)  # fmt: skip
def test_fragments_that_lie_are_counted_and_end_nobody(payloads: Payloads) -> None:
    group = group_of("ab")
    layers = group["b"].stack._group
    a = group["a"].address

    layers.direct._deliver(a, payloads, group.now)
    group["b"].stack.flush(group.now)
    group._settle(group["b"])

    assert group["b"].stack.counters["refused"] == 1
    assert "a.0 sent" in group["b"].dropped[0].detail
    group.send_to("a", "b", bytes(9000), b"goes on")
    group.run(1)
    assert contents(group, "b", "a")[-2:] == [bytes(9000), b"goes on"]


def test_other_bodies_on_the_lane_of_messages_are_refused() -> None:
    group = group_of("ab")
    group["a"].stack._group.direct.send(
        group["b"].address,
        MESSAGES,
        ForwardBody(1, 1, ViewId(1, group["a"].address), 1, 0),
        0.0,
        Payloads.pack([b"x"]),
    )
    group["a"].stack.flush(group.now)
    group._settle(group["a"])
    group.run(1)

    assert group["b"].stack.counters["refused"] == 1
    assert group["b"].unicasts == []


def test_messages_of_a_stranger_on_the_lane_are_dropped() -> None:
    group = group_of("ab")
    direct = group["b"].stack._group.direct
    header = type("Header", (), {"source": Address("z", 0), "body": MessageBody(1)})()
    direct._take((header, Payloads.pack([b"x"])), 0.0)
    group["b"].stack.flush(group.now)
    group._settle(group["b"])

    assert group["b"].unicasts == []
    assert group["b"].stack.counters["not_a_member"] == 1


def test_a_queue_counts_what_waits_to_the_byte() -> None:
    queue = Queue(10_000, 1000)
    for size in (0, 1000, 2500, 10, 990, 1):
        queue.append(bytes(size))
    assert queue.size == 4501 + 6 * 4

    taken = []
    while queue:
        taken.append(queue.take())

    assert queue.size == 0
    assert sum(payloads.framed for payloads in taken) == 3
    assert all(payloads.size <= 1004 for payloads in taken)
