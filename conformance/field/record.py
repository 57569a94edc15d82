"""The common part of the records of all runs, and the files that members cannot finish."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from .lives import AnyLife, last_line

AnyPlan = TypeVar("AnyPlan")


@dataclass(slots=True)
class RunRecord(Generic[AnyPlan, AnyLife]):
    """The record of one run, apart from the traces."""

    run: str
    seed: int
    plan: AnyPlan
    done: list[dict[str, Any]] = field(default_factory=list)
    """All acts of the harness, in order."""
    lives: list[AnyLife] = field(default_factory=list)
    failure: str = ""
    """Why the run did not come to its end."""
    defects: list[str] = field(default_factory=list)
    """Lines of members on stderr, wrong contents, traces that stopped."""
    seconds: float = 0.0

    def faults(self) -> dict[str, int]:
        """Return how often each kind of process fault was done."""
        counts: dict[str, int] = {}
        for each in self.done:
            counts[each["kind"]] = counts.get(each["kind"], 0) + 1
        return counts

    def gather_defects(self) -> None:
        """Note the defects of each life."""
        for member in self.lives:
            if member.wrong or member.trace_failed:
                self.defects.append(member.wrong or member.trace_failed)
            if member.ending not in ("crash", "end") and (said := last_line(member.errors)):
                self.defects.append(f"{member.address} wrote to stderr: {said}")

    def write_crashes(self, folder: Path, killed: Iterable[tuple[str, int]]) -> None:
        """Record among the traces which processes were killed, by names and incarnations."""
        crashes = [
            {"kind": "crash", "run": self.run, "node": node, "incarnation": incarnation}
            for node, incarnation in killed
        ]
        if crashes:
            write_rows(folder / "traces" / f"{self.run}.faults.jsonl", crashes)


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write a file with one JSON object a line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def cut_last_line(path: Path) -> None:
    """Cut a line that a kill left unfinished: nothing that depends on it had left the process."""
    if path.is_file():
        with path.open("rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)


def name_of(number: int) -> str:
    """a, b, c, ... z, m26, m27, ..."""
    return chr(ord("a") + number) if number < 26 else f"m{number}"
