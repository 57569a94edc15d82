"""Channels under a key over real sockets."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from raincheck.impl.aio.channel import Channel
from raincheck.impl.errors import ConfigError, NotMember
from raincheck.impl.sealing.keys import read_keys
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.transport import tcp
from raincheck.impl.transport.sealed import SealedTransport
from raincheck.impl.transport.udp import UdpTransport

pytestmark = pytest.mark.sockets

FAST = StackConfig(join_timeout=2.0, join_interval=0.02, heartbeat=0.05, suspect_after=2.0)
BRIEF = StackConfig(join_timeout=0.3, join_interval=0.02, heartbeat=0.05, suspect_after=2.0)
KEY, OTHER = (secrets.token_bytes(32) for _ in range(2))
TRANSPORTS = pytest.mark.parametrize("transport", ["udp", "multicast", "tcp"])


def run(body: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine, but not for ever."""

    async def limited() -> None:
        async with asyncio.timeout(30):
            await body

    asyncio.run(limited())


@asynccontextmanager
async def group(names: str, **settings: Any) -> AsyncIterator[list[Channel]]:
    """Connect members one after the other; they leave in reverse order."""
    async with AsyncExitStack() as exits:
        channels: list[Channel] = []
        for name in names:
            hosts = [place(channel) for channel in channels]
            channels.append(
                await exits.enter_async_context(
                    Channel.connect(
                        "orders",
                        name=name,
                        **{"initial_hosts": hosts, "stack": FAST, "key": KEY, **settings},
                    )
                )
            )
        yield channels


def place(channel: Channel) -> str:
    """Where a member listens."""
    host, port = channel.endpoint
    return f"{host}:{port}"


async def heard(channels: list[Channel], count: int) -> list[list[bytes]]:
    """What each channel delivers next."""

    async def take(channel: Channel) -> list[bytes]:
        return [(await anext(channel)).payload for _ in range(count)]

    return await asyncio.gather(*map(take, channels))


@TRANSPORTS
@pytest.mark.parametrize("encrypt", [True, False])
def test_members_with_one_key_deliver(transport: str, encrypt: bool) -> None:
    async def body() -> None:
        more: dict[str, Any] = {"transport": transport, "encrypt": encrypt}
        if transport == "multicast":
            more["group"] = "239.192.7.7:45999"
        async with group("abc", **more) as channels:
            await channels[0].wait_for_members(3, timeout=10)
            for channel in channels:
                await channel.send(b"x" * 50_000)
                await channel.send_many([b"y" * 100] * 50)
            results = await heard(channels, 153)
            assert results[0] == results[1] == results[2]
            assert all(not c.counters.get("transport.unauthentic") for c in channels)
            assert not any(channel._stack.config.sums for channel in channels)

    run(body())


