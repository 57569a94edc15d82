"""TOTAL's binding: how its model and its implementation name the same things.

The model's messages have no payloads. The spec's other readings of TOTAL_NEW_VIEW, and its other
design, are not implemented.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from raincheck.conformance.bindings.binding import DATAGRAM, Binding
from raincheck.conformance.bindings.conversion import shaped
from raincheck.impl.messages import Address
from raincheck.impl.total import events as core_events
from raincheck.impl.total.core import Repairs, Total
from raincheck.model.machine.runs import Address as ModelAddress
from raincheck.model.total import events as model_events
from raincheck.model.total import field as field_model
from raincheck.model.total import handlers as model
from raincheck.model.total.events import Broadcast, Message

from .invariants import INVARIANTS

_SWITCHES: Final = ("view_tag", "tags", "resends", "announces", "forget_when")


@cache
def repairs_of(rules: model.Rules) -> Repairs:
    """Return the core's repairs for a case's rules; a replay makes very many cores."""
    return Repairs(**{name: getattr(rules, name) for name in _SWITCHES})


def _core_message(message: Message) -> core_events.Message:
    return core_events.Message(Address(*message.sender), message.seqno)


def _model_message(message: core_events.Message) -> Message:
    return Message(ModelAddress(*message.sender), message.seqno)


def _counts(counts: dict[Address, int]) -> model.Counts:
    return tuple(sorted((ModelAddress(*who), number) for who, number in counts.items()))


def _broadcasts(messages: dict[int, core_events.Message]) -> frozenset[Broadcast]:
    return frozenset(Broadcast(id_, _model_message(each)) for id_, each in messages.items())


def make_core(rules: model.Rules, local: model.Local) -> Total:
    """Return a member's core in that local state, with the same repairs."""
    core = Total(Address(*local.me), repairs=repairs_of(rules))
    for name in ("status", "view", "seqno", "passed", "next_id", "expected", "last"):
        setattr(core, name, getattr(local, name))
    core.members = tuple(Address(*each) for each in local.members)
    core.forward_table = [_core_message(each) for each in local.forward_table]
    core.taken = {Address(*who): number for who, number in local.taken}
    core.acks = {Address(*who): number for who, number in local.acks}
    core.history = {each.id: _core_message(each.message) for each in local.history}
    core.queue = {each.id: _core_message(each.message) for each in local.queue}
    return core


def local_of(core: Total) -> model.Local:
    """Return a core's state as the model's."""
    return model.Local(
        ModelAddress(*core.me),
        core.status,
        core.view,
        tuple(ModelAddress(*each) for each in core.members),
        core.seqno,
        tuple(map(_model_message, core.forward_table)),
        core.passed,
        core.next_id,
        _counts(core.taken),
        _broadcasts(core.history),
        _counts(core.acks),
        core.expected,
        _broadcasts(core.queue),
        core.last,
    )


def event_of(event: Any) -> Any:
    """Return the core's event for the model's input."""
    kind = getattr(core_events, type(event).__name__)
    if not hasattr(event, "message"):
        return shaped(event, kind)
    sender = {"sender": Address(*event.sender)} if hasattr(event, "sender") else {}
    return kind(**{**event._asdict(), "message": _core_message(event.message), **sender})


def input_of(event: Any) -> Any:
    """Return the model's input for the core's event."""
    if isinstance(event, core_events.Forget):
        return field_model.Forget()
    kind = model_events.INPUTS[type(event).__name__]
    if isinstance(event, core_events.Send):
        return kind()
    if not hasattr(event, "message"):
        return shaped(event, kind)
    sender = {"sender": ModelAddress(*event.sender)} if hasattr(event, "sender") else {}
    return kind(**{**event._asdict(), "message": _model_message(event.message), **sender})


def output_of(effect: Any) -> Any:
    """Return the model's output for the core's effect."""
    kind = getattr(model_events, type(effect).__name__)
    if not hasattr(effect, "message"):
        return shaped(effect, kind)
    to = getattr(effect, "to", None)
    addressed = {"to": to and ModelAddress(*to)} if hasattr(effect, "to") else {}
    return kind(**{**effect._asdict(), "message": _model_message(effect.message), **addressed})


def begins(_rules: model.Rules, local: model.Local) -> bool:
    """Whether a node may begin so: as a joiner, or as a member of a first view."""
    return local == model.Local(local.me) or (
        bool(local.members) and local == model.founder(local.me, local.members)
    )


BINDING = Binding(
    protocol="total",
    rules=model.Rules,
    local=model.Local,
    inputs=model_events.INPUTS,
    handlers=model.HANDLERS,
    outputs=(
        model_events.Request,
        model_events.Resend,
        model_events.CumSeqAck,
        model_events.Bcast,
        model_events.Last,
        model_events.Deliver,
    ),
    make_core=make_core,
    events=vars(core_events),
    field_inputs=field_model.INPUTS,
    field_handlers=field_model.HANDLERS,
    switches={
        "view_tag": False,
        "tags": False,
        "resends": False,
        "announces": False,
        "forget_when": "heard",
    },
    channels={"Request": DATAGRAM, "Resend": DATAGRAM, "CumSeqAck": DATAGRAM},
    told=frozenset({"Bcast", "Last", "Deliver"}),
    local_of=local_of,
    event_of=event_of,
    input_of=input_of,
    output_of=output_of,
    begins=begins,
    invariants=INVARIANTS,
)
