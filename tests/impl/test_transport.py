"""The transports over real sockets of the loopback interface."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from raincheck.impl.errors import ConfigError
from raincheck.impl.messages import Endpoint
from raincheck.impl.transport import tcp
from raincheck.impl.transport.contract import Datagrams, Transport, parse_endpoint, resolve
from raincheck.impl.transport.tcp import TcpTransport
from raincheck.impl.transport.udp import MulticastTransport, UdpTransport

pytestmark = pytest.mark.sockets

LOOPBACK = ("127.0.0.1", 0)


class Inbox:
    """What one transport has received, and a way to wait for it."""

    def __init__(self, transport: Transport) -> None:
        self.datagrams: Datagrams = []
        self.batches = 0
        self._changed = asyncio.Event()
        transport.start(self._receive)

    def _receive(self, batch: Datagrams) -> None:
        self.datagrams += batch
        self.batches += 1
        self._changed.set()

    async def holds(self, count: int) -> None:
        """Wait until at least `count` datagrams have arrived."""
        while len(self.datagrams) < count:
            self._changed.clear()
            async with asyncio.timeout(20):
                await self._changed.wait()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition that some callback of the loop will make true."""
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0)


def free_udp_port() -> int:
    """Return a UDP port nobody uses at this moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(LOOPBACK)
        return int(sock.getsockname()[1])


@asynccontextmanager
async def transports(kind: str, count: int) -> AsyncIterator[list[Transport]]:
    """Open several transports of one kind and close them again."""
    opened: list[Transport] = []
    group = ("239.192.7.7", free_udp_port())
    try:
        for _ in range(count):
            if kind == "tcp":
                listening = TcpTransport(LOOPBACK)
                opened.append(listening)
                await listening.listen()
            elif kind == "udp":
                opened.append(UdpTransport(LOOPBACK))
            else:
                opened.append(MulticastTransport(LOOPBACK, group))
        yield opened
    finally:
        for transport in opened:
            await transport.close()


KINDS = pytest.mark.parametrize("kind", ["udp", "multicast", "tcp"])
Body = Callable[[list[Transport]], Awaitable[None]]


def run(kind: str, count: int, body: Body) -> None:
    """Run a test's body over freshly opened transports."""

    async def main() -> None:
        async with transports(kind, count) as opened:
            await body(opened)

    asyncio.run(main())


@KINDS
def test_a_datagram_arrives_with_the_endpoint_of_its_sender(kind: str) -> None:
    async def body(opened: list[Transport]) -> None:
        a, b = opened
        inbox = Inbox(b)
        a.send(b"hello", b.endpoint)
        await inbox.holds(1)
        assert inbox.datagrams == [(b"hello", a.endpoint)]
        assert a.counters["sent"] == 1
        assert b.counters["received"] == 1

    run(kind, 2, body)


@KINDS
def test_a_multicast_reaches_every_other_member_and_not_the_sender(kind: str) -> None:
    async def body(opened: list[Transport]) -> None:
        a, b, c = opened
        inboxes = [Inbox(transport) for transport in opened]
        a.multicast(b"to all", [b.endpoint, c.endpoint])
        await inboxes[1].holds(1)
        await inboxes[2].holds(1)
        b.send(b"last", a.endpoint)
        await inboxes[0].holds(1)
        assert inboxes[0].datagrams == [(b"last", b.endpoint)]
        assert inboxes[1].datagrams == inboxes[2].datagrams == [(b"to all", a.endpoint)]

    run(kind, 3, body)


@KINDS
def test_datagrams_of_every_size_arrive_whole(kind: str) -> None:
    async def body(opened: list[Transport]) -> None:
        a, b = opened
        inbox = Inbox(b)
        sent = [bytes([size % 251]) * size for size in (1, 2, 1400, 9000, 60_000, 65_507)]
        for data in sent:
            a.send(data, b.endpoint)
        await inbox.holds(len(sent))
        assert [data for data, _ in inbox.datagrams] == sent

    run(kind, 2, body)


@KINDS
def test_what_waits_in_the_kernel_is_handed_over_in_batches(kind: str) -> None:
    async def body(opened: list[Transport]) -> None:
        a, b = opened
        inbox = Inbox(b)
        for number in range(50):
            a.send(b"%d" % number, b.endpoint)
        await inbox.holds(50)
        assert [data for data, _ in inbox.datagrams] == [b"%d" % number for number in range(50)]
        assert inbox.batches < 50

    run(kind, 2, body)


