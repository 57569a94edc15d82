"""The contract of the transports that carry datagrams between members: UDP (`.udp`), TCP (`.tcp`).

A transport is the only part of a member that owns sockets.
It promises little, and the stack above asks for no more: a datagram arrives whole or not at all,
perhaps late, perhaps twice, perhaps after its successor. Nothing it does can raise through the
loop: what goes wrong is counted by reason in `counters`, and retransmission repairs it.

Received datagrams are handed over in batches, one call for each wake-up of the loop,
so that the stack runs, and answers, once for all of them.
"""

import asyncio
import contextlib
import errno
import ipaddress
import re
import socket
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from raincheck.impl.arguments import PLACE, check, shown_value
from raincheck.impl.errors import ConfigError
from raincheck.impl.messages import Endpoint, shown
from raincheck.impl.sealing.keys import Keys

Datagrams: TypeAlias = list[tuple[bytes, Endpoint]]
"""Datagrams received in one wake-up, each with the endpoint it came from."""

Receiver: TypeAlias = Callable[[Datagrams], object]
"""Takes received datagrams; returns False if none of them can be of a member."""

MAX_UDP_PAYLOAD = 65_507
"""The most that IPv4 lets one datagram carry."""

_PORT = re.compile(r"[0-9]{1,5}")
_BUFFER = 4 << 20  # bytes asked of the kernel for each socket, both ways


class Transport(ABC):
    """Sends datagrams to endpoints and hands over those that arrive."""

    name: str
    """Its name in configurations: "udp", "multicast" or "tcp"."""
    multicasts: bool
    """Whether one call of `broadcast` reaches members whose endpoints are not known."""
    endpoint: Endpoint
    """The endpoint at which others reach this transport."""
    max_datagram: int
    """The most bytes that `send` takes at once."""
    counters: Counter[str]
    """Counts of datagrams sent, received, and dropped by reason."""
    sealed = False
    """Whether each datagram is authenticated, so that it needs no checksum (`.sealed`)."""

    def __init__(self) -> None:
        self.counters = Counter()
        self._receive: Receiver | None = None

    def start(self, receive: Receiver) -> None:
        """Hand every batch of datagrams to `receive` from now on."""
        self._receive = receive

    @abstractmethod
    def send(self, data: bytes, to: Endpoint) -> None:
        """Send one datagram, or count why it was dropped."""

    def multicast(self, data: bytes, to: Iterable[Endpoint]) -> None:
        """Send one datagram to each of several members."""
        for endpoint in to:
            self.send(data, endpoint)

    def broadcast(self, data: bytes) -> None:
        """Send one datagram to all that listen to the group, known or not (discovery)."""
        raise NotImplementedError(f"transport {self.name!r} has no group to discover members in")

    @property
    def refused(self) -> Mapping[Endpoint, str]:
        """Endpoints that have another key, as long as nobody has been found who has this one."""
        return {}

    def change_keys(self, keys: Keys) -> None:
        """Seal with the first of these keys, and open with all of them."""
        del keys
        raise ConfigError(
            "a member that was connected without a key cannot be given one while it runs; "
            "stop the whole group, and connect with key="
        )

    @abstractmethod
    def pending(self) -> int:
        """Bytes accepted by `send` that the kernel has not yet taken."""

    @abstractmethod
    async def close(self) -> None:
        """Flush what is pending if possible, and release every socket."""

    def _hand_over(self, batch: Datagrams) -> bool:
        """Return whether the batch may be of somebody who belongs here: False under a key only."""
        self.counters["received"] += len(batch)
        return self._receive is None or self._receive(batch) is not False


def parse_endpoint(text: str | Endpoint, what: str = "address") -> Endpoint:
    """Parse "host:port"; raise ConfigError if it is not that."""
    check(what, text, PLACE)
    if isinstance(text, tuple):
        host, port = text[0], str(text[1])
    else:
        host, _, port = text.strip().rpartition(":")
        bare = host.removeprefix("[").removesuffix("]")
        if ":" in bare and host != f"[{bare}]":
            raise ConfigError(
                f"{what} {shown_value(text)} has an IPv6 address without brackets, so that its "
                f"port cannot be told from it; write for example [::1]:7001"
            )
        host = bare
    if not host or not _PORT.fullmatch(port) or int(port) > 65_535:
        raise ConfigError(
            f"{what} {shown_value(text)} is not HOST:PORT with a port from 0 to 65535; "
            f"write for example 127.0.0.1:7001"
        )
    if "%" in host:
        raise ConfigError(
            f"{what} {shown_value(text)} has a zone, which means nothing to the others; use an "
            f"address that is the same on every machine"
        )
    return host, int(port)


def family_of(host: str) -> socket.AddressFamily:
    """Return the family of an IP address."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def is_any(host: str) -> bool:
    """Whether the address stands for every address of this machine, as 0.0.0.0 and :: do."""
    return ipaddress.ip_address(host).is_unspecified


def is_name(host: str) -> bool:
    """Whether a host is named, and not given by its address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False


