"""The document that the page shows, as plain values: it becomes JSON, and knows no protocol."""

from __future__ import annotations

from typing import Final

import msgspec

SPEC: Final = "spec"
MODEL: Final = "model"
CODE: Final = "code"
FACES: Final = (SPEC, MODEL, CODE)
"""The faces of a step, in the order in which the page has them."""


_LONGEST: Final = 18
"""Digits that the number of a state may have."""


def number_of(name: str) -> int | None:
    """Return the number of a state that a page asks for; None if that is no number."""
    return int(name) if name.isdecimal() and len(name) <= _LONGEST else None


class Place(msgspec.Struct, frozen=True):
    """A definition in a file: its name, its lines, and the number of the first of them."""

    name: str
    path: str
    line: int
    lines: tuple[str, ...]

    @property
    def id(self) -> str:
        """The place's name among all places."""
        return f"{self.path}:{self.line}"


class Face(msgspec.Struct, frozen=True):
    """Where an action is defined in one face: the places by id, or why there is none."""

    places: tuple[str, ...] = ()
    lacks: str = ""


class Conjunct(msgspec.Struct, frozen=True):
    """A conjunct of a guard, whether it holds in the state before, and the values that decide."""

    text: str
    holds: bool | None
    """None where nobody asked it."""
    values: tuple[tuple[str, str], ...] = ()
    place: str = ""
    """The place of the specification that has it, and ..."""
    line: int = 0
    """... the line there."""


class Change(msgspec.Struct, frozen=True):
    """A variable, or an entry of it, before and after a step."""

    variable: str
    before: str
    after: str


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A step: who acts, by which action, why it may, what it changes, and which lines ran."""

    action: str
    call: str
    """The action with its arguments, as the specification writes it."""
    target: str
    """The state that it leads to."""
    node: str = ""
    """Who acts; "" for the environment."""
    words: str = ""
    guard: tuple[Conjunct, ...] = ()
    changes: tuple[Change, ...] = ()
    outputs: tuple[str, ...] = ()
    """What the handler hands to the network and to the layers around."""
    ran: dict[str, tuple[int, ...]] = {}
    """The lines that ran, by place."""
    helpers: dict[str, tuple[str, ...]] = {}
    """Further places that ran, by face."""
    code: str = ""
    """What the implementation did of this step, in words."""
    findings: tuple[str, ...] = ()
    """What is wrong with a recorded step."""


class Refused(msgspec.Struct, frozen=True):
    """An action that a member cannot take in this state, and the false conjuncts."""

    action: str
    node: str
    guard: tuple[Conjunct, ...]


class Variable(msgspec.Struct, frozen=True):
    """A variable of the specification: one value, or an entry for each member."""

    name: str
    value: str = ""
    entries: tuple[tuple[str, str], ...] = ()


class Near(msgspec.Struct, frozen=True):
    """A state that is drawn: how many steps away, and by which step."""

    id: str
    column: int
    """-1: a step leads from it to here; 0: here; 1 and 2: so many steps away."""
    call: str = ""
    parent: str = ""
    """The state at the other end of that step."""
    broken: bool = False


class Around(msgspec.Struct, frozen=True):
    """The graph around a state as far as it is drawn, and how much of it is not."""

    states: tuple[Near, ...] = ()
    left: tuple[tuple[int, int], ...] = ()
    """For a column, how many states of it are left out."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """A state: its variables, the steps from it, and the invariants that are false in it."""

    id: str
    variables: tuple[Variable, ...] = ()
    moves: tuple[Move, ...] = ()
    broken: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()
    around: Around | None = None
    places: dict[str, Place] = {}
    """The places that its steps name, beside those of the document."""


class Stop(msgspec.Struct, frozen=True):
    """A state on the way that the page begins with, and which step leads on from it."""

    state: str
    move: int = -1
    call: str = ""
    node: str = ""
    source: int = -1
    """The place on the way of the step that sent what this one receives."""
    wrong: bool = False


class Document(msgspec.Struct, kw_only=True):
    """All that the page begins with."""

    title: str
    subject: str
    """The name of the case or the run."""
    kind: str
    """`case`: one can walk freely; `trace`: a way of TLC's; `run`: a recorded run."""
    facts: tuple[str, ...] = ()
    ending: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    faces: dict[str, dict[str, Face]] = {}
    """By action and face."""
    places: dict[str, Place] = {}
    states: dict[str, State] = {}
    trail: tuple[Stop, ...] = ()
    """The counterexample or the run; at least the state to begin with."""
    size: str = ""
    """How large the state graph is, in words."""
    live: bool = False
    """Whether states that are not here can be asked for."""
