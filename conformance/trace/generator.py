"""Good traces of any protocol with `Binding`: its real cores, recorded on a walk of the model.

A process that the environment ends or begins anew has its file closed with a crash record; a new
incarnation has a new file. A walk ends where a node goes on of which the trace cannot tell.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.bindings.recorded import FromBinding
from raincheck.conformance.damage.second import Judge, Second
from raincheck.conformance.replay.cores import Cores, Problem
from raincheck.conformance.replay.drawing import drawn
from raincheck.impl.messages import Address
from raincheck.impl.recording.core import Recorder, attach
from raincheck.impl.recording.described import Described
from raincheck.impl.recording.writer import TraceWriter
from raincheck.model.machine.composed import Composed, Move


class RecordedCores:
    """The cores of one walk, and their records: by default the binding's own, and usual ones.

    A protocol whose records say more than its model (`Binding.recorded`) overrides what differs.
    """

    def __init__(self, binding: Binding) -> None:
        self.binding = binding
        """The binding of the cores that are to be made."""

    def described(self) -> Described:
        """Return the description of one core's records."""
        return FromBinding(self.binding)

    def observed(self, core: Any) -> Any:
        """Return the core whose events are recorded, if this one only drives it."""
        return core

    def constants(self, system: Composed[Any, Any]) -> dict[str, Any]:
        """Return what the header says of the rules."""
        usual = asdict(self.binding.rules())
        return {k: v for k, v in asdict(system.rules).items() if v != usual[k]}

    def second(self, system: Composed[Any, Any]) -> Second:
        """Return the judge that decides whether damaged records are of a behaviour."""
        return Judge(self.binding, system)

    def drawn(self, system: Composed[Any, Any], state: Any, random: Random) -> Move[Any] | None:
        """Return the next move, or None: then the walk ends."""
        return drawn(system, state, random, self.binding.seldom)


def record_walk(
    binding: Binding,
    system: Composed[Any, Any],
    folder: Path,
    *,
    run: str = "walk",
    seed: int = 1,
    steps: int = 60,
) -> int:
    """Write the traces of one random walk into the folder; return how many steps it had.

    Raises Problem where a core differs from the model, with the records up to there written.
    """
    random = Random(f"{run}/{seed}")
    recorded = (binding.recorded or RecordedCores)(binding)
    binding = recorded.binding
    cores = Cores(binding, system)
    state = random.choice(list(system.initial()))
    cores.begin(state)
    lives: dict[str, _Life] = {}
    begun: set[Address] = set()
    constants = recorded.constants(system)
    crashes: list[dict[str, Any]] = []

    def begin(node: str) -> None:
        who = Address(node, getattr(cores.locals[node], "incarnation", 0))
        if who in begun:
            return  # a life has one file, and this one's is closed
        begun.add(who)
        writer = TraceWriter(folder, run, who, protocol=binding.protocol)
        described = recorded.described()
        recorder = Recorder(described, run, who, system.nodes, writer, constants=constants)
        core = recorded.observed(cores.cores[node])
        recorder.begin(core)
        attach(core, recorder)
        lives[node] = _Life(who, binding.protocol, writer, recorder)

    for node in system.nodes:
        begin(node)
    taken = 0
    while taken < steps:
        move = recorded.drawn(system, state, random)
        if move is None:
            break
        handled = move.node is not None and move.action not in binding.unhandled
        if handled and move.node not in lives:
            break
        before = dict(cores.cores)
        try:
            cores.perform(move)
        except Problem:
            for open_life in lives.values():
                open_life.writer.close()
            raise
        state = move.target
        taken += 1
        for node in system.nodes:
            if cores.cores[node] is before[node]:
                continue
            life = lives.pop(node, None)
            if life is not None:
                life.writer.close()
                crashes.append(life.crash(run))
            begin(node)
    for node, life in lives.items():
        life.recorder.footer(recorded.observed(cores.cores[node]))
        life.writer.close()
    if crashes:
        text = b"".join(msgspec.json.encode(crash) + b"\n" for crash in crashes)
        (folder / f"{run}.faults.jsonl").write_bytes(text)
    return taken


class _Life:
    """A process while it is recorded."""

    def __init__(
        self, who: Address, protocol: str, writer: TraceWriter, recorder: Recorder
    ) -> None:
        self.who, self.protocol = who, protocol
        self.writer, self.recorder = writer, recorder

    def crash(self, run: str) -> dict[str, Any]:
        """The harness's word that it is gone."""
        node, incarnation = self.who
        about = {"run": run, "node": node, "incarnation": incarnation}
        return {"kind": "crash", **about, "traced": [self.protocol]}
