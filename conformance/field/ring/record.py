"""The settings of a run of the ring, its record, and their files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from raincheck.conformance.field.record import RunRecord, RunSettings, write_rows
from raincheck.impl.ring.config import RingConfig

from .faults import RingFault
from .fence import Write
from .members import RingMember

PROTOCOL = "raincore"
NAMES = 2
"""How many named locks the members use."""
TIMES = RingConfig(
    eating=0.002,
    hungry=0.35,
    starving=0.25,
    retransmit_after=0.02,
    retransmit_max=0.06,
    give_up=0.18,
    give_up_again=0.08,
    hello=0.03,
)
"""The ring's times in a run: short, so that much happens, and long enough for a busy machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RingSettings(RunSettings):
    """The settings of `raincheck run raincore`."""

    seconds: float = 2.0
    rate: float = 50.0
    size: int = 64
    as_written: bool = False


def run_name(seed: int) -> str:
    """Return the name of the run of that seed."""
    return f"ring-{seed}"


@dataclass(slots=True)
class RingRecord(RunRecord[RingFault, RingMember]):
    """The record of one run, of the ring and of the resource that its lock protects."""

    writes: list[Write] = field(default_factory=list)
    """The writes that the resource received."""
    agreed: bool = False
    """Whether all running members agreed on their list after the last fault."""
    heard: bool = False
    """Whether the last message of every member came to all at the end."""

    def collect(self, folder: Path) -> list[RingMember]:
        """Write the log of the resource, too."""
        # Written out, because a dataclass with slots is another class than super() knows.
        killed = RunRecord.collect(self, folder)
        (folder / "writes").mkdir(exist_ok=True)
        rows = (write._asdict() for write in self.writes)
        write_rows(folder / "writes" / f"{self.run}.jsonl", rows)
        return killed
