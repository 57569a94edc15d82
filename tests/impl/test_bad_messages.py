"""Members that lie with fragments, calls and answers: bounded, counted, named; and nobody ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from raincheck.impl.aio import calls as aio_calls
from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.events import Request
from raincheck.impl.errors import MessageTooLarge
from raincheck.impl.frag.core import MOST
from raincheck.impl.messages import Frame, Payloads, Run
from raincheck.impl.sequencer.events import Deliver
from raincheck.impl.simulation.group import Simulator
from raincheck.impl.stack.calls import NOT_ASKED, TWICE, UNEXPECTED
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.frames import (
    FRAGMENT_HEAD,
    FragmentFrame,
    GivenUpFrame,
    Known,
    ReplyFrame,
    encode,
)
from raincheck.impl.stack.reports import Requested
from raincheck.impl.wire.datagrams import HEADROOM

SMALL = StackConfig(max_bundle=2048, max_message=100_000)
SIZE = SMALL.max_bundle - HEADROOM - 4 - FRAGMENT_HEAD
"""The most bytes of a fragment."""
PARTS = -(-SMALL.max_message // SIZE)
"""The fragments of the largest message."""


def group_of(names: str = "abc") -> Simulator:
    group = Simulator(config=SMALL)
    group.start(*names, founders=True)
    return group


def say(group: Simulator, name: str, *frames: Known | bytes) -> None:
    """Let a member multicast frames that its own layers would not make."""
    stack = group[name].stack
    for frame in frames:
        stack._buffer.append_frame(Frame(frame) if isinstance(frame, bytes) else encode(frame))
    stack.flush(group.now)
    group._settle(group[name])
    group.run(0.3)


def goes_on(group: Simulator) -> None:
    """Every member is there, and delivers a large message of each, at the same place."""
    before = {node.name: node.messages for node in group.up}
    for node in group.up:
        node.stack.send_large(bytes(9000))
        node.stack.flush(group.now)
        group._settle(node)
    group.run(1)
    assert {node.messages - before[node.name] for node in group.up} == {len(group.up)}
    assert {node.left for node in group.up} == {None}
    assert {len(node.views) for node in group.up} == {1}


# ------------------------------------------------------------------ fragments to all

FIRST = FragmentFrame(False, 1, 1, 0, 3, b"x")
SECOND = FIRST._replace(part=1)


@pytest.mark.parametrize(
    ("frames", "counter"),
    [
        ([SECOND], "fragment_out_of_place"),
        ([FIRST, FIRST], "fragment_out_of_place"),
        ([FIRST, SECOND, SECOND], "fragment_out_of_place"),
        ([FIRST, SECOND._replace(parts=4)], "fragment_out_of_place"),
        ([FIRST, SECOND._replace(part=2)], "fragment_out_of_place"),
        ([FIRST._replace(parts=0)], "fragment_out_of_place"),
        ([FIRST._replace(epoch=0)], "fragment_of_before"),
        ([FIRST._replace(epoch=9)], "fragment_of_before"),
        ([FIRST._replace(parts=PARTS + 1)], "refused"),
        ([FIRST._replace(parts=1 << 31)], "refused"),
        ([FIRST._replace(content=b"")], "refused"),
        ([FIRST._replace(framed=True, parts=1, content=encode(FIRST))], "refused"),
        ([FIRST._replace(framed=True, parts=1, content=b"\xff")], "refused"),
        ([b""], "refused"),
        ([b"\0\0"], "refused"),
        ([b"\1\0"], "refused"),
    ],
)
def test_fragments_that_lie_are_counted_by_all_and_deliver_nothing(
    frames: list[Known | bytes], counter: str
) -> None:
    group = group_of()
    say(group, "b", *frames)

    for node in group.up:
        assert node.stack.counters[counter] == 1
        assert node.messages == 0
        if counter == "refused":
            assert "b.0 sent" in node.dropped[0].detail
    say(group, "b", GivenUpFrame(1), GivenUpFrame(77))
    goes_on(group)


def test_messages_that_never_end_are_kept_within_bounds_and_forgotten_with_their_sender() -> None:
    group = group_of()
    say(group, "b", *(FIRST._replace(number=100 + n, parts=2) for n in range(MOST + 10)))
    frag = group["a"].stack._group.frag
    assert frag.buffered() == MOST
    assert group["a"].stack.counters["fragment_of_too_many"] == 10
    say(group, "c", *(FIRST._replace(number=200 + n, parts=PARTS) for n in range(5)))
    assert frag.buffered() == MOST + 2  # two of the largest ones fill a sender's window
    assert group["a"].stack.counters["fragment_of_too_many"] == 13

    group.crash("b")
    group.run_until(lambda: group.in_one_view("a", "c"))

    assert frag.buffered() == 2


@pytest.mark.parametrize("unicast", [False, True])
def test_fragments_that_add_up_to_more_than_a_message_may_have_are_dropped(unicast: bool) -> None:
    group = group_of()
    frames = [FragmentFrame(False, 0, 1, part, PARTS, bytes(SIZE)) for part in range(PARTS)]
    assert SMALL.max_message < PARTS * SIZE
    if unicast:
        direct = group["a"].stack._group.direct
        for frame in frames:
            payloads = Payloads.pack([encode(frame)], framed=True)
            direct._deliver(group["b"].address, payloads, group.now)
        group["a"].stack.flush(group.now)
        group._settle(group["a"])
    else:
        say(group, "b", *frames)
        group.run(1)

    said = group["a"].dropped[0].detail
    assert said == f"b.0 sent a message of {PARTS * SIZE} bytes in fragments"
    assert group["a"].unicasts == []
    assert group["a"].messages == 0
    goes_on(group)


def test_a_coordinator_that_ends_another_members_message_for_it_does_not_end_the_member() -> None:
    group = group_of()
    stack = group["b"].stack
    frag = stack._group.frag
    large = bytes(SMALL.max_message)
    numbers = [stack.send_large(large) for _ in range(4)]  # the window takes two at a time
    stack.flush(group.now)
    assert frag.core.sending.keys() == {1, 2}

    for number in numbers:
        lie = FragmentFrame(False, number, 1, 0, 1, b"lie")
        payloads = Payloads.pack([encode(lie)], framed=True)
        frag.up(Deliver(Run(group["b"].address, 1, 1), 1, payloads), group.now)
    group._settle(group["b"])
    group.run(5)

    assert group["b"].left is None
    before = group["c"].messages
    group.send("b", [b"goes on"])
    group.run(1)
    assert group["c"].messages == before + 1


def test_a_unicast_that_never_ends_is_one_message_and_forgotten_with_its_sender() -> None:
    group = group_of()
    direct = group["a"].stack._group.direct
    for number in range(50):
        frame = FragmentFrame(False, number, 0, 0, PARTS, bytes(SIZE))
        payloads = Payloads.pack([encode(frame)], framed=True)
        direct._deliver(group["b"].address, payloads, group.now)
    group["a"].stack.flush(group.now)
    group._settle(group["a"])
    assert direct.buffered() == 1
    assert group["a"].stack.counters["refused"] == 49

    group.crash("b")
    group.run_until(lambda: group.in_one_view("a", "c"))

    assert direct.buffered() == 0


# ------------------------------------------------------------------ calls


@pytest.mark.parametrize(
    ("sender", "numbers", "said"),
    [("b", (2,), UNEXPECTED), ("c", (1,), NOT_ASKED), ("b", (1, 1), TWICE)],
)
def test_answers_that_nobody_waits_for_are_counted_and_named(
    sender: str, numbers: tuple[int, ...], said: str
) -> None:
    group = group_of("abcd")
    group["a"].stack.call(b"?", [group["b"].address, group["d"].address], group.now)
    source = group[sender].address
    for number in numbers:
        answer = encode(ReplyFrame(number, 1, False, b"answer"))
        group[sender].stack._group.direct.queue(group["a"].address, answer)
    group[sender].stack.flush(group.now)
    group._settle(group[sender])
    group.run(0.2)

    assert group["a"].stack.counters["refused"] == 1
    assert f"{source} sent {said}" in group["a"].dropped[0].detail
    assert group["a"].calls == []
    goes_on(group)


def run(body: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine, but not for ever."""
    asyncio.run(asyncio.wait_for(body, 30))


