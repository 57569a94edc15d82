"""Numbers that prove something: only their maker, and who received them, can know them.

question  a request to join has it, made from the endpoint asked; the answer has it back
cookie    an answer gives it to the endpoint that asked; the next request brings it along
asker     the same for a live question, which no joiner asks
"""

from __future__ import annotations

import hmac
from random import Random

from raincheck.impl.messages import Address, Endpoint, ViewId


class Cookies:
    """One life's secret, and the numbers made from it."""

    def __init__(self, secret: bytes | None, seed: int) -> None:
        """`seed` is for simulations, which have no secret."""
        self._secret = Random(f"cookies {seed}").randbytes(32) if secret is None else secret

    def question(self, asked: Endpoint | None) -> int:
        """Return what a request to that endpoint has; None stands for a broadcast."""
        return self._number("question", asked)

    def cookie(self, joiner: Address, endpoint: Endpoint, view: ViewId | None) -> int:
        """Return what proves that this joiner asked from there while this view was installed."""
        return self._number("cookie", (joiner, endpoint, view))

    def merge_question(self, asked: Endpoint) -> int:
        """Return what a message of a merge to that endpoint has."""
        return self._number("merge question", asked)

    def merger(self, coordinator: Address, endpoint: Endpoint) -> int:
        """Return what proves that this coordinator of another group is found there."""
        return self._number("merger", (coordinator, endpoint))

    def asker(self, endpoint: Endpoint, period: int) -> int:
        """Return what proves that a live question came from there in this period or the next."""
        return self._number("asker", (endpoint, period))

    def _number(self, purpose: str, about: object) -> int:
        """Return 60 bits; never 0, which stands for no number."""
        made = hmac.digest(self._secret, f"{purpose} {about!r}".encode(), "sha256")
        return int.from_bytes(made[:8]) >> 4 or 1