def test_a_multicast_transport_discovers_members_it_does_not_know() -> None:
    async def body(opened: list[Transport]) -> None:
        a, b = opened
        inbox = Inbox(b)
        a.broadcast(b"who is there?")
        await inbox.holds(1)
        assert inbox.datagrams == [(b"who is there?", a.endpoint)]

    run("multicast", 2, body)


def test_an_oversized_udp_datagram_is_counted_and_dropped() -> None:
    async def body(opened: list[Transport]) -> None:
        a, b = opened
        inbox = Inbox(b)
        a.send(bytes(70_000), b.endpoint)
        a.send(b"next", b.endpoint)
        await inbox.holds(1)
        assert [data for data, _ in inbox.datagrams] == [b"next"]
        assert a.counters["socket_error"] == 1

    run("udp", 2, body)


def test_tcp_drops_and_counts_what_is_sent_to_nobody() -> None:
    async def body(opened: list[Transport]) -> None:
        (a,) = opened
        with socket.socket() as unused:
            unused.bind(LOOPBACK)  # bound, not listening: refuses
            a.send(b"anyone?", unused.getsockname())
            await until(lambda: a.counters["dropped_unreachable"] == 1)
        assert a.counters["sent"] == 0
        assert a.pending() == 0

    run("tcp", 1, body)


def test_tcp_reconnects_to_a_member_that_returns() -> None:
    async def body(opened: list[Transport]) -> None:
        a, b = opened
        inbox = Inbox(b)
        a.send(b"first", b.endpoint)
        await inbox.holds(1)
        await b.close()
        await until(lambda: a.counters["connection_lost"] + a.counters["connection_closed"] == 1)
        again = TcpTransport(b.endpoint)
        try:
            await again.listen()
            second = Inbox(again)
            a.send(b"second", again.endpoint)
            await second.holds(1)
            assert second.datagrams == [(b"second", a.endpoint)]
        finally:
            await again.close()

    run("tcp", 2, body)


@pytest.mark.parametrize(
    ("rubbish", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "rejected_greeting"),
        (b"RCT2\x1b\x58\x02\xff\xfe", "rejected_greeting"),
        (b"RCT2\x1b\x58\x09127.0.0.1\xff\xff\xff\xff", "rejected_oversized_frame"),
        (b"RCT2\x1b\x58\x09127.0.0.9\0\0\0\3abc", "rejected_identity"),
        (b"RCT2\x1b\x58\x09localhost\0\0\0\3abc", "rejected_identity"),
    ],
)
def test_tcp_hangs_up_on_a_foreign_stream_and_serves_on(rubbish: bytes, reason: str) -> None:
    async def body(opened: list[Transport]) -> None:
        a, b = opened
        inbox = Inbox(b)
        reader, writer = await asyncio.open_connection(*b.endpoint)
        writer.write(rubbish)
        try:
            async with asyncio.timeout(20):
                assert await reader.read() == b""
        except ConnectionResetError:
            pass
        writer.close()
        assert b.counters[reason] == 1
        a.send(b"still there", b.endpoint)
        await inbox.holds(1)
        assert [data for data, _ in inbox.datagrams] == [b"still there"]

    run("tcp", 2, body)


class Listener:
    """A process that listens, and opens connections, with raw streams."""

    def __init__(self) -> None:
        self.nonces: list[bytes] = []
        self.writers: list[asyncio.StreamWriter] = []
        self.endpoint: Endpoint

    async def __aenter__(self) -> "Listener":
        self._server = await asyncio.start_server(self._accepted, *LOOPBACK)
        self.endpoint = self._server.sockets[0].getsockname()
        return self

    async def __aexit__(self, *_: object) -> None:
        for writer in self.writers:
            writer.close()
        self._server.close()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        await reader.readexactly(7 + len("127.0.0.1"))
        while True:
            assert await reader.readexactly(4) == b"\xff\xff\xff\xf0"
            self.nonces.append(await reader.readexactly(16))

    async def greets(self, to: Endpoint, as_port: int) -> asyncio.StreamWriter:
        """Open a connection that is said to be of that port."""
        _, writer = await asyncio.open_connection(*to)
        self.writers.append(writer)
        writer.write(b"RCT2" + as_port.to_bytes(2, "big") + b"\x09127.0.0.1")
        return writer


