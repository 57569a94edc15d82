"""The interface that all layers of a stack have.

A stack is a list of layers, from the bottom to the top. Each one knows what stands below and above
it only by this interface: what a layer has no business with it passes on. Events go up by `up` and
down by `down`; what layers below can tell or do at once is asked by a method with a name, which is
passed down until somebody answers. So another protocol can stand in the place of one, and a new one
between two. `passing.py` says what there is to pass.

Law of every layer: it is called with what happened and the time, changes its own state, and leaves
what is to be sent in the outbox. It owns no clock, no socket, and no randomness but its seed's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

from raincheck.impl.messages import Address, Payloads
from raincheck.impl.recording.sequencer import Tracer
from raincheck.impl.sequencer.core import Repairs as SequencerRepairs
from raincheck.impl.sequencer.events import Data
from raincheck.impl.wire.headers import (
    Alive,
    Body,
    Lane,
    UnicastHeader,
)

from .bundling import SendBuffer
from .config import StackConfig
from .endpoints import Places
from .membership import Membership
from .outbox import Outbox
from .passing import Bundle, Digests, Found, Install, Joined
from .repairs import LayerRepairs
from .reports import Left, Report
from .timers import NEVER

Taken: TypeAlias = tuple[UnicastHeader, Payloads | None]
Takes: TypeAlias = Mapping[type[Any], Callable[[Any, Any, bytes, float], None]]


class Ground:
    """What all layers of one member stand on."""

    def __init__(
        self,
        me: Address,
        config: StackConfig,
        outbox: Outbox,
        seed: int = 0,
        repairs: LayerRepairs | None = None,
        sequencer: SequencerRepairs | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self.me = me
        self.config = config
        self.outbox = outbox
        self.seed = seed
        """Layers that draw lots make their own generator, with this or a number near it."""
        self.repairs = repairs or LayerRepairs()
        self.sequencer_repairs = sequencer
        self.tracer = tracer
        self.membership = Membership(me)
        self.places = Places(outbox.endpoints)
        self.buffer = SendBuffer(config.send_buffer)
        """What the application wants to be sent."""
        self.holding: set[str] = set()
        """Who wants nothing to be delivered now."""
        self.reports: list[Report] = []
        """For the application."""
        self.strangers: list[tuple[Address, str]] = []
        """Who sent what only members may send; the stack takes them to report them."""
        self.drained: Callable[[], bool] = lambda: True
        """Whether no layer has anything under way; the group says it."""

    def out(self, reason: str) -> None:
        """This process is out of the group for good; without a reason if it has left."""
        if self.membership.status != "left":
            self.membership.become("left")
            self.reports.append(Left(reason))


class Layer:
    """One protocol in a stack; on its own it passes everything on."""

    name: ClassVar[str] = ""
    precedence: ClassVar[int] = 0
    """Where several layers wait for one member, the one with the greatest says for what."""

    statuses: ClassVar[tuple[str, ...]] = ("member", "leaving")
    """The statuses of this process in which it takes steps, acknowledges, and its timers fire."""

    core: Any = None
    """The protocol itself, if it has one."""

    stirred = True
    """Whether `step` is to be called: a layer that knows when it has nothing to do clears it."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.me = ground.me
        self.config = ground.config
        self.outbox = ground.outbox
        self.counters = ground.outbox.counters
        self.membership = ground.membership
        self.indications: list[Report] = []
        """For the application, behind what the present steps deliver."""
        self.above: Layer
        self.below: Layer

    # -------------------------------------------------------------- events

    def up(self, event: Any, now: float) -> None:
        """Something comes from below."""
        self.above.up(event, now)

    def pass_up(self, bundle: Bundle, now: float) -> None:
        """A multicast comes from below, each sender's in order."""
        self.above.pass_up(bundle, now)

    def down(self, event: Any, now: float) -> None:
        """Something comes from above."""
        self.below.down(event, now)

    @property
    def takes(self) -> Takes:
        """The datagrams that are this layer's, by their headers' types, and what handles them."""
        return {}

    # -------------------------------------------------------------- asked of those below

    def send(
        self, to: Address, lane: Lane, body: Body, now: float, payloads: Payloads | None = None
    ) -> None:
        """Send a message to a member, reliably and in its lane's order."""
        self.below.send(to, lane, body, now, payloads)

    def pull(self, lane: Lane, now: float) -> Taken | None:
        """Return the next message of a lane that is not passed up by itself."""
        return self.below.pull(lane, now)

    def waiting(self, to: Address, lane: Lane) -> int:
        """How many messages to a member have not been acknowledged."""
        return self.below.waiting(to, lane)

    def multicast(self, data: Data, now: float) -> None:
        """Multicast to all members, this one included."""
        self.below.multicast(data, now)

    def may_multicast(self) -> bool:
        """Whether a multicast passes now."""
        return self.below.may_multicast()

    def latch_open(self) -> bool:
        """Whether this member may say something new."""
        return self.below.latch_open()

    def deliverable(self) -> bool:
        """Whether a multicast that has arrived could be passed up in this view."""
        return self.below.deliverable()

    def digests(self) -> Digests:
        """How far the streams of all members are here."""
        return self.below.digests()

    def alive(self, to: Collection[Address]) -> Alive:
        """A sign of life for these."""
        return self.below.alive(to)

    # -------------------------------------------------------------- steps and time

    def step(self, now: float) -> bool:
        """Take a step that has become possible; whether there may be more of them."""
        del now
        return False

    def acknowledge(self, now: float) -> None:
        """No more steps are possible: send the acknowledgements that are due."""

    def poll(self) -> list[Report]:
        """Return the indications, once."""
        found, self.indications = self.indications, []
        return found

    def deadline(self) -> float:
        """When `handle_timer` wants to be called, or NEVER."""
        return NEVER

    def handle_timer(self, now: float) -> None:
        """Do what is due; harmless when nothing is."""

    # -------------------------------------------------------------- to look at

    @property
    def drained(self) -> bool:
        """Whether this member may stop: nothing that it sent or leads is under way."""
        return True

    @property
    def pending(self) -> int:
        """Messages of the application that are under way."""
        return 0

    def missing(self, now: float) -> Mapping[Address, str]:
        """Whom this layer waits for, each with what it waits for."""
        del now
        return {}

    def buffered(self) -> int:
        """How many datagrams are kept."""
        return 0


class Floor(Layer):
    """Below all layers: views turn round here. Whatever else comes so far nobody was there for."""

    def down(self, event: Any, now: float) -> None:
        """Turn views round."""
        if isinstance(event, Found | Joined | Install):
            self.above.up(event, now)


_ASKED = ("send", "pull", "waiting", "multicast", "may_multicast", "latch_open")


def piled(layers: Sequence[Layer]) -> None:
    """Put each layer on the one before it.

    What is asked or passed up for each message goes straight to the layer that has something to do
    with it: one that does not define such a method has that of its neighbour as its own.
    """
    for below, above in pairwise(layers):
        below.above, above.below = above, below
    for layer in layers[1:]:
        for name in _ASKED:
            if getattr(type(layer), name) is getattr(Layer, name):
                setattr(layer, name, getattr(layer.below, name))
    for layer in reversed(layers[:-1]):
        if type(layer).pass_up is Layer.pass_up:
            layer.pass_up = layer.above.pass_up  # type: ignore[method-assign]
