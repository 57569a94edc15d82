"""The inputs that show what the checkers do around their rules, by the module they are for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from . import (
    around_changes,
    around_channels,
    around_conversion,
    around_cuts,
    around_deliveries,
    around_field,
    around_files,
    around_invariants,
    around_layers,
    around_ring,
    around_runs,
    around_sequencer,
    around_spark,
    around_streams,
    around_summaries,
    around_unicast,
)
from .planting import Shown
from .rules import Source

_ALL: Final = (
    around_changes.AROUND,
    around_channels.AROUND,
    around_conversion.AROUND,
    around_cuts.AROUND,
    around_deliveries.AROUND,
    around_field.AROUND,
    around_files.AROUND,
    around_invariants.AROUND,
    around_layers.AROUND,
    around_ring.AROUND,
    around_runs.AROUND,
    around_sequencer.AROUND,
    around_spark.AROUND,
    around_streams.AROUND,
    around_summaries.AROUND,
    around_unicast.AROUND,
)


def shown_around(source: Source) -> dict[str, Shown]:
    """Return the inputs for that module, each by what it is."""
    return {name: shown for table in _ALL for name, shown in table.get(source.module, {}).items()}


def every() -> Mapping[str, Shown]:
    """Return all inputs, each by its module and what it is."""
    return {
        f"{module}: {name}": shown
        for table in _ALL
        for module, inputs in table.items()
        for name, shown in inputs.items()
    }
