"""Recorded runs of a ring in virtual time: real members and real traces, without processes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from raincheck.conformance.field.ringtrace import Trace
from raincheck.conformance.traces.checker import RunVerdict
from raincheck.conformance.traces.facedrun import check_others, sorted_out
from raincheck.conformance.traces.tracefile import trace_files
from raincheck.impl.raincore import Raincore
from raincheck.impl.raincore_simulator import RingSimulator

NAMES = ("a", "b", "c", "d")


class Recorded(RingSimulator):
    """A ring whose members write traces, as those of a real run do."""

    def __init__(self, folder: Path, run: str = "sim-1", **how: Any) -> None:
        super().__init__(**how)
        self.folder, self.name = folder, run
        self._traces: dict[str, Trace] = {}
        self._killed: set[tuple[str, int]] = set()

    def _watch(self, name: str, core: Raincore) -> None:
        self._killed.discard((core.me.node, core.me.incarnation))
        self._traces[name] = Trace(
            core, self.folder, self.name, NAMES, clock=lambda: self.now, problem=_fails
        )
        super()._watch(name, core)

    def crash(self, name: str) -> None:
        super().crash(name)
        self._traces.pop(name).abandon()
        self._killed.add(tuple(self[name].core.me))

    def close(self) -> None:
        """Say who was killed; nothing is missing at the end of the others."""
        for trace in self._traces.values():
            trace.close()
        crashes = [
            {"kind": "crash", "run": self.name, "node": node, "incarnation": incarnation}
            for node, incarnation in sorted(self._killed)
        ]
        if crashes:
            text = "".join(json.dumps(each) + "\n" for each in crashes)
            (self.folder / f"{self.name}.faults.jsonl").write_text(text)


def _fails(sentence: str) -> None:
    raise AssertionError(sentence)


def checked(folder: Path) -> RunVerdict:
    """What the traces of one run say."""
    (verdict,) = check_others(sorted_out(trace_files([folder])))
    return verdict


def records(path: Path) -> list[dict[str, Any]]:
    """The records of a file, to be damaged."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewritten(path: Path, lines: list[dict[str, Any]]) -> None:
    """Write them again."""
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))


def files(folder: Path) -> Iterator[Path]:
    """The members' files."""
    return iter(sorted(folder.glob("*.raincore.jsonl")))
