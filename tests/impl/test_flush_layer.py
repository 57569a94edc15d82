"""FLUSH's layer: what its core wants is done by the layers below, at its time and in its turn."""

from typing import Any

import pytest

from raincheck.impl.errors import NotEnabled
from raincheck.impl.flush.events import Block, LatchOpened, Suspended, Unblock
from raincheck.impl.messages import Address, Digest, View, ViewId
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.flush_layer import FlushLayer
from raincheck.impl.stack.timers import NEVER, Outbox
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import (
    CONTROL,
    Fetch,
    Fid,
    FlushCompleted,
    Reconcile,
    ReconcileOk,
    StartFlush,
    StopFlush,
)

A, B, C = (Address(name, 0) for name in "abc")
FIRST = View(ViewId(1, A), (A, B, C))
DIGEST = Digest(((A, 1), (B, 2), (C, 3)))


class Below:
    """Stands for UNICAST and NAKACK: what was asked of them, and what has arrived."""

    def __init__(self) -> None:
        self.sent: list[tuple[Address, Any]] = []
        self.frozen: list[tuple[Address, ...]] = []
        self.fetched: list[tuple[tuple[Fetch, ...], float]] = []
        self.here: set[Fetch] = set()

    def send(self, to: Address, lane: int, body: Any, _now: float) -> None:
        """UNICAST sends."""
        assert lane == CONTROL
        self.sent.append((to, body))

    def freeze(self, gone: tuple[Address, ...]) -> None:
        """NAKACK takes nothing more of these."""
        self.frozen.append(gone)

    def fetch(self, wanted: tuple[Fetch, ...], now: float) -> None:
        """NAKACK asks for these."""
        self.fetched.append((wanted, now))

    def has(self, wanted: tuple[Fetch, ...]) -> bool:
        """Whether NAKACK has them."""
        return self.here.issuperset(wanted)

    def received_digest(self) -> Digest:
        """How far the streams are here."""
        return DIGEST

    def drain(self) -> list[tuple[Address, Any]]:
        """What was sent, once."""
        sent, self.sent = self.sent, []
        return sent


def layer(me: Address, **config: Any) -> tuple[FlushLayer, Below]:
    """One member's layer in the first view, and what is below it."""
    below: Any = Below()
    settings = StackConfig(**config)
    outbox = Outbox(Codec("group", 60_000))
    made = FlushLayer(me, settings, outbox, below, below, lambda: ())
    made.begin(FIRST)
    return made, below


def started(me: Address, fid: Fid, **config: Any) -> tuple[FlushLayer, Below]:
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
    assert made.open
    assert not made.quiet

    made.handle(B, FlushCompleted(FID, DIGEST), 0.1)
    assert made.open
    assert made.suspended is None
    made.handle(C, FlushCompleted(FID, DIGEST), 0.2)

    assert not made.open
    assert made.suspended == Suspended(FID, ((A, ()), (B, ()), (C, ())))
    with pytest.raises(NotEnabled, match="latch"):
        made.multicast(0.2)
    made.resume(0.3)
    assert below.drain() == [(to, StopFlush(FID)) for to in (B, C)]
    assert made.open
    assert made.quiet
    made.multicast(0.3)
    assert made.poll() == [Unblock()]
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
    assert made.poll() == []
    assert made.missing() == {A: "to stop the flush"}
    assert not made.quiet
    made.handle(A, StopFlush(FID), 0.1)
    assert made.quiet
    assert made.missing() == {}


def test_an_application_with_a_block_is_waited_for() -> None:
    made, below = layer(B)
    made.asks = True
    made.block_ok(0.0)  # nobody has called it
    assert below.drain() == []
    made.handle(A, StartFlush(FID, (A, B, C)), 0.0)

    assert made.poll() == [Block()]
    assert below.drain() == []
    assert made.open
    assert made.missing() == {B: "to return from block()"}
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
    assert made.poll() == [Block(), Unblock()]
    below.drain()

    made.handle(A, StartFlush(LATER, (A, B, C)), 0.3)
    assert made.poll() == [Block()]
    assert below.drain() == []
    assert made.missing() == {B: "to return from block()"}
    made.block_ok(0.4)
    assert below.drain() == [(A, FlushCompleted(LATER, DIGEST))]


def test_who_takes_part_in_the_flush_of_another_answers_that_at_once() -> None:
    made, below = layer(A)
    made.suspend((A, B, C), 0.0)
    assert made.open, "its own waits for the others"
    below.drain()
    theirs = Fid(1, B, 1)
    made.handle(B, StartFlush(theirs, (A, B, C)), 0.1)
    assert below.drain() == [(B, FlushCompleted(theirs, DIGEST))]
    assert not made.open


def test_a_requester_whose_latch_has_opened_still_runs_its_flush() -> None:
    made, _ = layer(A, open_latch_after=1.0)
    made.suspend((A,), 0.0)
    made.handle_timer(1.0)
    assert made.open
    assert not made.quiet
    made.resume(1.5)
    assert made.quiet


def test_a_requester_whose_block_has_returned_waits_for_the_others_only() -> None:
    made, _ = layer(A)
    made.asks = True
    made.suspend((A, B), 0.0)
    words = "to answer START_FLUSH: its block() may not have returned"
    assert made.missing() == {A: words, B: words}

    made.block_ok(0.1)
    assert made.open
    assert made.missing() == {B: words}
    made.handle(B, FlushCompleted(FID, DIGEST), 0.2)
    assert not made.open
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
    assert made.poll() == []


def test_a_member_that_is_gone_is_not_waited_for() -> None:
    made, below = layer(A)
    made.suspend((A, B, C), 0.0)
    made.suspect(C, 0.1)
    below.drain()
    made.handle(B, FlushCompleted(LATER, DIGEST), 0.2)

    assert made.suspended == Suspended(LATER, ((A, ()), (B, ())))


def test_the_next_view_is_known() -> None:
    made, _ = started(B, FID)
    made.install(View(ViewId(2, A), (A, B)), 0.1)
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
    assert made.deadline() == NEVER, "it is not closed before block() has returned"
    made.block_ok(0.25)
    assert made.deadline() == 1.25
    made.handle(C, StopFlush(LATER), 1.0)  # of another flush
    assert made.deadline() == 1.25
    made.handle_timer(1.2)
    assert not made.open
    made.handle_timer(1.25)

    assert made.open
    assert made.counters["latch_opened"] == 1
    opened = LatchOpened(((A, "to stop the flush"),))
    assert made.poll() == [Block(), Unblock(), opened]
    assert made.deadline() == NEVER


def test_a_flush_that_follows_another_has_the_whole_time_again() -> None:
    made, _ = started(B, FID, open_latch_after=1.0)
    made.handle(A, StartFlush(LATER, (A, B, C)), 0.75)
    assert made.deadline() == 1.75
    made.handle(A, StopFlush(LATER), 1.0)
    assert made.deadline() == NEVER
