"""MERGE2's binding over addresses: in real runs a node has several lives, in the specification one.

A merge that there is not has the leader "", in both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from raincheck.conformance.bindings.addressed import Addressed
from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.bindings.conversion import shaped
from raincheck.impl.merge2 import events as core_events
from raincheck.impl.merge2.core import Merge2
from raincheck.model.merge2 import events
from raincheck.model.merge2.handlers import Local

from .speaks import SPEAKS

_OVER: Final = Addressed(texts=frozenset({"stage"}), nobody=frozenset({"leader"}))


def _merge(merge: core_events.MergeId) -> Any:
    """Return a merge as records have it."""
    return events.NO_MERGE if merge == core_events.NO_MERGE else merge


def _view(view: core_events.View) -> Any:
    return view._replace(merge=_merge(view.merge))


def local_of(core: Merge2) -> Any:
    """Return a core's state as the model's over addresses."""
    own = ("node", "coordinates", "stage", "waiting")
    fields: dict[str, Any] = {name: getattr(core, name) for name in own}
    known, entered, answers = [*core.known], [*core.entered.items()], [*core.answers.values()]
    fields |= {"node": core.me, "view": _view(core.view), "merge": _merge(core.merge)}
    fields |= {"known": known, "entered": entered, "answers": answers}
    return shaped(fields, _OVER.over(Local))


def input_of(event: Any) -> Any:
    """Return the model's input for the core's event."""
    name = type(event).__name__
    kind = events.INPUTS[name]
    if isinstance(event, core_events.InstallView):
        event = event._replace(view=_view(event.view))
    return shaped(event, _OVER.over(kind))


def of_processes(binding: Binding) -> Binding:
    """Return the binding for traces of real groups, in which a node may have several lives."""
    return replace(
        binding,
        local=_OVER.over(Local),
        inputs=_OVER.inputs(binding.inputs),
        handlers=_OVER.handlers(binding.handlers),
        outputs=tuple(map(_OVER.over, binding.outputs)),
        local_of=local_of,
        input_of=input_of,
        speaks=SPEAKS,
    )
