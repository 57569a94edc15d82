"""A group in virtual time whose network loses what it is told to lose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from raincheck.impl.simulation.group import Flight, Link, Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.wire.datagrams import Codec

CODEC = Codec("raincheck", 60_000)
TRIP = 0.001
"""Seconds that a datagram takes."""


class LosingGroup(Simulator):
    """Founders that have settled; `loses` is asked of each datagram's source, place and header."""

    def __init__(self, *names: str, config: StackConfig, **how: Any) -> None:
        super().__init__(1, config=config, link=Link(delay=(TRIP, TRIP)), **how)
        self.loses: Callable[[str, str, Any], bool] = lambda _source, _to, _header: False
        self.start(*names, founders=True)
        self.run(0.1)

    def _fly(self, flight: Flight) -> None:
        header = CODEC.decode(flight.data).header
        if not self.loses(flight.source, flight.to, header):
            super()._fly(flight)
