"""SEQUENCER at its place in the stack: whose turn it is, what may be sent, and where the cut is."""

from typing import Any

import pytest

from raincheck.impl.messages import Address, Payloads, Run, View, ViewId
from raincheck.impl.sequencer.core import Sequencer
from raincheck.impl.sequencer.events import Data, Deliver, InstallView, SendJoinRsp
from raincheck.impl.stack.bundling import SendBuffer
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.reports import Report
from raincheck.impl.stack.sequencer_layer import Ordering
from raincheck.impl.wire.headers import FORWARDS, Fid, ForwardBody, StopFlush, UnicastHeader

A, B, C = (Address(name, 0) for name in "abc")


class Latch:
    """Stands for FLUSH."""

    def __init__(self, below: "Below") -> None:
        self.open = True
        self._below = below

    def multicast(self, _now: float) -> None:
        """A multicast passes, before it is numbered."""
        self._below.multicasts.append("passes")


class Below:
    """Stands for UNICAST, NAKACK and STABLE: what was asked of them, and what is there."""

    def __init__(self) -> None:
        self.forwards: list[tuple[UnicastHeader, Payloads | None]] = []
        self.unacknowledged = 0
        self.open = True
        """NAKACK's window."""
        self.latch = Latch(self)
        self.forwarded: list[Run] = []
        self.welcomed: list[SendJoinRsp] = []
        self.multicasts: list[object] = []

    def consume(self, lane: int, _now: float) -> tuple[UnicastHeader, Payloads | None] | None:
        """The next FORWARD."""
        assert lane == FORWARDS
        return self.forwards.pop(0) if self.forwards else None

    def waiting(self, _to: Address, lane: int) -> int:
        """How many FORWARDs are not acknowledged."""
        assert lane == FORWARDS
        return self.unacknowledged

    def send(self, to: Address, lane: int, body: ForwardBody, _now: float, *_: Payloads) -> None:
        """A FORWARD goes out."""
        assert (to, lane) == (A, FORWARDS)
        self.forwarded.append(Run(B, body.first, body.size))

    def multicast(self, data: Data, _now: float) -> None:
        """A bundle is numbered and goes out."""
        self.multicasts.append(data.messages)


def ordering(me: Address, *members: Address, **config: Any) -> tuple[Ordering, Any]:
    """One member's, in a first view of these."""
    below: Any = Below()
    sequencer = Sequencer(me)
    sequencer.found(View(ViewId(1, members[0]), members))
    reports: list[Report] = []
    settings, latch, welcome = StackConfig(**config), below.latch, below.welcomed.append
    made = Ordering(settings, sequencer, below, below, below, latch, reports, welcome)
    return made, below


def forward(sender: Address, first: int, view: int = 1) -> tuple[UnicastHeader, Payloads]:
    """A FORWARD of one message."""
    body = ForwardBody(first, 1, view, first, 1)
    return UnicastHeader(sender, A, FORWARDS, 1, first, body), Payloads.pack([b"x"])


def filled(count: int) -> SendBuffer:
    """So many messages that wait to be sent."""
    buffer = SendBuffer(1 << 20)
    for _ in range(count):
        buffer.append(b"x" * 100)
    return buffer


# ---------------------------------------------------------------------- turns


@pytest.mark.parametrize("members", [(A,), (A, B), (A, B, C)], ids=["alone", "two", "three"])
def test_the_others_have_one_turn_each_and_then_the_coordinator_has_its_own(
    members: tuple[Address, ...],
) -> None:
    made, below = ordering(A, *members)
    below.forwards = [forward(members[-1], number) for number in range(1, 8)]
    turn = max(1, len(members) - 1)
    assert not made.own_turn()

    assert made.take_forwards(0.0)
    assert len(below.forwards) == 7 - turn
    assert not made.take_forwards(0.0), "it is the coordinator's turn"
    assert made.own_turn()
    assert not made.own_turn(), "once"
    assert made.take_forwards(0.0)
    assert len(below.forwards) == 7 - 2 * turn


def test_nothing_is_taken_nor_is_it_anybodys_turn_while_the_window_or_the_latch_is_closed() -> None:
    made, below = ordering(A, A, B)
    below.forwards = [forward(B, 1), forward(B, 2)]
    for each in (below, below.latch):
        each.open = False
        assert not made.open
        assert not made.take_forwards(0.0)
        each.open = True
    assert made.take_forwards(0.0)
    for each in (below, below.latch):
        each.open = False
        assert not made.own_turn()
        each.open = True
    assert made.own_turn()


