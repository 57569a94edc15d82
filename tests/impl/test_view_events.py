"""The order in which a view goes up the stack: whoever is below knows it first."""

from collections.abc import Callable
from typing import Any

import pytest

from raincheck.impl.simulation.group import Simulator
from raincheck.impl.stack.flush_layer import FlushLayer
from raincheck.impl.stack.layer import Layer
from raincheck.impl.stack.nakack_layer import NakackLayer
from raincheck.impl.stack.passing import Install
from raincheck.impl.stack.reports import ViewInstalled
from raincheck.impl.stack.sequencer_layer import SequencerLayer
from raincheck.impl.stack.stable_layer import StableLayer
from raincheck.impl.stack.unicast_layer import UnicastLayer

ORDER = ["NAKACK", "UNICAST", "STABLE", "FLUSH", "SEQUENCER"]


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who handled a view, one after the other, at all members."""
    seen: list[str] = []

    def watch(kind: type[Layer], name: str) -> None:
        original = kind.up

        def watched(self: Layer, event: Any, now: float) -> None:
            if isinstance(event, Install):
                seen.append(name)
            original(self, event, now)

        monkeypatch.setattr(kind, "up", watched)

    watch(NakackLayer, "NAKACK")
    watch(UnicastLayer, "UNICAST")
    watch(StableLayer, "STABLE")
    watch(FlushLayer, "FLUSH")
    watch(SequencerLayer, "SEQUENCER")
    return seen


def test_a_view_goes_from_the_bottom_to_the_top(events: list[str]) -> None:
    group = Simulator(1)
    group.start("a", "b", "c", founders=True)
    group.run(0.1)
    events.clear()

    group.leave("c")
    group.run_until(lambda: group.in_one_view("a", "b"))

    assert [len(group[name].views) for name in "ab"] == [2, 2]
    assert events[-2 * len(ORDER) :] == 2 * ORDER


def test_nothing_of_a_view_is_delivered_before_the_application_has_seen_it() -> None:
    group = Simulator(1)
    group.start("a", "b", "c", founders=True)
    for step in range(40):
        group.at(0.01 * step, lambda: group.send("b", [b"x"] * 5))
    group.at(0.1, lambda: group.leave("c"))
    seen: dict[str, list[int]] = {"a": [1], "b": [1]}
    late: list[str] = []
    for name in "ab":
        stack = group[name].stack
        polled = stack.poll_reports

        def poll(name: str = name, polled: Callable[[], Any] = polled) -> Any:
            reports = polled()
            for report in reports:
                if isinstance(report, ViewInstalled):
                    seen[name].append(report.view.id.counter)
                elif hasattr(report, "view") and report.view != seen[name][-1]:
                    late.append(f"{name} delivers {report} in view {seen[name][-1]}")
            return reports

        stack.poll_reports = poll  # type: ignore[method-assign]

    group.run_until(lambda: group["a"].messages == group["b"].messages == 200)

    assert late == []
    assert seen == {"a": [1, 2], "b": [1, 2]}
