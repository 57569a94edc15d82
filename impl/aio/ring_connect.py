"""From the arguments of `Ring.connect` to a node that can run: checked, resolved, state read.

Whatever cannot work is found here, before anything is sent, and is one ConfigError.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import randbits, token_bytes
from typing import Annotated, Any, NamedTuple, TypedDict

from raincheck.impl.arguments import (
    ADMISSION,
    FILE,
    FLAG,
    FOLDER,
    FUNCTION,
    IN_FILE_NAMES,
    INCARNATION,
    KEYS,
    LISTED,
    NAME,
    NAMES,
    NETWORKS,
    PLACE,
    PLACES,
    SECONDS,
    TEXT,
    check_settings,
    choice,
    count,
    instance,
)
from raincheck.impl.asking.desk import Desk, who_may_ask
from raincheck.impl.clients.desk import ClientDesk
from raincheck.impl.errors import ConfigError
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.networks import inside
from raincheck.impl.raincore.core import Repairs
from raincheck.impl.recording.raincore import RingTrace
from raincheck.impl.ring.config import RECOVERIES, RingConfig
from raincheck.impl.ring.door import Admit, admission
from raincheck.impl.ring.node import RingNode
from raincheck.impl.ring.starter import Starter, identity_of
from raincheck.impl.ring.state_file import Kept, StateFile
from raincheck.impl.ring_start.core import RingStart
from raincheck.impl.ring_start.events import Stage
from raincheck.impl.sealing.keys import KeySource, keys_to_seal
from raincheck.impl.transport.contract import Transport, is_own, parse_endpoint
from raincheck.impl.transport.sealed import SealedTransport
from raincheck.impl.transport.udp import UdpTransport

from .idle_settings import check_filled_in, check_trace
from .lock_requests import LockRequests
from .names import Names
from .ring_places import Places, check_names, places_of
from .ring_starting import settled

_log = logging.getLogger("raincheck")
A_CONFIG = instance(RingConfig, "give a RingConfig, as in config=RingConfig(hungry=3.0)")
_LIFE = 56  # bits of the number that tells the memories of a name from each other


class RingKeywords(TypedDict, total=False):
    """The keyword arguments of `Ring.connect`: the fields of `RingSettings`, for type checkers and
    editors.
    """

    name: str | None
    incarnation: int | None
    bind: str | Endpoint | None
    advertise: str | Endpoint | None
    members: Sequence[str]
    found: bool
    join: Sequence[str | Endpoint]
    config: RingConfig
    recovery: str | None
    state_file: str | Path | None
    sync: bool
    timeout: float
    leave_timeout: float
    inbox: int
    trace: str | Path | None
    run: str
    nodes: Sequence[str]
    admit: Admit | Sequence[str] | None
    ask: Sequence[str] | None
    clients: Sequence[str] | None
    key: KeySource
    encrypt: bool
    repairs: Repairs | None
    on_node: Callable[[RingNode], None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RingSettings:
    """The settings of `Ring.connect`."""

    ring: Annotated[str, TEXT]
    """Name of the ring; datagrams of other rings are counted and dropped."""
    name: Annotated[str, NAME] | None = None
    """This member's name; None takes "host:port"."""
    incarnation: Annotated[int, INCARNATION] | None = None
    """Which life of this name joins; must grow with each. None takes milliseconds since 1970.
    Who founds the ring is in its first life, 0, and who comes back is in the one that was kept."""
    bind: Annotated[str | Endpoint, PLACE] | None = None
    """Where to listen: an address of this machine that the others can reach. None: where the
    list of members has this one, and any free port of 127.0.0.1 for one who joins."""
    advertise: Annotated[str | Endpoint, PLACE] | None = None
    """Where the others reach this member, if that is not where it listens: with `bind` 0.0.0.0 or
    ::, and in containers whose ports are mapped. What it sends has to come from there, and the
    list of members has it there. Port 0: that of `bind`."""
    members: Annotated[Sequence[str], LISTED] = ()
    """Who found the ring, this member among them: "name@host:port" or "host:port", the same list
    at each of them, and at each start. They found it when all of them have answered that they have
    never been in a ring of this name; otherwise this one comes back, or joins."""
    found: Annotated[bool, FLAG] = False
    """An operator says that no ring of this name goes on, and that nobody who does not answer
    remembers one: then a majority of the members may found it. Said to one of them, once."""
    join: Annotated[Sequence[str | Endpoint], PLACES] = ()
    """Where members of the ring may be found, for who is none of `members`; they are asked one
    after the other. A host name stands for all of its addresses."""
    config: Annotated[RingConfig, A_CONFIG] = field(default_factory=RingConfig)
    """Time-outs and limits; all members have the same."""
    recovery: Annotated[str, choice(*RECOVERIES)] | None = None
    """The times of `RingConfig.preset`: "fast", "lan" or "wan". None: those of `config`, which are
    "lan" by default."""
    state_file: Annotated[str | Path, FILE] | None = None
    """File of this member's state, with which it can come back in the same life."""
    sync: Annotated[bool, FLAG] = False
    """Wait for the disk with each change of the state file: it then survives a power failure."""
    timeout: Annotated[float, SECONDS] = 30.0
    """Time-out of connecting, in seconds."""
    leave_timeout: Annotated[float, SECONDS] = 10.0
    """Time-out of the graceful leave at the end of `async with`, in seconds."""
    inbox: Annotated[int, count(0, what=" (0: take no messages)")] = 8 << 20
    """Bytes of delivered messages kept for a slow consumer before the token waits for it.
    0: this member takes no messages at all."""
    trace: Annotated[str | Path, FOLDER] | None = None
    """Folder for a trace file of what RAINCORE handles, or where `raincheck conform --follow`
    listens: "unix:PATH" or "tcp:ADDRESS:PORT"; None: no tracing. A member that comes back by its
    state file is traced only in the folder that has its trace so far."""
    run: Annotated[str, IN_FILE_NAMES] = "run"
    """Name of the run in trace records and in the trace file's name."""
    nodes: Annotated[Sequence[str], NAMES] = ()
    """Names of all nodes of the run, as far as they are known, for the trace's header; those of
    `members` are."""

    admit: Annotated[Admit | Sequence[str], ADMISSION] | None = None
    """Who may join by this member: networks ("10.0.0.0/8"), or a function that is given the
    process's address and endpoint. None: whoever asks."""

    ask: Annotated[Sequence[str], NETWORKS] | None = None
    """Who may ask this member for its status (`raincheck.ask`): a list of networks. None: who has
    the key, or, without one, who is on the same machine; []: nobody."""

    clients: Annotated[Sequence[str], NETWORKS] | None = None
    """Who may use the ring's locks by this member without being one (`RingClient`): a list of
    networks. None: who has the key, or, without one, who is on the same machine; []: nobody."""

    key: Annotated[KeySource, KEYS] | None = field(default=None, repr=False)
    """The ring's key: `SIZE` bytes, the path of a key file, or several of these, of which the
    first one seals and all open. None: as the environment says; []: no key. See docs/keys.md."""
    encrypt: Annotated[bool, FLAG] = True
    """Whether datagrams under a key are encrypted too, not only authenticated. False needs a key.
    """

    repairs: Annotated[Repairs, instance(Repairs, "give the Repairs of RAINCORE")] | None = None
    """For tests: the protocol with some of its repairs undone."""
    on_node: Annotated[Callable[[RingNode], None], FUNCTION] | None = None
    """For harnesses: called with the node before its first input."""

    def __post_init__(self) -> None:
        """Reject settings that cannot work, and those that have no effect."""
        check_settings(self, RingSettings)
        if self.recovery is not None:
            preset = RingConfig.preset(self.recovery)
            if self.config not in (RingConfig(), preset):
                raise ConfigError(
                    f"recovery is {self.recovery!r}, and config= has times of its own; give one of "
                    f"them, or config=RingConfig.preset({self.recovery!r}, ...)"
                )
            object.__setattr__(self, "config", preset)
        check_filled_in("config", self.config, ("ring", "identity", "sums"))
        if self.members and self.join:
            raise ConfigError(
                "members= and join= exclude each other: one of the members finds the others by "
                "members=, at each start; whoever else comes joins"
            )
        if self.sync and self.state_file is None:
            raise ConfigError("sync is True, and there is no file to sync; give state_file=")
        if self.found and not self.members:
            raise ConfigError("found=True is for one of members=; name them")
        check_trace(self)
        admission(self.admit)
        if self.ask is not None:
            inside(self.ask, "ask")
        if self.clients is not None:
            inside(self.clients, "clients")
        if self.bind is not None:
            parse_endpoint(self.bind, "bind")
        if self.advertise is not None:
            parse_endpoint(self.advertise, "advertise")
        for contact in self.join:
            if parse_endpoint(contact, "contact")[1] == 0:
                raise ConfigError(f"contact {contact} has port 0; name the port it listens on")
        check_names(self.members)
        if len(self.members) > self.config.max_members:
            raise ConfigError(
                f"{len(self.members)} members are more than max_members "
                f"({self.config.max_members}); raise max_members, or let some of them join"
            )

    @property
    def recorded(self) -> bool:
        """Whether there will be a trace, whose records have `run` and `nodes`."""
        return self.trace is not None

    async def open(self) -> Opened:
        """Read the state file, open the socket, find out which ring it is, make the node."""
        places = await places_of(self.bind, self.advertise, self.name, self.members, self.join)
        file, kept = read_state(self)
        try:
            transport = await self.open_transport(places.bind, places.advertise)
            try:
                if self.config.max_datagram > transport.max_datagram:
                    raise ConfigError(
                        f"max_datagram is {self.config.max_datagram}, but at most "
                        f"{transport.max_datagram} bytes fit into one under a key"
                    )
                opened = await self._started(transport, places, file, kept)
            except BaseException:
                await transport.close()
                raise
        except BaseException:
            if file is not None:
                file.close()
            await places.contacts.close()
            raise
        node = opened.node
        if self.on_node is not None:
            self.on_node(node)
        if places.contacts.change:
            node.named = places.contacts.now
        return opened._replace(trace=self._traced(node, places))

    def _traced(self, node: RingNode, places: Places) -> RingTrace | None:
        """Have the node's core recorded, before its first input."""
        if self.trace is None:
            return None
        nodes = self.nodes or [name for name, _ in places.members]
        # Else the state could be kept, and the record that led to it be lost.
        ahead = self.state_file is not None
        return RingTrace(node.core, self.trace, self.run, nodes, problem=_log.error, ahead=ahead)

    async def _started(
        self, transport: Transport, places: Places, file: StateFile | None, kept: Kept | None
    ) -> Opened:
        """Ask the members until this process knows its ring, and make its node."""
        here = transport.endpoint
        listed = {place: each for each, place in places.members}
        name = self.name or listed.get(here, f"{here[0]}:{here[1]}")
        kept = kept or Kept(self.ring, Address(name, randbits(_LIFE)))
        core = RingStart(kept.life, frozenset(listed.values() or (name,)), found=self.found)
        core.stage, core.ring = kept.stage, kept.founders
        others = {each: place for each, place in places.members if each != name}
        starter = Starter(self.ring, core, others, places.contacts.now, pause=self.config.hello)
        began = asyncio.get_running_loop().time()

        def returns() -> float:
            return began + self._waits_to_return(kept, core)

        def keep() -> None:
            # Who only joins is in the ring once it has had the token, and not before.
            if file is not None and (core.founder or not starter.settled):
                file.save(kept._replace(stage=core.stage, founders=core.ring))

        if not starter.settled and self.join:
            core.members = frozenset()
        if not starter.settled or returns() > began:
            await settled(starter, transport, keep, self.timeout, self.ring, returns)
        rest = began + self.timeout - asyncio.get_running_loop().time()
        node = self._make_node(transport, kept, places, starter)
        return Opened(self, node, transport, starter, kept, file, max(rest, 0.0), places.contacts)

    def _waits_to_return(self, kept: Kept, core: RingStart) -> float:
        """Return how long this process stays away from its ring, since it has started (C7).

        The locks of an earlier one are given on when this one comes, and a client may believe in it
        for a lease. A founder is given nothing that somebody had.
        """
        if self.clients is not None and not self.clients:
            return 0.0
        if core.founder and not kept.state:
            return 0.0
        return self.config.give_up if kept.lent is None else kept.lent

    def make_desk(self, transport: Transport, tell: Callable[[], bytes]) -> Desk:
        """Make the desk that answers live questions; `tell` returns the answer."""
        here = transport.endpoint[0]
        own = here if is_own(here) else None
        allowed = who_may_ask(self.ask, own, sealed=transport.sealed)
        return Desk(allowed, tell, secret=token_bytes(32))

    def make_client_desk(self, opened: Opened, requests: LockRequests) -> ClientDesk:
        """Make the desk that serves clients."""
        transport, node = opened.transport, opened.node
        here = transport.endpoint[0]
        own = here if is_own(here) else None
        return ClientDesk(
            self.ring,
            node.address,
            node.config.identity,
            requests,
            who_may_ask(self.clients, own, sealed=transport.sealed),
            give_up=self.config.give_up,
            patience=self.config.hungry,
            life=randbits(_LIFE - 4),
            secret=token_bytes(32),
        )

    async def open_transport(self, bind: Endpoint, advertise: Endpoint | None) -> Transport:
        """Open the socket."""
        keys = keys_to_seal(self.key, encrypt=self.encrypt)
        transport = await self._open_transport(bind, advertise)
        if not keys:
            return transport
        return SealedTransport(transport, keys, f"ring {self.ring}", encrypt=self.encrypt)

    async def _open_transport(self, bind: Endpoint, advertise: Endpoint | None) -> Transport:
        return UdpTransport(bind, advertise)

    def _make_node(
        self, transport: Transport, kept: Kept, places: Places, starter: Starter
    ) -> RingNode:
        core, here = starter.core, transport.endpoint
        how: dict[str, Any] = {"endpoint": here, "repairs": self.repairs}
        how["admit"] = admission(self.admit)
        identity = identity_of(core.ring)
        config = replace(self.config, ring=self.ring, identity=identity, sums=not transport.sealed)
        name = core.me.node
        if kept.state and kept.address is not None:
            return RingNode(kept.address, config, state=kept.state, **how)
        if core.founder:
            known = dict(places.members) or {name: here}
            founders = [(Address(each, 0), known[each]) for each, _ in sorted(core.ring)]
            return RingNode(Address(name, 0), config, founders=founders, **how)
        now = time.time_ns() // 1_000_000
        me = Address(name, now if self.incarnation is None else self.incarnation)
        asked = [place for each, place in places.members if each != name]
        return RingNode(me, config, contacts=asked or places.contacts.known, **how)


