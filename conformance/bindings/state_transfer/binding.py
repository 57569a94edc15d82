"""STATE TRANSFER's binding: the model's names and values, and those of the implementation.

The bytes of a chunk are the model's `Part`, as text: its writer, its number, and how many messages
are in it. The sentence of Failed is for people; the model has none.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache, partial
from typing import Any

from raincheck.conformance.bindings.binding import FIFO, Binding
from raincheck.conformance.bindings.conversion import fields_of, named, shaped
from raincheck.impl.messages import Address
from raincheck.impl.state_transfer import events as core_events
from raincheck.impl.state_transfer.core import Repairs, StateTransfer
from raincheck.model.state_transfer import events as model_events
from raincheck.model.state_transfer import field as field_model
from raincheck.model.state_transfer import handlers as model
from raincheck.model.state_transfer.state import Part

from .invariants import INVARIANTS
from .speaks import SPEAKS

MESSAGES = ("Ask", "Go", "Request", "Chunk", "Credit", "Refuse", "Cancel", "Done")
ACTIONS = (
    *("Ask", "ReceiveGo", "ReceiveChunk", "Take", "ReceiveRefuse", "TimeOut", "StateSet"),
    *("ReceiveRequest", "Read", "ReadFailed", "ReceiveCredit", "ReceiveCancel"),
    *("ReceiveAsk", "Begin", "ReceiveDone", "Suspect", "Deliver"),
)
"""The actions of a member as a requester, as a provider, and as the leader; "Crash" has no handler.
"""
INDICATIONS = ("GetState", "EndState", "Begun", "HandUp", "Failed", "Resume")


@cache
def repairs_of(rules: model.Rules) -> Repairs:
    """Return the core's repairs for a case's rules; a replay makes very many cores."""
    switches = asdict(rules)
    del switches["window"]
    return Repairs(**switches)


def make_core(rules: model.Rules, local: model.Local) -> StateTransfer:
    """Return a member's core in that local state, with the same repairs."""
    me = Address(*local.address)
    core = StateTransfer(me, window=rules.window, repairs=repairs_of(rules))
    for name in core_fields():
        setattr(core, name, shaped(getattr(local, name), _SHAPES[name]))
    return core


_ADDRESSES = tuple[Address, ...]
_SHAPES: dict[str, Any] = {
    "members": _ADDRESSES,
    "suspects": frozenset[Address],
    "phase": str,
    "leader": Address | None,
    "attempt": int,
    "provider": Address | None,
    "candidates": _ADDRESSES,
    "cut": int,
    "next": int,
    "taken": int,
    "granted": int,
    "serving": dict[Address, model.Serving],
    "queue": _ADDRESSES,
    "waiting": frozenset[Address],
}


def core_fields() -> tuple[str, ...]:
    """Return the fields of Local that are attributes of the core."""
    return tuple(name for name in model.Local._fields if name != "address")


def local_of(core: StateTransfer) -> model.Local:
    """Return the core's state as the model's Local."""
    values = {name: getattr(core, name) for name in core_fields()}
    found: model.Local = shaped({"address": core.me, **values}, model.Local)
    return found


def event_of(event: Any) -> Any:
    """Return the core's event for the model's input."""
    name = type(event).__name__
    if isinstance(event, model_events.Read | model_events.ReceiveChunk):
        event = event._replace(payload=written(event.payload))
    return shaped(event, getattr(core_events, name))


def output_of(effect: Any) -> Any:
    """Return the model's output for the core's effect."""
    kind = getattr(model_events, type(effect).__name__)
    if isinstance(effect, core_events.Failed):
        return kind()
    if isinstance(effect, core_events.SendChunk | core_events.HandUp):
        return shaped(effect._replace(payload=b""), kind)._replace(payload=stand_in(effect.payload))
    return shaped(effect, kind)


def written(part: Any) -> bytes:
    """Return the bytes of a part."""
    by, number, at = part
    return f"{by or ''} {number} {at}".encode()


def input_of(event: Any, of_views: Mapping[str, type[Any]] = field_model.INPUTS) -> Any:
    """Return the model's input for the core's event."""
    name = type(event).__name__
    kind = model_events.INPUTS.get(name) or of_views[name]
    if isinstance(event, core_events.Read | core_events.ReceiveChunk):
        return shaped(event._replace(payload=b""), kind)._replace(payload=stand_in(event.payload))
    wanted = fields_of(kind)  # without a view's number, where the model has none
    return shaped({name: each for name, each in named(event).items() if name in wanted}, kind)


def stand_in(payload: bytes) -> Any:
    """Return the part in the bytes; for a real state, a value that distinguishes it from others."""
    try:
        by, number, at = payload.decode().split(" ")
        return Part(by or None, int(number), int(at))
    except ValueError:
        return f"{len(payload)} bytes, crc {zlib.crc32(payload):08x}"


_BINDING = Binding(
    protocol="state_transfer",
    rules=model.Rules,
    local=model.Local,
    inputs={action: model.INPUTS[action] for action in ACTIONS},
    handlers=model.HANDLERS,
    outputs=tuple(
        getattr(model_events, name) for name in (*(f"Send{m}" for m in MESSAGES), *INDICATIONS)
    ),
    make_core=make_core,
    events=vars(core_events),
    switches={
        **dict.fromkeys((name for name in asdict(model.Rules()) if name != "window"), False),
        "window": 1,
    },
    channels={f"Send{message}": FIFO for message in MESSAGES},
    arrives={f"Send{message}": f"Receive{message}" for message in MESSAGES},
    # The position that counts is the one at which the requester's own messages begin.
    spoiled={"SendChunk": lambda chunk: not chunk.sound},
    adjusted={"SendGo": frozenset({"cut"})},
    unhandled=frozenset({"Crash"}),
    field_inputs=field_model.INPUTS,
    field_handlers=field_model.HANDLERS,
    local_of=local_of,
    event_of=event_of,
    input_of=input_of,
    output_of=output_of,
    speaks=SPEAKS,
    invariants=INVARIANTS,
)

BINDING = replace(
    _BINDING,
    merging=replace(
        _BINDING,
        field_inputs=field_model.NUMBERED,
        input_of=partial(input_of, of_views=field_model.NUMBERED),
    ),
)
