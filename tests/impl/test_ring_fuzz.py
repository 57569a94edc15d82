"""Whatever strangers send, a ring of three that multicasts and locks goes on as if nothing came.

The datagrams are captured in a run of the same ring and sent again from elsewhere, as they were or
changed with a checksum that is right, or are well-formed ones of strangers.
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.raincore.events import LIMIT, ZERO, Call911, Epoch, Settled, Token
from raincheck.impl.ring.frames import CLOSED, HELLO, MESSAGE, Frames
from raincheck.impl.ring.transport_manager import MAX_UNDER_WAY, TransportManager
from raincheck.impl.ring.wire import RaincoreCodec
from raincheck.impl.simulation.ring import RingSimulator

NAMES = "abc"
MEMBERS = [Address(name, 0) for name in NAMES]
EVIL: Endpoint = ("6.6.6.6", 666)


class Captured(NamedTuple):
    """A datagram of the run, and to whom it went."""

    to: str
    data: bytes


def busy(ring: RingSimulator, times: int) -> None:
    """Let all members multicast and lock."""
    for number in range(times):
        for name in NAMES:
            ring.multicast(name, [f"{name} {number}".encode()])
            ring.lock(name, 0.003)


def formed() -> RingSimulator:
    """A ring of three."""
    ring = RingSimulator(1, contents=True)
    ring.found(*NAMES)
    ring.run_until(lambda: ring.in_one_view(*NAMES))
    return ring


@cache
def captured() -> list[Captured]:
    """The datagrams of a run in which a member joins, one crashes and one asks with a 911."""
    ring = RingSimulator(1, contents=True)
    seen: list[Captured] = []
    transmit = ring._transmit

    def spy(member: object, data: bytes, to: Endpoint) -> None:
        name = ring._by_endpoint[to]
        if name in NAMES:
            seen.append(Captured(name, data))
        transmit(member, data, to)  # type: ignore[arg-type]

    ring._transmit = spy  # type: ignore[method-assign]
    ring.found(*NAMES)
    ring.run(0.3)
    busy(ring, 2)
    ring.run(0.3)
    ring.join("d")
    ring.run(0.6)
    ring.crash("d")
    ring.run(2.5)
    ring.crash("c")
    ring.run(3.0)
    ring.recover("c")
    ring.run(1.0)
    return seen


def sealed(data: bytes) -> bytes:
    """The datagram with the checksum of its other bytes."""
    return data[:4] + crc32(data[8:], crc32(data[:4])).to_bytes(4, "big") + data[8:]


FRAMES = Frames("raincheck", 60_000)
CODEC = RaincoreCodec(lambda _who: EVIL, lambda: 0)
NUMBERS = st.sampled_from([0, 1, 2, 7, 1 << 16, 1 << 40, LIMIT - 1, LIMIT])
LIVES = st.builds(Address, st.sampled_from("abcz"), st.sampled_from([0, 1, 99]))
EPOCHS = st.just(ZERO) | st.builds(Epoch, st.integers(1, 5) | st.integers(1, LIMIT), LIVES)
LISTS = st.lists(LIVES, max_size=4, unique=True).map(tuple)


@st.composite
def replayed(draw: st.DrawFn) -> Captured:
    """A captured datagram as it was."""
    return draw(st.sampled_from(captured()))


@st.composite
def changed(draw: st.DrawFn) -> Captured:
    """A captured datagram with other bytes, which its checksum or its prefix may fit or not."""
    to, data = draw(st.sampled_from(captured()))
    damaged = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        damaged[draw(st.integers(3, len(damaged) - 1))] = draw(st.integers(0, 255))
    if draw(st.booleans()):
        del damaged[draw(st.integers(8, len(damaged))) :]
    whole = bytes(damaged)
    return Captured(to, sealed(whole) if draw(st.booleans()) else whole)


@st.composite
def reframed(draw: st.DrawFn) -> Captured:
    """The body of a captured message in another frame."""
    to, data = draw(st.sampled_from(captured()))
    frame = FRAMES.read(data)
    body = data[frame.body :] if frame.kind == MESSAGE else b""
    number = draw(st.integers(1, 1 << 60)) if draw(st.booleans()) else frame.number + 1
    mask = draw(st.sampled_from([frame.mask, 0, 1, (1 << 63) - 1]))
    kind = draw(st.sampled_from([frame.kind, *range(MESSAGE, CLOSED + 1)]))
    receiver = None if kind in (HELLO, HELLO + 1) else Address(to, 0)
    if kind == HELLO + 1:
        return Captured(to, FRAMES.here(draw(LIVES), number, mask, number))
    body = body if kind == MESSAGE else b""
    return Captured(to, FRAMES.make(kind, draw(LIVES), receiver, number, mask, body))


@st.composite
def called(draw: st.DrawFn) -> Captured:
    """A 911 that is well formed."""
    to = draw(st.sampled_from(MEMBERS))
    source, orig = draw(LIVES), draw(LIVES)
    nodelist = draw(LISTS)
    call = Call911(
        to, orig, source, nodelist and tuple(dict.fromkeys((*nodelist, orig))), draw(EPOCHS),
        draw(NUMBERS), draw(st.sampled_from(["yes", "no"])), draw(NUMBERS),
        draw(st.sampled_from(["ask", "claim"])), draw(EPOCHS), frozenset(draw(LISTS)),
        draw(EPOCHS),
    )  # fmt: skip
    frame = FRAMES.make(MESSAGE, source, to, draw(st.integers(1, 99)), 0, CODEC.encode(call))
    return Captured(to.node, frame)


@st.composite
def passed(draw: st.DrawFn) -> Captured:
    """A token that is well formed, and newer than the ring's."""
    to, source = draw(st.sampled_from(MEMBERS)), draw(st.sampled_from(MEMBERS) | LIVES)
    nodelist = tuple(dict.fromkeys((*draw(LISTS), to)))
    lists, index = st.just(nodelist) | LISTS, draw(NUMBERS)
    settled = Settled(index, draw(lists))
    before = Settled(max(0, index - 1), draw(lists))
    pending = tuple(draw(st.lists(lists, max_size=2)))
    seen = frozenset(draw(st.sets(st.sampled_from(nodelist))))
    token = Token(
        to, source, draw(EPOCHS), draw(NUMBERS), nodelist, draw(st.just(index) | NUMBERS),
        settled, before, pending, seen, top=draw(NUMBERS),
    )  # fmt: skip
    frame = FRAMES.make(MESSAGE, source, to, draw(st.integers(1, 999)), 0, CODEC.encode(token))
    return Captured(to.node, frame)


