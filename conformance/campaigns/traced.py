"""A simulated group whose layers are traced, each life from its first event on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from raincheck.conformance.field.stack.layer_traces import SEQUENCER
from raincheck.conformance.field.stack.layer_traces import traced as layer_traced
from raincheck.impl.messages import Address
from raincheck.impl.recording.core import Recorder
from raincheck.impl.recording.sequencer import sequencer_recorder
from raincheck.impl.recording.writer import TraceWriter
from raincheck.impl.simulation.group import Simulator
from raincheck.impl.stack.config import StackConfig

RUN = "run"
NODES = "abcd"
"""The names that the headers list."""


class TracedGroup(Simulator):
    """Writes a file for each life and each of the layers that are named."""

    def __init__(self, folder: Path, traced: tuple[str, ...], **settings: Any) -> None:
        self._folder = folder
        self._traced = traced
        self._sequencers: dict[str, tuple[Recorder, TraceWriter]] = {}
        if SEQUENCER in traced:
            settings["recorder"] = self._sequencer
        self._came: set[str] = set()
        super().__init__(**settings)
        self._open: dict[str, list[tuple[Any, Recorder, TraceWriter]]] = {}

    def _add(self, name: str, incarnation: int) -> None:
        super()._add(name, incarnation)
        stack = self[name].stack
        self._came.add(name)
        self._open[name] = []
        for layer in self._layers():
            writer = TraceWriter(self._folder, RUN, stack.address, protocol=layer)
            core, recorder = layer_traced(stack, layer, RUN, NODES, writer, self._traced)
            self._open[name].append((core, recorder, writer))

    def _layers(self) -> tuple[str, ...]:
        """Return what is traced but SEQUENCER, whose layer attaches the recorder itself."""
        return tuple(layer for layer in self._traced if layer != SEQUENCER)

    def _sequencer(self, me: Address) -> Recorder:
        """Return what records SEQUENCER, whose layer attaches it."""
        writer = TraceWriter(self._folder, RUN, me)
        merges, delivery = self._config.on_merge != "leave", self._config.delivery
        recorder = sequencer_recorder(
            RUN, me, NODES, writer, self._traced, merges=merges, delivery=delivery
        )
        self._sequencers[me.node] = recorder, writer
        return recorder

    def crash(self, name: str) -> None:
        """Stop a member without a word; the harness has one for it."""
        super().crash(name)
        node, incarnation = self[name].address
        left = {}
        for layer, (_, _, writer) in zip(self._layers(), self._open.pop(name), strict=True):
            left[layer] = writer
        if name in self._sequencers:
            left[SEQUENCER] = self._sequencers.pop(name)[1]
        for writer in left.values():
            writer.close()
        # One that crashed before a layer's first event has no file of it.
        traced = [layer for layer in self._traced if left[layer].path.exists()]
        self._told(kind="crash", node=node, incarnation=incarnation, traced=traced)

    def _told(self, **record: Any) -> None:
        """Write what only the harness knows."""
        with (self._folder / "faults.jsonl").open("ab") as faults:
            faults.write(msgspec.json.encode({**record, "run": RUN}) + b"\n")

    def end(self) -> None:
        """Every event is recorded; who never came is named."""
        for name in NODES:
            if name not in self._came:
                self._told(kind="absent", node=name)
        for files in self._open.values():
            for core, recorder, writer in files:
                recorder.footer(core)
                writer.close()
        for name, (recorder, writer) in self._sequencers.items():
            # A member that has stopped has its footer; one that has not joined has no header.
            core = self[name].stack.sequencer
            if core.status not in ("joining", "left"):
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


def record_merges(
    folder: Path,
    traced: tuple[str, ...],
    seed: int = 1,
    *,
    with_state: bool = False,
    delivery: str = "agreed",
) -> None:
    """Record four members that are cut in halves and in three, and merge each time; b, which comes
    back in between; and those that merge after the leader has died.

    `with_state`: a side takes the state of another one.
    """
    config = StackConfig(on_merge="state" if with_state else "callback", delivery=delivery)
    group = TracedGroup(folder, traced, seed=seed, config=config, with_state=with_state)

    def one(names: str) -> None:
        group.run_until(lambda: group.in_one_view(*names), 20.0)
        for name in names:
            group.send(name, [bytes(100)] * 3)
        group.run(0.3)

    def cut(*sides: str) -> None:
        group.partition(*sides)
        for side in sides:
            one(side)
        group.heal()

    group.start(*NODES, founders=True)
    one(NODES)
    cut("ab", "cd")
    one(NODES)
    group.crash("b")
    one("acd")
    group.restart("b")
    one(NODES)
    cut("a", "bc", "d")
    one(NODES)
    group.crash("a")
    one("bcd")
    cut("b", "cd")
    one("bcd")
    group.end()
