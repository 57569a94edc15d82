"""The records of a protocol, typed by its binding: what a decoder of traces must know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, Final, NamedTuple, Union

import msgspec
from msgspec import UNSET, Raw, UnsetType

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.bindings.conversion import fields_of, shaped

from .writing import Write, as_written, picking, showing, writing

ABSENT: Final = b"[]"
UNCHANGED: Final = b"{}"
_new: Final = tuple.__new__

Pick = Callable[[Any], tuple[Any, ...]]


class _Event(msgspec.Struct, gc=False, kw_only=True, forbid_unknown_fields=True):
    """The keys that all records have behind their origin; the action says which others follow."""

    index: int
    sent: tuple[Raw, ...] = ()
    changed: Raw = Raw(UNCHANGED)
    given: Raw | UnsetType = UNSET
    at: float | None = None


class Arrival(NamedTuple):
    """A message, and where it is in the input of the action by which it arrives."""

    message: str
    channel: str
    place: int | None
    """Of the field that is the message, where it comes as one."""
    sender: int
    pick: Pick
    compared: Write


class Departure(NamedTuple):
    """A message that an output is."""

    message: str
    channel: str
    to: int
    pick: Pick
    content: Write
    compared: tuple[Pick, Write] | None
    """The fields of it that are compared with what arrives, where these are not all."""


class Action(NamedTuple):
    """An action, and how a record's `args` become its handler's input."""

    name: str
    make: Callable[[Any], Any]
    arrival: Arrival | None
    known: bool
    """Whether who sent the message that arrives can be told from the input."""


class Variable(NamedTuple):
    """A variable as records have it."""

    name: str
    show: Callable[[Any], Any] | None
    """Makes what msgspec writes as a record has it; None where it does so with the value itself."""


class Forms(NamedTuple):
    """The record types of one protocol."""

    decoder: msgspec.json.Decoder[Any]
    initial: type[Any] | None
    """Of the state in a header, where all of it is written as it is."""
    actions: Mapping[type[Any], Action]
    """By the record's type."""
    departures: Mapping[type[Any], Departure]
    """By the output's type."""
    variables: Mapping[int, Variable]
    """By their places; those that are never compared are left out."""


@cache
def forms_of(binding: Binding) -> Forms | None:
    """Return what the protocol's records look like; None where its types are out of reach."""
    try:
        return _made(binding)
    except (TypeError, NotImplementedError):
        return None


def wanted_of(binding: Binding, message: str) -> type[Any]:
    """The type whose fields say how the contents of a message are compared."""
    kind = binding.inputs[binding.arrival(message)]
    if message in binding.whole:
        kind = fields_of(kind)[binding.whole[message]]
    return kind


def common_fields(binding: Binding, message: str) -> tuple[str, ...]:
    """Return the fields that a message and the event by which it arrives have in common."""
    kind = next(each for each in binding.outputs if each.__name__ == message)
    left_out = {"to", *binding.adjusted.get(message, ())}
    wanted = fields_of(wanted_of(binding, message))
    return tuple(name for name in fields_of(kind) if name in wanted and name not in left_out)


def _made(binding: Binding) -> Forms:
    actions: dict[type[Any], Action] = {}
    for name, kind in {**binding.field_inputs, **binding.inputs}.items():
        message = next((each for each in binding.channels if binding.arrival(each) == name), None)
        arrival = None if message is None else _arrival(binding, message, kind)
        record = _record(binding, name, kind, arrives=message is not None)
        actions[record] = Action(name, _making(kind), arrival, message is None or bool(arrival))
    kinds = fields_of(binding.local)
    shown = {name: wanted for name, wanted in kinds.items() if name not in binding.uncompared}
    return Forms(
        msgspec.json.Decoder(Union[tuple(actions)]),  # noqa: UP007
        msgspec.defstruct("Initial", [*shown.items()], gc=False, forbid_unknown_fields=True)
        if all(map(as_written, shown.values()))
        else None,
        actions,
        {
            kind: _departure(binding, kind)
            for kind in binding.outputs
            if kind.__name__ in binding.channels
        },
        {
            place: Variable(name, showing(kinds[name]))
            for place, name in enumerate(kinds)
            if name in shown
        },
    )


def _record(binding: Binding, name: str, kind: type[Any], *, arrives: bool) -> type[Any]:
    """The type of the records of an action."""
    fields = fields_of(kind)
    typed = [(key, wanted if as_written(wanted) else Any) for key, wanted in fields.items()]
    args = msgspec.defstruct("Args", typed, gc=False, forbid_unknown_fields=True)
    received: Any = ("received", Raw) if arrives else ("received", None, None)
    told: Any = ("told", Raw, Raw(ABSENT)) if binding.told else ("told", tuple[()], ())
    return msgspec.defstruct(
        "Event",
        [("args", args), received, told],
        bases=(_Event,),
        tag_field="action",
        tag=name,
        gc=False,
        kw_only=True,
        forbid_unknown_fields=True,
    )


def _making(kind: type[Any]) -> Callable[[Any], Any]:
    """Return a function that makes an input of its fields."""
    fields = fields_of(kind)
    if not fields:
        only = kind()
        return lambda _: only
    if not all(map(as_written, fields.values())):
        return lambda args: shaped([getattr(args, name) for name in fields], kind)
    get: Any = attrgetter(*fields)
    if len(fields) == 1:
        return lambda args: _new(kind, (get(args),))
    return lambda args: _new(kind, get(args))


def _departure(binding: Binding, kind: type[Any]) -> Departure:
    message, kinds = kind.__name__, fields_of(kind)
    names, common = tuple(n for n in kinds if n != "to"), common_fields(binding, message)
    arrives = fields_of(wanted_of(binding, message))
    same = names == common and all(kinds[name] == arrives[name] for name in names)
    return Departure(
        message,
        binding.channels[message],
        list(kinds).index("to"),
        picking(kind, names),
        writing(kind, names, kinds),
        None if same else (picking(kind, common), writing(kind, common, arrives)),
    )


def _arrival(binding: Binding, message: str, kind: type[Any]) -> Arrival | None:
    whole = binding.whole.get(message)
    wanted = wanted_of(binding, message)
    arrives = fields_of(wanted)
    if binding.sent_by not in arrives:
        return None
    common = common_fields(binding, message)
    return Arrival(
        message,
        binding.channels[message],
        None if whole is None else list(fields_of(kind)).index(whole),
        list(arrives).index(binding.sent_by),
        picking(wanted, common),
        writing(wanted, common, arrives),
    )