@pytest.mark.sockets
def test_a_caller_that_takes_no_answers_makes_nobody_keep_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aio_calls, "MOST", 3)

    async def body() -> None:
        config = StackConfig(max_message=100_000, join_timeout=2.0)
        async with (
            Channel.connect("test", name="a", stack=config, on_call=lambda _: b"") as a,
            Channel.connect("test", name="b", initial_hosts=[a.endpoint], stack=config) as b,
        ):
            await a.wait_for_members(2)
            desk, room = a._calls, a._stack.room_to
            monkeypatch.setattr(a._stack, "room_to", lambda _: 0)

            def request(number: int) -> Request:
                asked = Requested(b.address, 2, number, b"?", True)
                return Request(asked, lambda answer, failed: desk._answer(asked, answer, failed))

            for number in range(1, 11):
                request(number).reply(b"answer")
            assert len(desk._tasks) == 6
            assert a.counters["reply_dropped"] == 4
            assert a.metrics().events["reply_dropped"] == 4
            large = request(11)
            with pytest.raises(MessageTooLarge):
                large.reply(bytes(100_000))
            assert not large.answered
            monkeypatch.setattr(a._stack, "room_to", room)
            while desk._tasks:
                await a.send(b"")
                await asyncio.sleep(0)
            large.refuse("too large")

    run(body())
