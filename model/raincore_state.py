"""The state of a whole Raincore system, and how it reads in the variables of the spec.

The twin of the VARIABLES of `spec/Raincore.tla` and the CONSTANTS of `spec/MCRaincore.tla`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from .raincore_events import Message
from .raincore_local import Local, Rules
from .runs import Address


@dataclass(frozen=True, slots=True)
class Budgets:
    """How often the environment may do what."""

    crashes: int = 0
    recoveries: int = 0
    forgets: int = 0
    splits: int = 0
    false: int = 0
    early: int = 0
    joins: int = 0
    leaves: int = 0
    multicasts: int = 0


class Used(NamedTuple):
    """How often it has."""

    crashes: int = 0
    recoveries: int = 0
    forgets: int = 0
    splits: int = 0
    false: int = 0
    early: int = 0
    joins: int = 0
    leaves: int = 0
    multicasts: int = 0


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCRaincore.tla`."""

    nodes: tuple[str, ...]
    founders: tuple[str, ...]
    rules: Rules = field(default_factory=Rules)
    budgets: Budgets = field(default_factory=Budgets)
    formed: bool = True
    truthful: bool = True
    arrives_after_failure: bool = False
    patient: bool = True
    max_seq: int = 1000
    max_epoch: int = 1000
    max_messages: int = 1000
    max_attempts: int = 1000


class State(NamedTuple):
    """Everything; nodes by their index in `Constants.nodes`."""

    locals: tuple[Local, ...]
    network: frozenset[Message] = frozenset()
    reports: frozenset[Message] = frozenset()
    apart: frozenset[Address] = frozenset()
    used: Used = Used()
