"""A whole group in one process, in virtual time: deterministic by seed, or driven by hand.

The simulated network loses, duplicates, delays and thereby reorders datagrams, for each link as it
is told; it can be partitioned, and nodes crash and come back. Nothing else is simulated: the stacks
are the real ones. Two runs with the same seed and the same calls are equal, datagram by datagram.

    group = Simulator(seed=7, link=Link(loss=0.2, duplicate=0.05, delay=(0.001, 0.02)))
    group.start("a", "b", "c")
    group.run_until(lambda: group.in_one_view("a", "b", "c"))
    group.send("b", [b"one", b"two"])
    group.at(1.5, lambda: group.crash("a"))
    group.at(1.8, lambda: group.stall("c", 1.0))
    group.run(5.0)
    group["b"].delivered            # [(run, view), ...] of this life; `history` has earlier ones

With `manual=True` no datagram moves by itself: `in_flight` lists them in the order in which they
were sent, and `deliver` and `drop` take one; time passes only in `advance`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from raincheck.impl.flush.events import Block, LatchOpened, Unblock
from raincheck.impl.messages import Address, Batch, Endpoint, Run, View, ViewId
from raincheck.impl.recording.core import Recorder
from raincheck.impl.sealing.keys import Keys
from raincheck.impl.sequencer.core import Repairs
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.group import LAYERS, Kinds
from raincheck.impl.stack.repairs import LayerRepairs
from raincheck.impl.stack.reports import (
    CallOver,
    Dropped,
    Left,
    OtherGroup,
    Outgoing,
    PrimaryChange,
    Report,
    Requested,
    Stopped,
    Suspected,
    ViewInstalled,
)
from raincheck.impl.stack.stack import Stack

from .application import Application
from .network import Network
from .parts import Flight, Link, Node
from .sealed import Sealings, opened, seal
from .virtual_time import VirtualTime

__all__ = ["Flight", "Link", "Node", "Simulator"]


class Simulator(Network, VirtualTime):
    """Nodes, the network between them, and the clock."""

    def __init__(
        self,
        seed: int = 1,
        *,
        link: Link | None = None,
        config: StackConfig | None = None,
        manual: bool = False,
        repairs: Repairs | None = None,
        recorder: Callable[[Address], Recorder | None] = lambda _: None,
        on_batch: Callable[[Node, Batch], None] = lambda _node, _batch: None,
        record: bool = True,
        with_state: bool = False,
        layers: LayerRepairs | None = None,
        kinds: Kinds = LAYERS,
        keys: Keys = (),
    ) -> None:
        """`keys`: all datagrams are sealed."""
        Network.__init__(self, link or Link(), Random(seed))
        VirtualTime.__init__(self)
        self.nodes: dict[str, Node] = {}
        self.in_flight: list[Flight] = []
        self.datagrams = 0
        self._config = config or StackConfig()
        self._manual = manual
        self.repairs = repairs
        self.layers = layers
        self._kinds = kinds
        self.with_state = with_state
        """Whether applications have a state, and joiners ask for it."""
        self.sealings = Sealings(keys, seed)
        self.blocking = False
        """Whether applications have a block()."""
        self.application: Callable[[], Application] = Application
        """The factory of the application of each life of a node."""
        self.settings: dict[str, dict[str, Any]] = {}
        """Settings that only the next life of a node has, by its name."""
        self.on_request: Callable[[Node, Requested], None] = lambda _node, _requested: None
        """Called with each call that a node is asked to answer."""
        self._recorder = recorder
        self._on_batch = on_batch
        self._record = record
        self._seed = seed
        self._by_endpoint: dict[Endpoint, str] = {}

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]

    @property
    def up(self) -> list[Node]:
        """The nodes that run and have not left."""
        return [n for n in self.nodes.values() if n.up and n.left is None]

    # ------------------------------------------------------------------ nodes

    def start(self, *names: str, founders: bool = False) -> None:
        """Add nodes that join one group; as `founders` they are its first view at once."""
        for name in names:
            self._add(name, 0)
        if founders:
            members = tuple(self[name].address for name in names)
            first = View(ViewId(1, members[0]), members)
            endpoints = [self[name].endpoint for name in names]
            for name in names:
                self[name].stack.found(first, endpoints, self.now)
        else:
            for name in names:
                self[name].stack.start(self.now)
        for name in names:
            self._settle(self[name])

    def _add(self, name: str, incarnation: int) -> None:
        endpoint = (f"10.0.0.{len(self._by_endpoint) + 1}", 7000)
        known = self.nodes.get(name)
        if known is not None:
            endpoint = known.endpoint
        self._by_endpoint[endpoint] = name
        address = Address(name, incarnation)
        hosts = tuple(n.endpoint for n in self.nodes.values() if n.name != name)
        stack = Stack(
            address,
            replace(
                self._config,
                initial_hosts=hosts,
                sums=not self.sealings.keys(name),
                **self.settings.pop(name, {}),
            ),
            seed=self._seed * 1000 + len(self._by_endpoint),
            recorder=self._recorder(address),
            repairs=self.repairs,
            layers=self.layers,
            kinds=self._kinds,
        )
        if self.blocking:
            stack.ask_to_block()
        if self.with_state:
            stack.want_state(self.now)
        node = Node(name, endpoint, stack, app=self.application())
        group = f"group {self._config.cluster}"
        node.sealing = self.sealings.life(name, group, endpoint, stack.counters)
        stack.tells_refused(node.refused)
        if known is not None:
            node.history = [*known.history, (known.address, known.delivered, known.views)]
        self.nodes[name] = node

    def crash(self, name: str) -> None:
        """The node's process ends without a word; what it has sent is still under way."""
        self[name].up = False
        self._set_timer(name, None)

    def restart(self, name: str) -> None:
        """The node comes back, with nothing but its name, and joins."""
        self._add(name, self[name].address.incarnation + 1)
        self[name].stack.start(self.now)
        self._settle(self[name])

    def stall(self, name: str, duration: float) -> None:
        """The node's process stands still; then its timer fires before it reads what has come."""
        node = self[name]
        node.unread = []
        self._set_timer(name, None)
        self.after(duration, lambda: self._go_on(node))

    def _go_on(self, node: Node) -> None:
        unread, node.unread = node.unread or [], None
        if node.up:
            self._timer_fired(node.name)
            self._receive(node, [(each.data, self[each.source].endpoint) for each in unread])
            self._settle(node)

    def send(self, name: str, payloads: Sequence[bytes]) -> None:
        """The node's application sends; what does not fit is sent as soon as it does."""
        node = self[name]
        node.backlog += payloads
        if node.unread is None:
            self._feed(node)
            self._settle(node)

    def send_unordered(self, name: str, *payloads: bytes) -> int:
        """The node's application sends without order; return of how many the stack has room."""
        node = self[name]
        taken = node.stack.send_unordered(payloads)
        node.stack.flush(self.now)
        self._settle(node)
        return taken

    def send_to(self, name: str, to: str, *payloads: bytes) -> None:
        """The node's application sends unicasts to a member of its view."""
        node = self[name]
        for payload in payloads:
            node.stack.send_to(self._member(node, to), payload)
        node.stack.flush(self.now)
        self._settle(node)

    def call(self, name: str, payload: bytes, to: Sequence[str] | None = None) -> int:
        """The node's application calls all members, or some; return the call's number."""
        node = self[name]
        asked = None if to is None else [self._member(node, each) for each in to]
        number = node.stack.call(payload, asked, self.now)
        node.stack.flush(self.now)
        self._settle(node)
        return number

    def _member(self, node: Node, name: str) -> Address:
        """Return the life of `name` that is in the node's view, else the present one."""
        here = (member for member in node.stack.members if member.node == name)
        return next(here, self[name].address)

    def leave(self, name: str) -> None:
        """The node leaves."""
        self[name].stack.leave(self.now)
        self._settle(self[name])

    def want_state(self, name: str) -> None:
        """The node's application asks for the group's state, amid a view's messages."""
        self[name].stack.want_state(self.now)
        self._settle(self[name])

    def release(self, name: str) -> None:
        """The node's application takes deliveries again."""
        if self[name].up:
            self[name].stack.release(self.now)
            self._settle(self[name])

    # ------------------------------------------------------------------ the network

    def inject(self, name: str, data: bytes, endpoint: Endpoint = ("6.6.6.6", 666)) -> None:
        """Hand a datagram from elsewhere to a node."""
        self._receive(self[name], [(data, endpoint)])

    def deliver(self, flight: Flight) -> None:
        """Manual: this datagram arrives now."""
        self.in_flight.remove(flight)
        self._arrive(flight)

    def drop(self, flight: Flight) -> None:
        """Manual: this datagram is lost."""
        self.in_flight.remove(flight)

    def _transmit(self, node: Node, out: Outgoing) -> None:
        data = seal(node, out.data, out.to, self.now)
        if out.to:
            targets = [self._by_endpoint[e] for e in out.to if e in self._by_endpoint]
        else:
            targets = [name for name in self.nodes if name != node.name]
        for name in targets:
            self._fly(Flight(node.name, name, data))

    def _fly(self, flight: Flight) -> None:
        if self._manual:
            self.in_flight.append(flight)
            return
        for delay in self.delays(flight.source, flight.to):
            self.after(delay, lambda: self._arrive(flight))

    def _arrive(self, flight: Flight) -> None:
        node = self[flight.to]
        if not node.up or self.apart(flight.source, flight.to):
            return
        self.datagrams += 1
        if node.unread is not None:
            node.unread.append(flight)
            return
        self._receive(node, [(flight.data, self[flight.source].endpoint)])

    def _receive(self, node: Node, batch: Iterable[tuple[bytes, Endpoint]]) -> None:
        """Open datagrams, which may be sealed, and hand them to the stack together."""

        def send(answer: bytes, to: Endpoint) -> None:
            if to in self._by_endpoint:
                self._fly(Flight(node.name, self._by_endpoint[to], answer))

        contents = []
        for data, endpoint in batch:
            content = opened(node, data, endpoint, self.now, send)
            if content is not None:
                contents.append((content, endpoint))
        if contents:
            node.stack.receive(contents, self.now)
            self._settle(node)

    # ------------------------------------------------------------------ time

    def advance(self, duration: float) -> None:
        """The same as `run`, for manual mode, where only timers and `at` take effect."""
        self.run(duration)

    def _timer_fired(self, name: str) -> None:
        self[name].stack.handle_timer(self.now)
        self._settle(self[name])

    def _missing(self) -> dict[str, dict[str, str]]:
        return {
            node.name: {str(m): why for m, why in node.stack.missing(self.now).items()}
            for node in self.up
        }

    # ------------------------------------------------------------------ what comes of it

    def _settle(self, node: Node) -> None:
        """Do what a shell does after any input."""
        stack = node.stack
        while True:
            for out in stack.poll_datagrams():
                self._transmit(node, out)
            for report in stack.poll_reports():
                self._reported(node, report)
            if stack.pausing:
                stack.go_on(self.now)
            elif node.app.give(stack, self.now):
                stack.flush(self.now)
            elif node.backlog and stack.writable:
                self._feed(node)
            elif not stack.busy:
                break
        self._set_timer(node.name, stack.deadline() if node.up and node.unread is None else None)

    def _reported(self, node: Node, report: Report) -> None:
        match report:
            case Batch() if report.unicast:
                node.unicasts += [(report.sender, report.view, each) for each in report.payloads]
            case Batch() if report.unordered:
                node.unordered += [(report.sender, report.view, each) for each in report.payloads]
                if self.with_state:
                    node.app.count(report)
            case Batch():
                if self._record:
                    run = Run(report.sender, report.first, report.count)
                    node.delivered.append((run, report.view))
                if self.with_state:
                    node.app.apply(report)
                self._on_batch(node, report)
            case ViewInstalled(view):
                node.views.append(view)
            case PrimaryChange():
                node.primaries.append(report)
            case Requested():
                node.requested.append(report)
                self.on_request(node, report)
                node.stack.flush(self.now)
            case CallOver():
                node.calls.append(report)
            case Left(reason):
                node.left = reason
            case Suspected(member, _):
                node.suspected.append(member)
            case Dropped():
                node.dropped.append(report)
            case Block():
                self._block(node)
            case Stopped() | OtherGroup():
                pass
            case Unblock():
                node.app.blocked = False
            case LatchOpened():
                node.opened.append(report)
            case _:
                node.app.handle(node.stack, report, self.now)
                node.stack.flush(self.now)

    def _block(self, node: Node) -> None:
        node.app.blocks += 1
        node.app.blocked = True
        takes, stack = node.app.block_takes(), node.stack

        def returns() -> None:
            if node.up and node.stack is stack:
                stack.block_ok(self.now)
                self._settle(node)

        if takes is not None:
            self.after(takes, returns)

    def _feed(self, node: Node) -> None:
        if node.stack.writable:
            taken = node.stack.send_many(node.backlog[:10_000])
            del node.backlog[:taken]
            node.sent += taken
            node.stack.flush(self.now)

    def in_one_view(self, *names: str) -> bool:
        """Whether exactly these nodes share a view."""
        views = {self[name].stack.view for name in names} or {None}
        view = views.pop()
        members = sorted(self[name].address for name in names)
        return not views and view is not None and sorted(view.members) == members