@TRANSPORTS
def test_a_joiner_with_another_key_fails_in_a_sentence_and_the_member_logs_one(
    transport: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        more: dict[str, Any] = {"transport": transport}
        if transport == "multicast":
            more["group"] = "239.192.7.7:45998"
        async with group("a", **more) as (member,):
            hosts = [place(member)]
            with pytest.raises(NotMember, match="refuses this key; give all members of a group"):
                await Channel.connect(
                    "orders", name="b", initial_hosts=hosts, key=OTHER, stack=BRIEF, **more
                )
            with pytest.raises(NotMember, match="has a key, this process has none; give it"):
                await Channel.connect(
                    "orders", name="c", initial_hosts=hosts, key=[], stack=BRIEF, **more
                )
            assert len(member.view.members) == 1
            assert member.counters["transport.wrong_key"] > 0
            assert member.counters["transport.without_key"] > 0

    with caplog.at_level(logging.WARNING, "raincheck"):
        run(body())
    assert "wrong_key has another key; one group has one key" in caplog.text
    assert "without_key has no key, this process has one; one group has one key" in caplog.text
    assert KEY.hex() not in caplog.text


def test_a_process_with_a_key_does_not_found_a_group_beside_one_without() -> None:
    async def body() -> None:
        async with group("a", key=[]) as (member,):
            hosts = [place(member)]
            with pytest.raises(NotMember, match="has no key, this process has one; give all"):
                await Channel.connect("orders", name="b", initial_hosts=hosts, key=KEY, stack=BRIEF)
            assert member.counters["sealed"] > 0
            assert member._stack.config.sums

    run(body())


def test_the_key_file_is_read_again_while_the_group_runs(tmp_path: Path) -> None:
    async def body() -> None:
        path = tmp_path / "group.key"
        path.write_text(KEY.hex())
        async with group("abc", key=path) as channels:
            for keys in ([KEY, OTHER], [OTHER, KEY], [OTHER]):
                path.write_text("\n".join(key.hex() for key in keys))
                for changed in channels:
                    changed.change_key()
                    for channel in channels:
                        await channel.send(b"x")
                assert await heard(channels, 9) == [[b"x"] * 9] * 3
            async with group("d", key=OTHER, initial_hosts=[place(channels[1])]):
                await channels[0].wait_for_members(4, timeout=10)

    run(body())


def test_a_member_gives_its_key_up_or_takes_a_first_one_only_by_connecting_anew() -> None:
    async def body() -> None:
        async with group("a") as (keyed,):
            with pytest.raises(ConfigError, match="cannot give its key up"):
                keyed.change_key([])
        async with group("a", key=[]) as (plain,):
            with pytest.raises(ConfigError, match="was connected without a key"):
                plain.change_key(KEY)

    run(body())


def test_a_key_that_is_none_is_refused_before_a_socket_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAINCHECK_KEY", "hello")

    async def body() -> None:
        with pytest.raises(ConfigError, match="RAINCHECK_KEY has no key"):
            await Channel.connect("orders", bind="127.0.0.1:7", stack=FAST)

    run(body())


def test_the_environment_gives_a_key_and_none_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAINCHECK_KEY", KEY.hex())

    async def body() -> None:
        async with (
            group("a", key=None) as (member,),
            group("b", key=KEY, initial_hosts=[place(member)]) as (other,),
        ):
            assert len(other.view.members) == 2
            assert KEY.hex() not in repr(member._config) + repr(other._config)
            assert str(KEY) not in repr(other._config)

    run(body())


def test_a_bundle_has_to_leave_room_for_the_seal() -> None:
    async def body() -> None:
        with pytest.raises(ConfigError, match="max_bundle is 65500, but transport 'udp' carries"):
            await Channel.connect("orders", key=KEY, stack=StackConfig(max_bundle=65_500))

    run(body())


def test_a_stranger_does_not_take_up_the_connections_of_a_group_on_tcp(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tcp, "_MOST", 3)

    async def body() -> None:
        async with group("ab", transport="tcp") as channels:
            writers = []
            for number in range(9):
                _, writer = await asyncio.open_connection(*channels[0].endpoint)
                junk = channels[1].endpoint[1].to_bytes(2) + b"\x09127.0.0.1\0\0\0\3abc"
                writer.write(b"RCT2" + junk if number % 2 else b"RCT2\x1b\x58" + junk[2:])
                writers.append(writer)
            counters = channels[0].counters
            while counters.get("transport.closed_for_another", 0) < 7:
                await channels[1].send(b"x")
                assert (await anext(channels[0])).payload == b"x"
                counters = channels[0].counters
            async with group("c", transport="tcp", initial_hosts=[place(channels[0])]):
                await channels[0].wait_for_members(3, timeout=10)
            assert not channels[0].counters.get("transport.rejected_too_many")
            for writer in writers:
                writer.close()

    run(body())


def test_one_datagram_to_many_is_sealed_once() -> None:
    class Tapped(UdpTransport):
        """Records what it is given."""

        def __init__(self) -> None:
            super().__init__(("127.0.0.1", 0))
            self.given: list[bytes] = []

        def send(self, data: bytes, to: tuple[str, int]) -> None:
            del to
            self.given.append(data)

    async def body() -> None:
        tapped = Tapped()
        transport = SealedTransport(tapped, read_keys(KEY), "group x")
        transport.multicast(b"hello", [("127.0.0.1", 1), ("127.0.0.1", 2), ("127.0.0.1", 3)])
        transport.multicast(b"hello", [("127.0.0.1", 1)])
        await transport.close()

        first, second, third, other = tapped.given
        assert first is second is third
        assert other != first

    run(body())
