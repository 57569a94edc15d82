"""The settings of a run of a stack's group, its record, and its files."""

from dataclasses import dataclass, field
from pathlib import Path

from raincheck.conformance.field.record import RunRecord, RunSettings, cut_last_line, write_rows

from .faults import Fault
from .members import Member
from .unordered import FOLDER


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(RunSettings):
    """The settings of `raincheck run`."""

    seconds: float = 5.0
    rate: float = 2000.0
    size: int = 100
    large: int = 0
    """Bytes of each hundredth message, which goes in fragments; 0: none does."""
    transport: str = "udp"
    messages: int = 0
    """Messages of each life of a member; 0: as many as `seconds` allow."""
    batch: int = 8
    group: str = "239.192.7.7:45588"
    order: str = "sequencer"
    """The protocol that orders messages, and is traced."""
    delivery: str = "agreed"
    """With "safe" the run is judged by the uniform promises, too."""
    stability: str = "votes"
    repair: str = "requests"
    trace: tuple[str, ...] = ()
    """The layers that are traced beside those that always are."""


@dataclass(slots=True)
class Record(RunRecord[Fault, Member]):
    """The record of one run, and the members that came to its end."""

    survivors: list[Member] = field(default_factory=list)
    """The members at the end, which had delivered everything of each other."""
    order: str = "sequencer"
    """The protocol that orders messages."""
    safe: bool = False
    """Whether the group has safe delivery."""

    @property
    def by_logs(self) -> bool:
        """Whether the logs answer for what SEQUENCER's traces say otherwise."""
        return self.order != "sequencer"

    def collect(self, folder: Path) -> list[Member]:
        """Complete the delivery logs too: cut half-written lines, record who crashed."""
        # Written out, because a dataclass with slots is another class than super() knows.
        killed = RunRecord.collect(self, folder)
        rows = [{"member": member.address, "event": "crash"} for member in killed]
        for logs in (folder / "deliveries", folder / FOLDER):
            for member in killed:
                cut_last_line(logs / f"{self.run}.{member.address}.jsonl")
            if killed:
                write_rows(logs / f"{self.run}.faults.jsonl", rows)
        return killed
