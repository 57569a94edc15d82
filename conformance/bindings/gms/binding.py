"""GMS's binding: the model's names and values, and those of the implementation.

The two agree on every name. A core without incarnations uses incarnation 0 in all its lives, as the
spec does.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache
from typing import Any

from raincheck.conformance.bindings.binding import DATAGRAM, FIFO, Binding
from raincheck.conformance.bindings.conversion import shaped
from raincheck.impl.gms import events as core_events
from raincheck.impl.gms.core import Gms, Repairs
from raincheck.impl.messages import Address, View
from raincheck.model.gms import field
from raincheck.model.gms import handlers as model
from raincheck.model.gms.events import OUTPUTS

from .invariants import INVARIANTS
from .promised import PROMISED
from .speaks import SPEAKS

_SHAPES: dict[str, Any] = {
    "status": str,
    "view": View | None,
    "held": tuple[View, ...],
    "promised": Address | None,
    "declined": int,
    "suspects": set[Address],
    "gone": set[Address],
    "joining": set[Address],
    "transfer": bool,
    "phase": str,
    "proposal": View | None,
    "waiting": set[Address],
}
_MESSAGES = ("NewView", "ViewAck", "Install", "JoinRsp", "NotJoined", "Leave", "Excluded")


@cache
def repairs_of(rules: model.Rules) -> Repairs:
    """Return the core's repairs for a case's rules; a replay makes very many cores."""
    return Repairs(**asdict(rules))


def make_core(rules: model.Rules, local: model.Local) -> Gms:
    """Return a member's core in that local state, with the same repairs."""
    me = Address(local.node, local.incarnation)
    core = Gms(me, repairs=repairs_of(rules))
    for name, wanted in _SHAPES.items():
        setattr(core, name, shaped(getattr(local, name), wanted))
    return core


def assumes(_rules: model.Rules, local: model.Local, event: Any) -> bool:
    """Return whether the layers around could bring this input: FLUSH names no unknown process."""
    members = model.members_of(local)
    answers = getattr(event, "answers", ())
    return all(answer.member in members and answer.view is not None for answer in answers)


_OF_ONE_GROUP = Binding(
    protocol="gms",
    rules=model.Rules,
    local=model.Local,
    inputs=model.INPUTS,
    handlers=model.HANDLERS,
    outputs=OUTPUTS,
    make_core=make_core,
    events=vars(core_events),
    switches={
        "flush": False,
        "pending": "list",
        "install_when": "last",
        "view_acks": False,
        "takeover": False,
        "readmit": False,
        "idempotent_join": False,
        "incarnations": False,
    },
    # The layer repeats LEAVE until the leaver is out, and EXCLUDED with each sign of life.
    channels={f"Send{message}": FIFO for message in _MESSAGES}
    | {"SendLeave": DATAGRAM, "SendExcluded": DATAGRAM},
    arrives={f"Send{message}": f"Receive{message}" for message in _MESSAGES},
    assumes=assumes,
    promised=PROMISED,
    speaks=SPEAKS,
    invariants=INVARIANTS,
)

BINDING = replace(
    _OF_ONE_GROUP,
    merging=replace(
        _OF_ONE_GROUP,
        inputs={**model.INPUTS, "ReceiveNewView": field.ReceiveNewView},
        handlers={**model.HANDLERS, "ReceiveNewView": field.receive_new_view},
        field_inputs=field.INPUTS,
        field_handlers=field.HANDLERS,
    ),
)
