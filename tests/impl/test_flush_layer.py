"""FLUSH's layer: what its core wants is done by the layers below, at its time and in its turn."""

from typing import Any

import pytest

from raincheck.impl.errors import NotEnabled
from raincheck.impl.flush.events import (
    Block,
    FetchStreams,
    Freeze,
    LatchOpened,
    Resume,
    Suspect,
    Suspend,
    Suspended,
    Unblock,
)
from raincheck.impl.messages import Address, Digest, Payloads, Run, View, ViewId
from raincheck.impl.sequencer.events import Data
from raincheck.impl.stack.application import Application
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.flush_layer import FlushLayer
from raincheck.impl.stack.layer import Ground, Layer, piled
from raincheck.impl.stack.outbox import Outbox
from raincheck.impl.stack.passing import Digests, Fetched, Found, Install, Mail, Unanswered
from raincheck.impl.stack.reports import Report, Stopped, ViewInstalled
from raincheck.impl.stack.timers import NEVER
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import (
    CONTROL,
    Fetch,
    Fid,
    FlushCompleted,
    PlacedView,
    Reconcile,
    ReconcileOk,
    StartFlush,
    StopFlush,
)

A, B, C = (Address(name, 0) for name in "abc")
FIRST = View(ViewId(1, A), (A, B, C))
DIGEST = Digest(((A, 1), (B, 2), (C, 3)))
DATA = Data(Run(A, 1, 1), 1, Payloads.pack([b"x"]), 1, 1)


class Below(Layer):
    """Stands for UNICAST, NAKACK and GMS: what was asked of them, and what has arrived."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.sent: list[tuple[Address, Any]] = []
        self.frozen: list[tuple[Address, ...]] = []
        self.fetched: list[tuple[tuple[Fetch, ...], float]] = []
        self.here: set[Fetch] = set()
        self.multicasts: list[Data] = []
        self.suspended: Suspended | None = None
        self.unanswered: dict[Address, str] = {}

    def send(
        self, to: Address, lane: int, body: Any, _now: float, _payloads: object = None
    ) -> None:
        """UNICAST sends."""
        assert lane == CONTROL
        self.sent.append((to, body))

    def multicast(self, data: Data, _now: float) -> None:
        """NAKACK multicasts."""
        self.multicasts.append(data)

    def down(self, event: Any, now: float) -> None:
        """NAKACK takes nothing more of some, and asks for some; GMS is told."""
        match event:
            case Freeze(gone):
                self.frozen.append(gone)
            case FetchStreams(fetches):
                self.fetched.append((fetches, now))
            case Suspended():
                self.suspended = event
            case Unanswered(members):
                self.unanswered |= members

    def digests(self) -> Digests:
        """How far the streams are here."""
        return Digests(Digest(), DIGEST)

    def drain(self) -> list[tuple[Address, Any]]:
        """What was sent, once."""
        sent, self.sent = self.sent, []
        return sent


class Driven(FlushLayer):
    """What the layers around would have it do."""

    below: Below

    def handle(self, source: Address, body: Any, now: float) -> None:
        """A message arrives."""
        self.up(Mail(source, body), now)

    def suspend(self, participants: tuple[Address, ...], now: float) -> None:
        """GMS wants a flush."""
        self.below.suspended = None
        self.up(Suspend(participants), now)

    def resume(self, now: float) -> None:
        """GMS has what it wanted it for."""
        self.up(Resume(), now)

    def suspect(self, member: Address, now: float) -> None:
        """GMS takes a member for gone."""
        self.up(Suspect(member), now)

    def advance(self, now: float) -> None:
        """NAKACK says that it has what is to be fetched, if so."""
        wanted = self.core.fetching
        if wanted and self.below.here.issuperset(wanted):
            self.up(Fetched(wanted), now)

    def poll(self) -> list[Report | type[Report]]:
        """The reports of this layer, once; of one without contents its type, for all are equal."""
        found = [each for each in self.ground.reports if not isinstance(each, ViewInstalled)]
        self.ground.reports.clear()
        return [each if each else type(each) for each in found]

    @property
    def suspended(self) -> Suspended | None:
        """What GMS was told."""
        return self.below.suspended

    @property
    def unanswered(self) -> dict[Address, str]:
        """Of whom GMS was told that they let the flush wait, since the last time."""
        return self.below.unanswered


def layer(me: Address, **config: Any) -> tuple[Driven, Below]:
    """One member's layer in the first view, and what is below it."""
    ground = Ground(me, StackConfig(**config), Outbox(Codec("group", 60_000)), 1)
    below, made = Below(ground), Driven(ground)
    piled([below, made, Application(ground)])
    made.up(Found(PlacedView(FIRST, ())), 0.0)
    return made, below


