"""The settings of a run of a cluster, its record, and their files."""

from dataclasses import dataclass, field
from pathlib import Path

from raincheck.conformance.field.record import RunRecord, cut_last_line, write_rows

from .faults import Plan
from .members import Member


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of `raincheck run`."""

    members: int = 3
    transport: str = "udp"
    kinds: tuple[str, ...] = ()
    messages: int = 0
    """Messages of each life of a member; 0: as many as `seconds` allow."""
    seconds: float = 5.0
    size: int = 100
    rate: float = 2000.0
    batch: int = 8
    group: str = "239.192.7.7:45588"
    undo: str = ""
    trace: tuple[str, ...] = ()
    """The layers that are traced beside those that always are."""


@dataclass(slots=True)
class Record(RunRecord[Plan, Member]):
    """The record of one run, and the members that came to its end."""

    survivors: list[Member] = field(default_factory=list)
    """The members at the end, which had delivered everything of each other."""


def collect(record: Record, folder: Path) -> None:
    """Record which processes were killed, cut their half-written lines, gather defects."""
    record.gather_defects()
    killed = [member for member in record.lives if member.ending != "leave"]
    for member in killed:
        for sub in ("traces", "deliveries"):
            cut_last_line(folder / sub / f"{record.run}.{member.address}.jsonl")
    record.write_crashes(folder, ((member.name, member.incarnation) for member in killed))
    if killed:
        rows = [{"member": member.address, "event": "crash"} for member in killed]
        write_rows(folder / "deliveries" / f"{record.run}.faults.jsonl", rows)
