"""Recordings of cores while a test drives them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from raincheck.conformance.bindings.binding import Core, binding_of
from raincheck.conformance.errors import UsageError
from raincheck.conformance.trace.generator import RecordedCores
from raincheck.impl.messages import Address
from raincheck.impl.recording.core import Recorder, attach
from raincheck.impl.recording.writer import TraceWriter

from .asserts import assert_conforms


class Recording:
    """The traces of a test, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: list[tuple[Core, Recorder, TraceWriter]] = []

    def of(
        self,
        protocol: str,
        *,
        run: str = "test",
        constants: Mapping[str, Any] | None = None,
        **cores: Core,
    ) -> None:
        """Record these cores from now on, by their nodes' names; the run has no other nodes.

        `constants` are the fields of the model's Rules that differ from the defaults. Raises
        UsageError if there is no such protocol or no core.
        """
        if not cores:
            raise UsageError("recording.of takes the cores by their names, as in a=core.")
        binding = binding_of(protocol)
        recorded = (binding.recorded or RecordedCores)(binding)
        self.folder.mkdir(parents=True, exist_ok=True)
        for node, driven in cores.items():
            core = recorded.observed(driven)
            who = Address(node, 0)
            writer = TraceWriter(self.folder, run, who, protocol=protocol)
            recorder = Recorder(
                recorded.described(),
                run,
                who,
                tuple(cores),
                writer,
                constants=dict(constants or {}),
            )
            recorder.begin(core)
            attach(core, recorder)
            self._open.append((core, recorder, writer))

    def check(self) -> None:
        """End the traces and check them; raise AssertionError with the findings."""
        for core, recorder, writer in self._open:
            recorder.footer(core)
            writer.close()
        if self._open:
            assert_conforms(self.folder)
        self._open.clear()
