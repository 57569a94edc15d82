"""The network of a simulated group: what becomes of each datagram, by lot."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from .parts import Link


class Network:
    """Links that lose, duplicate and delay datagrams; and partitions."""

    def __init__(self, link: Link, random: Random) -> None:
        self.link = link
        self.links: dict[tuple[str, str], Link] = {}
        self._random = random
        self._parts: list[set[str]] = []

    def partition(self, *parts: Iterable[str]) -> None:
        """Let no datagram pass between these parts; a node in none of them is alone."""
        self._parts = [set(part) for part in parts]

    def heal(self) -> None:
        """End the partition."""
        self._parts = []

    def apart(self, one: str, other: str) -> bool:
        """Whether a partition separates two nodes."""
        if not self._parts or one == other:
            return False
        return not any(one in part and other in part for part in self._parts)

    def delays(self, source: str, to: str) -> list[float]:
        """Draw the delays with which a datagram arrives: once, twice, or never."""
        link, random = self.links.get((source, to), self.link), self._random
        if random.random() < link.loss or self.apart(source, to):
            return []
        copies = 2 if random.random() < link.duplicate else 1
        return [random.uniform(*link.delay) for _ in range(copies)]
