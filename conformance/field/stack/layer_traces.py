"""The tracing of each layer of a stack apart from SEQUENCER, which has a tracer of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.bindings.recorded import FromFaces
from raincheck.impl.recording.core import Recorder, attach
from raincheck.impl.recording.sequencer import Record
from raincheck.impl.stack.stack import Stack

from . import nakack_trace as nakacktrace
from . import unicast_trace as unicasttrace

TRACED: Final = ("stable", "gms", "flush", "state_transfer")
"""The layers whose cores handle the model's own events."""


def traced(
    stack: Stack,
    protocol: str,
    run: str,
    nodes: Collection[str],
    write: Callable[[Record], None],
) -> tuple[Any, Recorder]:
    """Trace a layer from now on; return its core, for the footer, and the recorder."""
    core, config, me = stack.cores[protocol], stack.config, stack.address
    constants: Record = {}
    if protocol == "unicast":
        constants = {
            "window": config.unicast_window,
            "window_bytes": config.unicast_window_bytes,
        }
        described = unicasttrace.described(me)
        recorder = Recorder(described, run, me, nodes, write, constants=constants, real=True)
        unicasttrace.Watch(core, recorder).attach()
        return core, recorder
    if protocol == "nakack":
        constants = {"window": config.multicast_window, "retain": config.retain_window}
        begun = nakacktrace.described(me)
        recorder = Recorder(begun, run, me, nodes, write, constants=constants, real=True)
        nakacktrace.Watch(core, stack._group.gms.detection, begun, recorder).attach()
        return core, recorder
    if protocol == "state_transfer":
        constants = {"window": config.state_window}
    recorder = Recorder(FromFaces(binding_of(protocol)), run, me, nodes, write, constants=constants)
    attach(core, recorder)
    return core, recorder
