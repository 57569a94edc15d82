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
from raincheck.conformance.replay.replay import Cores
from raincheck.impl.messages import Address
from raincheck.impl.recording.core import Recorder, attach
from raincheck.impl.recording.described import Described
from raincheck.impl.recording.writer import TraceWriter
from raincheck.model.machine.composed import Composed


def record_walk(
    binding: Binding,
    system: Composed[Any, Any],
    folder: Path,
    *,
    run: str = "walk",
    seed: int = 1,
    steps: int = 60,
    described: Described | None = None,
) -> int:
    """Write the traces of one random walk into the folder; return how many steps it had."""
    random = Random(f"{run}/{seed}")
    cores = Cores(binding, system)
    state = random.choice(list(system.initial()))
    cores.begin(state)
    lives: dict[str, _Life] = {}
    begun: set[Address] = set()
    usual = asdict(binding.rules())
    constants = {k: v for k, v in asdict(system.rules).items() if v != usual[k]}
    crashes: list[dict[str, Any]] = []

    def begin(node: str) -> None:
        who = Address(node, getattr(cores.locals[node], "incarnation", 0))
        if who in begun:
            return  # a life has one file, and this one's is closed
        begun.add(who)
        writer = TraceWriter(folder, run, who, protocol=binding.protocol)
        recorder = Recorder(
            described or FromBinding(binding),
            run,
            who,
            system.nodes,
            writer,
            constants=constants,
        )
        recorder.begin(cores.cores[node])
        attach(cores.cores[node], recorder)
        lives[node] = _Life(who, writer, recorder)

    for node in system.nodes:
        begin(node)
    taken = 0
    while taken < steps:
        by_action: dict[str, list[Any]] = {}
        for each in system.moves(state):
            by_action.setdefault(each.action, []).append(each)
        if not by_action:
            break
        move = random.choice(by_action[random.choice(list(by_action))])
        handled = move.node is not None and move.action not in binding.unhandled
        if handled and move.node not in lives:
            break
        before = dict(cores.cores)
        cores.perform(move)
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
        life.recorder.footer(cores.cores[node])
        life.writer.close()
    if crashes:
        text = b"".join(msgspec.json.encode(crash) + b"\n" for crash in crashes)
        (folder / f"{run}.faults.jsonl").write_bytes(text)
    return taken


class _Life:
    """A process while it is recorded."""

    def __init__(self, who: Address, writer: TraceWriter, recorder: Recorder) -> None:
        self.who, self.writer, self.recorder = who, writer, recorder

    def crash(self, run: str) -> dict[str, Any]:
        """The harness's word that it is gone."""
        node, incarnation = self.who
        return {"kind": "crash", "run": run, "node": node, "incarnation": incarnation}
