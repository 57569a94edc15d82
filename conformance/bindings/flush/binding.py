"""FLUSH's binding: the model's names and values, and those of the implementation.

The implementation has one effect `Control` for all messages; the model has an output for each. The
data that the membership adds to an answer is opaque to FLUSH, and absent from the model.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from raincheck.conformance.bindings.binding import FIFO, Binding
from raincheck.conformance.bindings.conversion import shaped
from raincheck.impl.flush import events as core_events
from raincheck.impl.flush.core import Flush, Repairs
from raincheck.impl.messages import Address, Digest
from raincheck.impl.wire.headers import Fetch, Fid
from raincheck.model.flush import events as model_events
from raincheck.model.flush import field
from raincheck.model.flush import handlers as model

from .invariants import INVARIANTS
from .speaks import ACROSS_MERGES, SPEAKS

NOT_OURS = frozenset({"PassLatch", "ReceiveFlushOk"})
"""Actions that are not implemented: numbering after the latch, and the changed design."""

REPAIRS = tuple(repair.name for repair in fields(Repairs))

_SHAPES: dict[str, Any] = {
    "view": int,
    "members": tuple[Address, ...],
    "latch": bool,
    "blocked": str,
    "flush": Fid | None,
    "suspects": set[Address],
    "frozen": set[Address],
    "fetching": tuple[Fetch, ...],
    "asked": Fid | None,
    "participants": tuple[Address, ...],
    "completed": dict[Address, Digest],
    "target": tuple[Fetch, ...],
    "reconciled": set[Address],
    "suspended": bool,
    "attempts": int,
}


def make_core(rules: model.Rules, local: model.Local) -> Flush:
    """Return a member's core in that local state, with the same repairs and policy."""
    repairs = Repairs(**{name: getattr(rules, name) for name in REPAIRS})
    core = Flush(Address(*local.me), open_latch=rules.may_open_latch, repairs=repairs)
    for name, wanted in _SHAPES.items():
        setattr(core, name, shaped(getattr(local, name), wanted))
    return core


def output_of(effect: Any) -> Any:
    """Return the model's output for the core's effect."""
    if isinstance(effect, core_events.Control):
        kind = type(effect.body).__name__
        wanted = getattr(model_events, kind)
        contents = {name: getattr(effect.body, name) for name in wanted._fields if name != "to"}
        return shaped({"to": effect.to, **contents}, wanted)
    if isinstance(effect, core_events.Suspended):
        participants = tuple(member for member, _ in effect.answers)
        return shaped((effect.fid, participants), model_events.Suspended)
    if isinstance(effect, core_events.LatchOpened):
        return model_events.LatchOpened()
    return shaped(effect, getattr(model_events, type(effect).__name__))


_OF_ONE_GROUP = Binding(
    protocol="flush",
    rules=model.Rules,
    local=model.Local,
    inputs=model.INPUTS,
    handlers=model.HANDLERS,
    outputs=(
        model_events.StartFlush,
        model_events.FlushOk,
        model_events.FlushCompleted,
        model_events.Reconcile,
        model_events.ReconcileOk,
        model_events.StopFlush,
        model_events.Block,
        model_events.TakeDigest,
        model_events.Unblock,
        model_events.Suspended,
        model_events.Freeze,
        model_events.FetchStreams,
        model_events.LatchOpened,
    ),
    make_core=make_core,
    events={name: kind for name, kind in vars(core_events).items() if name not in NOT_OURS},
    switches={**dict.fromkeys(REPAIRS, False), "may_open_latch": True},
    channels=dict.fromkeys(model_events.ARRIVES, FIFO),
    arrives=model_events.ARRIVES,
    # A leader that is one view behind cannot know who has joined with the view after its own, and
    # leaves nobody out by it: GMS adds them on the way from UNICAST to FLUSH (GMS-F6).
    adjusted={"StartFlush": frozenset({"participants"})},
    uncompared=frozenset({"party", "oks", "passed"}),
    output_of=output_of,
    speaks=SPEAKS,
    invariants=INVARIANTS,
)

BINDING = replace(
    _OF_ONE_GROUP,
    merging=replace(
        _OF_ONE_GROUP,
        inputs={**model.INPUTS, "InstallView": field.InstallView},
        handlers={**model.HANDLERS, "InstallView": field.install_view},
        field_inputs=field.INPUTS,
        field_handlers=field.HANDLERS,
        speaks=ACROSS_MERGES,
    ),
)
