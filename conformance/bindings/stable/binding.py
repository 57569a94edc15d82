"""STABLE's binding: how its model and its implementation name the same things."""

from __future__ import annotations

from dataclasses import replace

from raincheck.conformance.bindings.binding import DATAGRAM, Binding
from raincheck.impl.messages import Address
from raincheck.impl.stable import events as stable_events
from raincheck.impl.stable.core import Repairs, Stable
from raincheck.model.stable import handlers as model

from .invariants import INVARIANTS
from .speaks import SPEAKS


def make_core(rules: model.Rules, local: model.Local) -> Stable:
    """Return a core in that local state: a process that is in no view yet, or a founder."""
    core = Stable(
        Address(*local.me),
        repairs=Repairs(**{name: getattr(rules, name) for name in model.Rules.__slots__}),
    )
    if local.view:
        members = tuple(Address(*member) for member in local.members)
        core.handle(stable_events.InstallView(local.view, members))
    return core


_BINDING = Binding(
    protocol="stable",
    rules=model.Rules,
    local=model.Local,
    inputs=model.INPUTS,
    handlers=model.HANDLERS,
    outputs=(model.StableDigest, model.Stability, model.Purge, model.Heard),
    make_core=make_core,
    events=vars(stable_events),
    switches={
        "vote_check": "any",
        "foreign": "reset",
        "reset_on_view": False,
        "atomic_vote": False,
        "clear_votes": False,
        "drop_late": False,
        "cancel_covered": False,
        "suspend_on_join": False,
        "last_message": "none",
    },
    channels={"StableDigest": DATAGRAM, "Stability": DATAGRAM},
    arrives={"StableDigest": "ReceiveDigest"},
    speaks=SPEAKS,
    invariants=INVARIANTS,
)

BINDING = replace(_BINDING, merging=_BINDING)
