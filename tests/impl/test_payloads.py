"""A message may be anything that is like bytes; what can change is copied, the rest is refused."""

import asyncio
from array import array
from collections.abc import Callable
from typing import Any

import pytest

from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.payloads import all_as_bytes, as_bytes
from raincheck.impl.aio.ring import Ring


@pytest.mark.parametrize(
    "payload",
    [b"\1\2\3\4", bytearray(b"\1\2\3\4"), memoryview(b"\1\2\3\4"), memoryview(b"0102")[:0]],
)
def test_contents_like_bytes_are_taken(payload: Any) -> None:
    assert as_bytes(payload) == bytes(payload)
    assert type(as_bytes(payload)) is bytes


def test_a_view_of_wider_items_is_taken_byte_by_byte() -> None:
    numbers = array("I", [1, 2, 3])
    assert as_bytes(memoryview(numbers)) == numbers.tobytes()
    assert as_bytes(memoryview(b"abcdef")[::2]) == b"ace"


@pytest.mark.parametrize("payload", ["text", 5, None, [1, 2], object()])
def test_anything_else_is_refused(payload: Any) -> None:
    with pytest.raises(TypeError, match=f"not {type(payload).__name__}"):
        as_bytes(payload)
    with pytest.raises(TypeError, match=f"not {type(payload).__name__}"):
        all_as_bytes([b"one", payload])


@pytest.mark.parametrize("payloads", [b"abc", "abc", bytearray(b"abc"), memoryview(b"abc")])
def test_one_message_in_the_place_of_many_is_refused(payloads: Any) -> None:
    with pytest.raises(TypeError, match="a sequence of messages"):
        all_as_bytes(payloads)


@pytest.mark.sockets
def test_a_member_refuses_a_text_at_the_call_and_goes_on() -> None:
    async def body() -> None:
        async with Channel.connect("test", name="a", incarnation=0) as channel:
            for wrong in ("text", 5):
                with pytest.raises(TypeError, match="a message is bytes"):
                    await channel.send(wrong)  # type: ignore[arg-type]
                with pytest.raises(TypeError, match="a message is bytes"):
                    await channel.send_many([b"x", wrong])  # type: ignore[list-item]
            changing = bytearray(b"before")
            await channel.send(changing)
            await channel.send_many([changing])
            changing[:] = b"behind"
            await channel.send(memoryview(array("H", [258])))
            got = [(await anext(channel)).payload for _ in range(3)]
            assert got == [b"before", b"before", b"\2\1"]

    asyncio.run(asyncio.wait_for(body(), 20))


@pytest.mark.sockets
def test_a_ring_refuses_a_text_at_the_call_and_copies_what_can_change(
    free_ports: Callable[[int], list[int]],
) -> None:
    async def body() -> None:
        founders = [f"a@127.0.0.1:{free_ports(1)[0]}"]
        async with Ring.connect("test", name="a", members=founders) as ring:
            with pytest.raises(TypeError, match="a message is bytes"):
                await ring.multicast("text")  # type: ignore[arg-type]
            changing = bytearray(b"before")
            await ring.multicast(changing)
            changing[:] = b"behind"
            assert (await anext(ring)).payload == b"before"

    asyncio.run(asyncio.wait_for(body(), 20))


@pytest.mark.parametrize(
    "payloads", [iter([b"a"]), {b"a": 1}, {b"a"}], ids=["iterator", "dict", "set"]
)
def test_what_is_no_sequence_of_messages_is_refused(payloads: Any) -> None:
    with pytest.raises(TypeError, match=r"takes a sequence of messages, not .*; make a list"):
        all_as_bytes(payloads)
