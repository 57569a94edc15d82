"""TCP: one connection from each member to each other, datagrams as length-prefixed frames.

A connection carries frames one way only, from the member that opened it; so two members that
meet need not agree on whose connection to keep. It opens with a greeting that tells where the
sender itself listens, because that, not the ephemeral port, is the sender's endpoint.

The host in it has to be the one that the connection comes from, and the port is proved: who is
greeted sends a nonce to that endpoint, and takes nothing until it comes back by the connection that
has greeted, whose opener sends no frame before. So nobody can say that it is another process.
Connections are bounded in number; one that stays silent, or unproved, is closed. If there is no
room for another one, so is the earliest that has sent no datagram that could be a member's.

    greeting: b"RCT2", u16 port, u8 length of host, host      frame: u32 length, bytes
    nonce: u32 0xfffffff0, 16 bytes                           given back: u32 0xfffffff1, the same

A datagram for a peer that does not answer waits in a bounded queue while a connection is
tried; when that fails, what waited is dropped and counted, and the next try waits a little longer.
"""

import asyncio
import socket
import struct
from collections import Counter
from secrets import token_bytes

from raincheck.impl.messages import Endpoint

from .contract import Datagrams, Transport, bind, enlarge_buffers, is_any, opened, place_of

_GREETING = struct.Struct(">4sHB")
_MAGIC = b"RCT2"
_NONCE, _BACK = 0xFFFF_FFF0, 0xFFFF_FFF1  # instead of a length: a nonce follows
_NONCE_SIZE = 16
_ASK_AGAIN = 0.2  # seconds until a nonce that does not come back is sent again
_LENGTH = struct.Struct(">I")
_QUEUE = 8 << 20  # bytes waiting for one peer
_RETRY_FIRST, _RETRY_LAST = 0.05, 1.0  # seconds between attempts to connect
_CONNECT = 2.0  # seconds for one attempt
_GREET = 5.0  # seconds until a connection that has not proved who it is is closed
_IDLE = 60.0  # seconds until a silent one is; a member sends signs of life all the time
_MOST = 512  # connections each way
_UNUSED = 0.5  # seconds until a peer that nothing is sent to makes room for another one


class TcpTransport(Transport):
    """One listening socket, and one outgoing connection for each peer."""

    name = "tcp"
    multicasts = False
    max_datagram = 1 << 20

    def __init__(self, endpoint: Endpoint, advertise: Endpoint | None = None) -> None:
        """`advertise`: where others reach it, if that is not where it is bound."""
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._listener = opened(socket.SOCK_STREAM, endpoint)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bind(self._listener, endpoint, "TCP")
        self._listener.setblocking(False)
        self.endpoint = place_of(self._listener, advertise)
        self._host = None if is_any(endpoint[0]) else endpoint[0]  # from which it connects
        self._server: asyncio.Server | None = None
        self._peers: dict[Endpoint, _Peer] = {}
        self.incoming: dict[_Incoming, None] = {}  # in the order in which they came
        self.closed = False

    async def listen(self) -> None:
        """Accept connections from now on."""
        self._server = await self._loop.create_server(lambda: _Incoming(self), sock=self._listener)

    def send(self, data: bytes, to: Endpoint) -> None:
        peer = self._peer(to)
        if peer is not None:
            peer.send(data)

    def _peer(self, to: Endpoint) -> "_Peer | None":
        """Return the connection to that endpoint, unless there are too many."""
        peer = self._peers.get(to)
        if self.closed or peer is not None:
            return None if self.closed else peer
        if len(self._peers) >= _MOST and not self._forget_a_peer():
            self.counters["dropped_too_many_peers"] += 1
            return None
        peer = self._peers[to] = _Peer(self._loop, to, self.endpoint, self._host, self.counters)
        return peer

    def ask(self, claimed: Endpoint, nonce: bytes) -> None:
        """Send a nonce to the endpoint that a connection is said to be of."""
        peer = self._peer(claimed)
        if peer is not None:
            peer.tell(_LENGTH.pack(_NONCE) + nonce)

    def give_back(self, claimed: Endpoint, nonce: bytes) -> None:
        """Give a nonce back by the connection to who has sent it, if there is one."""
        peer = self._peers.get(claimed)
        if peer is not None:
            peer.give_back(_LENGTH.pack(_BACK) + nonce)

    def _forget_a_peer(self) -> bool:
        """Forget a peer to which there is no connection, or the one that was used least lately.

        Returns whether there is one.
        """
        before = self._loop.time() - _UNUSED
        unused = (e for e, p in self._peers.items() if p.closed or p.used < before)
        endpoint = min(unused, key=lambda e: self._peers[e].used, default=None)
        if endpoint is None:
            return False
        self._peers.pop(endpoint).abort()
        return True

    def pending(self) -> int:
        return sum(peer.pending() for peer in self._peers.values())

    async def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        if self._server is not None:
            self._server.close()
        else:
            self._listener.close()
        try:
            closing = [peer.close() for peer in self._peers.values()]
            await asyncio.wait_for(asyncio.gather(*closing), timeout=1.0)
        except TimeoutError:
            self.counters["dropped_at_close"] += 1
        finally:
            for peer in self._peers.values():
                peer.abort()
            for connection in list(self.incoming):
                connection.abort()

    def arrived(self, batch: Datagrams) -> bool:
        """Take the frames that one connection has read; return whether they can be a member's."""
        return not self.closed and self._hand_over(batch)

    def makes_room(self) -> bool:
        """Close the earliest connection that may be a stranger's; return whether there is one."""
        stranger = next((each for each in self.incoming if not each.trusted), None)
        if stranger is not None:
            stranger.hang_up("closed_for_another")
        return stranger is not None


