"""A simulated group whose layers are traced, each life from its first event on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from raincheck.conformance.field.stack.layer_traces import traced as layer_traced
from raincheck.impl.recording.core import Recorder
from raincheck.impl.recording.writer import TraceWriter
from raincheck.impl.simulation.group import Simulator

RUN = "run"


class TracedGroup(Simulator):
    """Writes a file for each life and each of the layers that are named."""

    def __init__(self, folder: Path, traced: tuple[str, ...], **settings: Any) -> None:
        super().__init__(**settings)
        self._folder, self._traced = folder, traced
        self._open: dict[str, list[tuple[Any, Recorder, TraceWriter]]] = {}

    def _add(self, name: str, incarnation: int) -> None:
        super()._add(name, incarnation)
        stack = self[name].stack
        self._open[name] = []
        for layer in self._traced:
            writer = TraceWriter(self._folder, RUN, stack.address, protocol=layer)
            core, recorder = layer_traced(stack, layer, RUN, "abcd", writer)
            self._open[name].append((core, recorder, writer))

    def crash(self, name: str) -> None:
        """Stop a member without a word; the harness has one for it."""
        super().crash(name)
        node, incarnation = self[name].address
        crash = {"kind": "crash", "run": RUN, "node": node, "incarnation": incarnation}
        with (self._folder / "faults.jsonl").open("ab") as faults:
            faults.write(msgspec.json.encode(crash) + b"\n")
        for _, _, writer in self._open.pop(name):
            writer.close()

    def end(self) -> None:
        """Every event is recorded."""
        for files in self._open.values():
            for core, recorder, writer in files:
                recorder.footer(core)
                writer.close()


def record_group(folder: Path, traced: tuple[str, ...], **settings: Any) -> None:
    """Record two founders whom a third one joins, and some messages of each."""
    group = TracedGroup(folder, traced, **settings)
    group.start("a", "b")
    group.run_until(lambda: group.in_one_view("a", "b"))
    group.start("c")
    group.run_until(lambda: group.in_one_view("a", "b", "c"))
    for name in "abc":
        group.send(name, [bytes(700)] * 4)
    group.run(1.0)
    group.end()