HOSTILE = replayed() | changed() | reframed() | called() | passed()


def size_of(manager: TransportManager[object, object]) -> tuple[int, int]:
    """What a member keeps for others."""
    return len(manager.peers), len(manager.under_way())


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(HOSTILE, st.integers(1, 5)), min_size=30, max_size=80))
def test_a_ring_goes_on_whatever_strangers_send(hostile: list[tuple[Captured, int]]) -> None:
    ring = formed()
    busy(ring, 5)
    for number, ((to, data), port) in enumerate(hostile):
        ring.inject(to, data, (EVIL[0], EVIL[1] + port))
        assert len(ring[to].node.manager.peers) == 2, "nothing is remembered of a stranger"
        if number % 8 == 0:
            ring.run(0.01)
    busy(ring, 5)
    ring.run(3.0)

    said = sorted(f"{name} {number}".encode() for name in NAMES for number in range(5)) * 2
    assert all(sorted(ring[name].life.contents) == sorted(said) for name in NAMES)
    assert len({tuple(ring[name].delivered) for name in NAMES}) == 1
    assert [member.left for member in ring.up] == [None] * 3
    assert ring.in_one_view(*NAMES)
    assert all(len(ring[name].life.views) == 1 for name in NAMES), "nobody was excluded"
    locks = sorted(ring.locked, key=lambda lock: lock.since)
    assert len(locks) == 30
    assert all(one.until <= other.since for one, other in pairwise(locks)), "one holder"
    assert all((one.epoch, one.seq) < (other.epoch, other.seq) for one, other in pairwise(locks))
    for name in NAMES:
        peers, under_way = size_of(ring[name].node.manager)  # type: ignore[arg-type]
        assert peers == 2
        assert under_way <= 1
        assert len(ring[name].core.new_nodes) == 0


def source_of(data: bytes) -> str:
    """The member that a datagram names as its source, else b."""
    try:
        name = FRAMES.read(data).source.node
    except WireError:
        name = "b"
    return name if name in NAMES else "b"


def attack_by_members(hostile: list[tuple[Captured, int]]) -> None:
    """What comes from members' endpoints is believed, but raises nothing, and is not kept for ever.

    A member may so make the ring stand still; what ends one is an answer, not a false guard.
    """
    ring = formed()
    busy(ring, 2)
    for number, ((to, data), pause) in enumerate(hostile):
        source = source_of(data)
        if source != to:
            ring.inject(to, data, ring[source].endpoint)
        if number % 4 == 0:
            ring.run(pause * 0.02)
        for name in NAMES:
            peers, under_way = size_of(ring[name].node.manager)  # type: ignore[arg-type]
            assert peers <= 10
            assert under_way <= 3 * MAX_UNDER_WAY
            assert len(ring[name].core.new_nodes) <= 10
    ring.run(3.0)

    assert all("is not enabled" not in str(ring[name].left) for name in NAMES)


MEMBERS_DO = st.lists(st.tuples(HOSTILE, st.integers(1, 5)), min_size=30, max_size=80)


@settings(max_examples=25, deadline=None)
@given(MEMBERS_DO)
def test_no_datagram_from_a_members_endpoint_raises_or_is_kept_for_ever(
    hostile: list[tuple[Captured, int]],
) -> None:
    attack_by_members(hostile)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(MEMBERS_DO)
def test_no_datagram_of_a_hundred_thousand_raises(hostile: list[tuple[Captured, int]]) -> None:
    attack_by_members(hostile)


def test_the_captured_datagrams_are_of_every_kind_but_refusals() -> None:
    kinds = {FRAMES.read(each.data).kind for each in captured()}
    calls: Callable[[bytes], bool] = lambda data: b"\xa19" in data  # noqa: E731 (a tag of msgpack)

    assert kinds >= {MESSAGE, MESSAGE + 1, HELLO}
    assert any(calls(each.data) for each in captured())
