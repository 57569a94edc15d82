"""The files of one recorded run, as records that can be changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

Record: TypeAlias = dict[str, Any]
CRASHES = "faults.jsonl"
"""The end of the name of the file with the harness's crash records."""


@dataclass(slots=True)
class Files:
    """A run's files by name: each a list of records, or bytes that are none."""

    records: dict[str, list[Record]] = field(default_factory=dict)
    raw: dict[str, bytes] = field(default_factory=dict)
    """What stands in a file in place of its records."""

    @staticmethod
    def read(folder: Path) -> Files:
        """Read the files of one run."""
        return Files(
            {
                path.name: [json.loads(line) for line in path.read_text().splitlines()]
                for path in sorted(folder.glob("*.jsonl"))
            }
        )

    def copy(self) -> Files:
        """Return a copy that shares nothing with this one."""
        return Files(deepcopy(self.records), dict(self.raw))

    def write(self, folder: Path) -> None:
        """Write the files into a folder, in place of what is there."""
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob("*.jsonl"):
            path.unlink()
        for name, records in self.records.items():
            (folder / name).write_bytes(self.raw.get(name, text_of(records)))

    def nodes(self) -> list[str]:
        """Return the names of the files that record a node."""
        return [name for name in self.records if not name.endswith(CRASHES)]

    def events(self) -> Iterator[tuple[str, int, Record]]:
        """Yield each event with its file and its place there."""
        for name in self.nodes():
            for place, record in enumerate(self.records[name]):
                if record.get("kind") == "event":
                    yield name, place, record


def text_of(records: list[Record]) -> bytes:
    """Return the records as JSON Lines."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)
