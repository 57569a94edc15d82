"""FRAG's binding: how its model and its implementation name the same things."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache

from raincheck.conformance.bindings.binding import Binding
from raincheck.impl.frag import events as frag_events
from raincheck.impl.frag.core import Frag, Repairs
from raincheck.impl.messages import Address
from raincheck.model.frag import events as model_events
from raincheck.model.frag import handlers as model

from .invariants import INVARIANTS
from .speaks import SPEAKS


@cache
def repairs_of(rules: model.Rules) -> Repairs:
    """Return the core's repairs for a case's rules; a replay makes very many cores."""
    switches = asdict(rules)
    del switches["window"]
    return Repairs(**switches)


def make_core(rules: model.Rules, local: model.Local) -> Frag:
    """Return a core in that local state: a process that is in no view yet, or a founder."""
    core = Frag(Address(*local.me), window=rules.window, repairs=repairs_of(rules))
    if local.view:
        members = tuple(Address(*member) for member in local.members)
        core.handle(frag_events.InstallView(local.view, members))
    return core


def begins(_rules: model.Rules, local: model.Local) -> bool:
    """Whether a node may begin so: in no view, or as a founder, with nothing under way."""
    return local.epoch == local.view and not local.sending and not local.kept


BINDING = Binding(
    protocol="frag",
    rules=model.Rules,
    local=model.Local,
    inputs=model_events.INPUTS,
    handlers=model.HANDLERS,
    outputs=(
        model_events.Fragment,
        model_events.GivenUp,
        model_events.Keep,
        model_events.Deliver,
        model_events.Forget,
    ),
    make_core=make_core,
    events=vars(frag_events),
    switches={
        "until_delivered": False,
        "begin_anew": False,
        "checks_epoch": False,
        "forgets_departed": False,
        "window": 1,
    },
    ignored=frozenset({"Dropped"}),
    told=frozenset({"Fragment", "GivenUp", "Deliver"}),
    begins=begins,
    speaks=SPEAKS,
    invariants=INVARIANTS,
)
