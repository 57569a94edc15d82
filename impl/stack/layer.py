"""The interface that all layers of a stack have.

A stack is a list of layers, from the bottom to the top. A layer knows its neighbours only by this
interface, and passes on what does not concern it. Events go up by `up` and down by `down`
(`passing.py` lists them); what a layer asks of those below it is a method of its own, which is
passed down to the layer that implements it. So a protocol can be replaced by another one, and a new
one put between two.

Every layer is called with an input and the time, changes its own state, and leaves datagrams in the
outbox. It has no clock, no socket, and no randomness but its seed's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

from raincheck.impl.messages import Address, Endpoint, Payloads, Table
from raincheck.impl.recording.core import Recorder
from raincheck.impl.sequencer.core import Repairs as SequencerRepairs
from raincheck.impl.sequencer.events import Data
from raincheck.impl.wire.headers import (
    Alive,
    Body,
    Lane,
    UnicastHeader,
)
from raincheck.impl.wire.primary_bodies import NO_STANDING, Standing

from .bundling import SendBuffer
from .config import StackConfig
from .cookies import Cookies
from .endpoints import Places
from .lineage import Lineage
from .membership import Membership
from .outbox import Outbox
from .passing import Bundle, Digests, Found, Install, Joined
from .repairs import LayerRepairs
from .reports import Left, Report
from .timers import NEVER

Taken: TypeAlias = tuple[UnicastHeader, Payloads | None]
Takes: TypeAlias = Mapping[type[Any], Callable[[Any, Any, bytes, float], None]]


class Ground:
    """The ground that all layers of one member share."""

    def __init__(
        self,
        me: Address,
        config: StackConfig,
        outbox: Outbox,
        seed: int = 0,
        repairs: LayerRepairs | None = None,
        sequencer: SequencerRepairs | None = None,
        recorder: Recorder | None = None,
        secret: bytes | None = None,
    ) -> None:
        self.me = me
        self.config = config
        self.outbox = outbox
        self.seed = seed
        """Layers that need randomness make their own generator from this seed."""
        self.repairs = repairs or LayerRepairs()
        self.sequencer_repairs = sequencer
        self.recorder = recorder
        """Records SEQUENCER from its first view on."""
        self.cookies = Cookies(secret, seed)
        self.membership = Membership(me)
        self.lineage = Lineage(self.membership)
        self.places = Places(outbox.endpoints)
        self.buffer = SendBuffer(config.send_buffer)
        """The application's messages that no layer has taken yet."""
        self.unordered = SendBuffer(config.send_buffer)
        """The same, of those without a place in the order of all."""
        self.gathering = False
        """Whether less than a bundle in `buffer` is to wait for more."""
        self.stateless = False
        """Whether the application waits for the state, which comes before all that it is sent."""
        self.not_primary = ""
        """Why the view is not primary, and nothing is sequenced or delivered; "" if it is."""
        self.standing: Callable[[Collection[Address]], Standing] = lambda _there: NO_STANDING
        """Returns how far the primary views go that this member knows of, if those are there."""
        self.delivered: Callable[[Collection[Address]], Table] = lambda _there: ()
        """Returns how far former members, not those, have been delivered in primary views."""
        self.holding: set[str] = set()
        """The names of those for whom deliveries are held up."""
        self.reports: list[Report] = []
        """Reports for the application, in order."""
        self.strangers: list[tuple[Address, str]] = []
        """Non-members that sent what only members may send, to be reported by the stack."""
        self.offenders: list[tuple[Address, str]] = []
        """Members that sent what the protocol does not allow, and what; to be reported, too."""

        self.named: Callable[[], Sequence[Endpoint]] | None = None
        """Returns those initial hosts that are named, at the addresses of this moment."""
        self.refused: Callable[[], Mapping[Endpoint, str]] = lambda: {}
        """Returns the endpoints that have another key than this process, and what is wrong."""
        self.drained: Callable[[], bool] = lambda: True
        """Whether no layer has anything under way; set by the group."""
        self.unsent: Callable[[], bool] = lambda: False
        """Whether the application's messages wait to be sent; set by the group."""

    def offends(self, member: Address, what: str) -> None:
        """Count, and report, what a member has sent against the protocol."""
        self.outbox.counters["refused"] += 1
        self.offenders.append((member, what))

    def out(self, reason: str, *, final: bool = False, alone: bool = False) -> None:
        """Put this process out of the group for good; `reason` is empty if it has left."""
        if self.membership.status != "left":
            self.membership.become("left")
            self.reports.append(Left(reason, final, alone=alone))

    def hung(self, what: str) -> None:
        """Put this process out of the group because its application keeps the group waiting.

        It stops without a word, and the others find out as if it had crashed.
        """
        seconds = f"{self.config.application_timeout:g} s (application_timeout)"
        self.out(f"{self.me} has left the group: its application {what} for {seconds}", final=True)


