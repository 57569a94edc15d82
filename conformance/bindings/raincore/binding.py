"""Raincore's binding: the core's names are the model's, field by field.

The core does not keep the messages that it has delivered; its indications are compared instead.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from raincheck.conformance.bindings.binding import DATAGRAM, Binding
from raincheck.conformance.bindings.conversion import shaped
from raincheck.impl.messages import Address
from raincheck.impl.raincore import events as core_events
from raincheck.impl.raincore.core import Raincore, Repairs
from raincheck.impl.raincore.events import Epoch, Nodelist, Token
from raincheck.model.raincore import events as model_events
from raincheck.model.raincore import handlers as model

from .invariants import INVARIANTS
from .promised import PROMISED

REPAIRS = tuple(repair.name for repair in fields(Repairs))

_SHAPES = {
    "up": str,
    "view_state": str,
    "token_state": str,
    "global_view": tuple[Nodelist, ...],
    "global_view_number": int,
    "reserved": int,
    "last_token": Token,
    "new_nodes": tuple[Address, ...],
    "promised": Epoch,
    "attempt": int,
    "phase": str,
    "wanted": Epoch,
    "heard": int,
    "contacts": tuple[Address, ...],
    "leaving": bool,
    "outbox": int,
    "said": int,
    "last_ordinal": int,
    "awaited": frozenset[Address],
}


def make_core(rules: model.Rules, local: model.Local) -> Raincore:
    """Return a member's core in that local state, with the same repairs."""
    repairs = Repairs(**{name: getattr(rules, name) for name in REPAIRS})
    core = Raincore(Address(*local.me), repairs=repairs)
    for name, wanted in _SHAPES.items():
        setattr(core, name, shaped(getattr(local, name), wanted))
    return core


def assumes(_rules: model.Rules, local: model.Local, event: Any) -> bool:
    """Return whether the Transport Manager could bring this input now: addressed here, or failed to
    go.
    """
    match event:
        case model_events.ReceiveToken(message) | model_events.Receive911(message):
            return message.to == local.me
        case model_events.TokenUndelivered(message) | model_events.Undelivered911(message):
            return message.current == local.me
    return True


BINDING = Binding(
    protocol="raincore",
    rules=model.Rules,
    local=model.Local,
    inputs=model.INPUTS,
    handlers=model.HANDLERS,
    outputs=(
        model_events.Token,
        model_events.Call911,
        model_events.Eats,
        model_events.Committed,
        model_events.Deliver,
        model_events.Timer,
    ),
    make_core=make_core,
    events=vars(core_events),
    # The maker of a core decides which life of a process it is; the model's nodes have one each.
    # The Transport Manager decides what is handed up.
    switches={name: False for name in REPAIRS if name != "incarnations"},
    around=frozenset({"incarnations", "from_members"}),
    channels=dict.fromkeys(model_events.ARRIVES, DATAGRAM),
    arrives=model_events.ARRIVES,
    whole={"Token": "token", "Call911": "call"},
    sent_by="current",
    told=frozenset({"Eats", "Committed", "Deliver"}),
    # A joiner may learn of others who can let it in when all that it knew have gone.
    given=frozenset({"contacts"}),
    uncompared=frozenset({"delivered"}),
    unread=frozenset({"delivered"}),
    assumes=assumes,
    unhandled=frozenset({"Crash", "Forget"}),
    promised=PROMISED,
    invariants=INVARIANTS,
)
