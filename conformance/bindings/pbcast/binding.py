"""PBCAST's binding: how its model and its implementation name the same things."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import Any

from raincheck.conformance.bindings.binding import DATAGRAM, Binding
from raincheck.conformance.bindings.conversion import shaped
from raincheck.impl.messages import Address
from raincheck.impl.pbcast import events as pbcast_events
from raincheck.impl.pbcast.core import Known, Pbcast, Repairs
from raincheck.model.machine.runs import Address as ModelAddress
from raincheck.model.pbcast import events as model_events
from raincheck.model.pbcast import handlers as model
from raincheck.model.pbcast.vectors import numbers, vector

from .invariants import INVARIANTS

AROUND = ("prompt", "own_copy", "flushed", "use_mcast", "cache")
"""Rules that are the core's settings, and no repairs."""


@cache
def repairs_of(rules: model.Rules) -> Repairs:
    """Return the core's repairs for a case's rules; a replay makes very many cores."""
    return Repairs(**{name: at for name, at in asdict(rules).items() if name not in AROUND})


def make_core(rules: model.Rules, local: model.Local) -> Pbcast:
    """Return a member's core in that local state, with the same repairs."""
    settings = {name: getattr(rules, name) for name in AROUND}
    me, repairs = Address(*local.me), repairs_of(rules)
    core = Pbcast(me, lag=local.lag, watches=local.watches, repairs=repairs, **settings)
    core.view, core.sent, core.number = local.view, local.sent, local.number
    core.members = shaped(local.members, frozenset[Address])
    core.cache = shaped(local.cache, list[Known])
    core.heard = shaped(local.heard, frozenset[Address])
    core.streams.delivered = shaped(local.delivered, dict[Address, int])
    core.streams.held = shaped(local.held, dict[Address, set[int]])
    core.streams.purged = shaped(local.purged, dict[Address, int])
    return core


def local_of(core: Pbcast) -> model.Local:
    """Return the core's state as the model has it."""
    streams = core.streams
    return model.Local(
        shaped(core.me, ModelAddress),
        streams.lag,
        core.watches,
        core.view,
        shaped(core.members, model_events.Members),
        core.sent,
        core.number,
        shaped(core.cache, tuple[model.Known, ...]),
        vector(shaped(streams.delivered, dict[ModelAddress, int])),
        numbers(shaped(streams.held, dict[ModelAddress, frozenset[int]])),
        vector(shaped(streams.purged, dict[ModelAddress, int])),
        shaped(core.heard, model_events.Members),
    )


def begins(_rules: model.Rules, local: model.Local) -> bool:
    """Whether a node may begin so: asking to join, or as a founder."""
    begun = model.Local(local.me, local.lag, local.watches)
    return local in (begun, begun._replace(view=1, members=local.members | {local.me}))


def offered(_rules: model.Rules, local: model.Local) -> tuple[Any, ...]:
    """Return what no instance brings: a stranger's message, and one that is not there to take."""
    stranger = ModelAddress("stranger", 0)
    return model_events.Arrive(stranger, 1), model_events.Deliver(local.me)


BINDING = Binding(
    protocol="pbcast",
    rules=model.Rules,
    local=model.Local,
    inputs=model_events.INPUTS,
    handlers=model.HANDLERS,
    outputs=(
        model_events.Data,
        model_events.Gossip,
        model_events.Request,
        model_events.Response,
        model_events.Delivered,
        model_events.Heard,
        model_events.GotDigest,
    ),
    make_core=make_core,
    local_of=local_of,
    events=vars(pbcast_events),
    switches={
        "gathers": False,
        "merges": False,
        "latest": False,
        "ask_whom": "relay",
        "ask_for": "undelivered",
        "report": "received",
        "view_check": "members",
        "keep_departed": False,
        "alone": False,
        "tagged": False,
        "prompt": False,
        "own_copy": False,
        "flushed": True,
        "use_mcast": True,
    },
    around=frozenset({"cache"}),  # its size counts only where `latest` is undone
    channels={
        "Data": DATAGRAM,
        "Gossip": DATAGRAM,
        "Request": DATAGRAM,
        "Response": DATAGRAM,
    },
    arrives={"Data": "Arrive"},
    told=frozenset({"Delivered", "Heard", "GotDigest"}),
    offered=offered,
    begins=begins,
    invariants=INVARIANTS,
)