class Layer:
    """One protocol in a stack; this base class passes everything on."""

    name: ClassVar[str] = ""
    precedence: ClassVar[int] = 0
    """Of the layers that wait for one member, the one with the highest precedence says for what."""

    statuses: ClassVar[tuple[str, ...]] = ("member", "leaving")
    """The statuses of the process in which this layer takes steps and its timers fire."""

    core: Any = None
    """The protocol's core, if it has one."""

    stirred = True
    """Whether `step` is called; a layer that knows when it has nothing to do clears it."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.me = ground.me
        self.config = ground.config
        self.outbox = ground.outbox
        self.counters = ground.outbox.counters
        self.membership = ground.membership
        self.indications: list[Report] = []
        """Reports that come after all deliveries of the present steps."""
        self.above: Layer
        self.below: Layer

    # -------------------------------------------------------------- events

    def up(self, event: Any, now: float) -> None:
        """Handle an event from below, or pass it on."""
        self.above.up(event, now)

    def pass_up(self, bundle: Bundle, now: float) -> None:
        """Handle a multicast from below, or pass it on; each sender's come in order."""
        self.above.pass_up(bundle, now)

    def waits(self, lane: Lane) -> None:
        """Note that a message of that lane waits to be pulled, or pass it on."""
        self.above.waits(lane)

    def down(self, event: Any, now: float) -> None:
        """Handle an event from above, or pass it on."""
        self.below.down(event, now)

    @property
    def takes(self) -> Takes:
        """The handlers of this layer's datagrams, by the headers' types."""
        return {}

    # -------------------------------------------------------------- asked of those below

    def send(
        self, to: Address, lane: Lane, body: Body, now: float, payloads: Payloads | None = None
    ) -> None:
        """Send a message to a member, reliably and in its lane's order."""
        self.below.send(to, lane, body, now, payloads)

    def pull(self, lane: Lane, now: float) -> Taken | None:
        """Return the next message of a lane that has to be asked for, or None."""
        return self.below.pull(lane, now)

    def waiting(self, to: Address, lane: Lane) -> int:
        """Return how many messages to a member have not been acknowledged."""
        return self.below.waiting(to, lane)

    def multicast(self, data: Data, now: float) -> None:
        """Multicast to all members, this one included."""
        self.below.multicast(data, now)

    def may_multicast(self) -> bool:
        """Whether `multicast` is allowed now."""
        return self.below.may_multicast()

    def multicast_room(self) -> int:
        """Return how many bundles of any size NAKACK's windows allow to be multicast now."""
        return self.below.multicast_room()

    def may_multicast_unordered(self) -> bool:
        """Whether `multicast` is allowed now for what no coordinator sequences."""
        return self.below.may_multicast_unordered()

    def latch_open(self) -> bool:
        """Whether this member may send new messages."""
        return self.below.latch_open()

    def deliverable(self) -> bool:
        """Whether an arrived multicast can be passed up in this view."""
        return self.below.deliverable()

    def digests(self) -> Digests:
        """Return how far the streams of all members are delivered and received here."""
        return self.below.digests()

    def alive(self, to: Collection[Address]) -> Alive:
        """Return a sign of life for these members."""
        return self.below.alive(to)

    # -------------------------------------------------------------- steps and time

    def step(self, now: float) -> bool:
        """Take a step that has become possible; return whether more may be possible."""
        del now
        return False

    def acknowledge(self, now: float) -> None:
        """Send the acknowledgements that are due; called when no more steps are possible."""

    def poll(self) -> list[Report]:
        """Return the indications, once."""
        found, self.indications = self.indications, []
        return found

    def deadline(self) -> float:
        """Return when `handle_timer` is to be called, or NEVER."""
        return NEVER

    def handle_timer(self, now: float) -> None:
        """Do what is due; no effect if nothing is."""

    # -------------------------------------------------------------- to look at

    @property
    def drained(self) -> bool:
        """Whether this member may stop: nothing that it sent or leads is under way."""
        return True

    @property
    def unsent(self) -> bool:
        """Whether the application's messages wait here to be put into the send buffer."""
        return False

    @property
    def pending(self) -> int:
        """The number of the application's messages that are under way."""
        return 0

    def missing(self, now: float) -> Mapping[Address, str]:
        """Return whom this layer waits for, and for what."""
        del now
        return {}

    def buffered(self) -> int:
        """Return how many datagrams this layer keeps."""
        return 0


class Floor(Layer):
    """Below all layers: turns new views round, and ignores other events."""

    def down(self, event: Any, now: float) -> None:
        """Turn views round."""
        if isinstance(event, Found | Joined | Install):
            self.above.up(event, now)


_TOLD = ("pass_up", "waits")
_ASKED = (
    "send",
    "pull",
    "waiting",
    "multicast",
    "may_multicast",
    "may_multicast_unordered",
    "latch_open",
)


def piled(layers: Sequence[Layer]) -> None:
    """Stack the layers, the first one at the bottom.

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
        for name in _TOLD:
            if getattr(type(layer), name) is getattr(Layer, name):
                setattr(layer, name, getattr(layer.above, name))
