"""Addresses: IPv6, every address of a machine, names of many hosts, several groups in a process."""

import asyncio
import socket
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any

import pytest

from raincheck.conformance.field.ring.base import free_ports
from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.ring import Ring
from raincheck.impl.aio.ring_places import places_of
from raincheck.impl.errors import ConfigError
from raincheck.impl.messages import shown
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.transport.contract import parse_endpoint, resolve_all

FAST = StackConfig(join_timeout=2.0, join_interval=0.02, heartbeat=0.05, suspect_after=2.0)


def run(body: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine, but not for ever."""
    asyncio.run(asyncio.wait_for(body, 30))


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


IPV6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


async def three_members(**settings: Any) -> None:
    """Connect three members, and let each deliver from each."""
    async with AsyncExitStack() as exits:
        channels: list[Channel] = []
        for name in "abc":
            hosts = [shown(channel.endpoint) for channel in channels]
            connecting = Channel.connect(
                "test", name=name, incarnation=0, stack=FAST, initial_hosts=hosts, **settings
            )
            channels.append(await exits.enter_async_context(connecting))
        for channel in channels:
            await channel.wait_for_members(3, timeout=10)
            await channel.send(channel.address.node.encode())
            await channel.send(b"alone", to=channels[0].address)
        for channel in channels[1:]:
            assert {(await anext(channel)).payload for _ in "abc"} == {b"a", b"b", b"c"}


@IPV6
@pytest.mark.sockets
@pytest.mark.parametrize("transport", ["udp", "tcp"])
@pytest.mark.parametrize("key", [None, bytes(32)], ids=["plain", "key"])
def test_a_group_speaks_ipv6(transport: str, key: bytes | None) -> None:
    run(three_members(transport=transport, bind="[::1]:0", key=key))


@pytest.mark.sockets
@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_members_bound_to_every_address_are_reached_where_they_say(transport: str) -> None:
    run(three_members(transport=transport, bind="0.0.0.0:0", advertise="127.0.0.1:0"))


@IPV6
@pytest.mark.sockets
@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_the_same_over_ipv6(transport: str) -> None:
    run(three_members(transport=transport, bind="[::]:0", advertise="[::1]:0"))


@pytest.mark.sockets
@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"bind": "0.0.0.0:0"}, "say with advertise= at which one the others reach it"),
        ({"bind": "0.0.0.0:0", "advertise": "0.0.0.0:0"}, "no address that others can reach"),
        ({"bind": "127.0.0.1:0", "advertise": "[::1]:0"}, "use one family in the whole group"),
        ({"bind": "127.0.0.1:0", "initial_hosts": ["[::1]:7"]}, r"initial host \[::1\]:7 is an"),
        ({"transport": "multicast", "advertise": "127.0.0.1:0"}, "not for multicast"),
        ({"advertise": "nowhere"}, "advertise 'nowhere' is not HOST:PORT"),
        ({"initial_hosts": ["::1:7001"]}, r"'::1:7001' has an IPv6 address without brackets"),
        ({"bind": "[fe80::1%eth0]:7001"}, "has a zone, which means nothing to the others"),
    ],
)
def test_addresses_that_cannot_work_are_refused(settings: dict[str, Any], sentence: str) -> None:
    async def body() -> None:
        with pytest.raises(ConfigError, match=sentence):
            await Channel.connect("test", **settings)

    run(body())


async def a_ring(bind: str, advertise: str | None, key: bytes | None) -> None:
    """Two founders and one who joins; the lock goes round, and a message."""
    host = advertise or bind
    ports = [int(place.rpartition(":")[2]) for place in free_ports(3)]
    places = dict(zip("abc", [f"{host}:{port}" for port in ports], strict=True))
    founders = [f"{name}@{places[name]}" for name in "ab"]

    def member(name: str, **about: Any) -> Any:
        if advertise is not None:
            about |= {"bind": f"{bind}:{places[name].rpartition(':')[2]}"}
            about |= {"advertise": f"{advertise}:0"}
        elif name == "c":
            about |= {"bind": places[name]}
        return Ring.connect("test", name=name, key=key or [], **about)

    a, b = await asyncio.gather(*(member(name, members=founders) for name in "ab"))
    c = await member("c", join=[places["a"]], incarnation=0)
    try:
        assert [shown(ring.endpoint) for ring in (a, b, c)] == list(places.values())
        for ring in (a, b, c):
            await ring.wait_for_members(3, timeout=10)
            async with ring.token(timeout=10):
                await ring.multicast(ring.address.node.encode())
        for ring in (a, b):
            assert {(await anext(ring)).payload for _ in "abc"} == {b"a", b"b", b"c"}
    finally:
        for ring in (c, b, a):
            await ring.leave()


@IPV6
@pytest.mark.sockets
@pytest.mark.parametrize("key", [None, bytes(32)], ids=["plain", "key"])
def test_a_ring_speaks_ipv6(key: bytes | None) -> None:
    run(a_ring("[::1]", None, key))


@pytest.mark.sockets
@pytest.mark.parametrize("key", [None, bytes(32)], ids=["plain", "key"])
def test_a_ring_of_members_bound_to_every_address(key: bytes | None) -> None:
    run(a_ring("0.0.0.0", "127.0.0.1", key))


@IPV6
@pytest.mark.sockets
def test_the_same_of_a_ring_over_ipv6() -> None:
    run(a_ring("[::]", "[::1]", None))


def test_names_of_a_rings_members_are_resolved_in_its_family_and_do_not_block_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def body() -> None:
        async def getaddrinfo(host: str, port: int, **about: Any) -> list[tuple[Any, ...]]:
            await asyncio.sleep(0.001)
            assert about["family"] == socket.AF_INET6
            last = {"a.example": 1, "b.example": 2, "members.example": 3}[host]
            return [(0, 0, 0, "", (f"::{last + more}", port, 0, 0)) for more in (0, 1)]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
        founders = ["b@b.example:7", "a@a.example:7"]
        found = await places_of("[::]:7", "a.example:7", "a", founders, [])
        assert found.members == (("a", ("::1", 7)), ("b", ("::2", 7)))
        assert (found.bind, found.advertise) == (("::", 7), ("::1", 7))

        found = await places_of("[::1]:0", None, None, [], ["members.example:9", "[::3]:9"])
        assert found.contacts.known == (("::3", 9), ("::4", 9))

    run(body())


def test_a_name_stands_for_all_of_its_addresses_and_does_not_block_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def body() -> None:
        asked: list[tuple[object, ...]] = []

        async def getaddrinfo(host: str, port: int, **about: Any) -> list[tuple[Any, ...]]:
            asked.append((host, port, about["family"]))
            return [(0, 0, 0, "", (f"10.0.0.{number}", port)) for number in (1, 2, 2)]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
        hosts = ["members.example:7000", "10.0.0.2:7000", ("10.0.0.3", 7)]
        found = await resolve_all(hosts, "initial host", ("10.0.0.9", 1))

        assert found == (("10.0.0.1", 7000), ("10.0.0.2", 7000), ("10.0.0.3", 7))
        assert asked == [("members.example", 7000, socket.AF_INET)]

    run(body())


@pytest.mark.parametrize("text", ["10.0.0.1:7001", "[2001:db8::5]:7001", "name.example:1"])
def test_endpoints_are_shown_as_they_are_written(text: str) -> None:
    assert shown(parse_endpoint(text)) == text


@pytest.mark.sockets
def test_a_process_is_in_several_groups() -> None:
    async def body() -> None:
        async with AsyncExitStack() as exits:
            members: dict[tuple[str, str], Channel] = {}
            for group in ("red", "blue"):
                for name in "ab":
                    hosts = [members[key].endpoint for key in members]  # of both groups
                    connecting = Channel.connect(
                        group, name=name, incarnation=0, stack=FAST, initial_hosts=hosts
                    )
                    members[group, name] = await exits.enter_async_context(connecting)
            for (group, _), channel in members.items():
                await channel.wait_for_members(2, timeout=10)
                await channel.send(group.encode())
            for (group, _), channel in members.items():
                taken = {(await anext(channel)).payload for _ in "ab"}
                assert taken == {group.encode()}

    run(body())
