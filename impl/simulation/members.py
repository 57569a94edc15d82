"""Channels and rings on a simulated network (`loop.py`): all of a member but its sockets."""

from __future__ import annotations

from dataclasses import dataclass

from raincheck.impl.aio.connect import ChannelConfig
from raincheck.impl.aio.ring_connect import RingSettings
from raincheck.impl.messages import Endpoint
from raincheck.impl.transport.contract import Transport, parse_endpoint

from .loop import SimulatedNetwork


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedChannel(ChannelConfig):
    """The settings of a channel on a simulated network, for `Channel.connecting`."""

    network: SimulatedNetwork

    async def _open_transport(self) -> Transport:
        return self.network.open(parse_endpoint(self.bind))


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRing(RingSettings):
    """The settings of a ring's member on a simulated network, for `Ring.connecting`."""

    network: SimulatedNetwork

    async def _open_transport(self, bind: Endpoint, advertise: Endpoint | None) -> Transport:
        return self.network.open(advertise or bind)
