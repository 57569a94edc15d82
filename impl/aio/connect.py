"""From the arguments of `Channel.connect` to an open transport and a stack: checked, resolved.

Whatever cannot work is found here, before anything is sent, and is one ConfigError.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_bytes
from typing import Annotated, TypeAlias, TypedDict

from raincheck.impl.arguments import (
    ADMISSION,
    FLAG,
    FOLDER,
    FUNCTION,
    IN_FILE_NAMES,
    INCARNATION,
    KEYS,
    NAME,
    NAMES,
    NETWORKS,
    PLACE,
    PLACES,
    SECONDS,
    SECONDS_OR_0,
    TEXT,
    WHOLE,
    check_settings,
    choice,
    count,
    instance,
)
from raincheck.impl.asking.desk import Desk, who_may_ask
from raincheck.impl.errors import ConfigError
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.networks import inside
from raincheck.impl.recording.sending import Writer, writer_to
from raincheck.impl.recording.sequencer import sequencer_recorder
from raincheck.impl.sealing.keys import KeySource, keys_to_seal
from raincheck.impl.stack.config import (
    DELIVERIES,
    MERGES,
    MOST_VOTES,
    ORDERS,
    REPAIRS,
    STABILITIES,
    Admit,
    StackConfig,
)
from raincheck.impl.stack.stack import Stack
from raincheck.impl.transport.contract import (
    Transport,
    advertised,
    check_route,
    is_own,
    parse_endpoint,
    resolve,
    resolve_all,
)
from raincheck.impl.transport.sealed import SealedTransport
from raincheck.impl.transport.tcp import TcpTransport
from raincheck.impl.transport.udp import MulticastTransport, UdpTransport

from .events import Request
from .idle_settings import BESIDE, FILLED_IN, check_filled_in, check_given, check_trace
from .payloads import Payload
from .state_callbacks import GetStateCall, SetStateCall

Callback: TypeAlias = Callable[[], Awaitable[None] | None]
"""A function of the application without arguments, or a coroutine function."""

OnCall: TypeAlias = Callable[[Request], Payload | Awaitable[Payload]]
"""Answers a call; an exception that it raises is told to the caller."""

TRANSPORTS = ("udp", "multicast", "tcp")
DEFAULT_GROUP = "239.192.7.7:45588"
_PRIMARY_TIMEOUT = 10.0

_log = logging.getLogger("raincheck")
A_STACK = instance(StackConfig, "give a StackConfig, as in stack=StackConfig(max_bundle=9000)")


class ChannelSettings(TypedDict, total=False):
    """The keyword arguments of `Channel.connect`: the fields of `ChannelConfig`, for type checkers
    and editors.
    """

    name: str | None
    incarnation: int | None
    transport: str
    bind: str | Endpoint
    advertise: str | Endpoint | None
    initial_hosts: Sequence[str | Endpoint]
    group: str | Endpoint | None
    timeout: float
    leave_timeout: float
    admit: Admit | None
    ask: Sequence[str] | None
    inbox: int
    trace: str | Path | None
    run: str
    nodes: Sequence[str]
    seed: int | None
    block: Callback | None
    unblock: Callback | None
    on_call: OnCall | None
    discard_own: bool
    get_state: GetStateCall | None
    set_state: SetStateCall | None
    key: KeySource
    encrypt: bool
    rejoin: bool
    on_merge: str | None
    order: str | None
    delivery: str | None
    stability: str | None
    repair: str | None
    primary: str | None
    expected_votes: int | None
    votes: int | None
    tie_breaker: bool | None
    found: bool | None
    primary_timeout: float | None
    stack: StackConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelConfig:
    """The settings of `Channel.connect`."""

    cluster: Annotated[str, TEXT]
    """Name of the group."""
    name: Annotated[str, NAME] | None = None
    """This member's name; None takes "host:port"."""
    incarnation: Annotated[int, INCARNATION] | None = None
    """Incarnation of this name; must grow with each restart. None takes milliseconds since 1970."""
    transport: Annotated[str, choice(*TRANSPORTS)] = "udp"
    """One of `TRANSPORTS`: datagrams to each member, datagrams to an IP group, or TCP."""
    bind: Annotated[str | Endpoint, PLACE] = "127.0.0.1:0"
    """Where to listen: an address of this machine that the others can reach. Port 0: any."""
    advertise: Annotated[str | Endpoint, PLACE] | None = None
    """Where the others reach this member, if that is not where it listens: with `bind` 0.0.0.0 or
    ::, and in containers whose ports are mapped. What it sends has to come from there. Port 0: that
    of `bind`."""
    initial_hosts: Annotated[Sequence[str | Endpoint], PLACES] = ()
    """Addresses of members; this member's own may be among them. A host name stands for all of its
    addresses."""
    group: Annotated[str | Endpoint, PLACE] | None = None
    """The IP multicast group, for transport "multicast" alone. None: `DEFAULT_GROUP`."""
    timeout: Annotated[float, SECONDS] = 10.0
    """Time-out of connecting, in seconds."""
    leave_timeout: Annotated[float, SECONDS] = 10.0
    """Time-out of the graceful leave at the end of `async with`, in seconds."""
    admit: Annotated[Admit, ADMISSION] | None = None
    """Who may join while this member leads: a list of networks, or a function of a joiner's address
    and endpoint. None: as in `stack`, where everybody may."""
    ask: Annotated[Sequence[str], NETWORKS] | None = None
    """Who may ask this member for its status (`raincheck.ask`): a list of networks. None: who has
    the key, or, without one, who is on the same machine; []: nobody."""
    inbox: Annotated[int, count(1)] = 8 << 20
    """Bytes of delivered messages kept for a slow consumer before the senders have to wait."""
    trace: Annotated[str | Path, FOLDER] | None = None
    """Folder for a trace file of what SEQUENCER handles, or where `raincheck conform --follow`
    listens: "unix:PATH" or "tcp:ADDRESS:PORT"; None: no tracing."""
    run: Annotated[str, IN_FILE_NAMES] = "run"
    """Name of the run in trace records and in the trace file's name."""
    nodes: Annotated[Sequence[str], NAMES] = ()
    """Names of all nodes of the run, as far as they are known, for the trace's header."""
    seed: Annotated[int, WHOLE] | None = None
    """Seed of the stack's random choices; None takes the incarnation."""
    block: Annotated[Callback, FUNCTION] | None = None
    """Called, and awaited, before the group stops for a view change or a state transfer: complete
    what is half done. It may still send; what is sent later waits until `unblock`."""
    unblock: Annotated[Callback, FUNCTION] | None = None
    """Called when the group goes on."""
    on_call: Annotated[OnCall, FUNCTION] | None = None
    """Answers the calls of members: it is called with each `Request`, and returns the answer or a
    coroutine of one. An exception that it raises is told to the caller."""
    discard_own: Annotated[bool, FLAG] = False
    """Whether this member is not given what it multicasts itself, nor asked by its own calls of
    all. Unicasts and calls that name it do come."""
    get_state: Annotated[GetStateCall, FUNCTION] | None = None
    """Gives the application's state to a member that joins; see `state_desk`."""
    set_state: Annotated[SetStateCall, FUNCTION] | None = None
    """Takes the group's state as this member joins, before any message; connecting waits for it."""
    key: Annotated[KeySource, KEYS] | None = field(default=None, repr=False)
    """The group's key: `SIZE` bytes, the path of a key file, or several of these, of which the
    first one seals and all open. None: as the environment says; []: no key. See docs/keys.md."""
    encrypt: Annotated[bool, FLAG] = True
    """Whether datagrams under a key are encrypted too, not only authenticated. False needs a key.
    """
    rejoin: Annotated[bool, FLAG] = False
    """Whether a member that the group excludes comes back by itself, as its next incarnation; see
    `Channel.on_excluded`."""
    on_merge: Annotated[str, choice(*MERGES)] | None = None
    """When this group meets another one of its name, after a partition or founded apart: "leave",
    one of the two gives way, and its members leave; "callback", they become one, and the
    application is shown a `MergeView`, in which it brings its states together; "state", the same,
    and the sides that do not prevail are given the state of the one that does (`get_state` and
    `set_state`). All members need the same. None: as in `stack`, where it is "leave"."""
    order: Annotated[str, choice(*ORDERS)] | None = None
    """The protocol that gives messages one order: "sequencer", or "total", which does so by ids
    that begin anew with each view (docs/protocols/total.md). All members need the same. None: as in
    `stack`, where it is "sequencer"."""
    delivery: Annotated[str, choice(*DELIVERIES)] | None = None
    """When a message in the order of all is delivered: "agreed", when it is received; "safe", when
    every member of the view has received it, so that not even a member that crashes has delivered
    what a survivor never does. All members need the same. None: as in `stack`, where it is
    "agreed"."""
    stability: Annotated[str, choice(*STABILITIES)] | None = None
    """How members learn what all have delivered, and forget it: "votes", each tells all, again and
    again; "gossip", a word goes from member to member and gathers it, at a few datagrams for each
    member however many there are. All members need the same, and their groups do not merge. None:
    as in `stack`, where it is "votes"."""
    repair: Annotated[str, choice(*REPAIRS)] | None = None
    """How members get what they lack: "requests", each asks as soon as it sees a gap; "gossip", it
    asks the member from which a gossip has come, which spreads the requests of a large group and
    takes longer; that needs `stability="gossip"`. All members need the same. None: as in `stack`,
    where it is "requests"."""
    primary: Annotated[str, choice("majority")] | None = None
    """Which side of a partition goes on: "majority", the one that has a majority of the last
    primary view; the others deliver nothing until they have merged with it. All members need the
    same. None: as in `stack`, where each side goes on for itself."""
    expected_votes: Annotated[int, count(0, MOST_VOTES)] | None = None
    """With `primary` alone: how many votes all members have together; the first primary view needs
    them all. All members need the same."""
    votes: Annotated[int, count(0, MOST_VOTES)] | None = None
    """With `primary` alone: how many of them this member has. None: as in `stack`, where it is
    1."""
    tie_breaker: Annotated[bool, FLAG] | None = None
    """With `primary` alone: whether of two halves the one with the smallest address (name, then
    earlier life) goes on, instead of neither. All members need the same. None: as in `stack`, where
    it does."""
    found: Annotated[bool, FLAG] | None = None
    """With `primary` alone: whether an operator says that the group's history is lost, and no other
    process goes on: then a majority of `expected_votes` may begin a new one."""
    primary_timeout: Annotated[float, SECONDS_OR_0] | None = None
    """With `primary` alone: for how many seconds a send or call waits until the view is primary,
    before it raises NotPrimary; 0: it does not wait. None: 10."""
    stack: Annotated[StackConfig, A_STACK] = field(default_factory=StackConfig)
    """Settings of the protocols; `cluster` and `initial_hosts` are filled in."""

    def __post_init__(self) -> None:
        """Reject settings that cannot work, and those that have no effect."""
        check_settings(self, ChannelConfig)
        check_filled_in("stack", self.stack, FILLED_IN)
        if self.ask is not None:
            inside(self.ask, "ask")
        check_given(self, self.stack)
        merges = self._protocols()
        stateless = self.get_state is None or self.set_state is None
        if merges.on_merge == "state" and stateless:
            raise ConfigError("on_merge='state' needs get_state= and set_state=, of every member")
        if self.trace is not None and merges.order != "sequencer":
            raise ConfigError(
                f"trace= is of SEQUENCER, and order is {merges.order!r}; leave one of them out"
            )
        check_trace(self)
        parse_endpoint(self.bind, "bind")
        parse_endpoint(self._ip_group, "group")
        if self.advertise is not None:
            parse_endpoint(self.advertise, "advertise")
        for host in self.initial_hosts:
            if parse_endpoint(host, "initial host")[1] == 0:
                raise ConfigError(f"initial host {host} has port 0; name the port it listens on")

    @property
    def recorded(self) -> bool:
        """Whether there will be a trace, whose records have `run` and `nodes`."""
        return self.trace is not None

    @property
    def patience(self) -> float:
        """For how many seconds a send or call waits until the view is primary."""
        return _PRIMARY_TIMEOUT if self.primary_timeout is None else self.primary_timeout

    @property
    def _ip_group(self) -> str | Endpoint:
        return DEFAULT_GROUP if self.group is None else self.group

    def _protocols(self) -> StackConfig:
        """Return the protocols' settings, with those that were given beside them."""
        beside = {name: getattr(self, name) for name in BESIDE}
        given = {name: value for name, value in beside.items() if value is not None}
        return replace(self.stack, **given)

    def address(self, endpoint: Endpoint) -> Address:
        """Return the member's address once it is known where it listens."""
        name = self.name if self.name is not None else f"{endpoint[0]}:{endpoint[1]}"
        incarnation = time.time_ns() // 1_000_000 if self.incarnation is None else self.incarnation
        return Address(name, incarnation)

    async def make_stack(self, transport: Transport) -> tuple[Stack, Writer | None]:
        """Make the stack that goes with an open transport, and the writer of its trace."""
        stack, writer = await self._make_stack(transport)
        if self.block is not None:
            stack.ask_to_block()
        if self.set_state is not None:
            stack.want_state(0.0)
        if self.discard_own:
            stack.ignore_own()
        return stack, writer

    async def _make_stack(self, transport: Transport) -> tuple[Stack, Writer | None]:
        address = self.address(transport.endpoint)
        config = await self.stack_config(transport)
        seed = address.incarnation if self.seed is None else self.seed
        if self.trace is None:
            return Stack(address, config, seed=seed, secret=token_bytes(32)), None
        writer = writer_to(self.trace, self.run, address, problem=_log.error)
        recorder = sequencer_recorder(
            self.run,
            address,
            self.nodes or (address.node,),
            writer,
            merges=config.on_merge != "leave",
            delivery=config.delivery,
        )
        stack = Stack(address, config, seed=seed, secret=token_bytes(32), recorder=recorder)
        return stack, writer

    async def stack_config(self, transport: Transport) -> StackConfig:
        """Return the stack's settings, hosts resolved, fitting the transport."""
        if self.stack.max_bundle > transport.max_datagram:
            raise ConfigError(
                f"max_bundle is {self.stack.max_bundle}, but transport {self.transport!r} carries "
                f"at most {transport.max_datagram} bytes at once"
            )
        hosts = await resolve_all(self.initial_hosts, "initial host", transport.endpoint)
        if self.advertise is None:
            check_route(transport.endpoint, hosts, "initial host")
        return replace(
            self._protocols(),
            cluster=self.cluster,
            initial_hosts=tuple(host for host in hosts if host != transport.endpoint),
            discovery=transport.multicasts,
            sums=not transport.sealed,
        )

    def make_desk(self, transport: Transport, tell: Callable[[], bytes]) -> Desk:
        """Make the desk that answers live questions; `tell` returns the answer."""
        here = transport.endpoint[0]
        own = here if is_own(here) else None
        allowed = who_may_ask(self.ask, own, sealed=transport.sealed)
        return Desk(allowed, tell, secret=token_bytes(32))

    async def open_transport(self) -> Transport:
        """Open the sockets."""
        keys = keys_to_seal(self.key, encrypt=self.encrypt)
        transport = await self._open_transport()
        if not keys:
            return transport
        return SealedTransport(transport, keys, f"group {self.cluster}", encrypt=self.encrypt)

    async def _open_transport(self) -> Transport:
        endpoint = await resolve(parse_endpoint(self.bind, "bind"), "bind")
        advertise = await advertised(self.advertise, self.bind, endpoint)
        if self.transport == "udp":
            return UdpTransport(endpoint, advertise)
        if self.transport == "multicast":
            group = await resolve(parse_endpoint(self._ip_group, "group"), "group")
            return MulticastTransport(endpoint, group)
        transport = TcpTransport(endpoint, advertise)
        await transport.listen()
        return transport