class _Peer(asyncio.Protocol):
    """The outgoing side: connects when there is something to send."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        to: Endpoint,
        mine: Endpoint,
        host: str | None,
        counters: Counter[str],
    ) -> None:
        """`mine`: where this member is reached; `host`: from which it connects, None for any."""
        self._loop = loop
        self._to = to
        self._counters = counters
        self._from = host
        here = mine[0].encode()
        self._greeting = _GREETING.pack(_MAGIC, mine[1], len(here)) + here
        self._transport: asyncio.Transport | None = None
        self._attempt: asyncio.Task[None] | None = None
        self._waiting: list[bytes] = []
        self._controls: list[bytes] = []
        self._proved = asyncio.Event()  # or there is no connection that could be
        self._waiting_bytes = 0
        self._retry_at = 0.0
        self._retry_wait = _RETRY_FIRST
        self._done = loop.create_future()
        self.used = 0.0
        """When something was last sent to it."""

    def send(self, data: bytes) -> None:
        self.used = self._loop.time()
        if self._transport is not None and self._proved.is_set():
            if self._transport.get_write_buffer_size() + len(data) > _QUEUE:
                self._counters["dropped_backlog_full"] += 1
                return
            self._transport.write(_LENGTH.pack(len(data)) + data)
            self._counters["sent"] += 1
            return
        if self._transport is None and self._loop.time() < self._retry_at:
            self._counters["dropped_unreachable"] += 1
            return
        if self._waiting_bytes + len(data) > _QUEUE:
            self._counters["dropped_backlog_full"] += 1
            return
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if self._transport is None and self._attempt is None:
            self._attempt = self._loop.create_task(self._connect())

    def give_back(self, control: bytes) -> None:
        """Give a nonce back that came for this connection: now its frames are taken."""
        if self._transport is None:
            return
        self._transport.write(control)
        if not self._proved.is_set():
            self._proved.set()
            frames = [part for data in self._waiting for part in (_LENGTH.pack(len(data)), data)]
            self._transport.write(b"".join(frames))
            self._counters["sent"] += len(self._waiting)
            self._forget_waiting()

    def tell(self, control: bytes) -> None:
        """Send a nonce: at once, or first of all when there is a connection."""
        self.used = self._loop.time()
        if self._transport is not None:
            self._transport.write(control)
        elif len(self._controls) < _MOST:
            self._controls.append(control)
            if self._attempt is None:  # whoever speaks from there may well be there again
                self._attempt = self._loop.create_task(self._connect())

    @property
    def closed(self) -> bool:
        """Whether there is no connection, and none is tried."""
        return self._transport is None and self._attempt is None

    def pending(self) -> int:
        buffered = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return self._waiting_bytes + buffered

    async def _connect(self) -> None:
        try:
            async with asyncio.timeout(_CONNECT):
                local = None if self._from is None else (self._from, 0)
                await self._loop.create_connection(lambda: self, *self._to, local_addr=local)
        except (OSError, TimeoutError):
            self._counters["connect_failed"] += 1
            self._counters["dropped_unreachable"] += len(self._waiting)
            self._controls.clear()
            self._forget_waiting()
            self._retry_at = self._loop.time() + self._retry_wait
            self._retry_wait = min(_RETRY_LAST, self._retry_wait * 2)
        finally:
            self._attempt = None

    def _forget_waiting(self) -> None:
        self._waiting.clear()
        self._waiting_bytes = 0

    async def close(self) -> None:
        """Flush and close; return once the other side has received the end of the stream."""
        if self._attempt is not None:
            await asyncio.wait([self._attempt])
        if self._transport is not None:
            if self._waiting:
                await self._proved.wait()
            self._transport.close()
            await self._done

    def abort(self) -> None:
        if self._attempt is not None:
            self._attempt.cancel()
        if self._transport is not None:
            self._transport.abort()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        _tune(transport)
        self._retry_wait = _RETRY_FIRST
        transport.write(b"".join((self._greeting, *self._controls)))
        self._controls.clear()
        self._proved.clear()
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._counters["connection_lost" if exc else "connection_closed"] += 1
        self._transport = None
        self._proved.set()
        self._counters["dropped_unreachable"] += len(self._waiting)
        self._forget_waiting()
        if not self._done.done():
            self._done.set_result(None)


class _Incoming(asyncio.Protocol):
    """The incoming side: cuts the stream into frames; hangs up on anything else."""

    def __init__(self, owner: TcpTransport) -> None:
        self._owner = owner
        self._source: Endpoint | None = None
        self._nonce = token_bytes(_NONCE_SIZE)
        self._proved = False
        self._rest = b""
        self._transport: asyncio.Transport | None = None
        self._heard = True
        self.trusted = False
        """Whether it has sent a datagram that could be a member's."""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if len(self._owner.incoming) >= _MOST and not self._owner.makes_room():
            self.hang_up("rejected_too_many")
            return
        _tune(transport)
        self._owner.incoming[self] = None
        self._timer = asyncio.get_running_loop().call_later(_GREET, self._look)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio's name)
        self._owner.incoming.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        """Hang up if nothing was heard since the last look, or who it is was never proved."""
        if not self._proved or not self._heard:
            self.hang_up("closed_idle")
            return
        self._heard = False
        self._timer = asyncio.get_running_loop().call_later(_IDLE, self._look)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._heard = True
        if self._rest:
            data = self._rest + data
        at = 0
        if self._source is None:
            at = self._greet(data)
            if self._source is None:
                self._rest = data
                return
        batch: Datagrams = []
        source, limit, size = self._source, self._owner.max_datagram, len(data)
        while size - at >= 4:
            (length,) = _LENGTH.unpack_from(data, at)
            if length in (_NONCE, _BACK):
                if size - at - 4 < _NONCE_SIZE:
                    break
                at += 4 + _NONCE_SIZE
                self._told(length, data[at - _NONCE_SIZE : at])
                continue
            if length > limit:
                self.hang_up("rejected_oversized_frame")
                break
            if size - at - 4 < length:
                break
            if self._proved:
                batch.append((data[at + 4 : at + 4 + length], source))
            else:
                self._owner.counters["dropped_unproved"] += 1
            at += 4 + length
        self._rest = data[at:]
        if batch and self._owner.arrived(batch):
            self.trusted = True

    def _told(self, kind: int, nonce: bytes) -> None:
        """Handle a nonce: the other side's is given back, the own one proves this connection."""
        assert self._source is not None
        if kind == _NONCE:
            self._owner.give_back(self._source, nonce)
        elif nonce == self._nonce:
            self._proved = True

    def _ask(self) -> None:
        """Send the nonce to where this connection is said to be from, until it comes back."""
        assert self._source is not None
        assert self._transport is not None
        if not self._proved and not self._transport.is_closing():
            self._owner.ask(self._source, self._nonce)
            asyncio.get_running_loop().call_later(_ASK_AGAIN, self._ask)

    def _greet(self, data: bytes) -> int:
        """Read the greeting, if it is complete; return where the frames begin."""
        if not _MAGIC.startswith(data[:4]):
            self.hang_up("rejected_greeting")
            return 0
        if len(data) < _GREETING.size:
            return 0
        _, port, length = _GREETING.unpack_from(data)
        end: int = _GREETING.size + length
        if len(data) < end:
            return 0
        try:
            host = data[_GREETING.size : end].decode("ascii")
        except UnicodeDecodeError:
            self.hang_up("rejected_greeting")
            return 0
        assert self._transport is not None
        if host != self._transport.get_extra_info("peername")[0]:
            self.hang_up("rejected_identity")
            return 0
        self._source = (host, port)
        self._ask()
        return end

    def hang_up(self, reason: str) -> None:
        """Close the connection at once."""
        self._owner.counters[reason] += 1
        self._owner.incoming.pop(self, None)
        self._rest = b""
        self.abort()


def _tune(transport: asyncio.Transport) -> None:
    sock = transport.get_extra_info("socket")
    if sock is not None:
        enlarge_buffers(sock)
