"""What stands between an application and LOCKS' core: posts as bytes, room for them, old states."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raincheck.impl.errors import LocksFull, WireError
from raincheck.impl.locks.events import Fence, Post, Request, Ticket
from raincheck.impl.messages import Address
from raincheck.impl.raincore.events import LIMIT, NOBODY, ZERO, Epoch
from raincheck.impl.ring.config import RingConfig
from raincheck.impl.ring.lock_desk import LockDesk
from raincheck.impl.ring.node import RingNode
from raincheck.impl.ring.posts import read_post, size_of, written
from raincheck.impl.ring.reports import LockGone, LockGranted, LockTaken
from raincheck.impl.simulation.ring import RingSimulator

A, B = Address("a", 0), Address("b", 0)
ROOM = 10_000

numbers = st.integers(0, 1 << 30) | st.just(LIMIT)
members = st.builds(Address, st.sampled_from(["a", "b", "n" * 64]), st.integers(0, 1 << 41))
epochs = st.builds(Epoch, st.integers(1, 1 << 40), members) | st.just(Epoch(0, NOBODY))
fences = st.none() | st.builds(Fence, epochs, numbers, numbers)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
modes = st.sampled_from(["read", "write"])


def lines(of: st.SearchStrategy[Address], fence: st.SearchStrategy[Fence | None]):
    return st.lists(st.builds(Request, of, numbers, numbers, names, modes, fence), max_size=5)


posts = st.builds(
    Post,
    st.just(A),
    epochs,
    st.integers(1, LIMIT),
    st.none() | epochs,
    st.booleans(),
    st.booleans(),
    lines(members, fences).map(tuple),
    st.frozensets(st.builds(Ticket, members, numbers, numbers), max_size=5),
    lines(st.just(A), st.none()).map(tuple),
)


@given(posts)
@settings(max_examples=60)
def test_a_post_is_read_as_it_was_written(post: Post) -> None:
    assert read_post(A, written(post)) == post


@given(posts, st.data())
@settings(max_examples=100)
def test_bytes_that_are_no_post_are_refused(post: Post, data: st.DataObject) -> None:
    good = bytearray(written(post))
    at = data.draw(st.integers(0, len(good) - 1))
    good[at] = data.draw(st.integers(0, 255))
    with suppress(WireError):  # it must raise nothing else
        read_post(A, bytes(good[: data.draw(st.integers(0, len(good)))]))
    with pytest.raises(WireError):
        read_post(B, written(post._replace(wanted=(Request(A, 1, 1, "x", "write"),))))


def test_a_line_takes_no_more_than_it_is_counted_for() -> None:
    fence = Fence(Epoch(1 << 20, A), 1 << 30, 300)
    table = [Request(A, 9, n, f"lock {n}", "write", fence) for n in range(1 << 30, (1 << 30) + 300)]
    post = Post(A, Epoch(1, A), 1, None, False, True, tuple(table), frozenset(), ())

    assert len(written(post)) < sum(map(size_of, table))


# ------------------------------------------------------------------ the desk


def desk_of(config: RingConfig | None = None) -> LockDesk:
    """The desk of a, which has founded a ring with b, and has the token."""
    desk = LockDesk(A, config or RingConfig(), Counter(), session=1, epoch=ZERO, founds=True)
    desk.arrive(ZERO, [])
    return desk


def depart(desk: LockDesk, place: int, room: int = ROOM) -> Post | None:
    said = desk.depart(place, frozenset({A, B}), place - 1, room)
    return None if said is None else read_post(A, said)


def test_a_request_that_is_dropped_before_the_token_goes_on_was_never_made() -> None:
    desk = desk_of()
    desk.drop(desk.want("x", "write", tries=False))

    assert not desk.pending
    assert depart(desk, 1) is None
    assert desk.poll_reports() == []


def test_a_try_is_decided_when_the_token_is_here() -> None:
    desk = desk_of()
    first, second = (desk.want("x", "write", tries=True) for _ in range(2))

    post = depart(desk, 1)

    assert post is not None
    assert [line.request for line in post.wanted] == [1]
    assert desk.poll_reports() == [LockTaken(second), LockGranted(first, Fence(ZERO, 1, 1))]


def test_what_does_not_fit_waits_until_there_is_room() -> None:
    desk = desk_of()
    held = desk.want("x" * 50, "write", tries=False)
    depart(desk, 1, room=100)
    (granted,) = desk.poll_reports()
    later = desk.want("y" * 50, "write", tries=False)

    assert depart(desk, 2, room=20) is None
    assert not desk.pending  # the token need not hurry
    desk.drop(held)
    post = depart(desk, 3)
    assert isinstance(granted, LockGranted)
    assert post is not None
    assert [len(each) for each in (post.ended, post.wanted)] == [1, 1]
    assert desk.poll_reports() == [LockGranted(later, Fence(ZERO, 3, 1))]


def test_the_table_of_the_whole_ring_is_bounded() -> None:
    desk = desk_of()
    most = RingConfig().locks // (40 + 1 + 100)
    for number in range(most):
        desk.want(f"{number:0100}", "write", tries=False)
    with pytest.raises(LocksFull, match=f"the {most} requests"):
        desk.want("x" * 100, "write", tries=False)
    depart(desk, 1, room=1 << 20)
    with pytest.raises(LocksFull, match=f"the {most} requests"):
        desk.want("x" * 100, "write", tries=False)


def test_a_first_post_of_an_epoch_without_room_costs_the_session_and_the_locks() -> None:
    desk = desk_of()
    held, waits = (desk.want(name, "write", tries=False) for name in "xy")
    desk.drop(waits)
    depart(desk, 1)
    assert desk.poll_reports() == [LockGranted(held, Fence(ZERO, 1, 1))]
    waits = desk.want("y", "write", tries=False)
    desk.arrive(Epoch(1, A), [])

    assert depart(desk, 2, room=10) is None
    assert desk.poll_reports() == [LockGone(held)]
    assert desk.session == 2
    post = depart(desk, 2)
    assert post is not None
    assert (post.parent, post.asks, post.wanted) == (None, True, ())
    said = Post(B, Epoch(1, A), 3, None, False, True, (), frozenset(), ())
    desk.arrive(Epoch(1, A), [said])
    post = depart(desk, 4)
    assert post is not None
    assert [(line.session, line.name) for line in post.wanted] == [(2, "y")]
    assert desk.poll_reports() == [LockGranted(waits, Fence(Epoch(1, A), 4, 1))]


# ------------------------------------------------------------------ what is kept


def test_each_process_of_a_member_has_another_session() -> None:
    ring = RingSimulator()
    ring.found("a", "b")
    ring.run_until(lambda: ring.in_one_view("a", "b"))
    for session in (2, 3):
        ring.crash("b")
        ring.recover("b")
        ring.run_until(lambda: ring.in_one_view("a", "b"))
        assert ring["b"].node.locks.session == session


def test_a_state_that_was_kept_before_there_were_locks_is_taken() -> None:
    ring = RingSimulator()
    ring.found("a", "b")
    ring.run_until(lambda: ring.in_one_view("a", "b"))
    ring.multicast("a", [b"mail"])
    ring.run_until(lambda: bool(ring["a"].core.last_token.mail))
    ring._settle(ring["a"])
    now = ring["a"].kept
    assert now is not None
    content = msgspec.msgpack.decode(now[8:])
    size = int.from_bytes(content[9][:4], "big")
    token = msgspec.msgpack.decode(content[9][4 : 4 + size])
    assert token[10], "there is no mail on the token"
    token[10] = [letter[:6] for letter in token[10]]
    fields = msgspec.msgpack.encode(token)
    content[9] = struct.pack(">I", len(fields)) + fields + content[9][4 + size :]
    before = msgspec.msgpack.encode(content[:-1])
    state = struct.pack(">3sBI", b"RNK", 1, zlib.crc32(before)) + before

    node = RingNode(A, ring.config, state=state)

    assert node.locks.session == 1
    assert node.core.last_token.mail
