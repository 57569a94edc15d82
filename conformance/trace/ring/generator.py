"""Traces of a ring in virtual time: real members, recorded as those of a real run are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from raincheck.conformance.field.ring.locks_trace import RingTraces
from raincheck.impl.messages import Address
from raincheck.impl.ring.node import RingNode
from raincheck.impl.simulation.ring import RingSimulator

NAMES = ("a", "b", "c", "d", "e", "f", "g", "h")


class RecordedRing(RingSimulator):
    """A ring whose members write traces."""

    def __init__(
        self, folder: Path, run: str = "sim-1", *, locks: bool = False, **how: Any
    ) -> None:
        """`locks`: LOCKS is recorded as well; `how` is the simulator's."""
        self._locks = locks
        super().__init__(**how)
        self.folder, self.name = folder, run
        self._traces: dict[str, RingTraces] = {}
        self._killed: set[Address] = set()
        self._came: set[str] = set()

    def crash(self, name: str) -> None:
        """The member's process ends without a word."""
        super().crash(name)
        self._traces.pop(name).abandon()
        self._killed.add(self[name].core.me)

    def close(self) -> None:
        """Say who was killed, and who never came; nothing is missing at the end of the others."""
        for trace in self._traces.values():
            trace.close()
        crashes = [
            {"kind": "crash", "run": self.name, "node": node, "incarnation": incarnation}
            for node, incarnation in sorted(self._killed)
        ]
        absent = [
            {"kind": "absent", "run": self.name, "node": node}
            for node in NAMES
            if node not in self._came
        ]
        if crashes or absent:
            text = "".join(json.dumps(each) + "\n" for each in [*crashes, *absent])
            (self.folder / f"{self.name}.faults.jsonl").write_text(text)

    def _watch(self, name: str, node: RingNode) -> None:
        self._killed.discard(node.address)
        self._came.add(name)
        self._traces[name] = RingTraces(
            node,
            self.folder,
            self.name,
            NAMES,
            clock=lambda: self.now,
            problem=_fails,
            locks=self._locks,
        )
        super()._watch(name, node)


def _fails(sentence: str) -> None:
    raise OSError(sentence)


def record_ring(folder: Path, run: str = "sim-1", **how: Any) -> None:
    """A ring that sees a crash, a member that comes back, one that joins, one that leaves."""
    ring = RecordedRing(folder, run, **how)
    ring.found("a", "b", "c")
    ring.run_until(lambda: ring.in_one_view("a", "b", "c"))
    for name in ("a", "b", "c"):
        ring.multicast(name, [b"one", b"two"])
    ring.run(0.2)
    ring.crash("b")
    ring.run_until(lambda: ring.in_one_view("a", "c"))
    ring.join("d", contacts=["a"])
    ring.recover("b")
    ring.run_until(lambda: ring.in_one_view("a", "b", "c", "d"))
    ring.multicast("d", [b"three"])
    ring.multicast("b", [b"four"])
    ring.crash("c")
    ring.forget("c", contacts=["a"])
    ring.run_until(lambda: len(ring.up) == 4 and ring.in_one_view("a", "b", "c", "d"))
    ring.leave("a")
    ring.run(0.5)
    ring.close()
