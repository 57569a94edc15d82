"""The settings and the record of a run, and the files that members cannot finish."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

from raincheck.impl.recording.sending import TraceSender, place_of

from .faults import AnyFault, Plan
from .lives import AnyLife, last_line


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The settings of the runs of any group."""

    members: int = 3
    """The number of members that found the group."""
    kinds: tuple[str, ...] = ()
    """The kinds of faults."""
    seconds: float
    """Seconds of load."""
    rate: float
    """Messages per second and member."""
    size: int
    """Bytes of a message."""
    undo: str = ""
    """The repairs that are undone."""
    trace_to: str = ""
    """A reader's socket, to which the traces are sent as well."""


@dataclass(slots=True)
class RunRecord(Generic[AnyFault, AnyLife]):
    """The record of one run, apart from the traces."""

    run: str
    seed: int
    plan: Plan[AnyFault]
    done: list[dict[str, Any]] = field(default_factory=list)
    """All acts of the harness, in order."""
    lives: list[AnyLife] = field(default_factory=list)
    failure: str = ""
    """Why the run did not come to its end."""
    defects: list[str] = field(default_factory=list)
    """Lines of members on stderr, wrong contents, traces that stopped."""
    seconds: float = 0.0
    nodes: tuple[str, ...] = ()
    """All names that the traces' headers list; some are of spares that may never come."""
    unsent: int | None = None
    """How many records a reader beside the files was not sent, as far as members lived to say so;
    None if there is no such reader."""

    def faults(self) -> dict[str, int]:
        """Return how often each kind of process fault was done."""
        counts: dict[str, int] = {}
        for each in self.done:
            counts[each["kind"]] = counts.get(each["kind"], 0) + 1
        return counts

    def collect(self, folder: Path) -> list[AnyLife]:
        """Note all defects, and complete the traces: cut half-written lines, record who crashed.

        Return the members that did not come to the end of their traces.
        """
        for member in self.lives:
            if member.wrong or member.trace_failed:
                self.defects.append(member.wrong or member.trace_failed)
            if member.ending not in ("crash", "end") and (said := last_line(member.errors)):
                self.defects.append(f"{member.address} wrote to stderr: {said}")
        # A later process may have continued the files of an earlier one.
        last = {member.address: member for member in self.lives}
        killed = [member for member in last.values() if member.killed]
        crashes = []
        for member in killed:
            paths = sorted((folder / "traces").glob(f"{self.run}.{member.address}.*jsonl"))
            for path in paths:
                cut_last_line(path)
            about = {"run": self.run, "node": member.name, "incarnation": member.incarnation}
            traced = sorted(filter(None, map(protocol_of, paths)))
            crashes.append({"kind": "crash", **about, "traced": traced})
        came = {member.name for member in self.lives}
        absent = [
            {"kind": "absent", "run": self.run, "node": node}
            for node in self.nodes
            if node not in came
        ]
        if crashes or absent:
            write_rows(self._faults(folder), [*crashes, *absent])
        return killed

    def _faults(self, folder: Path) -> Path:
        return folder / "traces" / f"{self.run}.faults.jsonl"

    def tell_reader(self, folder: Path, reader: str) -> None:
        """Tell the reader beside the files who is gone, which ends what it waits for; count what
        it was not sent.
        """
        place, path = place_of(reader), self._faults(folder)
        assert place is not None
        sender = TraceSender(place)
        rows = path.read_bytes().splitlines() if path.is_file() else []
        for row in rows:
            sender(json.loads(row))
        sender.close()
        self.unsent = sum(life.unsent for life in self.lives) + sender.lost


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write a file with one JSON object a line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def protocol_of(path: Path) -> str:
    """Return of which protocol the traces in a file are; "" of one without a header."""
    with path.open("rb") as file:
        head = file.readline()
    return str(json.loads(head)["protocol"]) if head else ""


def cut_last_line(path: Path) -> None:
    """Cut a line that a kill left unfinished: nothing that depends on it had left the process."""
    if path.is_file():
        with path.open("rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)


def name_of(number: int) -> str:
    """a, b, c, ... z, m26, m27, ..."""
    return chr(ord("a") + number) if number < 26 else f"m{number}"
