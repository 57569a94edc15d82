"""Handover: a token goes from node to node; the smallest protocol with every kind of channel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from raincheck.model.machine.machine import Accepted, Refused, refusal


@dataclass(frozen=True, slots=True)
class Rules:
    """The repair: an old token is not taken again."""

    fresh_only: bool = True
    thanks: bool = True


class Token(NamedTuple):
    """The token on its way; the network may lose and duplicate it."""

    to: str
    turn: int


class Thanks(NamedTuple):
    """The token has arrived."""

    to: str
    turn: int


class Held(NamedTuple):
    """To the application: the token is here."""

    turn: int


Output: TypeAlias = Token | Thanks | Held


class Local(NamedTuple):
    """What a node knows."""

    node: str
    peers: tuple[str, ...]
    holds: bool = False
    turn: int = 0
    thanked: frozenset[tuple[str, int]] = frozenset()
    ghost: int = 0


class Pass(NamedTuple):
    """The application hands the token on."""

    to: str


class ReceiveToken(NamedTuple):
    """The token arrives."""

    sender: str
    turn: int


class ReceiveThanks(NamedTuple):
    """THANKS arrives."""

    sender: str
    turn: int


class Restart(NamedTuple):
    """The process comes back and knows nothing."""


Answer: TypeAlias = Accepted[Local, Output] | Refused


def pass_(_rules: Rules, me: Local, event: Pass) -> Answer:
    """The token leaves."""
    refused = refusal(
        (me.holds, "holds[n]", {"holds": me.holds}),
        (event.to in me.peers, "to \\in Peers(n)", {"to": event.to, "peers": me.peers}),
    )
    if refused:
        return refused
    token = Token(event.to, me.turn + 1)
    return Accepted(me._replace(holds=False, turn=me.turn + 1, ghost=me.ghost + 1), (token,))


def receive_token(rules: Rules, me: Local, event: ReceiveToken) -> Answer:
    """The token is taken, unless it is an old one."""
    if rules.fresh_only and event.turn <= me.turn:
        return Accepted(me)
    held = Held(event.turn)
    outputs = (Thanks(event.sender, event.turn), held) if rules.thanks else (held,)
    return Accepted(me._replace(holds=True, turn=event.turn), outputs)


def receive_thanks(_rules: Rules, me: Local, event: ReceiveThanks) -> Answer:
    """THANKS is noted, once."""
    entry = (event.sender, event.turn)
    refused = refusal(
        (entry not in me.thanked, "<<s, t>> \\notin thanked[n]", {"thanked": me.thanked}),
    )
    return refused or Accepted(me._replace(thanked=me.thanked | {entry}))


def restart(_rules: Rules, me: Local, _event: Restart) -> Answer:
    """A new life."""
    return Accepted(Local(me.node, me.peers, turn=me.turn))


INPUTS: Mapping[str, type[Any]] = {
    "Pass": Pass,
    "ReceiveToken": ReceiveToken,
    "ReceiveThanks": ReceiveThanks,
    "Restart": Restart,
}
HANDLERS: Mapping[str, Callable[[Rules, Local, Any], Answer]] = {
    "Pass": pass_,
    "ReceiveToken": receive_token,
    "ReceiveThanks": receive_thanks,
    "Restart": restart,
}
