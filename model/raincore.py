"""Raincore: the twin of `spec/Raincore.tla`, one function per handler of a member.

The law of this file: a handler sees one member's local state and one input. Its guard comes first
and is named conjunct by conjunct in the spec's words; then comes what the spec's action does to
this member. What it sends and tells the layers around it are outputs. What becomes of a message
is the network's (`raincore_system.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .raincore_events import NO_TOKEN, ZERO, Epoch, Nodelist, Token
from .runs import Address


@dataclass(frozen=True, slots=True)
class Rules:
    """The repairs; the names are the spec's constants. All False is the text as written."""

    holder_vetoes: bool = True
    promises: bool = True
    fresh_attempts: bool = True
    failure_claims: bool = True
    majority: bool = True
    bound_index: bool = True
    fills_holes: bool = True
    one_founder: bool = True
    incarnations: bool = True
    seen_by_all: bool = True


class Local(NamedTuple):
    """What one member knows (Fig. 8). While it eats, the token is its `last_token`."""

    me: Address
    up: str = "new"  # "new", "up", "down" or "left"
    view_state: str = "chaos"  # "agreement", "chaos" or "reserve"
    token_state: str = "starving"  # "eating", "hungry" or "starving"
    global_view: tuple[Nodelist, ...] = ()
    global_view_number: int = 0
    reserved: int = 0
    last_token: Token = NO_TOKEN
    new_nodes: tuple[Address, ...] = ()
    promised: Epoch = ZERO
    attempt: int = 0
    phase: str = "none"  # "none", "ask" or "claim"
    wanted: Epoch = ZERO
    heard: int = 0
    contacts: tuple[Address, ...] = ()
    leaving: bool = False
    outbox: int = 0
    said: int = 0
    delivered: tuple[tuple[Address, int], ...] = ()
    last_ordinal: int = 0