def test_an_error_of_every_send_is_said_once_with_its_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body(opened: list[Transport]) -> None:
        (a,) = opened
        for _ in range(3):
            a.send(b"x", ("192.0.2.1", 7000))
        assert a.counters["socket_error"] == 3
        assert a.counters["sent"] == 0

    run("udp", 1, body)

    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "sends to 192.0.2.1:7000 does not get out: " in record.getMessage()
    assert record.getMessage().endswith("(this kind of error is said once)")


def test_tcp_reassembles_frames_that_arrive_byte_by_byte() -> None:
    async def body(opened: list[Transport]) -> None:
        (a,) = opened
        inbox = Inbox(a)
        async with Listener() as peer:
            writer = await peer.greets(a.endpoint, peer.endpoint[1])
            await until(lambda: bool(peer.nonces))
            proof = b"\xff\xff\xff\xf1" + peer.nonces[0]
            for byte in proof + b"\0\0\0\3abc" + b"\0\0\0\0" + b"\0\0\0\1d":
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0)
            await inbox.holds(3)
            source = peer.endpoint
            assert inbox.datagrams == [(b"abc", source), (b"", source), (b"d", source)]

    run("tcp", 1, body)


def test_tcp_takes_nothing_of_who_says_that_it_is_another_process() -> None:
    async def body(opened: list[Transport]) -> None:
        a, b = opened
        at_a, at_b = Inbox(a), Inbox(b)
        b.send(b"of b", a.endpoint)
        a.send(b"of a", b.endpoint)
        await at_a.holds(1)
        await at_b.holds(1)
        async with Listener() as stranger:
            for nonce in (b"", b"\xff\xff\xff\xf1" + bytes(16)):
                writer = await stranger.greets(a.endpoint, b.endpoint[1])
                writer.write(b"\0\0\0\4evil" + nonce + b"\0\0\0\4evil")
            await until(lambda: a.counters["dropped_unproved"] == 4)
            b.send(b"of b again", a.endpoint)
            await at_a.holds(2)
            assert at_a.datagrams == [(b"of b", b.endpoint), (b"of b again", b.endpoint)]
            assert stranger.nonces == []

    run("tcp", 2, body)


def test_tcp_asks_again_for_a_nonce_that_does_not_come_back_and_drops_frames_until_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tcp, "_ASK_AGAIN", 0.01)

    async def body(opened: list[Transport]) -> None:
        (a,) = opened
        inbox = Inbox(a)
        async with Listener() as peer:
            writer = await peer.greets(a.endpoint, peer.endpoint[1])
            writer.write(b"\0\0\0\5early")
            await until(lambda: len(peer.nonces) == 2)
            writer.write(b"\xff\xff\xff\xf1" + peer.nonces[1] + b"\0\0\0\4late")
            await inbox.holds(1)
            assert inbox.datagrams == [(b"late", peer.endpoint)]
            assert a.counters["dropped_unproved"] == 1
            assert peer.nonces[0] == peer.nonces[1]

    run("tcp", 1, body)


@pytest.mark.parametrize("said", [b"", b"RC", b"RCT2\x1b\x58\x09127.0.0.1\0\0\0\3ab"])
def test_tcp_closes_a_connection_that_falls_silent(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tcp, "_GREET", 0.01)
    monkeypatch.setattr(tcp, "_IDLE", 0.01)

    async def body(opened: list[Transport]) -> None:
        (a,) = opened
        _, writer = await asyncio.open_connection(*a.endpoint)
        writer.write(said)
        await until(lambda: a.counters["closed_idle"] == 1)
        assert isinstance(a, TcpTransport)
        await until(lambda: isinstance(a, TcpTransport) and not a.incoming)
        writer.close()

    run("tcp", 1, body)


def test_tcp_takes_only_so_many_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp, "_MOST", 3)

    async def body(opened: list[Transport]) -> None:
        (a,) = opened
        inbox = Inbox(a)
        async with Listener() as peer:
            proved = [await peer.greets(a.endpoint, peer.endpoint[1]) for _ in range(3)]
            await until(lambda: len({*peer.nonces}) == 3)
            for writer in proved:
                writer.write(b"".join(b"\xff\xff\xff\xf1" + each for each in peer.nonces))
                writer.write(b"\0\0\0\3abc")
            await inbox.holds(3)
            for _ in range(2):
                await peer.greets(a.endpoint, peer.endpoint[1])
            await until(lambda: a.counters["rejected_too_many"] == 2)
            assert isinstance(a, TcpTransport)
            assert len(a.incoming) == 3

    run("tcp", 1, body)


