"""A protocol that exists only to be judged: it uses everything that a `Binding` can describe.

A node says numbers to its peer, in notes that arrive in order and in hails that may be lost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

from raincheck.conformance.bindings.binding import DATAGRAM, FIFO, Binding
from raincheck.conformance.trace.invariants.asked import Invariants, OfMembers, OfStep
from raincheck.conformance.trace.invariants.moments import Asking, Moments, broken
from raincheck.model.machine.machine import Accepted, Conjunct, Refused

NAME: Final = "pingpong"
Records: TypeAlias = dict[str, list[dict[str, Any]]]
"""The records of each node's file."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules; there is one."""

    limit: int = 3


class Local(NamedTuple):
    """The local state of a node."""

    node: str
    peer: str
    said: int = 0
    heard: int = 0
    mood: str = "fair"
    secret: int = 0


class Say(NamedTuple):
    """Say a number in order."""

    number: int


class Call(NamedTuple):
    """Say a number that may be lost."""

    number: int


class Rest(NamedTuple):
    """Do nothing."""


class ReceiveNote(NamedTuple):
    """A note of the peer arrives."""

    sender: str
    number: int


class ReceiveHail(NamedTuple):
    """A hail of the peer arrives, perhaps more than once."""

    sender: str
    number: int


class Note(NamedTuple):
    """A number in order; its half is only for readers."""

    to: str
    number: int
    half: int


class Hail(NamedTuple):
    """A number that may be lost."""

    to: str
    number: int


class Heard(NamedTuple):
    """The layer above hears the number."""

    number: int


def _say(rules: Rules, me: Local, event: Say) -> Any:
    if me.said >= rules.limit:
        return Refused((Conjunct("said[n] < Limit", {"said": me.said}),))
    half = 100 // event.number
    return Accepted(me._replace(said=me.said + 1), (Note(me.peer, event.number, half),))


def _call(_: Rules, me: Local, event: Call) -> Any:
    return Accepted(me, (Hail(me.peer, event.number),))


def _rest(_: Rules, me: Local, __: Rest) -> Any:
    return Accepted(me)


def _hear(_: Rules, me: Local, event: Any) -> Any:
    return Accepted(me._replace(heard=me.heard + 1), (Heard(event.number),))


def _no_core(_: Any, __: Any) -> Any:
    raise NotImplementedError


def _lucky(moments: Moments) -> Asking:
    """Nobody says thirteen."""
    said = [(who, note) for who, note in moments.noted("said")]
    for who, note in said:
        if note.value == UNLUCKY:
            return Asking(len(said), broken(who, note.index, note.value, "unlucky"))
    return Asking(len(said))


LOUD: Final = 20
UNLUCKY: Final = 13
_INVARIANTS: Final = Invariants(
    of={
        "Soft": (
            OfStep(
                actions=("Say",),
                holds=lambda _before, event, _after, _outputs: event.number < LOUD,
                how="no number is large",
            ),
        ),
        "Lucky": (
            OfMembers(judge=_lucky, rests_on=lambda _: "good luck", how="nobody says thirteen"),
        ),
    },
    says={"Say": lambda _before, event, _after, _outputs: [("said", event.number)]},
)

_SPEC: Final = Binding(
    protocol=NAME,
    rules=Rules,
    local=Local,
    inputs={kind.__name__: kind for kind in (Say, Call, Rest, ReceiveNote, ReceiveHail)},
    handlers={
        "Say": _say,
        "Call": _call,
        "Rest": _rest,
        "ReceiveNote": _hear,
        "ReceiveHail": _hear,
    },
    outputs=(Note, Hail, Heard),
    make_core=_no_core,
    events={},
    channels={"Note": FIFO, "Hail": DATAGRAM},
    told=frozenset({"Heard"}),
    given=frozenset({"mood"}),
    uncompared=frozenset({"secret"}),
    # IndexError where it has said what nobody can have said: a state that cannot be judged.
    begins=lambda _, local: (True, False, False)[local.said],
    invariants=_INVARIANTS,
)
BINDING: Final = replace(
    _SPEC,
    real=replace(
        _SPEC,
        parts=lambda before, after: {
            name: value for name, value in after._asdict().items() if value != getattr(before, name)
        },
    ),
)
