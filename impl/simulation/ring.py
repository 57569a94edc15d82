"""A whole ring in one process, in virtual time: deterministic by seed.

The network is that of `simulation/network.py`: it loses, doubles, delays and thereby reorders
datagrams, and can be partitioned; members crash and come back, with the state that they had written
down or without. Nothing else is simulated: the members are real `RingNode`s. Two runs with the same
seed and the same calls are equal, datagram by datagram.

    ring = RingSimulator(seed=7, link=Link(loss=0.1, duplicate=0.05, delay=(0.001, 0.02)))
    ring.found("a", "b", "c")
    ring.join("d")
    ring.run_until(lambda: ring.in_one_view("a", "b", "c", "d"))
    ring.multicast("a", [b"one", b"two"])
    ring.crash("b")
    ring.recover("b")            # `forget` brings it back as another life, without its state
    ring["a"].delivered          # what each member was told, in all of its lives
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from random import Random

from raincheck.impl.errors import WouldBlock
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.raincore.core import Raincore, Repairs
from raincheck.impl.raincore.events import Eats, Effect, Epoch, Event
from raincheck.impl.ring.config import RingConfig
from raincheck.impl.ring.node import RingNode
from raincheck.impl.ring.reports import Committed, Delivered, NameTaken, RingReport
from raincheck.impl.sealing.keys import Keys
from raincheck.impl.stack.reports import Dropped, Left

from .network import Network
from .parts import Link
from .ring_parts import Life, Locked, Member
from .sealed import Sealings, opened, seal
from .virtual_time import VirtualTime

__all__ = ["Life", "Link", "Locked", "Member", "RingSimulator"]


class RingSimulator(Network, VirtualTime):
    """Members, the network between them, and the clock."""

    def __init__(
        self,
        seed: int = 1,
        *,
        link: Link | None = None,
        config: RingConfig | None = None,
        repairs: Repairs | None = None,
        keeps: bool = True,
        contents: bool = False,
        keys: Keys = (),
    ) -> None:
        """`keeps`: members write their state down; `contents`: what is delivered is recorded;
        `keys`: all datagrams are sealed.
        """
        Network.__init__(self, link or Link(), Random(seed))
        VirtualTime.__init__(self)
        self.config = config or RingConfig()
        self.members: dict[str, Member] = {}
        self.datagrams = 0
        self.bytes = 0
        self.locked: list[Locked] = []
        """All locks that have ended."""
        self.on_event: Callable[[str, Raincore, Event], None] = lambda _name, _core, _event: None
        """Called after each event that a core has handled."""
        self.on_report: Callable[[str, RingReport], None] = lambda _name, _report: None
        self._repairs = repairs
        self._keeps = keeps
        self._contents = contents
        self.sealings = Sealings(keys, seed)
        self._seed = seed
        self._by_endpoint: dict[Endpoint, str] = {}
        self._holding: dict[str, tuple[Epoch, int, float]] = {}

    def __getitem__(self, name: str) -> Member:
        return self.members[name]

    @property
    def up(self) -> list[Member]:
        """The members that run and have not left."""
        return [m for m in self.members.values() if m.up and m.left is None]

    # ------------------------------------------------------------------ members

    def found(self, *names: str) -> None:
        """Found a ring of these."""
        founders = [(Address(name, 0), self._endpoint(name)) for name in names]
        for name in names:
            self._begin(name, Address(name, 0), founders=founders)
        for name in names:
            self._settle(self[name])

    def join(self, *names: str, contacts: Sequence[str] = ()) -> None:
        """Let new members ask these, or all present ones."""
        asked = [self[name].endpoint for name in contacts or list(self.members)]
        for name in names:
            self._begin(name, Address(name, 0), contacts=asked)
            self._settle(self[name])

    def crash(self, name: str) -> None:
        """The member's process ends without a word; what it has sent is still under way."""
        self[name].up = False
        self._set_timer(name, None)
        self._unlocked(self[name])

    def recover(self, name: str) -> None:
        """Bring the same life back with its kept state, if there is any."""
        member = self[name]
        if member.kept is None:
            self.forget(name)
            return
        self._begin(name, member.node.address, state=member.kept)
        self._settle(self[name])

    def forget(self, name: str, contacts: Sequence[str] = ()) -> None:
        """Bring the name back as another life, which knows only its contacts."""
        others = contacts or [each for each in self.members if each != name]
        address = self[name].node.address
        self._begin(
            name,
            Address(name, address.incarnation + 1),
            contacts=[self[each].endpoint for each in others],
        )
        self._settle(self[name])

    def leave(self, name: str) -> None:
        """The member leaves in good order."""
        self[name].node.leave(self.now)
        self._settle(self[name])

    def stop(self, name: str) -> None:
        """The member stops in good order, and keeps its place."""
        self[name].node.close(self.now)
        self._settle(self[name])

    def multicast(self, name: str, payloads: Sequence[bytes]) -> None:
        """The member's application sends; what does not fit is sent as soon as it does."""
        member = self[name]
        member.backlog += payloads
        self._settle(member)

    def lock(self, name: str, seconds: float) -> None:
        """Let the member's application take the lock, and keep it for so long."""
        member = self[name]
        member.locks.append(seconds)
        self._settle(member)

    def inject(self, name: str, data: bytes, endpoint: Endpoint = ("6.6.6.6", 666)) -> None:
        """Hand a datagram from elsewhere to a member."""
        self._receive(self[name], data, endpoint)

    def _endpoint(self, name: str) -> Endpoint:
        if name in self.members:
            return self[name].endpoint
        for endpoint, known in self._by_endpoint.items():
            if known == name:
                return endpoint
        number = len(self._by_endpoint) + 1
        endpoint = (f"10.0.{number // 250}.{number % 250 + 1}", 7000)
        self._by_endpoint[endpoint] = name
        return endpoint

    def _begin(
        self,
        name: str,
        address: Address,
        *,
        founders: Sequence[tuple[Address, Endpoint]] = (),
        contacts: Sequence[Endpoint] = (),
        state: bytes | None = None,
    ) -> None:
        endpoint = self._endpoint(name)
        node = RingNode(
            address,
            replace(self.config, sums=not self.sealings.keys(name)),
            founders=founders,
            contacts=contacts,
            state=state,
            endpoint=endpoint,
            seed=self._seed * 1009 + list(self._by_endpoint).index(endpoint),
            repairs=self._repairs,
        )
        self._watch(name, node)
        known = self.members.get(name)
        if known is None:
            self.members[name] = Member(name, endpoint, node, Life(address))
        else:
            known.node, known.up, known.left = node, True, None
            if known.life.address != address:
                known.lives.append(known.life)
                known.life, known.kept = Life(address), None
        ring = f"ring {self.config.ring}"
        self[name].sealing = self.sealings.life(name, ring, endpoint, node.counters)
        node.start(self.now)

    def _watch(self, name: str, node: RingNode) -> None:
        core = node.core
        handle = core.handle

        def watched(event: Event) -> list[Effect]:
            effects = handle(event)
            self.on_event(name, core, event)
            return effects

        core.handle = watched  # type: ignore[method-assign]

    # ------------------------------------------------------------------ the network

    def _transmit(self, member: Member, data: bytes, to: Endpoint) -> None:
        self._fly(member, seal(member, data, (to,), self.now), to)

    def _fly(self, member: Member, data: bytes, to: Endpoint) -> None:
        name = self._by_endpoint.get(to)
        if name is not None:
            for delay in self.delays(member.name, name):
                self.after(delay, lambda: self._arrive(member, name, data))

    def _arrive(self, source: Member, name: str, data: bytes) -> None:
        member = self.members.get(name)
        if member is None or not member.up or self.apart(source.name, name):
            return
        self.datagrams += 1
        self.bytes += len(data)
        self._receive(member, data, source.endpoint)

    def _receive(self, member: Member, data: bytes, endpoint: Endpoint) -> None:
        """Open a datagram, if it may be sealed, and hand it to the node."""
        content = opened(member, data, endpoint, self.now, partial(self._fly, member))
        if content is not None:
            member.node.receive(((content, endpoint),), self.now)
            self._settle(member)

    # ------------------------------------------------------------------ time

    def _timer_fired(self, name: str) -> None:
        self[name].node.handle_timer(self.now)
        self._settle(self[name])

    def _missing(self) -> dict[str, dict[str, str]]:
        return {member.name: member.node.missing(self.now) for member in self.up}

    # ------------------------------------------------------------------ what comes of it

    def _settle(self, member: Member) -> None:
        """Do what a shell does after any input."""
        if not member.up:
            return
        node = member.node
        self._application(member)
        if self._keeps and (state := node.kept_state()) is not None:
            member.kept = state
        for data, to in node.poll_datagrams():
            self._transmit(member, data, to)
        for report in node.poll_reports():
            self._reported(member, report)
        self._set_timer(member.name, node.deadline())

    def _application(self, member: Member) -> None:
        node = member.node
        while member.backlog and node.writable and not node.leaving and member.left is None:
            try:
                node.multicast(member.backlog[0], self.now)
            except WouldBlock:
                break
            del member.backlog[0]
        held = self._holding.get(member.name)
        if held is not None and node.granted != held[:2]:
            self._unlocked(member)  # it was lost
            node.release(self.now)
        elif held is None and member.locks:
            node.want_token(self.now)
            if (granted := node.grant(self.now)) is not None:
                epoch, seq = granted
                self._holding[member.name] = epoch, seq, self.now
                self.after(member.locks.pop(0), lambda: self._release(member, node))

    def _release(self, member: Member, node: RingNode) -> None:
        if member.up and member.node is node and member.name in self._holding:
            self._unlocked(member)
            node.release(self.now)
            self._settle(member)

    def _unlocked(self, member: Member) -> None:
        held = self._holding.pop(member.name, None)
        if held is not None:
            self.locked.append(Locked(member.node.address, *held, self.now))

    def _reported(self, member: Member, report: RingReport) -> None:
        life = member.life
        match report:
            case Delivered(origin, _, first, _, payloads):
                life.delivered += [(origin, first + i) for i in range(payloads.count)]
                if self._contents:
                    life.contents += payloads.unpack()
            case Committed(at, members):
                life.views.append((at, members))
            case Eats(epoch, seq):
                life.eats.append((epoch, seq))
            case Left(reason):
                member.left = reason
            case Dropped():
                member.dropped.append(report)
            case NameTaken():
                member.taken.append(report)
            case _:
                pass
        self.on_report(member.name, report)

    def in_one_view(self, *names: str) -> bool:
        """Whether these members agree that they, and nobody else, are the ring."""
        members = {self[name].node.address for name in names}
        return all(
            self[name].node.view_state == "agreement"
            and set(self[name].core.last_token.nodelist) == members
            for name in names
        )
