"""PBCAST's binding: how its model and its implementation name the same things."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import cache
from typing import Any

from raincheck.conformance.bindings.binding import DATAGRAM, Binding
from raincheck.conformance.bindings.conversion import shaped
from raincheck.impl.messages import Address
from raincheck.impl.pbcast import events as pbcast_events
from raincheck.impl.pbcast.core import Known, Pbcast, Repairs
from raincheck.impl.recording.writer import Record
from raincheck.model.machine.runs import Address as ModelAddress
from raincheck.model.pbcast import events as model_events
from raincheck.model.pbcast import field as field_model
from raincheck.model.pbcast import handlers as model
from raincheck.model.pbcast.vectors import numbers, vector

from .invariants import INVARIANTS
from .speaks import SPEAKS

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


class Numbers:
    """A record's numbers for the streams and gossips that an event can have changed."""

    def whole(self, core: Pbcast) -> Record:
        """The variables that are recorded whole."""
        members = [list(who) for who in sorted(core.members)]
        return {"view": core.view, "members": members, "sent": core.sent, "number": core.number}

    def touched(self, core: Pbcast, event: pbcast_events.Event) -> Iterable[Address] | None:
        """Return the members that the event can have changed something of; None: any."""
        match event:
            case pbcast_events.Multicast():
                return (core.me,)
            case pbcast_events.Arrive(sender, _) | pbcast_events.Deliver(sender):
                return (sender,)
            case pbcast_events.Forward(origin):
                return (origin,)
            case pbcast_events.ReceiveRequest():
                return ()
        return None

    def keys(self, core: Pbcast) -> Iterable[Address]:
        """Return all members of which there is a stream or a gossip."""
        streams = core.streams
        origins = (each.origin for each in core.cache)
        return {*streams.delivered, *streams.held, *streams.purged, *origins}

    def named(self, who: Address) -> list[Any]:
        """Return the member as a record has it."""
        return list(who)

    def of(self, core: Pbcast, who: Address) -> Record:
        """Return what is known of the member, None where there is nothing."""
        streams = core.streams
        tables = (streams.delivered, streams.held, streams.purged)
        known = next((each for each in core.cache if each.origin == who), None)
        stream = None
        if any(who in table for table in tables):
            held = len(streams.held.get(who, ()))
            stream = [streams.delivered.get(who, 0), held, streams.purged.get(who, 0)]
        return {"stream": stream, "gossip": None if known is None else _shown(known)}


def _shown(known: Known) -> list[Any]:
    lowest = [[list(who), at] for who, at in known.lowest.entries]
    return [known.number, [list(who) for who in sorted(known.seen)], lowest, known.unsent]


_SPEC = Binding(
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
BINDING = replace(
    _SPEC,
    real=replace(
        _SPEC,
        rules=field_model.Rules,
        parts=field_model.parts,
        numbers=Numbers(),
        speaks=SPEAKS,
    ),
)
