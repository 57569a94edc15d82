"""A view goes up through the layers in one order, and JOIN_RSP is made in the same step."""

from collections.abc import Callable
from typing import Any

import pytest

from raincheck.impl.sequencer.events import SendJoinRsp
from raincheck.impl.simulation.group import Simulator
from raincheck.impl.stack.flush_layer import FlushLayer
from raincheck.impl.stack.gms_layer import GmsLayer
from raincheck.impl.stack.layer import Layer
from raincheck.impl.stack.nakack_layer import NakackLayer
from raincheck.impl.stack.passing import Install
from raincheck.impl.stack.reports import ViewInstalled
from raincheck.impl.stack.sequencer_layer import SequencerLayer
from raincheck.impl.stack.stable_layer import StableLayer
from raincheck.impl.stack.unicast_layer import UnicastLayer

LAYERS: list[tuple[type[Layer], str]] = [
    (NakackLayer, "NAKACK"),
    (UnicastLayer, "UNICAST"),
    (StableLayer, "STABLE"),
    (FlushLayer, "FLUSH"),
    (SequencerLayer, "SEQUENCER"),
]


def test_a_view_goes_up_layer_by_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def noting(method: Callable[..., Any], kind: type[Any], name: str) -> Callable[..., Any]:
        def call(self: Layer, event: Any, now: float) -> None:
            if isinstance(event, kind) and self.me.node == "a":
                calls.append(name)
            method(self, event, now)

        return call

    group = Simulator(1)
    group.start("a", "b", founders=True)
    group.send("b", [b"before"] * 3)
    group.run(0.1)
    for layer, name in LAYERS:
        monkeypatch.setattr(layer, "up", noting(layer.up, Install, name))
    monkeypatch.setattr(GmsLayer, "down", noting(GmsLayer.down, SendJoinRsp, "JOIN_RSP"))
    reported = group._reported

    def report(node: Any, what: Any) -> None:
        if node.name == "a" and isinstance(what, ViewInstalled):
            calls.append("application")
        reported(node, what)

    monkeypatch.setattr(group, "_reported", report)

    group.start("c")
    group.run_until(lambda: group.in_one_view("a", "b", "c"))

    assert calls == [
        "NAKACK", "UNICAST", "STABLE", "FLUSH", "SEQUENCER", "JOIN_RSP", "application"
    ]  # fmt: skip
