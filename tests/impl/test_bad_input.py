"""Strangers, liars, replays, other versions and jumping clocks do nothing to a group."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from raincheck.conformance.campaigns.promises import check, check_quiet, logs
from raincheck.impl.messages import Address, Digest, View, ViewId
from raincheck.impl.simulation.application import Application
from raincheck.impl.simulation.group import Link, Node, Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.nakack_layer import NakackLayer
from raincheck.impl.stack.reports import Left, Outgoing
from raincheck.impl.stack.stack import Stack
from raincheck.impl.wire.datagrams import VERSION, Codec, sealed
from raincheck.impl.wire.headers import (
    CONTROL,
    STATE,
    Alive,
    AreYouAlive,
    Body,
    Excluded,
    Fetch,
    Fid,
    FlushCompleted,
    Header,
    InstallBody,
    JoinHint,
    JoinReq,
    Leaving,
    NewViewBody,
    NotJoinedBody,
    PlacedView,
    Reconcile,
    ReconcileOk,
    Stability,
    StableDigest,
    StartFlush,
    StopFlush,
    UnicastHeader,
    ViewAckBody,
)
from raincheck.impl.wire.state_bodies import StateChunk, StateGo, StateRequest

CODEC = Codec("raincheck", 60_000)
STRANGER = ("6.6.6.6", 666)
HOST = ("10.9.9.9", 1)
A, B, C, Z = (Address(name, 0) for name in "abcz")
FID = Fid(1, Z, 1)
EVIL = View(ViewId(2, Z), (Z, B), (Z,))
HUGE = View(ViewId(99, Z), (*(Address(f"z{n}", 0) for n in range(9)), Z))
FAR = Digest(((A, 1 << 50), (B, 1 << 50), (C, 1 << 50), (Z, 1 << 50)))


def group_of(*names: str, **how: object) -> Simulator:
    """A group that has delivered something."""
    group = Simulator(1, **how)  # type: ignore[arg-type]
    group.start(*names, founders=True)
    group.send("b", [b"x"] * 3)
    group.run(0.2)
    return group


def works(group: Simulator, *names: str) -> None:
    """The group goes on: it delivers, and its views change."""
    group.send("b", [b"after"] * 5)
    group.start("y")
    group.run_until(lambda: group.in_one_view(*names, "y"), 20)
    group.send("y", [b"hello"])
    group.run(3.0)
    check(logs(group))
    check_quiet(group)
    assert group["y"].messages > 0


# ------------------------------------------------------------------ strangers

BODIES: list[Body] = [
    StartFlush(FID, (Z, A, B, C)),
    StartFlush(Fid(1, A, 9), (Z, B)),
    FlushCompleted(FID, FAR, (PlacedView(EVIL, (STRANGER, STRANGER)),)),
    Reconcile(FID, (Fetch(A, 1 << 50, Z),)),
    ReconcileOk(FID),
    StopFlush(FID),
    NewViewBody(PlacedView(EVIL, (STRANGER, STRANGER))),
    ViewAckBody(2),
    InstallBody(2),
    NotJoinedBody(1, True),
]
HEADERS: list[Header] = [
    AreYouAlive(Z, B),
    StableDigest(Z, ViewId(1, A), FAR, FAR),
    Stability(Z, ViewId(1, A), FAR),
    Excluded(Z, B, HUGE),
    Alive(Z, ViewId(99, Z), 1 << 50, True, FAR),
    Leaving(Z),
]
STATE_BODIES: list[Body] = [
    StateGo(5, (Z,)),
    StateRequest(1, 99),
    StateChunk(1, 1, 3, 0, True, b""),
]


def by_unicast(source: Address, body: Body, seqno: int, lane: int = CONTROL) -> bytes:
    """A body, the `seqno`-th on a connection to b."""
    return CODEC.encode(UnicastHeader(source, B, lane, 1 << 40, seqno, body))


def test_what_only_members_may_send_is_dropped_counted_and_reported() -> None:
    group = group_of("a", "b", "c")

    for seqno, body in enumerate(BODIES, 1):
        group.inject("b", by_unicast(Z, body, seqno), STRANGER)
    for seqno, body in enumerate(STATE_BODIES, 1):
        group.inject("b", by_unicast(Z, body, seqno, STATE), STRANGER)
    for header in HEADERS:
        group.inject("b", CODEC.encode(header), STRANGER)

    b = group["b"]
    assert b.stack.counters["not_a_member"] == len(BODIES) + len(STATE_BODIES) + len(HEADERS)
    reported = [d for d in b.dropped if d.reason == "not_a_member"]
    assert [(d.sender, d.detail) for d in reported] == [(STRANGER, "z.0 sent StartFlush")]
    group.run(2.0)
    group.inject("b", CODEC.encode(HEADERS[0]), STRANGER)
    assert b.dropped[-1].detail == "z.0 sent AreYouAlive"
    assert b.dropped[-1].times == b.stack.counters["not_a_member"] - 1
    works(group, "a", "b", "c")


def test_what_comes_in_the_name_of_a_member_must_come_from_its_place() -> None:
    group = group_of("a", "b", "c")
    forged = [
        *(by_unicast(A, body, seqno) for seqno, body in enumerate(BODIES, 1)),
        CODEC.encode(Leaving(A)),
        CODEC.encode(Excluded(A, B, replace_members(group, (A, C)))),
        CODEC.encode(Stability(A, ViewId(1, A), FAR)),
        CODEC.encode(Alive(A, ViewId(1, A), 1 << 50, False, FAR)),
    ]

    for datagram in forged:
        group.inject("b", datagram, STRANGER)

    assert group["b"].stack.counters["forged"] == len(forged)
    [report] = [d for d in group["b"].dropped if d.reason == "forged"]
    assert (report.sender, report.detail) == (STRANGER, "UnicastHeader in the name of a.0")
    group.run(2.0)
    assert group.in_one_view("a", "b", "c")
    works(group, "a", "b", "c")


def replace_members(group: Simulator, members: tuple[Address, ...]) -> View:
    """A view after the present one."""
    view = group["b"].stack.view
    assert view is not None
    return View(ViewId(view.id.counter + 1, members[0]), members)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_heard_again_later_changes_nothing(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[str, str, bytes]] = []
    transmit = Simulator._transmit

    def record(group: Simulator, node: Node, out: Outgoing) -> None:
        heard.extend((node.name, group._by_endpoint[each], out.data) for each in out.to)
        transmit(group, node, out)

    monkeypatch.setattr(Simulator, "_transmit", record)
    group = group_of("a", "b", "c")
    group.start("d")
    group.run_until(lambda: group.in_one_view("a", "b", "c", "d"))
    group.leave("d")
    group.crash("a")
    group.run_until(lambda: group.in_one_view("b", "c"), 20)
    group.run(3.0)
    views = [len(node.views) for node in group.up]

    lots, replayed = random.Random(seed), heard.copy()
    lots.shuffle(replayed)
    for source, to, data in replayed:
        if to in "bc":
            group.inject(to, data, group[source].endpoint)
    group.run(3.0)

    assert len(replayed) > 200
    assert [len(node.views) for node in group.up] == views
    assert group.in_one_view("b", "c")
    works(group, "b", "c")


# ------------------------------------------------------------------ who may not join


def joiner(**settings: object) -> Stack:
    """A process that has asked one host to be admitted."""
    stack = Stack(Z, StackConfig(initial_hosts=(HOST,), **settings))  # type: ignore[arg-type]
    stack.start(0.0)
    stack.handle_timer(0.0)
    return stack


def test_another_stack_is_refused_with_both_fingerprints() -> None:
    group, stack = group_of("a", "b"), joiner(max_bundle=4096)

    for now in (0.1, 0.2):  # with the cookie of the first answer it asks again
        [request] = stack.poll_datagrams()
        group["a"].stack.receive([(request.data, STRANGER)], group.now)
        [answer] = [o for o in group["a"].stack.poll_datagrams() if o.to == (STRANGER,)]
        stack.receive([(answer.data, HOST)], now)
        stack.handle_timer(now)

    protocols = "UNICAST/NAKACK/STABLE/GMS/FLUSH/SEQUENCER/FRAG"
    gossip = "stability=votes repair=requests"
    largest = f"max_message=134217728 on_merge=leave {gossip} delivery=agreed"
    assert stack.poll_reports() == [
        Left(
            f"not admitted: its stack is {protocols} max_bundle=4096 {largest}, "
            f"the group's is {protocols} max_bundle=60000 {largest}"
        )
    ]
    assert group["a"].stack.counters["join_refused"] == 1


def other_version(datagram: bytes) -> bytes:
    """The same datagram as a later release might send it."""
    return sealed(datagram[:2] + bytes([VERSION + 1]) + datagram[3:])


def test_another_version_is_notified_once_a_second_and_gives_up() -> None:
    group, stack = group_of("a", "b"), joiner()
    [request] = stack.poll_datagrams()

    def answers() -> list[bytes]:
        group["a"].stack.receive([(other_version(request.data), STRANGER)], group.now)
        return [o.data for o in group["a"].stack.poll_datagrams() if o.to == (STRANGER,)]

    [answer] = answers()
    assert answers() == []
    group.run(1.1)
    assert len(answers()) == 1
    stack.receive([(other_version(answer), HOST)], 0.1)

    [_, left] = stack.poll_reports()
    assert left == Left(
        f"not admitted: 10.9.9.9:1 speaks another version of the protocol "
        f"(version {VERSION + 1}, this is {VERSION}); use the same release everywhere"
    )


def test_two_versions_do_not_answer_each_other_for_ever() -> None:
    group = group_of("a", "b")

    group["a"].stack.receive([(other_version(CODEC.refusal()), STRANGER)], group.now)

    assert [o for o in group["a"].stack.poll_datagrams() if o.to == (STRANGER,)] == []
    assert group["a"].stack.counters["refused_version"] == 1


def test_other_versions_and_groups_of_strangers_do_not_keep_a_process_out() -> None:
    stack = joiner(join_timeout=0.5)
    foreign = Codec("another", 60_000).encode(JoinReq(A, "x", False, 0, 0))

    stack.receive([(other_version(CODEC.encode(Leaving(A))), STRANGER)], 0.1)
    stack.receive([(foreign, HOST)], 0.1)
    assert stack.status == "joining"
    stack.handle_timer(0.6)

    assert stack.status == "member"
    assert (stack.counters["other_group"], stack.counters["wrong_version"]) == (1, 1)


def ask(group: Simulator, endpoint: tuple[str, int], cookie: int) -> int:
    """Let z ask a to be admitted; return the cookie of the answer."""
    request = JoinReq(Z, StackConfig().fingerprint, False, cookie, 0)
    stack = group["a"].stack
    stack.receive([(CODEC.encode(request), endpoint)], group.now)
    [answer] = [o.data for o in stack.poll_datagrams() if o.to == (endpoint,)]
    group.inject("a", b"")  # so that what else there is goes out
    header = CODEC.decode(answer).header
    return header.cookie if isinstance(header, JoinHint) else -1


def test_a_request_that_was_under_way_for_long_admits_nobody() -> None:
    group = group_of("a", "b", "c")
    cookie = ask(group, STRANGER, 0)
    group.leave("c")
    group.run_until(lambda: group.in_one_view("a", "b"))

    assert ask(group, STRANGER, cookie) not in (-1, cookie)
    group.run(1.0)

    assert group.in_one_view("a", "b")


def test_an_address_that_is_joining_from_elsewhere_is_refused() -> None:
    group = group_of("a", "b", "c")
    group.crash("c")  # so that no view change gets on for a while
    here, there = ("10.0.0.7", 1), ("10.0.0.8", 1)

    for place in here, there:
        ask(group, place, ask(group, place, 0))

    [refused] = [d for d in group["a"].dropped if d.reason == "join_refused"]
    assert refused.detail == ("z.0: z.0 is joining already, from 10.0.0.7:1; choose another name")


# ------------------------------------------------------------------ members that do not do it right


def test_a_digest_that_names_unknown_members_is_no_reason_to_wait() -> None:
    group = group_of("a", "b", "c")
    b = group["b"].stack

    def lie(digest: Digest) -> Digest:
        return Digest((*digest.entries, (Z, 77)))

    nakack = b._group.find(NakackLayer)
    honest = nakack.digests
    nakack.digests = lambda: honest()._replace(received=lie(honest().received))  # type: ignore[method-assign]

    works(group, "a", "b", "c")
    assert group.now < 10


def test_who_never_answers_a_flush_is_named_then_excluded_and_counted() -> None:
    group = Simulator(1, config=StackConfig(flush_timeout=2.0))
    group.blocking = True
    group.start("a", "b", "c", founders=True)
    group["b"].app.block_takes = lambda: None
    group.start("d")
    group.run(1.0)

    waits = group["a"].stack.missing(group.now)
    assert waits == {B: "to answer START_FLUSH: its block() may not have returned"}
    assert group["b"].stack.missing(group.now) == {B: "to return from block()"}
    assert group["c"].stack.missing(group.now) == {A: "to stop the flush"}
    group.run_until(lambda: group.in_one_view("a", "c", "d"))

    assert 2.0 < group.now < 2.5
    assert group["a"].suspected == [B]
    assert group["a"].stack.counters["flush_unanswered"] == 1
    group.run(3.0)
    assert group["b"].left is not None
    assert "excluded" in group["b"].left


def test_the_latch_opens_by_itself_only_if_that_was_asked_for_and_that_is_reported() -> None:
    for after, expected in ((None, 0), (0.5, 1)):  # the leader's is the last to close
        config = StackConfig(flush_timeout=3.0, open_latch_after=after)
        group = Simulator(1, config=config)
        group.blocking = True
        group.start("a", "b", "c", founders=True)
        group["b"].app.block_takes = lambda: None
        group.start("d")
        group.run(1.0)
        group.send("a", [b"x"] * 5)
        group.send("c", [b"x"] * 5)
        group.run(1.0)

        assert [group[name].messages for name in "ac"] == ([10, 10] if after else [5, 5])
        opened = [node.opened for node in group.up if node.name in "ac"]
        assert sum(map(len, opened)) == expected
        assert sum(group[name].stack.counters["latch_opened"] for name in "ac") == expected
        group.run_until(partial(group.in_one_view, "a", "c", "d"))
        group.send("a", [b"x"])
        group.run(1.0)
        assert [group[name].messages for name in "ac"] == [11, 11]
        assert group["d"].messages == (1 if after else 6)
    [_, [late]] = opened
    assert dict(late.waiting) == {A: "to stop the flush"}


# ------------------------------------------------------------------ state that is none


def with_state(*names: str) -> Simulator:
    """A group whose applications have a state."""
    group = Simulator(1, with_state=True)
    group.application = lambda: Application(padding=200_000)
    group.start(*names, founders=True)
    group.send("b", [b"x"] * 30)
    group.run(0.2)
    return group


def test_a_provider_that_sends_garbage_is_replaced_by_another() -> None:
    group = with_state("a", "b", "c")
    stack = group["a"].stack
    send = stack._group.state.send

    def damaged(to: Address, lane: int, body: Body, now: float, payloads: object = None) -> None:
        if isinstance(body, StateChunk):
            body = StateChunk(
                body.transfer, body.number, body.cut, body.crc, body.last, b"?" + body.payload[1:]
            )
        send(to, lane, body, now, payloads)  # type: ignore[arg-type]

    stack._group.state.send = damaged  # type: ignore[method-assign]
    group.start("d")
    group.run_until(lambda: group["d"].app.transferred is not None)

    assert group["d"].stack.counters["state_chunk_damaged"] == 1
    assert group["d"].app.transferred
    group.run(3.0)
    assert group["d"].app.checksum == group["a"].app.checksum != 0
    check_quiet(group)


def test_a_state_that_the_application_cannot_use_costs_only_the_joiner() -> None:
    group = with_state("a", "b")
    group["a"].app.garbage = group["b"].app.garbage = True

    group.start("d")
    group.run_until(lambda: group["d"].app.transferred is not None)

    assert group["d"].app.transferred is False
    group.send("a", [b"on"])
    group.run(1.0)
    assert group["a"].messages == group["b"].messages == 31
    assert not group["a"].stack.blocked


# ------------------------------------------------------------------ clocks


@pytest.mark.parametrize("jump", [5.0, 3600.0, 1e7])
def test_a_clock_that_jumps_makes_nobody_suspect_the_others(jump: float) -> None:
    group = group_of("a", "b", "c")

    group["b"].stack.handle_timer(group.now + jump)
    group.run(0.0)
    group.run(2.0)

    assert [node.suspected for node in group.up] == [[], [], []]
    assert group.in_one_view("a", "b", "c")


def test_a_machine_that_was_suspended_in_a_view_change_learns_that_it_is_out() -> None:
    group = group_of("a", "b", "c")
    group.start("d")
    group.run(0.0004)
    group["b"].up = False  # suspended
    group.run_until(lambda: group.in_one_view("a", "c", "d"), 20)

    group["b"].up = True
    group["b"].stack.handle_timer(group.now)
    group._settle(group["b"])
    group.run(3.0)

    assert group["b"].left is not None
    assert "excluded" in group["b"].left
    check(logs(group))


# ------------------------------------------------------------------ partition


@pytest.mark.parametrize(
    "sides", [("abc", "def"), ("ab", "cdef"), ("ab", "cd", "ef"), ("a", "bcdef")]
)
def test_each_side_of_a_partition_goes_on_with_a_history_of_its_own(sides: tuple[str, ...]) -> None:
    group = group_of(*"abcdef", link=Link(loss=0.05, delay=(0.0005, 0.002)))
    for step in range(200):
        for name in "abcdef":
            group.at(group.now + step * 0.02, said(group, name))
    group.run(0.5)

    group.partition(*sides)
    group.run_until(lambda: all(group.in_one_view(*side) for side in sides), 20)
    group.run(5.0)

    check(logs(group))
    check_quiet(group)
    for side in sides:
        assert all(group[name].delivered == group[side[0]].delivered for name in side)


def said(group: Simulator, name: str) -> Callable[[], None]:
    """Something to be sent later."""
    return lambda: group.send(name, [b"x"])


def test_settings_of_flush_are_checked() -> None:
    with pytest.raises(Exception, match="open_latch_after"):
        replace(StackConfig(), open_latch_after=0.0)
    with pytest.raises(Exception, match="flush_timeout"):
        replace(StackConfig(), flush_timeout=0.0)
