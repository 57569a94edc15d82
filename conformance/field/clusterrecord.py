"""What a run of a cluster was asked for, what happened in it, and the files that say so."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .clustermembers import Member, last_line
from .faults import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `raincheck run` was asked for."""

    members: int = 3
    transport: str = "udp"
    kinds: tuple[str, ...] = ()
    messages: int = 0
    """For each life of a member; 0: as many as `seconds` allow."""
    seconds: float = 5.0
    size: int = 100
    rate: float = 2000.0
    batch: int = 8
    group: str = "239.192.7.7:45588"
    undo: str = ""
    trace: tuple[str, ...] = ()
    """What is traced beside the layers that always are."""


@dataclass(slots=True)
class Record:
    """What happened in one run, apart from what the traces say."""

    run: str
    seed: int
    plan: Plan
    done: list[dict[str, Any]] = field(default_factory=list)
    """Everything the harness did, in order."""
    lives: list[Member] = field(default_factory=list)
    survivors: list[Member] = field(default_factory=list)
    """Who was there at the end and had delivered everything of each other."""
    failure: str = ""
    """Why the run did not come to its end."""
    defects: list[str] = field(default_factory=list)
    """What members said on stderr, contents that were wrong, traces that stopped."""
    seconds: float = 0.0

    def faults(self) -> dict[str, int]:
        """How often each kind of process fault was done."""
        counts: dict[str, int] = {}
        for each in self.done:
            counts[each["kind"]] = counts.get(each["kind"], 0) + 1
        return counts


def collect(record: Record, folder: Path) -> None:
    """Say who was killed, cut half-written lines of theirs, gather defects."""
    crashes: list[dict[str, object]] = []
    rows: list[dict[str, object]] = []
    for member in record.lives:
        if member.wrong or member.trace_failed:
            record.defects.append(member.wrong or member.trace_failed)
        if member.ending not in ("crash", "end") and (said := last_line(member.errors)):
            record.defects.append(f"{member.address} wrote to stderr: {said}")
        if member.ending != "leave":
            for sub in ("traces", "deliveries"):
                cut_last_line(folder / sub / f"{record.run}.{member.address}.jsonl")
            life = {"node": member.name, "incarnation": member.incarnation}
            crashes.append({"kind": "crash", "run": record.run, **life})
            rows.append({"member": member.address, "event": "crash"})
    for sub, lines in (("traces", crashes), ("deliveries", rows)):
        if lines:
            text = "".join(json.dumps(line) + "\n" for line in lines)
            name = f"{record.run}.faults.jsonl"
            (folder / sub / name).write_text(text, encoding="utf-8")


def cut_last_line(path: Path) -> None:
    """Cut a line that a kill left unfinished: what it would have told had not left the process."""
    if path.is_file():
        with path.open("rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)


def name_of(number: int) -> str:
    """a, b, c, ... z, m26, m27, ..."""
    return chr(ord("a") + number) if number < 26 else f"m{number}"
