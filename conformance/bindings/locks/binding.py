"""LOCKS' binding: how its model and its core name the same things."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache

from raincheck.conformance.bindings.binding import Binding, Relayed
from raincheck.conformance.bindings.conversion import shaped
from raincheck.impl.locks import events as lock_events
from raincheck.impl.locks.core import Locks, Repairs
from raincheck.impl.locks.events import Held, Table, Wish
from raincheck.impl.messages import Address
from raincheck.impl.raincore.events import Epoch
from raincheck.model.locks import events as model_events
from raincheck.model.locks import field
from raincheck.model.locks import handlers as model

from .invariants import INVARIANTS
from .posted import OVER
from .promised import PROMISED


@cache
def repairs_of(rules: model.Rules) -> Repairs:
    """Return the core's repairs for a case's rules; a replay makes very many cores."""
    return Repairs(**asdict(rules))


def _epoch(epoch: model_events.Epoch | None) -> Epoch | None:
    return None if epoch is None else Epoch(epoch.n, Address(epoch.by, 0))


def make_core(rules: model.Rules, local: model.Local) -> Locks:
    """Return a member's core in that local state, with the same repairs."""
    core = Locks(
        Address(local.me, 0), local.session, epoch=_epoch(local.epoch), repairs=repairs_of(rules)
    )
    core.begun = _epoch(local.begun)
    core.base = _epoch(local.base)
    core.table = shaped(local.table, Table)
    core.askers = frozenset(Address(each, 0) for each in local.askers)
    core.wishes = shaped(local.wishes, tuple[Wish, ...])
    core.held = shaped(local.held, frozenset[Held])
    core.requests = local.requests
    return core


def news(event: object) -> tuple[model_events.Post, ...]:
    """Return the posts that an input has."""
    return event.news if isinstance(event, model_events.Arrive) else ()


def begins(_rules: model.Rules, local: model.Local) -> bool:
    """Whether a process may begin so: nothing is known of the table but that it is new."""
    fresh = model.Local(local.me, local.session, local.epoch, base=local.base)
    return local == fresh and local.base in (None, local.epoch)


_OF_NODES = Binding(
    protocol="locks",
    rules=model.Rules,
    local=model.Local,
    inputs=model_events.INPUTS,
    handlers=model.HANDLERS,
    outputs=(model_events.Post, model_events.Held, model_events.Lost),
    make_core=make_core,
    events=vars(lock_events),
    switches=dict.fromkeys(Repairs.__dataclass_fields__, False),
    # A post is put onto the token, with the mail: Raincore carries it.
    told=frozenset({"Post", "Held", "Lost"}),
    relayed=Relayed("Post", news, lambda post: post.by),
    begins=begins,
    promised=PROMISED,
    invariants=INVARIANTS,
)

# A real process is named by its address, and its file goes on with the next one's.
BINDING = replace(
    _OF_NODES,
    real=replace(
        _OF_NODES,
        local=OVER.over(model.Local),
        inputs=OVER.inputs(model_events.INPUTS),
        handlers=OVER.handlers(model.HANDLERS),
        field_inputs=OVER.inputs(field.INPUTS),
        field_handlers=field.HANDLERS,
        outputs=tuple(map(OVER.over, _OF_NODES.outputs)),
    ),
)
