"""From the arguments of `Ring.connect` to a node that can run: checked, resolved, state read.

Whatever cannot work is found here, before anything is sent, and is one ConfigError.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from secrets import randbits, token_bytes
from typing import Any, NamedTuple, TypedDict

from raincheck.impl.asking.desk import Desk, who_may_ask
from raincheck.impl.errors import ConfigError
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.networks import inside
from raincheck.impl.raincore.core import Repairs
from raincheck.impl.ring.config import RingConfig
from raincheck.impl.ring.door import Admit, admission
from raincheck.impl.ring.node import RingNode
from raincheck.impl.ring.starter import Starter, identity_of
from raincheck.impl.ring.state_file import Kept, StateFile
from raincheck.impl.ring_start.core import RingStart
from raincheck.impl.ring_start.events import Stage
from raincheck.impl.sealing.keys import KeySource, read_keys
from raincheck.impl.transport.contract import Transport, is_own, parse_endpoint
from raincheck.impl.transport.sealed import SealedTransport
from raincheck.impl.transport.udp import UdpTransport

from .names import Names
from .ring_places import Places, check_name, check_names, places_of
from .ring_starting import settled

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
    state_file: str | Path | None
    sync: bool
    timeout: float
    leave_timeout: float
    inbox: int
    admit: Admit | Sequence[str] | None
    ask: Sequence[str] | None
    key: KeySource
    encrypt: bool
    repairs: Repairs | None
    on_node: Callable[[RingNode], None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RingSettings:
    """The settings of `Ring.connect`."""

    ring: str
    """Name of the ring; datagrams of other rings are counted and dropped."""
    name: str | None = None
    """This member's name; None takes "host:port"."""
    incarnation: int | None = None
    """Which life of this name joins; must grow with each. None takes milliseconds since 1970.
    Who founds the ring is in its first life, 0, and who comes back is in the one that was kept."""
    bind: str | Endpoint | None = None
    """Where to listen: an address of this machine that the others can reach. None: where the
    list of members has this one, and any free port of 127.0.0.1 for one who joins."""
    advertise: str | Endpoint | None = None
    """Where the others reach this member, if that is not where it listens: with `bind` 0.0.0.0 or
    ::, and in containers whose ports are mapped. What it sends has to come from there, and the
    list of members has it there. Port 0: that of `bind`."""
    members: Sequence[str] = ()
    """Who found the ring, this member among them: "name@host:port" or "host:port", the same list
    at each of them, and at each start. They found it when all of them have answered that they have
    never been in a ring of this name; otherwise this one comes back, or joins."""
    found: bool = False
    """An operator says that no ring of this name goes on, and that nobody who does not answer
    remembers one: then a majority of the members may found it. Said to one of them, once."""
    join: Sequence[str | Endpoint] = ()
    """Where members of the ring may be found, for who is none of `members`; they are asked one
    after the other. A host name stands for all of its addresses."""
    config: RingConfig = field(default_factory=RingConfig)
    """Time-outs and limits; all members have the same."""
    state_file: str | Path | None = None
    """File of this member's state, with which it can come back in the same life."""
    sync: bool = False
    """Wait for the disk with each change of the state file: it then survives a power failure."""
    timeout: float = 30.0
    """Time-out of connecting, in seconds."""
    leave_timeout: float = 10.0
    """Time-out of the graceful leave at the end of `async with`, in seconds."""
    inbox: int = 8 << 20
    """Bytes of delivered messages kept for a slow consumer before the token waits for it.
    0: this member takes no messages at all."""

    admit: Admit | Sequence[str] | None = None
    """Who may join by this member: networks ("10.0.0.0/8"), or a function that is given the
    process's address and endpoint. None: whoever asks."""

    ask: Sequence[str] | None = None
    """Who may ask this member for its status (`raincheck.ask`): a list of networks. None: who has
    the key, or, without one, who is on the same machine; []: nobody."""

    key: KeySource = field(default=None, repr=False)
    """The ring's key: `SIZE` bytes, the path of a key file, or several of these, of which the
    first one seals and all open. None: as the environment says; []: no key. See docs/keys.md."""
    encrypt: bool = True
    """Whether datagrams under a key are encrypted too, not only authenticated."""

    repairs: Repairs | None = None
    """For tests: the protocol with some of its repairs undone."""
    on_node: Callable[[RingNode], None] | None = None
    """For harnesses: called with the node before its first input."""

    def __post_init__(self) -> None:
        """Reject settings that cannot work."""
        if not self.ring:
            raise ConfigError("the ring's name is empty; give the ring a name")
        if self.name is not None:
            check_name(self.name)
        for setting in ("members", "join"):
            given = getattr(self, setting)
            kinds = str if setting == "members" else str | tuple
            if isinstance(given, str):
                raise ConfigError(f"{setting} is the text {given!r}; give a list of HOST:PORT")
            if not (isinstance(given, list | tuple) and all(isinstance(x, kinds) for x in given)):
                raise ConfigError(f"{setting} is {given!r}; give a list of HOST:PORT")
        if self.members and self.join:
            raise ConfigError(
                "members= and join= exclude each other: one of the members finds the others by "
                "members=, at each start; whoever else comes joins"
            )
        for setting in ("found", "sync", "encrypt"):
            if not isinstance(getattr(self, setting), bool):
                raise ConfigError(
                    f"{setting} is {getattr(self, setting)!r}; it must be True or False"
                )
        if self.state_file is not None and not (
            isinstance(self.state_file, str | Path) and str(self.state_file) not in ("", ".")
        ):
            raise ConfigError(f"state_file is {self.state_file!r}; name a file, or leave it out")
        if self.found and not self.members:
            raise ConfigError("found=True is for one of members=; name them")
        for setting in ("timeout", "leave_timeout"):
            seconds = getattr(self, setting)
            if isinstance(seconds, bool) or not (
                isinstance(seconds, int | float) and 0 < seconds < inf
            ):
                raise ConfigError(f"{setting} is {seconds!r}; it must be above 0")
        if self.inbox < 0:
            raise ConfigError(f"inbox is {self.inbox}; it must be 0 (take no messages) or more")
        admission(self.admit)
        if self.ask is not None:
            inside(self.ask, "ask")
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
        return opened

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

        def keep() -> None:
            # Who only joins is in the ring once it has had the token, and not before.
            if file is not None and (core.founder or not starter.settled):
                file.save(kept._replace(stage=core.stage, founders=core.ring))

        if not starter.settled:
            if self.join:
                core.members = frozenset()
            await settled(starter, transport, keep, self.timeout, self.ring)
        rest = began + self.timeout - asyncio.get_running_loop().time()
        node = self._make_node(transport, kept, places, starter)
        return Opened(self, node, transport, starter, kept, file, max(rest, 0.0), places.contacts)

    def make_desk(self, transport: Transport, tell: Callable[[], bytes]) -> Desk:
        """Make the desk that answers live questions; `tell` returns the answer."""
        here = transport.endpoint[0]
        own = here if is_own(here) else None
        allowed = who_may_ask(self.ask, own, sealed=transport.sealed)
        return Desk(allowed, tell, secret=token_bytes(32))

    async def open_transport(self, bind: Endpoint, advertise: Endpoint | None) -> Transport:
        """Open the socket."""
        keys = read_keys(self.key)
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

    @property
    def keep(self) -> Callable[[bytes], None] | None:
        """The function that saves the node's state, if there is a file; it raises StateNotKept."""
        file = self.file
        if file is None:
            return None
        return lambda state: file.save(self._to_keep(state))

    def _to_keep(self, state: bytes) -> Kept:
        """Return the content of the state file for this state of the node."""
        ring, core, node = self.settings.ring, self.starter.core, self.node
        if node.core.up == "left":
            return Kept(ring, Address(core.me.node, randbits(_LIFE)), "left")
        if not node.core.last_token.nodelist:
            # It has not been let in: if it is killed now it begins again, as it did before.
            before = self.kept
            stage: Stage = before.stage if before.stage in ("asking", "left") else "asking"
            return Kept(ring, core.me, stage)
        return Kept(ring, core.me, core.stage, core.ring, node.address, state)

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
