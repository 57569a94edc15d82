"""MERGE2's binding: the model's names and values, and those of the implementation.

The two agree on every name. The spec's nodes live once, so each has incarnation 0; real processes
are named by their addresses (`addressed.py`).
"""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache
from typing import Any

from raincheck.conformance.bindings.binding import DATAGRAM, Binding
from raincheck.conformance.bindings.conversion import shaped
from raincheck.impl.merge2 import events as core_events
from raincheck.impl.merge2.core import Merge2, Repairs
from raincheck.impl.messages import Address
from raincheck.model.merge2 import events as model_events
from raincheck.model.merge2 import handlers as model

from .addressed import of_processes
from .invariants import INVARIANTS

_AROUND = ("until_suspected", "flush")
_AS_IT_IS = {"condition": "but own", "leader_begins": True}
_MESSAGES = ("Found", "MergeReq", "MergeRsp", "InstallMergeView", "Installed", "Resume", "Cancel")


@cache
def repairs_of(rules: model.Rules) -> Repairs:
    """Return the core's repairs for a case's rules; a replay makes very many cores."""
    switches = asdict(rules)
    for name in (*_AROUND, *_AS_IT_IS):
        del switches[name]
    return Repairs(**switches)


def make_core(rules: model.Rules, local: model.Local) -> Merge2:
    """Return a process's core in that local state, with the same repairs."""
    view = shaped(local.view, core_events.View)
    core = Merge2(Address(local.node, 0), view, repairs=repairs_of(rules))
    core.coordinates, core.stage = local.coordinates, local.stage
    core.known = dict.fromkeys(shaped(local.known, tuple[Address, ...]))
    core.entered = dict(shaped(local.entered, tuple[core_events.MergeId, ...]))
    core.merge = shaped(local.merge, core_events.MergeId)
    core.waiting = shaped(local.waiting, set[Address])
    answers = shaped(local.answers, tuple[core_events.Answer, ...])
    core.answers = {answer.sender: answer for answer in answers}
    return core


def local_of(core: Merge2) -> model.Local:
    """Return a core's state as the model's: what it keeps by process is a set there."""
    own = ("node", "view", "coordinates", "stage", "merge", "waiting")
    fields = {name: getattr(core, name) for name in own}
    fields |= {"known": [*core.known], "entered": [*core.entered.items()]}
    fields["answers"] = [*core.answers.values()]
    local: model.Local = shaped(fields, model.Local)
    return local


def begins(_rules: model.Rules, local: model.Local) -> bool:
    """Whether a process may begin so: in a view, with no merge under way."""
    first = local.view.members[0] == local.node
    return local.stage == "idle" and not local.entered and local.coordinates == first


def assumes(_rules: model.Rules, local: model.Local, event: Any) -> bool:
    """Return whether the layers around could bring this input.

    FLUSH names members of the side, other coordinators are those of other views, and an answer is
    its sender's own.
    """
    answer = getattr(event, "answer", None)
    if answer is not None and answer.sender != event.sender:
        return False
    members, others = getattr(event, "members", ()), getattr(event, "others", ())
    view = frozenset(local.view.members)
    return view.issuperset(members) and view.isdisjoint(others)


def offered(_rules: model.Rules, _local: model.Local) -> tuple[Any, ...]:
    """Return MERGE with nobody else in it, which discovery does not bring, and MERGE too early."""
    nobody, somebody = frozenset[str](), frozenset("z")
    return model_events.Merge(nobody, 1, False), model_events.Merge(somebody, 1, False, stands=True)


_OF_NODES = Binding(
    protocol="merge2",
    rules=model.Rules,
    local=model.Local,
    inputs=model_events.INPUTS,
    handlers=model.HANDLERS,
    outputs=(
        model_events.Suspend,
        model_events.Suspended,
        model_events.Resume,
        model_events.Install,
        model_events.SendFound,
        model_events.SendMergeReq,
        model_events.SendMergeRsp,
        model_events.SendInstallMergeView,
        model_events.SendInstalled,
        model_events.SendResume,
        model_events.SendCancel,
    ),
    make_core=make_core,
    events=vars(core_events),
    switches={
        "one_merge": False,
        "tells_leader": False,
        "members_tell": False,
        "stays_out": False,
        "after_resume": False,
        "cancels": False,
        "answered": False,
        "frozen": False,
        "id_of_leader": False,
        "install_acks": False,
        "promotes": False,
        "resends": False,
    },
    around=frozenset(_AROUND),
    channels={f"Send{message}": DATAGRAM for message in _MESSAGES},
    arrives={f"Send{message}": f"Receive{message}" for message in _MESSAGES},
    told=frozenset({"Suspend", "Suspended", "Resume", "Install"}),
    local_of=local_of,
    assumes=assumes,
    seldom=frozenset({"Crash"}),
    begins=begins,
    offered=offered,
    invariants=INVARIANTS,
)

BINDING = replace(_OF_NODES, merging=of_processes(_OF_NODES))
