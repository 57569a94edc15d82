"""What a run of the ring was asked for, what happened in it, and the files that say so."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from raincheck.impl.ring_config import RingConfig

from .clusterrecord import cut_last_line
from .fence import Write
from .lives import last_line
from .ringfaults import RingPlan
from .ringmembers import RingMember

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
    """What `raincheck run raincore` was asked for."""

    members: int = 3
    kinds: tuple[str, ...] = ()
    seconds: float = 2.0
    rate: float = 50.0
    """Messages per second and member."""
    size: int = 64
    as_written: bool = False
    undo: str = ""


@dataclass(slots=True)
class RingRecord:
    """What happened in one run, apart from what the traces say."""

    run: str
    seed: int
    plan: RingPlan
    done: list[dict[str, Any]] = field(default_factory=list)
    """Everything the harness did, in order."""
    lives: list[RingMember] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    """What the resource was asked for."""
    failure: str = ""
    """Why the run did not come to its end."""
    agreed: bool = False
    """Whether, after the last fault, all who ran agreed on their list."""
    heard: bool = False
    """Whether, at the end, everybody's last message came to everybody."""
    defects: list[str] = field(default_factory=list)
    """What members said on stderr, contents that were wrong, traces that stopped."""
    seconds: float = 0.0

    def faults(self) -> dict[str, int]:
        """How often each kind of fault was done."""
        counts: dict[str, int] = {}
        for each in self.done:
            counts[each["kind"]] = counts.get(each["kind"], 0) + 1
        return counts


def collect(record: RingRecord, folder: Path) -> None:
    """Say who was killed, cut half-written lines of theirs, gather defects."""
    killed: dict[tuple[str, int], bool] = {}
    for member in record.lives:
        if member.wrong or member.trace_failed:
            record.defects.append(member.wrong or member.trace_failed)
        if member.ending not in ("crash", "end") and (said := last_line(member.errors)):
            record.defects.append(f"{member.address} wrote to stderr: {said}")
        # A later process may have gone on with what an earlier one left.
        killed[member.name, member.incarnation] = member.ending in ("crash", "end")
    crashes = [
        {"kind": "crash", "run": record.run, "node": node, "incarnation": incarnation}
        for (node, incarnation), gone in killed.items()
        if gone
    ]
    for crash in crashes:
        name = f"{record.run}.{crash['node']}.{crash['incarnation']}.{PROTOCOL}.jsonl"
        cut_last_line(folder / "traces" / name)
    if crashes:
        text = "".join(json.dumps(crash) + "\n" for crash in crashes)
        (folder / "traces" / f"{record.run}.faults.jsonl").write_text(text, encoding="utf-8")
    writes = "".join(json.dumps(write._asdict()) + "\n" for write in record.writes)
    (folder / "writes").mkdir(exist_ok=True)
    (folder / "writes" / f"{record.run}.jsonl").write_text(writes, encoding="utf-8")
