"""The inputs and messages of two-phase commit, in the words of the specification."""

from typing import NamedTuple


class Yes(NamedTuple):
    to: str


class Outcome(NamedTuple):
    to: str
    outcome: str


class Prepare(NamedTuple):
    pass


class Refuse(NamedTuple):
    pass


class Decide(NamedTuple):
    outcome: str


class ReceiveYes(NamedTuple):
    sender: str


class ReceiveOutcome(NamedTuple):
    sender: str
    outcome: str


KINDS = (Prepare, Refuse, Decide, ReceiveYes, ReceiveOutcome)
INPUTS = {kind.__name__: kind for kind in KINDS}
