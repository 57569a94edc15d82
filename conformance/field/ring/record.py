"""The settings of a run of the ring, its record, and their files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from raincheck.conformance.field.record import RunRecord, cut_last_line, write_rows
from raincheck.impl.ring.config import RingConfig

from .faults import RingPlan
from .fence import Write
from .members import RingMember

PROTOCOL = "raincore"
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
class RingSettings:
    """The settings of `raincheck run raincore`."""

    members: int = 3
    kinds: tuple[str, ...] = ()
    seconds: float = 2.0
    rate: float = 50.0
    """Messages per second and member."""
    size: int = 64
    as_written: bool = False
    undo: str = ""


@dataclass(slots=True)
class RingRecord(RunRecord[RingPlan, RingMember]):
    """The record of one run, of the ring and of the resource that its lock protects."""

    writes: list[Write] = field(default_factory=list)
    """The writes that the resource received."""
    agreed: bool = False
    """Whether all running members agreed on their list after the last fault."""
    heard: bool = False
    """Whether the last message of every member came to all at the end."""


def collect(record: RingRecord, folder: Path) -> None:
    """Record which processes were killed, cut their half-written lines, gather defects."""
    record.gather_defects()
    # A later process may have continued the files of an earlier one.
    last = {(member.name, member.incarnation): member.ending for member in record.lives}
    killed = [life for life, ending in last.items() if ending in ("crash", "end")]
    for node, incarnation in killed:
        cut_last_line(folder / "traces" / f"{record.run}.{node}.{incarnation}.{PROTOCOL}.jsonl")
    record.write_crashes(folder, killed)
    (folder / "writes").mkdir(exist_ok=True)
    write_rows(
        folder / "writes" / f"{record.run}.jsonl", (write._asdict() for write in record.writes)
    )
