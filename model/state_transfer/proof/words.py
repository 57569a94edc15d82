"""The vocabulary of state transfer's proof: variables of `spec/StateTransfer.tla`.

`theory.py` lists what the proof keeps, drops and over-approximates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from raincheck.model.proof.logic import Expr, Or, World
from raincheck.model.proof.vocabulary import Symbol, symbols

RIGID: Final = symbols("""
    founder: process -> bool
    total:   -> number                        # Chunks
""")
"""Symbols that never change."""

SPEC: Final = symbols("""
    phase:         process -> number          # requester[n].phase, and so on
    attempt:       process -> number
    provider:      process -> process
    cut:           process -> number
    next:          process -> number
    joined:        process -> bool
    position:      process -> number
    applied:       process -> number
    sent:          -> number
    handed:        process -> number          # Len(chunks[n])
    handed_by:     process index -> process   # chunks[n][index].by
    handed_number: process index -> number
    handed_at:     process index -> number
    handed_sound:  process index -> bool      # .by is somebody
    state:         process -> number          # Len(state[n]), 0 for none
    state_by:      process index -> process
    state_number:  process index -> number
    state_at:      process index -> number
    state_sound:   process index -> bool
    base:          process -> number
""")
"""The variables of the spec."""

GHOST: Final = symbols("""
    chunk: process process number index place place -> bool
    owner: process -> process
""")
"""Every chunk ever sent: its sender, receiver, transfer and number, its cut, and how many messages
it contains. Also the owner of the state that a process has set, which no guard reads.
"""

VOCABULARY: Final[Mapping[str, Symbol]] = {**SPEC, **GHOST}

PHASES: Final = ("idle", "asking", "fetching", "setting", "set", "failed")
IDLE, ASKING, FETCHING, SETTING, SET, FAILED = range(len(PHASES))


@dataclass(frozen=True, slots=True)
class Basis:
    """The repairs on which SameCut rests."""

    check_cut: bool = True
    check_chunk: bool = True
    transfer_ids: bool = True
    one_reading: bool = True
    hold_messages: bool = True
    applied_first: bool = True


WITHOUT: Final[Mapping[str, str]] = {
    "CheckCut": "check_cut",
    "CheckChunk": "check_chunk",
    "TransferIds": "transfer_ids",
    "OneReading": "one_reading",
    "HoldMessages": "hold_messages",
    "AppliedFirst": "applied_first",
}
"""The parts that a basis can do without: the spec's constants, each with its name here."""


def active(s: World, n: Expr) -> Expr:
    """The requester has an unfinished transfer."""
    return Or(s.phase(n) == FETCHING, s.phase(n) == SETTING)
