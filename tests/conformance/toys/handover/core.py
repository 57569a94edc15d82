"""Handover as a sans-I/O core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """What tests can undo."""

    fresh_only: bool = True
    thanks: bool = True


class Pass(NamedTuple):
    """The application hands the token on."""

    to: Address


class ReceiveToken(NamedTuple):
    """The token arrives."""

    sender: Address
    turn: int


class ReceiveThanks(NamedTuple):
    """THANKS arrives."""

    sender: Address
    turn: int


class TokenBody(NamedTuple):
    """The token, and what only the application knows."""

    turn: int
    payload: bytes = b""


class Control(NamedTuple):
    """To the network."""

    to: Address
    body: TokenBody


class Thanks(NamedTuple):
    """To the network."""

    to: Address
    turn: int


class Held(NamedTuple):
    """To the application."""

    turn: int


class Timer(NamedTuple):
    """The model knows nothing of it."""


class Handover:
    """One node."""

    def __init__(
        self, me: Address, peers: tuple[Address, ...], *, repairs: Repairs | None = None
    ) -> None:
        self.me = me
        self.node = me.node
        self.peers = list(peers)
        self.repairs = repairs or Repairs()
        self.holds = False
        self.turn = 0
        self.thanked: set[tuple[Address, int]] = set()

    def handle(self, event: Any) -> list[Any]:
        """Handle one event."""
        match event:
            case Pass():
                return self._pass(event)
            case ReceiveToken():
                return self._receive_token(event)
            case _:
                return self._receive_thanks(event)

    def _pass(self, event: Pass) -> list[Any]:
        if not (self.holds and event.to in self.peers):
            raise NotEnabled("Pass", {"holds[n]": self.holds})
        self.holds = False
        self.turn += 1
        return [Control(event.to, TokenBody(self.turn)), Timer()]

    def _receive_token(self, event: ReceiveToken) -> list[Any]:
        if self.repairs.fresh_only and event.turn <= self.turn:
            return []
        self.holds, self.turn = True, event.turn
        return [Thanks(event.sender, event.turn), Held(event.turn)][not self.repairs.thanks :]

    def _receive_thanks(self, event: ReceiveThanks) -> list[Any]:
        if tuple(event) in self.thanked:
            raise NotEnabled("ReceiveThanks", {"thanked[n]": tuple(event)})
        self.thanked.add((event.sender, event.turn))
        return []
