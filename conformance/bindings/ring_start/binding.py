"""RING_START's binding: how its model and its core name the same things."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import get_args

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.bindings.conversion import shaped
from raincheck.impl.messages import Address
from raincheck.impl.ring_start import events as start_events
from raincheck.impl.ring_start.core import Repairs, RingStart
from raincheck.impl.ring_start.events import Info, Stage
from raincheck.model.ring_start import events as model_events
from raincheck.model.ring_start import handlers as model


@cache
def repairs_of(rules: model.Rules) -> Repairs:
    """Return the core's repairs for a case's rules; a replay makes very many cores."""
    switches = asdict(rules)
    del switches["members"]
    return Repairs(**switches)


def make_core(rules: model.Rules, local: model.Local) -> RingStart:
    """Return a process's core in that local state, with the same repairs."""
    core = RingStart(
        Address(*local.me), rules.members, found=local.found, repairs=repairs_of(rules)
    )
    core.stage = next(each for each in get_args(Stage) if each == local.stage)
    core.ring = shaped(local.ring, frozenset[Address])
    core.heard = shaped(local.heard, frozenset[Info])
    core.once = shaped(local.once, frozenset[Address])
    return core


def begins(_rules: model.Rules, local: model.Local) -> bool:
    """Whether a process may begin so: it has what it has written down, and has heard nothing."""
    return not local.heard and not local.once


BINDING = Binding(
    protocol="ring_start",
    rules=model.Rules,
    local=model.Local,
    inputs=model_events.INPUTS,
    handlers=model.HANDLERS,
    outputs=(model_events.Info,),
    make_core=make_core,
    events=vars(start_events),
    switches={
        "found_needs": "nothing",
        "asks_twice": False,
        "records": False,
        "record_stands": False,
        "lives": False,
        "leaver_remembers": False,
        "members": frozenset("a"),
    },
    told=frozenset({"Info"}),
    given=frozenset({"found"}),
    begins=begins,
)
