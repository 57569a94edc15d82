"""The damaged transport loses, doubles, delays and reorders as asked, and changes nothing else."""

import asyncio
from collections.abc import Callable

import pytest

from raincheck.impl.errors import ConfigError
from raincheck.impl.messages import Endpoint
from raincheck.impl.sealing.keys import Keys, read_keys
from raincheck.impl.transport.contract import Datagrams, Transport
from raincheck.impl.transport.faulty import Damage, FaultyTransport

HERE: Endpoint = ("127.0.0.1", 1)
THERE: Endpoint = ("127.0.0.1", 2)


class Wire(Transport):
    """A transport without sockets: remembers what is sent, and receives what a test gives it."""

    name = "wire"
    multicasts = True
    max_datagram = 1000
    endpoint = HERE

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[bytes, object]] = []
        self.closed = False

    def send(self, data: bytes, to: Endpoint) -> None:
        self.sent.append((data, to))

    def broadcast(self, data: bytes) -> None:
        self.sent.append((data, "all"))

    def pending(self) -> int:
        return 7

    async def close(self) -> None:
        self.closed = True

    def arrive(self, batch: Datagrams) -> None:
        self._hand_over(batch)


def damaged(
    damage: Damage, seed: int = 1, before: Callable[[], None] = lambda: None
) -> tuple[Wire, FaultyTransport, list[bytes]]:
    """A wire, the damaged transport on it, and what gets through."""
    wire = Wire()
    transport = FaultyTransport(wire, damage, seed, before)
    through: list[bytes] = []
    transport.start(lambda batch: through.extend(data for data, _ in batch))
    return wire, transport, through


def numbered(count: int) -> Datagrams:
    return [(number.to_bytes(4), THERE) for number in range(count)]


async def all_due(transport: FaultyTransport) -> None:
    """Wait until nothing is held back any more."""
    async with asyncio.timeout(10):
        while transport._held:
            await asyncio.sleep(0)


def test_without_damage_everything_passes_in_order() -> None:
    wire, transport, through = damaged(Damage())

    wire.arrive(numbered(100))

    assert through == [data for data, _ in numbered(100)]
    assert transport.counters == {"received": 100}


def test_lost_datagrams_are_counted_and_never_arrive() -> None:
    async def lose() -> tuple[list[bytes], int]:
        wire, transport, through = damaged(Damage(loss=0.3))
        wire.arrive(numbered(1000))
        await all_due(transport)
        return through, transport.counters["fault_lost"]

    through, lost = asyncio.run(lose())

    assert len(through) == 1000 - lost
    assert 200 < lost < 400
    assert through == sorted(through)


def test_duplicates_arrive_twice() -> None:
    async def double() -> list[bytes]:
        wire, transport, through = damaged(Damage(duplicate=1.0, latest=0.001))
        wire.arrive(numbered(50))
        await all_due(transport)
        return through

    through = asyncio.run(double())

    assert sorted(through) == sorted([data for data, _ in numbered(50)] * 2)


@pytest.mark.parametrize("damage", [Damage(delay=0.5, latest=0.002), Damage(reorder=0.5)])
def test_what_is_held_back_arrives_once_but_out_of_order(damage: Damage) -> None:
    async def hold() -> list[bytes]:
        wire, transport, through = damaged(damage)
        wire.arrive(numbered(200))
        assert 0 < len(through) < 200
        await all_due(transport)
        return through

    through = asyncio.run(hold())

    assert through != sorted(through)
    assert sorted(through) == [data for data, _ in numbered(200)]


def test_the_same_seed_makes_the_same_choices() -> None:
    async def lose(seed: int) -> list[bytes]:
        wire, _, through = damaged(Damage(loss=0.5), seed)
        wire.arrive(numbered(100))
        return through

    assert asyncio.run(lose(3)) == asyncio.run(lose(3))
    assert asyncio.run(lose(3)) != asyncio.run(lose(4))


def test_nothing_arrives_after_closing() -> None:
    async def close() -> tuple[list[bytes], bool]:
        wire, transport, through = damaged(Damage(delay=1.0, latest=0.001))
        wire.arrive(numbered(20))
        held = list(transport._held)
        await transport.close()
        assert held
        assert all(handle.cancelled() for handle in held)
        wire.arrive([(b"late", THERE)])
        await all_due(transport)
        return through, wire.closed

    assert asyncio.run(close()) == ([], True)


def test_what_is_to_be_written_ahead_is_written_before_anything_leaves() -> None:
    order: list[object] = []
    wire, transport, _ = damaged(Damage(), before=lambda: order.append(len(wire.sent)))

    transport.send(b"one", THERE)
    transport.multicast(b"two", (THERE, HERE))
    transport.broadcast(b"three")

    assert order == [0, 1, 3]
    assert wire.sent == [(b"one", THERE), (b"two", THERE), (b"two", HERE), (b"three", "all")]
    assert (transport.endpoint, transport.max_datagram, transport.pending()) == (HERE, 1000, 7)


@pytest.mark.parametrize(
    ("shares", "words"),
    [({"loss": 1.5}, "loss is 1.5; choose from 0 to 1"), ({"latest": -1}, "latest is -1")],
)
def test_shares_that_are_none_are_refused(shares: dict[str, float], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Damage(**shares)


def test_a_network_that_has_parted_carries_nothing_until_it_heals() -> None:
    wire, transport, through = damaged(Damage())

    transport.part([THERE])
    transport.send(b"one", THERE)
    transport.multicast(b"two", (THERE, HERE))
    wire.arrive([(b"three", THERE), (b"four", HERE)])
    transport.part([])
    transport.send(b"five", THERE)
    wire.arrive([(b"six", THERE)])

    assert wire.sent == [(b"two", HERE), (b"five", THERE)]
    assert through == [b"four", b"six"]
    assert transport.counters["fault_parted"] == 2


def test_damage_that_is_over_harms_no_more() -> None:
    wire, transport, through = damaged(Damage(loss=1.0))

    wire.arrive(numbered(5))
    transport.calm()
    wire.arrive(numbered(2))

    assert len(through) == 2


def test_a_silent_member_neither_sends_nor_hears() -> None:
    order: list[object] = []
    wire, transport, through = damaged(Damage(), before=lambda: order.append(None))

    transport.silence()
    transport.send(b"one", THERE)
    transport.multicast(b"two", (THERE,))
    transport.broadcast(b"three")
    wire.arrive(numbered(3))

    assert (wire.sent, through, order) == ([], [], [])


def test_the_faults_hide_nothing_of_a_key() -> None:
    class Sealed(Wire):
        """A wire under a key."""

        sealed = True
        changed: Keys = ()

        @property
        def refused(self) -> dict[Endpoint, str]:
            return {THERE: "has another key"}

        def change_keys(self, keys: Keys) -> None:
            self.changed = keys

    wire = Sealed()
    transport = FaultyTransport(wire, Damage(loss=1.0), 1)
    keys = read_keys(b"k" * 32, {})
    transport.change_keys(keys)

    assert transport.sealed
    assert transport.refused == {THERE: "has another key"}
    assert wire.changed == keys
