"""States in a delivery log: what a member was given instead of delivering it.

A state takes a position in the log of the member that takes it, as a delivery does, and names who
gave it and the last position in that member's log by then. In it is what its provider had: what the
provider was given in its own last state, and what it has delivered since.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class State(NamedTuple):
    """A state that a member took, in the order in which witnesses name them."""

    position: int
    member: str
    provider: str
    after: int
    """The provider's position when it gave the state."""
    view: int
    """The view in which it was taken; 0 if the log does not say so."""


class Part(NamedTuple):
    """A part of what is in a state: what a member delivered behind one position up to another."""

    state: State
    member: str
    behind: int
    upto: int


def without(states: Iterable[State], members: Iterable[str]) -> list[State]:
    """Return the states that have nothing to do with these members' logs."""
    gone, left = {*members}, sorted(states)
    while next_ones := {each.member for each in left if each.provider in gone} - gone:
        gone |= next_ones
    return [each for each in left if each.member not in gone and each.provider not in gone]


def parts_of(
    states: Iterable[State], lengths: Mapping[str, int]
) -> tuple[dict[State, list[Part]], str]:
    """Return the parts of each state, and why those of some are unknown, "" if all are known.

    `lengths` are the last positions in the members' logs.
    """
    taken: dict[str, list[State]] = {}
    ordered = sorted(states)
    for state in ordered:
        taken.setdefault(state.member, []).append(state)
    known: dict[State, list[Part]] = {}
    unknown = ""
    for state in ordered:
        try:
            known[state] = _parts(state, taken, lengths, len(ordered))
        except ValueError as problem:
            unknown = str(problem)
    return known, unknown


def _parts(
    state: State, taken: Mapping[str, list[State]], lengths: Mapping[str, int], most: int
) -> list[Part]:
    """Return the parts of a state, of which there are `most` in all; ValueError if it has none."""
    parts: list[Part] = []
    who, upto = state.provider, state.after
    for _ in range(most):
        if upto > lengths.get(who, 0):
            raise ValueError(
                f"{state.member} took a state with what {who} had at position {upto}, "
                f"and the log of {who} does not go so far"
            )
        earlier = [each for each in taken.get(who, []) if each.position <= upto]
        parts.append(Part(state, who, earlier[-1].position if earlier else 0, upto))
        if not earlier:
            return parts
        who, upto = earlier[-1].provider, earlier[-1].after
    raise ValueError(f"the states that {state.member} and others took are made of each other")
