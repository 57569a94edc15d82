"""The door of a ring's member: what an endpoint must prove before its datagrams count.

Nothing is encrypted or signed. Whoever can receive at an endpoint can show it:

    question  what HELLO has, made from the endpoint asked; HERE has it back
    cookie    what HERE gives to an endpoint; a request to join brings it along
    proof     that an endpoint is a member's: made from the ring's secret, which tokens carry

Each is made from an endpoint, so a datagram that is recorded and sent from elsewhere proves
nothing. A question and a cookie are good for one process; a proof, for the life of the ring.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from random import Random
from secrets import token_bytes
from typing import TypeAlias

from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.networks import inside

SECRET = 16
"""Bytes of the ring's secret."""

Admit: TypeAlias = Callable[[Address, Endpoint], bool]
"""Decides whether a process may join."""


class Door:
    """One member's secrets, and what it makes of them."""

    def __init__(self, here: Endpoint | None, seed: int | None = None) -> None:
        """`seed` is for simulations: real secrets come from the system."""
        random = None if seed is None else Random(f"door {seed}")
        self._draw = token_bytes if random is None else random.randbytes
        self._own = self._draw(SECRET)
        self.here = here
        self.secret = b""
        """The ring's secret; empty while this member knows none."""
        self._proof = (b"", 0)  # for which secret, and the own proof

    def make_secret(self) -> None:
        """Make the ring's secret, unless there is one."""
        self.secret = self.secret or self._draw(SECRET)

    def question(self, asked: Endpoint, time: int = 1) -> int:
        """Return what a HELLO to that endpoint has, and the answer to it; another each time."""
        return _number(self._own, f"question {time}", asked)

    def cookie(self, endpoint: Endpoint) -> int:
        """Return what only who receives at that endpoint can know."""
        return _number(self._own, "cookie", endpoint)

    def proves(self, number: int, endpoint: Endpoint) -> bool:
        """Whether the number shows that the endpoint is a member's."""
        return bool(self.secret and number) and number == _number(self.secret, "proof", endpoint)

    @property
    def proof(self) -> int:
        """The proof that this endpoint is a member's; 0 without the ring's secret."""
        if not self.secret or self.here is None:
            return 0
        if self._proof[0] != self.secret:
            self._proof = self.secret, _number(self.secret, "proof", self.here)
        return self._proof[1]


def _number(key: bytes, purpose: str, endpoint: Endpoint) -> int:
    """Return 63 bits made from an endpoint; never 0."""
    text = f"{purpose} {endpoint[0]} {endpoint[1]}".encode()
    return int.from_bytes(blake2b(text, key=key, digest_size=8).digest()) >> 1 or 1


def admission(admit: Admit | Sequence[str] | None) -> Admit | None:
    """Return who decides: a function as it is, or one that takes endpoints in these networks.

    Raises ConfigError for what is no network.
    """
    if admit is None or callable(admit):
        return admit
    within = inside(admit, "admit")
    return lambda _who, endpoint: within(endpoint)
