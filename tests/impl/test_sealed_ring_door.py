"""With a key, no attack on a ring and no recorded datagram of any kind changes anything.

The attacks are those of `test_ring_door.py`, from a stranger's endpoint and from a member's.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.raincore.events import LIMIT, ZERO, Call911, Epoch, Settled
from raincheck.impl.ring.frames import (
    ACK,
    CLOSED,
    GONE,
    HELLO,
    HERE,
    MESSAGE,
    REFUSED,
    WANTED,
    Frames,
)
from raincheck.impl.ring.wire import RaincoreCodec
from raincheck.impl.sealing.keys import read_keys
from raincheck.impl.sealing.sealing import SEED, Sealing
from raincheck.impl.simulation.ring import Member, RingSimulator

OLD, NEW = read_keys([b"o" * 32, b"n" * 32], {})
EVIL: Endpoint = ("6.6.6.6", 666)
REASONS = ("without_key", "wrong_key", "unproved", "replayed", "moved")


class Sorted(RingSimulator):
    """A simulated ring whose datagrams somebody records with their kinds."""

    def __init__(self, **settings: Any) -> None:
        self.recorded: dict[int, list[tuple[str, str, bytes]]] = {}
        self._kind = 0
        super().__init__(1, keys=(OLD,), contents=True, **settings)

    def _transmit(self, member: Member, data: bytes, to: Endpoint) -> None:
        self._kind = Frames("raincheck", 60_000, sums=False).read(data).kind
        super()._transmit(member, data, to)

    def _fly(self, member: Member, data: bytes, to: Endpoint) -> None:
        if to in self._by_endpoint:
            flight = member.name, self._by_endpoint[to], data
            self.recorded.setdefault(self._kind, []).append(flight)
        super()._fly(member, data, to)


def changed() -> Sorted:
    """A ring that somebody has joined and left by closing, and that goes on as a, b and c."""
    ring = Sorted()
    ring.found("a", "b", "c")
    ring.run_until(lambda: ring.in_one_view("a", "b", "c"))
    for name in "abc":
        ring.multicast(name, [f"{name}{i}".encode() for i in range(5)])
    ring.run(1.0)
    ring.join("d")
    ring.run_until(lambda: ring.in_one_view(*"abcd"))
    ring.stop("d")
    ring.run_until(lambda: ring.in_one_view("a", "b", "c"))
    ring.run(2.0)
    return ring


def state(ring: RingSimulator) -> list[object]:
    """What the applications have seen."""
    return [(m.name, m.life.contents, m.life.views, m.life.eats, m.left) for m in ring.up]


def goes_on(ring: RingSimulator) -> None:
    """Let it deliver."""
    ring.multicast("b", [b"after"])
    ring.run(3.0)
    assert ring.in_one_view("a", "b", "c")
    assert [ring[name].life.contents[-1] for name in "abc"] == [b"after"] * 3


def drops(ring: RingSimulator) -> int:
    """How many datagrams were dropped for want of the key, or as heard before."""
    return sum(ring[name].node.counters[reason] for name in "abc" for reason in REASONS)


def attacks(ring: RingSimulator) -> Iterator[bytes]:
    """What would be believed of a member without a key, one of each kind and more."""
    frames = Frames(ring.config.ring, ring.config.max_datagram)
    codec = RaincoreCodec(lambda _who: EVIL, lambda: 0)
    a, b = Address("a", 0), Address("b", 0)
    copy = max((ring[name].core.last_token for name in "abc"), key=lambda token: token.number)
    forged = copy._replace(to=b, current=a, seq=copy.seq + 1000)
    alone = (a, b)
    call = Call911(b, a, a, alone, Epoch(LIMIT - 1, a), 0, attempt=1)
    messages = [
        forged,
        forged._replace(epoch=Epoch(7, a)),
        forged._replace(nodelist=alone, pending=(alone,)),
        forged._replace(
            epoch=Epoch(9, a), nodelist=alone, global_view_number=1 << 20,
            settled=Settled(1 << 20, alone), pending=(),
        ),
        call,
        call._replace(phase="claim", claim=Epoch(LIMIT, a)),
        call._replace(orig=b, status="no", promised=Epoch(LIMIT, a)),
        Call911(b, a, a, (), ZERO, 0, attempt=1),
        Call911(b, Address("a", 99), Address("a", 99), (), ZERO, 0, attempt=1),
    ]  # fmt: skip
    for number, message in enumerate(messages, 1 << 30):
        yield frames.make(MESSAGE, message.current, b, number, 0, codec.encode(message))
    yield frames.make(ACK, a, b, 1 << 30, 1)
    yield frames.make(GONE, a, b, 99)
    yield frames.make(HELLO, a, None, 1 << 50)
    yield frames.here(a, 1 << 50, 1, 1)
    yield frames.make(REFUSED, a, b, 1)
    yield frames.make(CLOSED, a, b, 1 << 50)


@pytest.mark.parametrize("place", ["a stranger", "a member"])
@pytest.mark.parametrize("sealed", ["by nobody", "under another key", "by a life that is over"])
def test_no_attack_on_a_ring_has_an_effect_without_its_key(sealed: str, place: str) -> None:
    undisturbed, ring = changed(), changed()
    source = ring["a"].endpoint if place == "a member" else EVIL
    key = NEW if sealed == "under another key" else OLD
    forger = Sealing((key,), f"ring {ring.config.ring}", ring["a"].endpoint, bytes(SEED))
    before, datagrams = drops(ring), list(attacks(ring))

    for data in datagrams:
        ring.inject("b", data if sealed == "by nobody" else forger.seal(data), source)

    assert drops(ring) - before == len(datagrams)
    for each in (undisturbed, ring):
        goes_on(each)
    assert state(ring) == state(undisturbed)


@pytest.mark.parametrize("place", ["a stranger", "its sender"])
def test_no_kind_of_datagram_of_a_ring_is_taken_again(place: str) -> None:
    undisturbed, ring = changed(), changed()
    recorded = {kind: list(flights) for kind, flights in ring.recorded.items()}
    before, sent = drops(ring), 0

    for flights in recorded.values():
        for source, to, data in flights:
            if to != "d":
                ring.inject(to, data, EVIL if place == "a stranger" else ring[source].endpoint)
                sent += 1

    assert drops(ring) - before == sent
    for each in (undisturbed, ring):
        goes_on(each)
    assert state(ring) == state(undisturbed)
    assert set(recorded) == {MESSAGE, ACK, HELLO, HERE, WANTED, CLOSED}
