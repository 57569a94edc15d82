"""Keys in simulated groups and rings: the sealing of each life, with a salt from the seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Protocol

from raincheck.impl.messages import Endpoint
from raincheck.impl.sealing.keys import Keys
from raincheck.impl.sealing.sealing import SEED, Sealing
from raincheck.impl.stack.reports import Dropped


class Sealed(Protocol):
    """A node that may have a key."""

    sealing: Sealing | None
    dropped: list[Dropped]


class Sealings:
    """Which key each node has."""

    def __init__(self, keys: Keys, seed: int) -> None:
        self._keys = keys
        self._random = Random(f"sealing {seed}")
        self.of: dict[str, Keys] = {}
        """The keys of nodes that have others."""

    def keys(self, name: str) -> Keys:
        """Return a node's keys; empty if it has none."""
        return self.of.get(name, self._keys)

    def life(self, name: str, group: str, here: Endpoint, counters: Counter[str]) -> Sealing | None:
        """Return the sealing of a node's next life."""
        keys = self.keys(name)
        seed = self._random.randbytes(SEED)
        return Sealing(keys, group, here, seed, counters=counters) if keys else None


def seal(node: Sealed, data: bytes, to: Sequence[Endpoint], now: float) -> bytes:
    """Return the datagram as the node transmits it."""
    if node.sealing is None:
        return data
    return node.sealing.seal(data) if len(to) != 1 else node.sealing.seal_to(data, to[0], now)


def opened(
    node: Sealed, data: bytes, source: Endpoint, now: float, send: Callable[[bytes, Endpoint], None]
) -> bytes | None:
    """Return what the node reads of a datagram, None for nothing; `send` takes its answers."""
    sealing = node.sealing
    if sealing is None:
        return data
    content = sealing.open(data, source, now)
    for answer, to in sealing.poll_answers():
        send(answer, to)
    node.dropped += sealing.poll_dropped()
    return content