def started(me: Address, fid: Fid, **config: Any) -> tuple[Driven, Below]:
    """One that START_FLUSH of a has come to; its application has no block()."""
    made, below = layer(me, **config)
    made.handle(A, StartFlush(fid, (A, B, C)), 0.0)
    return made, below


FID = Fid(1, A, 1)
LATER = Fid(1, A, 2)


def test_the_requester_is_the_last_to_close_its_latch_and_then_all_are_suspended() -> None:
    made, below = layer(A)
    made.suspend((A, B, C), 0.0)
    assert below.drain() == [(to, StartFlush(FID, (A, B, C))) for to in (B, C)]
    assert made.latch_open()
    assert not made.quiet

    made.handle(B, FlushCompleted(FID, DIGEST), 0.1)
    assert made.latch_open()
    assert made.suspended is None
    made.handle(C, FlushCompleted(FID, DIGEST), 0.2)

    assert not made.latch_open()
    assert made.suspended == Suspended(FID, ((A, ()), (B, ()), (C, ())))
    with pytest.raises(NotEnabled, match="latch"):
        made.multicast(DATA, 0.2)
    assert below.multicasts == [], "it would be numbered"
    made.resume(0.3)
    assert below.drain() == [(to, StopFlush(FID)) for to in (B, C)]
    assert made.latch_open()
    assert made.quiet
    made.multicast(DATA, 0.3)
    assert below.multicasts == [DATA]
    assert made.poll() == [Stopped, Unblock]
    assert made.poll() == []


def test_a_second_flush_forgets_that_the_first_one_was_done() -> None:
    made, _ = layer(A)
    made.suspend((A,), 0.0)
    assert made.suspended is not None
    made.resume(0.0)
    made.suspend((A, B), 0.0)
    assert made.suspended is None


def test_a_participant_without_a_block_answers_at_once() -> None:
    made, below = started(B, FID)

    assert below.drain() == [(A, FlushCompleted(FID, DIGEST))]
    assert made.poll() == [Stopped]
    assert made.missing(0.0) == {A: "to stop the flush"}
    assert not made.quiet
    made.handle(A, StopFlush(FID), 0.1)
    assert made.quiet
    assert made.missing(0.0) == {}


def test_an_application_with_a_block_is_waited_for() -> None:
    made, below = layer(B)
    made.asks = True
    made.block_ok(0.0)  # nobody has called it
    assert below.drain() == []
    made.handle(A, StartFlush(FID, (A, B, C)), 0.0)

    assert made.poll() == [Block]
    assert below.drain() == []
    assert made.latch_open()
    assert made.missing(0.0) == {B: "to return from block()"}
    made.block_ok(0.1)
    assert below.drain() == [(A, FlushCompleted(FID, DIGEST))]
    made.block_ok(0.2)
    assert below.drain() == []


def test_each_flush_waits_for_a_block_of_its_own() -> None:
    made, below = layer(B)
    made.asks = True
    made.handle(A, StartFlush(FID, (A, B, C)), 0.0)
    made.block_ok(0.1)
    made.handle(A, StopFlush(FID), 0.2)
    assert made.poll() == [Block, Unblock]
    below.drain()

    made.handle(A, StartFlush(LATER, (A, B, C)), 0.3)
    assert made.poll() == [Block]
    assert below.drain() == []
    assert made.missing(0.0) == {B: "to return from block()"}
    made.block_ok(0.4)
    assert below.drain() == [(A, FlushCompleted(LATER, DIGEST))]


def test_who_takes_part_in_the_flush_of_another_answers_that_at_once() -> None:
    made, below = layer(A)
    made.suspend((A, B, C), 0.0)
    assert made.latch_open(), "its own waits for the others"
    below.drain()
    theirs = Fid(1, B, 1)
    made.handle(B, StartFlush(theirs, (A, B, C)), 0.1)
    assert below.drain() == [(B, FlushCompleted(theirs, DIGEST))]
    assert not made.latch_open()


def test_a_requester_whose_latch_has_opened_still_runs_its_flush() -> None:
    made, _ = layer(A, open_latch_after=1.0)
    made.suspend((A,), 0.0)
    made.handle_timer(1.0)
    assert made.latch_open()
    assert not made.quiet
    made.resume(1.5)
    assert made.quiet


def test_a_requester_whose_block_has_returned_waits_for_the_others_only() -> None:
    made, _ = layer(A)
    made.asks = True
    made.suspend((A, B), 0.0)
    words = "to answer START_FLUSH: its block() may not have returned"
    assert made.missing(0.0) == {A: words, B: words}

    made.block_ok(0.1)
    assert made.latch_open()
    assert made.missing(0.0) == {B: words}
    made.handle(B, FlushCompleted(FID, DIGEST), 0.2)
    assert not made.latch_open()
    assert made.suspended is not None


