"""The state of a whole system of LOCKS, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/Locks.tla` and the CONSTANTS of `spec/MCLocks.tla`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from raincheck.model.machine import instance
from raincheck.model.machine.machine import Value, function, state

from .events import Epoch, Fence, Post, Request
from .handlers import Local, Rules


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCLocks.tla`."""

    nodes: tuple[str, ...]
    founders: frozenset[str]
    names: frozenset[str]
    writers: frozenset[str]
    readers: frozenset[str]
    crashers: frozenset[str]
    returners: frozenset[str]
    rejoiners: frozenset[str]
    left_out: frozenset[str]
    only_new: bool
    only_given: bool
    only_ahead: bool
    lost_with: frozenset[str]
    keepers: frozenset[str]
    multicasters: frozenset[str]
    mail: int
    max_wants: int
    max_drops: int
    max_crashes: int
    max_epoch: int
    max_posts: int
    newest_copy: bool
    rules: Rules


class Copy(NamedTuple):
    """The epoch of a member's copy of the token, and how many posts there are on it."""

    epoch: Epoch | None
    size: int


class Token(NamedTuple):
    """A token: at whom it is, or to whom it goes; who is on its list, has held it, has a place.

    A token that is lost is at nobody, which is "".
    """

    epoch: Epoch
    at: str
    arrived: bool
    members: frozenset[str]
    seen: frozenset[str]
    places: frozenset[str]

    @property
    def sure(self) -> bool:
        """Whether all on the list have held it."""
        return self.members <= self.seen


class Given(NamedTuple):
    """An application was told that it holds a name."""

    member: str
    session: int
    request: int
    name: str
    mode: str
    fence: Fence
    late: bool


@state
class State(NamedTuple):
    """The global state; nodes stand at their index in `Constants.nodes`."""

    up: tuple[bool, ...]
    promised: tuple[int, ...]
    copies: tuple[Copy, ...]
    last: tuple[int, ...]
    tokens: frozenset[Token]
    posts: tuple[tuple[Post, ...], ...]
    locals: tuple[Local, ...]
    given: tuple[frozenset[Given], ...] = ()
    crashes: int = 0
    drops: int = 0

    @property
    def newest(self) -> int:
        """The number of the newest epoch."""
        return len(self.posts)


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    return instance.constants_of(Constants, values)


def variables(constants: Constants, state: State) -> dict[str, Value]:
    """Return the state in the variables of `Locks.tla` and `MCLocks.tla`."""

    def per_node(values: Iterable[Value]) -> Value:
        return function(zip(constants.nodes, values, strict=True))

    def of(name: str) -> Value:
        return per_node(value(getattr(me, name)) for me in state.locals)

    names = ("session", "epoch", "begun", "base", "table", "askers", "wishes", "held", "requests")
    return {
        "up": per_node(state.up),
        "promised": per_node(state.promised),
        "copy": per_node(map(value, state.copies)),
        "last": per_node(state.last),
        "tokens": value(state.tokens),
        "posts": value(state.posts),
        "given": value(state.given),
        "crashes": state.crashes,
        "drops": state.drops,
        **{name: of(name) for name in names},
    }


def value(thing: object) -> Value:
    """Return a value of the model as TLC has it: epochs and fences are tuples, others records."""
    if thing is None:
        return ()
    if isinstance(thing, frozenset):
        return frozenset(map(value, thing))
    if isinstance(thing, Epoch | Fence) or type(thing) is tuple:
        return tuple(map(value, thing))
    if isinstance(thing, tuple):
        fields = getattr(thing, "_fields", ())
        pairs: dict[Value, Value] = {
            name: value(each) for name, each in zip(fields, thing, strict=True)
        }
        return function(pairs.items())
    if isinstance(thing, bool | int | str):
        return thing
    raise TypeError(f"{thing!r} has no place in the specification")


__all__ = ["Constants", "Copy", "Given", "Request", "State", "Token", "constants_of", "variables"]
