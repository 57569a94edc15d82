"""A model's types over addresses: in real runs a node has several lives, in a specification one.

A model that names a process by its node does nothing with the name but compare it, so its handlers
serve addresses as well. What traces are read by are the types of the fields, and these are here: of
each type of the model one with addresses where that has names.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from raincheck.conformance.bindings.conversion import fields_of
from raincheck.impl.messages import Address
from raincheck.model.machine.machine import Accepted

Handler = Callable[[Any, Any, Any], Any]


class Addressed(NamedTuple):
    """Makes the types of one model, by the names of its fields."""

    texts: frozenset[str]
    """The fields that are texts, and not names of processes."""
    nobody: frozenset[str] = frozenset()
    """The fields that are "" where there is no process."""

    def over(self, kind: Any) -> Any:
        """Return the model's type with addresses in place of processes' names."""
        return _made(self, kind)

    def inputs(self, inputs: Mapping[str, type[Any]]) -> dict[str, type[Any]]:
        """Return these inputs, with addresses."""
        return {name: self.over(each) for name, each in inputs.items()}

    def handlers(self, handlers: Mapping[str, Handler]) -> dict[str, Handler]:
        """Return the handlers, whose outputs have addresses then."""
        return {name: self._answering(each) for name, each in handlers.items()}

    def _answering(self, handler: Handler) -> Handler:
        def answer(rules: Any, me: Any, event: Any) -> Any:
            given = handler(rules, me, event)
            if not isinstance(given, Accepted) or not given.outputs:
                return given
            return Accepted(given.local, tuple([self.over(type(o))(*o) for o in given.outputs]))

        return answer


@cache
def _made(made: Addressed, kind: Any) -> Any:
    known = {name: _wanted(made, name, each) for name, each in fields_of(kind).items()}
    return type(kind.__name__, (kind,), {"__slots__": (), "__annotations__": known})


def _wanted(made: Addressed, name: str, wanted: Any) -> Any:
    if wanted is str:
        if name in made.texts:
            return str
        # "" first: as an address it would be that of a process without a name.
        return Literal[""] | Address if name in made.nobody else Address
    if isinstance(wanted, type) and hasattr(wanted, "_fields"):
        return made.over(wanted)
    origin, args = get_origin(wanted), get_args(wanted)
    if origin is None:
        return wanted
    parts = tuple(each if each is Ellipsis else _wanted(made, name, each) for each in args)
    return Union[parts] if origin is types.UnionType else origin[parts]  # noqa: UP007