def test_the_streams_of_who_is_left_out_are_frozen() -> None:
    made, below = layer(B)
    made.handle(A, StartFlush(FID, (A, B)), 0.0)
    assert below.frozen == [(C,)]
    assert below.drain() == [(A, FlushCompleted(FID, DIGEST))]


def test_what_is_to_be_fetched_is_asked_for_and_answered_when_it_is_here() -> None:
    made, below = started(B, FID)
    below.drain()
    wanted = (Fetch(C, 4, A), Fetch(A, 2, A))
    made.handle(A, Reconcile(FID, wanted), 0.5)

    assert below.fetched == [(wanted, 0.5)]
    for arrived in wanted:
        made.advance(0.6)
        assert below.drain() == []
        below.here.add(arrived)
    made.advance(0.7)
    assert below.drain() == [(A, ReconcileOk(FID))]
    made.advance(0.8)
    assert below.drain() == []


def test_a_flush_that_begins_anew_is_answered_anew() -> None:
    made, below = started(B, FID)
    below.drain()
    made.handle(A, StartFlush(LATER, (A, B)), 0.1)
    assert below.drain() == [(A, FlushCompleted(LATER, DIGEST))]
    assert made.poll() == [Stopped]


def test_a_member_that_is_gone_is_not_waited_for() -> None:
    made, below = layer(A)
    made.suspend((A, B, C), 0.0)
    made.suspect(C, 0.1)
    below.drain()
    made.handle(B, FlushCompleted(LATER, DIGEST), 0.2)

    assert made.suspended == Suspended(LATER, ((A, ()), (B, ())))


def test_the_next_view_is_known() -> None:
    made, _ = started(B, FID)
    made.up(Install(PlacedView(View(ViewId(2, A), (A, B)), ())), 0.1)
    assert (made.core.view, made.core.members) == (2, (A, B))


# ---------------------------------------------------------------------- patience


def test_who_does_not_answer_is_named_again_and_again_and_the_requester_never() -> None:
    made, _ = layer(A, flush_timeout=2.0)
    assert made.deadline() == NEVER
    made.suspend((A, B, C), 1.0)
    made.handle(B, FlushCompleted(FID, DIGEST), 2.0)
    assert made.deadline() == 3.0, "an answer of one is no half of it"

    made.handle_timer(2.9)
    assert made.unanswered == {}
    made.handle_timer(3.0)
    words = "to answer START_FLUSH: its block() may not have returned"
    assert made.unanswered == {C: words}
    assert made.counters["flush_unanswered"] == 1
    assert made.deadline() == 5.0
    made.handle_timer(5.0)
    assert made.counters["flush_unanswered"] == 2


def test_patience_begins_anew_with_each_half_and_ends_with_the_flush() -> None:
    made, _ = layer(A, flush_timeout=2.0)
    made.suspend((A, B), 0.0)
    made.handle(B, FlushCompleted(FID, Digest(((A, 0), (B, 2), (C, 3)))), 1.0)
    assert made.suspended is None
    assert made.deadline() == 3.0
    made.handle_timer(3.0)
    assert made.unanswered == {B: "to fetch the multicasts that it lacks"}

    made.handle(B, ReconcileOk(FID), 4.0)
    assert made.suspended is not None
    assert made.deadline() == NEVER


def test_patience_begins_anew_with_each_attempt() -> None:
    made, _ = layer(A, flush_timeout=2.0)
    made.suspend((A, B, C), 0.0)
    made.suspect(C, 1.5)
    assert made.deadline() == 3.5


def test_a_latch_opens_by_itself_so_long_after_it_closed_only_if_that_is_wanted() -> None:
    patient, _ = started(B, FID)
    assert patient.deadline() == NEVER

    made, _ = layer(B, open_latch_after=1.0)
    made.asks = True
    made.handle(A, StartFlush(FID, (A, B, C)), 0.0)
    assert made.deadline() == made.config.application_timeout, "open: only block() is waited for"
    made.block_ok(0.25)
    assert made.deadline() == 1.25
    made.handle(C, StopFlush(LATER), 1.0)  # of another flush
    assert made.deadline() == 1.25
    made.handle_timer(1.2)
    assert not made.latch_open()
    made.handle_timer(1.25)

    assert made.latch_open()
    assert made.counters["latch_opened"] == 1
    opened = LatchOpened(((A, "to stop the flush"),))
    assert made.poll() == [Block, Unblock, opened]
    assert made.deadline() == NEVER


def test_a_flush_that_follows_another_has_the_whole_time_again() -> None:
    made, _ = started(B, FID, open_latch_after=1.0)
    made.handle(A, StartFlush(LATER, (A, B, C)), 0.75)
    assert made.deadline() == 1.75
    made.handle(A, StopFlush(LATER), 1.0)
    assert made.deadline() == NEVER