def test_tcp_closes_the_connection_of_a_stranger_for_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tcp, "_MOST", 3)

    async def body(opened: list[Transport]) -> None:
        a, b = opened
        taken: list[bytes] = []

        def members_only(batch: Datagrams) -> bool:
            known = [data for data, _ in batch if data == b"key"]
            taken.extend(known)
            return bool(known)

        b.start(members_only)
        a.send(b"key", b.endpoint)
        await until(lambda: taken == [b"key"])
        writers = []
        for _ in range(9):
            _, writer = await asyncio.open_connection(*b.endpoint)
            writer.write(b"RCT2\x1b\x58\x09127.0.0.1\0\0\0\3abc")
            writers.append(writer)
        await until(lambda: b.counters["closed_for_another"] == 7)
        a.send(b"key", b.endpoint)
        await until(lambda: taken == [b"key"] * 2)
        assert b.counters["rejected_too_many"] == a.counters["connection_lost"] == 0
        for writer in writers:
            writer.close()

    run("tcp", 2, body)


def test_tcp_forgets_a_peer_that_it_sends_nothing_to_for_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tcp, "_MOST", 2)

    async def body(opened: list[Transport]) -> None:
        a, b, c, d = opened
        inboxes = [Inbox(each) for each in (b, c, d)]
        for to, inbox in zip((b, c), inboxes, strict=False):
            a.send(b"first", to.endpoint)
            await inbox.holds(1)
        a.send(b"too many", d.endpoint)
        assert a.counters["dropped_too_many_peers"] == 1
        monkeypatch.setattr(tcp, "_UNUSED", 0.0)
        a.send(b"again", b.endpoint)
        a.send(b"for c's place", d.endpoint)
        a.send(b"still here", b.endpoint)
        await inboxes[2].holds(1)
        await inboxes[0].holds(3)
        assert a.counters["sent"] == 5

    run("tcp", 4, body)


def test_tcp_keeps_only_so_many_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp, "_MOST", 2)

    async def body(opened: list[Transport]) -> None:
        (a,) = opened
        with socket.socket() as unused:
            unused.bind(LOOPBACK)  # bound, not listening: refuses
            port = unused.getsockname()[1]
            for last in range(1, 4):
                a.send(b"anyone?", (f"127.0.0.{last}", port))
            assert a.counters["dropped_too_many_peers"] == 1
            await until(lambda: a.counters["connect_failed"] == 2)
            a.send(b"anyone?", ("127.0.0.3", port))
            assert a.counters["dropped_too_many_peers"] == 1
            await until(lambda: a.counters["connect_failed"] == 3)

    run("tcp", 1, body)


@pytest.mark.parametrize("kind", ["udp", "tcp"])
def test_a_port_in_use_is_one_clear_error(kind: str) -> None:
    async def body(opened: list[Transport]) -> None:
        taken = opened[0].endpoint
        with pytest.raises(ConfigError, match=f"127.0.0.1:{taken[1]}: it is in use"):
            (UdpTransport if kind == "udp" else TcpTransport)(taken)

    run(kind, 1, body)


def test_a_group_that_is_no_multicast_address_is_one_clear_error() -> None:
    async def main() -> None:
        with pytest.raises(ConfigError, match="not a multicast address"):
            MulticastTransport(LOOPBACK, ("127.0.0.1", 5000))

    asyncio.run(main())


@pytest.mark.parametrize("text", ["", "7001", "host:", ":7001", "host:port", "host:70000", "h:-1"])
def test_an_address_that_is_not_host_and_port_is_one_clear_error(text: str) -> None:
    with pytest.raises(ConfigError, match="HOST:PORT"):
        parse_endpoint(text)


def test_an_address_is_read_from_text_or_a_pair() -> None:
    assert parse_endpoint("127.0.0.1:7001") == ("127.0.0.1", 7001)
    assert parse_endpoint(("127.0.0.1", 7001)) == ("127.0.0.1", 7001)


def test_an_unknown_host_is_one_clear_error() -> None:
    with pytest.raises(ConfigError, match="unknown host"):
        asyncio.run(resolve(("no such host", 7001)))
