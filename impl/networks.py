"""Networks that are named in settings: who may join, who may ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ipaddress import ip_address, ip_network

from raincheck.impl.arguments import NETWORKS, check
from raincheck.impl.errors import ConfigError
from raincheck.impl.messages import Endpoint


def inside(networks: Sequence[str], what: str) -> Callable[[Endpoint], bool]:
    """Return whether an endpoint is in one of these networks; raises ConfigError for what is none.

    `what` is the setting's name.
    """
    check(what, networks, NETWORKS)
    try:
        within = [ip_network(each) for each in networks]
    except ValueError as problem:
        raise ConfigError(
            f"{what}= names what is no network: {problem}; write for example 10.1.0.0/16"
        ) from None

    def is_inside(endpoint: Endpoint) -> bool:
        host = ip_address(endpoint[0])
        return any(host in network for network in within)

    return is_inside
