"""A view goes up through the layers in one order, and JOIN_RSP is made in the same step."""

from collections.abc import Callable
from typing import Any

import pytest

from raincheck.impl.sequencer.core import Sequencer
from raincheck.impl.sequencer.events import InstallView
from raincheck.impl.simulation.group import Simulator
from raincheck.impl.stack.flush_layer import FlushLayer
from raincheck.impl.stack.nakack_layer import NakackLayer
from raincheck.impl.stack.reports import ViewInstalled
from raincheck.impl.stack.stable_layer import StableTimer
from raincheck.impl.stack.unicast_layer import UnicastLayer

LAYERS: list[tuple[type[Any], str, str]] = [
    (NakackLayer, "install_view", "NAKACK"),
    (UnicastLayer, "forget", "UNICAST"),
    (StableTimer, "install_view", "STABLE"),
    (FlushLayer, "install", "FLUSH"),
]


def noted(calls: list[str], welcome: Callable[[Any], None]) -> Callable[[Any], None]:
    """The same, and JOIN_RSP is noted."""

    def call(effect: Any) -> None:
        calls.append("JOIN_RSP")
        welcome(effect)

    return call


def test_a_view_goes_up_layer_by_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def told(method: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if self is a.nakack or getattr(self, "me", None) == a.me:
                calls.append(name)
            return method(self, *args, **kwargs)

        return call

    group = Simulator(1)
    group.start("a", "b", founders=True)
    group.send("b", [b"before"] * 3)
    group.run(0.1)
    a = group["a"].stack._group
    for layer, method, name in LAYERS:
        monkeypatch.setattr(layer, method, told(getattr(layer, method), name))
    monkeypatch.setattr(a.ordering, "_welcome", noted(calls, a.ordering._welcome))
    handle = Sequencer.handle

    def sequencer(self: Sequencer, event: Any) -> Any:
        if self is a.sequencer and isinstance(event, InstallView):
            calls.append("SEQUENCER")
        return handle(self, event)

    monkeypatch.setattr(Sequencer, "handle", sequencer)
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
