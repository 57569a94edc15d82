"""SEQUENCER at its place in the stack: whose turn it is, and what may be sent."""

from typing import Any

import pytest

from raincheck.impl.messages import Address, Payloads, Run, View, ViewId
from raincheck.impl.sequencer.events import Data, Deliver, InstallView, SendJoinRsp
from raincheck.impl.stack.bundling import SendBuffer
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.layer import Ground, Layer, piled
from raincheck.impl.stack.outbox import Outbox
from raincheck.impl.stack.passing import Found, Install
from raincheck.impl.stack.sequencer_layer import SequencerLayer
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import (
    FORWARDS,
    Fid,
    ForwardBody,
    PlacedView,
    StopFlush,
    UnicastHeader,
)

A, B, C = (Address(name, 0) for name in "abc")


class Latch:
    """FLUSH's."""

    open = True


class Below(Layer):
    """Stands for the layers below: what was asked of them, and what is there."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.forwards: list[tuple[UnicastHeader, Payloads | None]] = []
        self.unacknowledged = 0
        self.open = True
        """NAKACK's window."""
        self.latch = Latch()
        self.forwarded: list[Run] = []
        self.welcomed: list[SendJoinRsp] = []
        self.multicasts: list[Run] = []

    def pull(self, lane: int, _now: float) -> tuple[UnicastHeader, Payloads | None] | None:
        """The next FORWARD."""
        assert lane == FORWARDS
        return self.forwards.pop(0) if self.forwards else None

    def waiting(self, _to: Address, lane: int) -> int:
        """How many FORWARDs are not acknowledged."""
        assert lane == FORWARDS
        return self.unacknowledged

    def send(self, to: Address, lane: int, body: Any, _now: float, _: Any = None) -> None:
        """A FORWARD goes out."""
        assert (to, lane) == (A, FORWARDS)
        self.forwarded.append(Run(B, body.first, body.size))

    def latch_open(self) -> bool:
        """Whether FLUSH's latch is open."""
        return self.latch.open

    def may_multicast(self) -> bool:
        """Whether that and NAKACK's window are."""
        return self.latch.open and self.open

    def multicast(self, data: Data, _now: float) -> None:
        """A bundle goes out."""
        self.multicasts.append(data.messages)

    def down(self, event: Any, _now: float) -> None:
        """A joiner is welcomed."""
        assert isinstance(event, SendJoinRsp)
        self.welcomed.append(event)


class Above(Layer):
    """Stands for the layers above: what was delivered."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.delivered: list[Deliver] = []

    def up(self, event: Any, _now: float) -> None:
        """Messages, or a view."""
        if isinstance(event, Deliver):
            self.delivered.append(event)


def ordering(me: Address, *members: Address, **config: Any) -> tuple[SequencerLayer, Below]:
    """One member's, in a first view of these."""
    ground = Ground(me, StackConfig(**config), Outbox(Codec("x", 60_000)), 1)
    below, made = Below(ground), SequencerLayer(ground)
    piled([below, made, Above(ground)])
    first = ground.membership.view = View(ViewId(1, members[0]), members)
    ground.lineage.install(first.id)
    made.up(Found(PlacedView(first, ())), 0.0)
    made.waits(FORWARDS)
    return made, below


def forward(sender: Address, first: int, view: int = 1) -> tuple[UnicastHeader, Payloads]:
    """A FORWARD of one message."""
    body = ForwardBody(first, 1, ViewId(view, A), first, 1)
    return UnicastHeader(sender, A, FORWARDS, 1, first, body), Payloads.pack([b"x"])


def filled(made: SequencerLayer, count: int) -> SendBuffer:
    """So many messages that wait to be sent."""
    buffer = made.ground.buffer
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
        assert not made.may_multicast()
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
    assert made.core.received_table.get(B, 0) == 0, "it is multicast first"


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
    filled(made, 1)
    below.unacknowledged = 8
    assert not made.send_next(0.0)
    below.unacknowledged = 7
    assert made.send_next(0.0)
    assert below.forwarded == [Run(B, 1, 1)]
    assert not made.send_next(0.0), "nothing is left"


def test_a_coordinator_multicasts_while_its_window_is_open() -> None:
    made, below = ordering(A, A, B)
    filled(made, 1)
    below.open = False
    below.unacknowledged = 1 << 20  # it forwards nothing
    assert not made.send_next(0.0)
    below.open = True
    assert made.send_next(0.0)
    assert below.multicasts == [Run(A, 1, 1)]


def test_no_more_is_under_way_than_the_credit_allows() -> None:
    made, below = ordering(B, A, B, credit_messages=3)
    buffer = filled(made, 5)
    assert made.send_next(0.0)
    assert below.forwarded == [Run(B, 1, 3)]
    assert not made.send_next(0.0)
    assert len(buffer) == 2


def test_no_more_bytes_are_under_way_than_the_credit_allows() -> None:
    made, below = ordering(B, A, B, credit=4096, max_bundle=2048)
    filled(made, 100)
    sends = 0
    while made.send_next(0.0):
        sends += 1
    assert 4096 <= made.core.pending_bytes < 4096 + 2048
    assert len(below.forwarded) == sends >= 2


def test_while_the_latch_is_closed_only_what_was_forwarded_before_is_sent_again() -> None:
    made, below = ordering(B, A, B)
    buffer = filled(made, 3)
    assert made.send_next(0.0)
    buffer.append(b"later")
    below.latch.open = False
    assert not made.send_next(0.0)
    made.core.handle(InstallView(View(ViewId(2, A), (A, B))))

    assert made.send_next(0.0)
    assert below.forwarded == [Run(B, 1, 3)] * 2
    assert not made.send_next(0.0)
    assert len(buffer) == 1


# ---------------------------------------------------------------------- views


def test_joiners_are_welcomed_with_the_view_that_admits_them() -> None:
    made, below = ordering(A, A, B)
    made.up(Install(PlacedView(View(ViewId(2, A), (A, B, C), (C,)), ())), 0.0)
    assert [each.to for each in below.welcomed] == [C]
    assert below.forwarded == []
