"""The tracing of each layer of a stack but SEQUENCER, whose layer attaches the recorder itself."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from raincheck.conformance.bindings.binding import Binding, binding_of
from raincheck.conformance.bindings.nakack import binding as nakack
from raincheck.conformance.bindings.recorded import FromBinding
from raincheck.conformance.bindings.unicast import binding as unicast
from raincheck.impl.recording.core import Recorder, attach
from raincheck.impl.recording.writer import Record
from raincheck.impl.stack.stack import Stack
from raincheck.impl.wire.datagrams import Codec

SEQUENCER: Final = "sequencer"
"""Its layer attaches the recorder itself."""
TRACED: Final = ("stable", "gms", "flush", "state_transfer", "frag")
"""The other layers whose traces cost little; those of UNICAST and NAKACK are asked for."""


def of_stability(layers: Collection[str], stability: str) -> tuple[str, ...]:
    """Return the layers of a group with that kind of stability: PBCAST is in STABLE's place."""
    swapped = {"stable": "pbcast"} if stability == "gossip" else {}
    return tuple(swapped.get(layer, layer) for layer in layers)


def traced(
    stack: Stack,
    protocol: str,
    run: str,
    nodes: Collection[str],
    write: Callable[[Record], None],
    together: Collection[str] = (),
) -> tuple[Any, Recorder]:
    """Trace a layer from now on; return its core, for the footer, and the recorder.

    `together`: all protocols that are traced of this process.
    """
    core, config = stack.cores[protocol], stack.config
    binding: Binding = binding_of(protocol)
    real, merges = binding.real is not None, config.on_merge != "leave"
    binding = binding.of_traces(real=real, merges=merges)
    constants: Record = {}
    if protocol == "unicast":
        binding = unicast.of_datagrams(Codec(config.cluster, config.max_bundle))
        windows = config.unicast_window, config.unicast_window_bytes
        constants = dict(zip(("window", "window_bytes"), windows, strict=True))
    elif protocol == "nakack":
        binding = nakack.of_datagrams(Codec(config.cluster, config.max_bundle))
        constants = {"window": config.multicast_window, "retain": config.retain_window}
    elif protocol == "frag":
        constants = {"window": core.window}
    elif protocol == "primary":
        constants = {"expected": core.expected, "tie": "lowest" if config.tie_breaker else "none"}
    elif protocol == "state_transfer":
        constants = {"window": config.state_window}
    described, me = FromBinding(binding), stack.address
    recorder = Recorder(
        described,
        run,
        me,
        nodes,
        write,
        constants=constants,
        real=real,
        traced=together,
        merges=merges,
    )
    attach(core, recorder)
    return core, recorder
