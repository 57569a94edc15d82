"""MERGE2's model over addresses: in real runs a node has several lives, in the specification one.

The model names a process by its node and does nothing with the name but compare it. So its handlers
serve addresses as well. What traces are read by are the types of the fields, and these are here: of
each type of the model one with addresses where that has names. A merge that there is not has the
leader "", in both.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final, Literal, Union, get_args, get_origin

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.bindings.conversion import fields_of, shaped
from raincheck.impl.merge2 import events as core_events
from raincheck.impl.merge2.core import Merge2
from raincheck.impl.messages import Address
from raincheck.model.machine.machine import Accepted
from raincheck.model.merge2 import events
from raincheck.model.merge2.handlers import Local

from .speaks import SPEAKS

_TEXTS: Final = frozenset({"stage"})
"""The fields that are texts, and not names of processes."""
_LEADER: Final = "leader"
"""The field that is "" of no merge."""


def addressed(kind: Any) -> Any:
    """Return the model's type with addresses in place of processes' names."""
    return _made(kind)


@cache
def _made(kind: Any) -> Any:
    known = {name: _wanted(name, each) for name, each in fields_of(kind).items()}
    return type(kind.__name__, (kind,), {"__slots__": (), "__annotations__": known})


def _wanted(name: str, wanted: Any) -> Any:
    if wanted is str:
        if name in _TEXTS:
            return str
        # "" first: as an address it would be that of a process without a name.
        return Literal[""] | Address if name == _LEADER else Address
    if isinstance(wanted, type) and hasattr(wanted, "_fields"):
        return addressed(wanted)
    origin, args = get_origin(wanted), get_args(wanted)
    if origin is None:
        return wanted
    made = tuple(each if each is Ellipsis else _wanted(name, each) for each in args)
    return Union[made] if origin is types.UnionType else origin[made]  # noqa: UP007


def _answering(handler: Callable[..., Any]) -> Callable[[Any, Any, Any], Any]:
    """Return the handler with its outputs of these types."""

    def answer(rules: Any, me: Any, event: Any) -> Any:
        given = handler(rules, me, event)
        if not isinstance(given, Accepted) or not given.outputs:
            return given
        return Accepted(given.local, tuple([addressed(type(o))(*o) for o in given.outputs]))

    return answer


def _all(handlers: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    return {name: _answering(each) for name, each in handlers.items()}


def _inputs(inputs: Mapping[str, type[Any]]) -> dict[str, type[Any]]:
    return {name: addressed(each) for name, each in inputs.items()}


def _merge(merge: core_events.MergeId) -> Any:
    """Return a merge as records have it."""
    return events.NO_MERGE if merge == core_events.NO_MERGE else merge


def _view(view: core_events.View) -> Any:
    return view._replace(merge=_merge(view.merge))


def local_of(core: Merge2) -> Any:
    """Return a core's state as the model's over addresses."""
    own = ("node", "coordinates", "stage", "waiting")
    fields: dict[str, Any] = {name: getattr(core, name) for name in own}
    known, entered, answers = [*core.known], [*core.entered.items()], [*core.answers.values()]
    fields |= {"node": core.me, "view": _view(core.view), "merge": _merge(core.merge)}
    fields |= {"known": known, "entered": entered, "answers": answers}
    return shaped(fields, addressed(Local))


def input_of(event: Any) -> Any:
    """Return the model's input for the core's event."""
    name = type(event).__name__
    kind = events.INPUTS[name]
    if isinstance(event, core_events.InstallView):
        event = event._replace(view=_view(event.view))
    return shaped(event, addressed(kind))


def of_processes(binding: Binding) -> Binding:
    """Return the binding for traces of real groups, in which a node may have several lives."""
    return replace(
        binding,
        local=addressed(Local),
        inputs=_inputs(binding.inputs),
        handlers=_all(binding.handlers),
        outputs=tuple(map(addressed, binding.outputs)),
        local_of=local_of,
        input_of=input_of,
        speaks=SPEAKS,
    )