class Opened(NamedTuple):
    """A node that can run, and what belongs to it."""

    settings: RingSettings
    node: RingNode
    transport: Transport
    starter: Starter
    kept: Kept
    """What the state file had, or would have had, at the start."""
    file: StateFile | None
    rest: float
    """Seconds of the time-out that are left."""
    contacts: Names | None = None
    trace: RingTrace | None = None

    @property
    def keep(self) -> Callable[[bytes, bool], None] | None:
        """The function that saves the node's state, and whether clients may have locks by it, if
        there is a file; it raises StateNotKept.
        """
        file = self.file
        if file is None:
            return None
        return lambda state, lends: file.save(self._to_keep(state, lends=lends))

    def _to_keep(self, state: bytes, *, lends: bool) -> Kept:
        """Return the content of the state file for this state of the node."""
        lent = self.settings.config.give_up if lends else 0.0
        ring, core, node = self.settings.ring, self.starter.core, self.node
        if node.core.up == "left":
            return Kept(ring, Address(core.me.node, randbits(_LIFE)), "left", lent=lent)
        if not node.core.last_token.nodelist:
            # It has not been let in: if it is killed now it begins again, as it did before.
            before = self.kept
            stage: Stage = before.stage if before.stage in ("asking", "left") else "asking"
            return Kept(ring, core.me, stage, lent=before.lent)
        return Kept(ring, core.me, core.stage, core.ring, node.address, state, lent)

    async def close(self) -> None:
        """Unlock the state file, and look no names up any more."""
        if self.contacts is not None:
            await self.contacts.close()
        if self.file is not None:
            self.file.close()


def read_state(settings: RingSettings) -> tuple[StateFile | None, Kept | None]:
    """Open the state file, if one is configured, and return its content."""
    if settings.state_file is None:
        return None, None
    file = StateFile(Path(settings.state_file), sync=settings.sync)
    try:
        return file, file.load(settings.ring, settings.name)
    except BaseException:
        file.close()
        raise