def is_own(host: str) -> bool:
    """Whether an address is one of this machine's, so that nobody else can send from it."""
    with socket.socket(family_of(host), socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
    return True


def check_family(endpoint: Endpoint, bound: Endpoint, what: str) -> None:
    """Raise ConfigError if an address is not of the family of that to which this member binds."""
    if family_of(endpoint[0]) != family_of(bound[0]):
        both = (family_of(endpoint[0]), family_of(bound[0]))
        theirs, ours = ("IPv6" if family == socket.AF_INET6 else "IPv4" for family in both)
        raise ConfigError(
            f"{what} {shown(endpoint)} is an {theirs} address, and this member is bound to "
            f"{shown(bound)}, which is {ours}; use one family in the whole group"
        )


async def resolve(
    endpoint: Endpoint, what: str = "address", family: socket.AddressFamily | None = None
) -> Endpoint:
    """Resolve a host name to its first address; raise ConfigError if that fails.

    A name that has addresses of both families stands for that of `family`, or else for IPv4.
    """
    return (await _addresses(endpoint, what, family))[0]


async def resolve_all(
    hosts: Sequence[str | Endpoint], what: str, bound: Endpoint
) -> tuple[Endpoint, ...]:
    """Parse and resolve addresses of members, each named `what` in errors.

    A name stands for all of its addresses, as a service without an address of its own has it.
    """
    found: dict[Endpoint, None] = {}
    for host in hosts:
        for each in await _addresses(parse_endpoint(host, what), what, family_of(bound[0])):
            check_family(each, bound, what)
            found[each] = None
    return tuple(found)


async def _addresses(
    endpoint: Endpoint, what: str, family: socket.AddressFamily | None
) -> list[Endpoint]:
    host, port = endpoint
    with contextlib.suppress(ValueError):
        return [(str(ipaddress.ip_address(host)), port)]
    loop, problem = asyncio.get_running_loop(), OSError()
    for each in [family] if family is not None else [socket.AF_INET, socket.AF_INET6]:
        try:
            found = await loop.getaddrinfo(host, port, family=each, type=socket.SOCK_DGRAM)
        except (OSError, UnicodeError) as failed:
            problem = problem if problem.args else OSError(str(failed))
        else:
            return [(str(address[0]), int(address[1])) for *_, address in found]
    raise ConfigError(
        f"{what} {host}:{port} names an unknown host ({problem}); check the spelling or "
        f"give an IP address"
    )


async def advertised(
    advertise: str | Endpoint | None, bind: str | Endpoint | None, bound: Endpoint
) -> Endpoint | None:
    """Return where the others reach a member, None if that is where it is bound (`bind`, resolved).

    Raises ConfigError if they cannot reach it there.
    """
    if advertise is None:
        if is_any(bound[0]):
            raise ConfigError(
                f"bind {bind} stands for every address of this machine; say with "
                f"advertise= at which one the others reach it, or bind to that one"
            )
        return None
    named = parse_endpoint(advertise, "advertise")
    place = await resolve(named, "advertise", family_of(bound[0]))
    check_family(place, bound, "advertise")
    if is_any(place[0]):
        raise ConfigError(f"advertise {advertise} is no address that others can reach")
    return place


def check_route(bound: Endpoint, others: Iterable[Endpoint], what: str) -> None:
    """Raise ConfigError if nothing that is sent from `bound` can leave this machine for them.

    127.0.0.1, the default, is such an address if one of the others is elsewhere. Sends nothing.
    """
    loopback = ipaddress.ip_address(bound[0]).is_loopback
    for host, port in others:
        with socket.socket(family_of(host), socket.SOCK_DGRAM) as probe:
            try:
                probe.bind((bound[0], 0))
                probe.connect((host, port))
            except OSError as problem:
                # Anything else may pass: a network that is not up yet, for one.
                if problem.errno == errno.EINVAL or loopback:
                    raise ConfigError(
                        f"{what} {shown((host, port))} is on another machine, which bind "
                        f"{bound[0]} does not reach; bind to an address of this machine that the "
                        f"others can reach"
                    ) from None


def address_towards(place: Endpoint) -> str:
    """Return the address of this machine from which what is sent there comes. Sends nothing."""
    with socket.socket(family_of(place[0]), socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(place)
        except OSError as problem:
            raise ConfigError(
                f"{shown(place)} cannot be reached from this machine: {problem.strerror}; check "
                f"the address and the routes"
            ) from None
        return str(probe.getsockname()[0])


def opened(kind: socket.SocketKind, endpoint: Endpoint) -> socket.socket:
    """Return a socket of that kind, of the address's family, not bound yet."""
    family = family_of(endpoint[0])
    sock = socket.socket(family, kind)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    return sock


def place_of(sock: socket.socket, advertise: Endpoint | None) -> Endpoint:
    """Return where others reach a socket that is bound: there, or where it is said to be.

    Port 0 of `advertise` stands for the port of the socket.
    """
    host, port = sock.getsockname()[:2]
    return (host, port) if advertise is None else (advertise[0], advertise[1] or port)


def bind(sock: socket.socket, endpoint: Endpoint, what: str) -> None:
    """Bind a socket; if that fails, close it and raise ConfigError."""
    try:
        sock.bind(endpoint)
    except OSError as problem:
        sock.close()
        where = shown(endpoint)
        if problem.errno == errno.EADDRINUSE:
            advice = "it is in use; choose another port, or stop the process that has it"
        elif problem.errno == errno.EADDRNOTAVAIL:
            advice = "this machine has no such address; bind to one of its own"
        else:
            advice = problem.strerror or str(problem)
        raise ConfigError(f"cannot bind {what} to {where}: {advice}") from None


def enlarge_buffers(sock: socket.socket) -> None:
    """Request large kernel buffers; the system may grant less."""
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