def test_what_is_no_forward_takes_no_turn() -> None:
    made, below = ordering(A, A, B)
    header, _ = forward(B, 1)
    other = UnicastHeader(B, A, FORWARDS, 1, 1, StopFlush(Fid(1, B, 1)))
    below.forwards = [(header, None), (other, Payloads.pack([b"x"])), forward(B, 1), forward(B, 2)]
    assert made.take_forwards(0.0)
    assert len(below.forwards) == 1
    assert made.sequencer.received_table.get(B, 0) == 0, "it is multicast first"


def test_a_coordinator_on_its_way_out_sequences_nothing_more() -> None:
    made, below = ordering(A, A, B)
    made.draining = True
    below.forwards = [forward(B, 1)]
    assert not made.take_forwards(0.0)
    assert len(below.forwards) == 1
    made.draining = False
    assert made.take_forwards(0.0)


def test_nothing_to_take_is_nothing_taken() -> None:
    made, _ = ordering(A, A, B)
    assert not made.take_forwards(0.0)


# ---------------------------------------------------------------------- sending


def test_a_member_sends_until_its_coordinator_lags() -> None:
    made, below = ordering(B, A, B, unicast_window=8)
    buffer = filled(1)
    below.unacknowledged = 8
    assert not made.send_next(buffer, 0.0)
    below.unacknowledged = 7
    assert made.send_next(buffer, 0.0)
    assert below.forwarded == [Run(B, 1, 1)]
    assert not made.send_next(buffer, 0.0), "nothing is left"


def test_a_coordinator_multicasts_while_its_window_is_open() -> None:
    made, below = ordering(A, A, B)
    buffer = filled(1)
    below.open = False
    below.unacknowledged = 1 << 20  # it forwards nothing
    assert not made.send_next(buffer, 0.0)
    below.open = True
    assert made.send_next(buffer, 0.0)
    assert below.multicasts == ["passes", Run(A, 1, 1)]


def test_no_more_is_under_way_than_the_credit_allows() -> None:
    made, below = ordering(B, A, B, credit_messages=3)
    buffer = filled(5)
    assert made.send_next(buffer, 0.0)
    assert below.forwarded == [Run(B, 1, 3)]
    assert not made.send_next(buffer, 0.0)
    assert len(buffer) == 2


def test_no_more_bytes_are_under_way_than_the_credit_allows() -> None:
    made, below = ordering(B, A, B, credit=4096, max_bundle=2048)
    buffer = filled(100)
    sends = 0
    while made.send_next(buffer, 0.0):
        sends += 1
    assert 4096 <= made.sequencer.pending_bytes < 4096 + 2048
    assert len(below.forwarded) == sends >= 2


def test_while_the_latch_is_closed_only_what_was_forwarded_before_is_sent_again() -> None:
    made, below = ordering(B, A, B)
    buffer = filled(3)
    assert made.send_next(buffer, 0.0)
    buffer.append(b"later")
    below.latch.open = False
    assert not made.send_next(buffer, 0.0)
    made.sequencer.handle(InstallView(View(ViewId(2, A), (A, B))))

    assert made.send_next(buffer, 0.0)
    assert below.forwarded == [Run(B, 1, 3)] * 2
    assert not made.send_next(buffer, 0.0)
    assert len(buffer) == 1


# ---------------------------------------------------------------------- the cut


def test_the_cut_is_behind_what_was_delivered_in_this_view() -> None:
    made, _ = ordering(A, A, B)
    made.apply([Deliver(Run(B, 1, 3), 1, Payloads.pack([b"x"] * 3))], 0.0)
    made.apply([Deliver(Run(A, 1, 2), 1, Payloads.pack([b"x"] * 2))], 0.0)
    assert made.cut == 5

    made.install(View(ViewId(2, A), (A, B)), 0.0)
    assert made.cut == 0


def test_what_is_discarded_is_counted_and_not_reported() -> None:
    made, _ = ordering(A, A, B)
    made.discarding = lambda: True
    made.apply([Deliver(Run(B, 1, 3), 1, Payloads.pack([b"x"] * 3))], 0.0)
    assert made.cut == 3
    assert made._reports == []

    made.discarding = lambda: False
    made.apply([Deliver(Run(B, 4, 1), 1, Payloads.pack([b"x"]))], 0.0)
    assert [(each.first, each.count) for each in made._reports] == [(4, 1)]  # type: ignore[union-attr]


def test_joiners_are_welcomed_with_the_view_that_admits_them() -> None:
    made, below = ordering(A, A, B)
    made.install(View(ViewId(2, A), (A, B, C), (C,)), 0.0)
    assert [each.to for each in below.welcomed] == [C]
    assert below.forwarded == []
