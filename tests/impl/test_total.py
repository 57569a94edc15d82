"""TOTAL's core: groups of cores over a network that loses, repeats and reorders."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address
from raincheck.impl.total.core import Repairs, Total
from raincheck.impl.total.events import (
    Acknowledge,
    Announce,
    Ask,
    Bcast,
    CumSeqAck,
    Deliver,
    InstallView,
    Last,
    Message,
    ReceiveBcast,
    ReceiveCumSeqAck,
    ReceiveLast,
    ReceiveRequest,
    ReceiveResend,
    Request,
    Resend,
    ResendRequests,
    Send,
)

A, B, C = (Address(name, 0) for name in "abc")
ALL = (A, B, C)
TIMERS = (Ask(), ResendRequests(), Announce(), Acknowledge())


class Group:
    """Cores, what is under way between them, and what each has delivered."""

    def __init__(self, seed: int, repairs: Repairs | None = None) -> None:
        self.draw = random.Random(seed)
        self.cores = {each: Total(each, repairs=repairs) for each in ALL}
        self.under_way: list[tuple[Address, Any]] = []
        self.delivered: dict[Address, list[Deliver]] = {each: [] for each in ALL}
        self.view = 0
        self.install(ALL)

    def install(self, members: tuple[Address, ...]) -> None:
        """All of these install the next view; what is under way stays so."""
        self.view += 1
        for each in members:
            self.give(each, InstallView(self.view, members))

    def give(self, who: Address, event: Any) -> None:
        """A core handles an event, if it may, and its effects are on their way."""
        try:
            effects = self.cores[who].handle(event)
        except NotEnabled:
            return
        for effect in effects:
            match effect:
                case Deliver():
                    self.delivered[who].append(effect)
                case Request(to, message, tag, view):
                    self.under_way.append((to, ReceiveRequest(who, message, tag, view)))
                case Resend(to, id_, view):
                    self.under_way.append((to, ReceiveResend(who, id_, view)))
                case CumSeqAck(to, id_, view):
                    self.under_way.append((to, ReceiveCumSeqAck(who, id_, view)))
                case Bcast(to, id_, message, view):
                    others = self.cores[who].members if to is None else (to,)
                    self.under_way += (
                        (each, ReceiveBcast(id_, message, view)) for each in others if each != who
                    )
                case Last(id_, view):
                    self.under_way += (
                        (each, ReceiveLast(id_, view))
                        for each in self.cores[who].members
                        if each != who
                    )

    def step(self) -> None:
        """Something arrives, is lost or repeated, or a timer goes off."""
        if not self.under_way or self.draw.random() < 0.2:
            members = self.cores[A].members if self.view == 1 else (B, C)
            self.give(self.draw.choice(members), self.draw.choice(TIMERS))
            return
        place = self.draw.randrange(len(self.under_way))
        fate = self.draw.random()
        to, event = self.under_way[place] if fate < 0.1 else self.under_way.pop(place)
        if fate < 0.8 and (self.view == 1 or to != A):
            self.give(to, event)

    def settle(self, members: tuple[Address, ...]) -> None:
        """Nothing is lost any more, and all timers go off until they change nothing."""
        for _ in range(8):
            for who in members:
                for timer in TIMERS:
                    self.give(who, timer)
            arriving, self.under_way = self.under_way, []
            self.draw.shuffle(arriving)
            for to, event in arriving:
                if to in members:
                    self.give(to, event)

    def heard(self, who: Address) -> list[Message]:
        """What a member has delivered."""
        return [each.message for each in self.delivered[who]]


def flushed(group: Group, members: tuple[Address, ...]) -> None:
    """FLUSH: these members receive what any of them has received of the view."""
    have: dict[int, Message] = {}
    for who in members:
        have |= group.cores[who].queue
        have |= {d.id: d.message for d in group.delivered[who] if d.view == group.view}
    for who in members:
        for id_, message in sorted(have.items()):
            group.give(who, ReceiveBcast(id_, message, group.view))


@given(st.integers(0, 2**32), st.lists(st.sampled_from(ALL), max_size=8), st.integers(0, 60))
def test_survivors_deliver_all_their_messages_once_in_one_order(
    seed: int, senders: list[Address], steps: int
) -> None:
    group = Group(seed)
    for sender in senders:
        group.give(sender, Send(b"x"))
        for _ in range(steps // 8):
            group.step()
    flushed(group, (B, C))  # a has crashed
    group.install((B, C))
    for _ in range(steps):
        group.step()
    group.settle((B, C))

    heard = group.heard(B)
    assert heard == group.heard(C)
    assert len(set(heard)) == len(heard)
    for sender in (B, C):
        numbers = [each.seqno for each in heard if each.sender == sender]
        assert numbers == [*range(1, senders.count(sender) + 1)]
    in_first = [each.message for each in group.delivered[A]]
    shared = [each.message for each in group.delivered[B] if each.view == 1]
    assert in_first[: len(shared)] == shared


def test_without_tags_a_repeated_request_is_delivered_twice() -> None:
    group = Group(1, Repairs(tags=False))
    group.give(B, Send())
    group.give(B, ResendRequests())
    group.settle(ALL)

    heard = group.heard(C)
    assert len(heard) > len(set(heard)) > 0


def test_a_broadcast_far_above_the_next_id_is_neither_kept_nor_asked_for_at_once() -> None:
    core = Total(B, window=4)
    core.handle(InstallView(1, ALL))
    core.handle(ReceiveBcast(5, Message(A, 5), 1))
    core.handle(ReceiveLast(1 << 60, 1))

    assert core.queue == {}
    assert core.handle(Ask()) == [Resend(A, id_, 1) for id_ in range(1, 5)]


@pytest.mark.parametrize(
    ("event", "false"),
    [
        (Send(), "Running(n)"),
        (Ask(), "Missing(n) # {}"),
        (ResendRequests(), "forwardTable[n] # <<>>"),
        (Announce(), "IsSequencer(n)"),
        (Acknowledge(), "expected[n] > 1"),
        (InstallView(0, ALL), "view[n] < Len(views)"),
    ],
)
def test_what_a_joiner_cannot_do_yet_is_refused_with_the_reason(event: Any, false: str) -> None:
    core = Total(B)
    with pytest.raises(NotEnabled) as error:
        core.handle(event)
    assert false in error.value.conjuncts
