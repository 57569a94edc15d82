"""PRIMARY's binding: how its model and its implementation name the same things."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.bindings.conversion import shaped
from raincheck.impl.messages import Address, ViewId
from raincheck.impl.primary import events as primary_events
from raincheck.impl.primary.core import Primary
from raincheck.impl.primary.decision import Repairs
from raincheck.impl.primary.events import Session
from raincheck.model.primary import events as model_events
from raincheck.model.primary import handlers as model

from .invariants import INVARIANTS


@cache
def repairs_of(rules: model.Rules) -> Repairs:
    """Return the core's repairs for a case's rules; a replay makes very many cores."""
    switches = asdict(rules)
    del switches["expected"]
    return Repairs(**switches)


def make_core(rules: model.Rules, local: model.Local) -> Primary:
    """Return a member's core in that local state, with the same repairs."""
    me, repairs = Address(*local.me), repairs_of(rules)
    core = Primary(
        me, expected=rules.expected, votes=local.votes, found=local.found, repairs=repairs
    )
    core.view = shaped(local.view, ViewId)
    core.members = shaped(local.members, frozenset[Address])
    core.stage = local.stage
    core.last = shaped(local.last, Session | None)
    core.attempts = shaped(local.attempts, frozenset[Session])
    return core


def begins(_rules: model.Rules, local: model.Local) -> bool:
    """Whether a node may begin so: in no view, and with nothing to remember."""
    return local == model.Local(local.me, local.votes, local.found)


_BINDING = Binding(
    protocol="primary",
    rules=model.Rules,
    local=model.Local,
    inputs=model_events.INPUTS,
    handlers=model.HANDLERS,
    outputs=(model_events.Info, model_events.Attempt),
    make_core=make_core,
    events=vars(primary_events),
    switches={
        "found_needs": "nothing",
        "last_primary": False,
        "two_rounds": False,
        "remembers": False,
        "from_formed": False,
        "resolves": False,
        "tie": "half",
        "lives": False,
        "recorded_votes": False,
        "expected": 1,
    },
    told=frozenset({"Info", "Attempt"}),
    given=frozenset({"found"}),  # an operator's word, which the layer takes for one history only
    begins=begins,
    invariants=INVARIANTS,
)
BINDING = replace(_BINDING, merging=_BINDING)
"""PRIMARY knows views by their whole ids, and expects nothing of the one that follows."""
