"""A member's trace, written ahead: no state is kept and no datagram leaves before its record.

A process that comes back with its state continues the file of the one before. The last record of
that one may have led to a state that was not kept; then it had no consequence and is cut off.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.bindings.recorded import FromBinding
from raincheck.impl.messages import Address
from raincheck.impl.recording.core import Recorder, attach, detach
from raincheck.impl.recording.writer import Record, TraceWriter

from .record import PROTOCOL


class Trace:
    """The trace of one process: of RAINCORE, or of a protocol above it that derives from this."""

    protocol = PROTOCOL

    def __init__(
        self,
        core: Any,
        folder: Path,
        run: str,
        nodes: tuple[str, ...],
        *,
        clock: Callable[[], float],
        problem: Callable[[str], None],
        traced: tuple[str, ...] = (),
    ) -> None:
        """`traced`: all protocols that are recorded of this process."""
        self._core = core
        me: Address = core.me
        binding = binding_of(self.protocol)
        real = binding.real is not None
        described = FromBinding(binding.of_traces(real=real, merges=False))
        path = folder / f"{run}.{me.node}.{me.incarnation}.{self.protocol}.jsonl"
        before = path.exists()
        self._writer = TraceWriter(
            folder, run, me, buffer=0, problem=problem, protocol=self.protocol,
            open_file=_append if before else None,
        )  # fmt: skip
        self._recorder = Recorder(
            described, run, me, nodes, self._writer,
            constants=undone(core.repairs), real=real, traced=traced, clock=clock,
        )  # fmt: skip
        if before:
            self._go_on(path, described.variables(core), clock())
        attach(core, self._recorder)

    def close(self) -> None:
        """Write that no event is missing, and record no more."""
        self._recorder.footer(self._core)
        self.abandon()

    def abandon(self) -> None:
        """Close the file as the end of a process does."""
        detach(self._core)
        self._writer.close()

    def _go_on(self, path: Path, state: Record, at: float) -> None:
        """Continue the file from where the state was kept; the process crashed there."""
        header, index, known = cut_to(path, state)
        common = {key: header[key] for key in ("run", "protocol", "node", "incarnation")}
        gone = {"kind": "event", **common, "action": "Crash", "args": {}, "received": None}
        crash = {**gone, "index": index + 1, "sent": [], "at": round(at, 6)}
        down = known | {"up": "down"}
        self._writer({**crash, "changed": {"up": "down"}})
        index += 1
        if state["up"] == "new":
            # As written, a life that has lost its state has the name of the one before.
            changed = {name: state[name] for name in state if state[name] != down[name]}
            self._writer({**crash, "index": index + 1, "action": "Forget", "changed": changed})
            index, down = index + 1, state
        self._recorder.resume(index, down)


def undone(repairs: Any) -> Record:
    """Return the repairs that a header names: those that are switched off."""
    return {name: on for name, on in asdict(repairs).items() if not on}


def cut_to(path: Path, state: Record) -> tuple[Record, int, Record]:
    """Cut the file behind the last record that led to this state, apart from being down.

    Return its header, that record's index, and the state. If no record led there, which a check of
    the trace will report, only an unfinished line is cut.
    """
    lines = whole_lines(path)
    header = json.loads(lines[0])
    folded: Record = dict(header["initial"])
    kept = (len(lines), 0, folded)
    matched = False
    index = 0
    for place, line in enumerate(lines[1:], 2):
        record = json.loads(line)
        if record["kind"] != "event":
            continue
        index = record["index"]
        folded = folded | record.get("given", {}) | record["changed"]
        same = all(folded[name] == state[name] for name in state if name != "up")
        if same or not matched:
            kept = (place, index, folded)
            matched = matched or same
    cut_behind(path, lines[: kept[0]])
    return header, kept[1], kept[2]


def whole_lines(path: Path) -> list[bytes]:
    """Return the lines of a file without one that a kill left unfinished."""
    lines = path.read_bytes().splitlines(keepends=True)
    return [line for line in lines if line.endswith(b"\n")]


def cut_behind(path: Path, lines: list[bytes]) -> None:
    """Cut a file behind these lines, with which it begins."""
    with path.open("rb+") as file:
        file.truncate(sum(map(len, lines)))


class Armed:
    """A process's act on itself when it has the token; nobody else could be in time."""

    def __init__(self, core: Any, later: Callable[[Callable[[], None]], object]) -> None:
        """`later` calls a function once the pending messages have left."""
        self._core = core
        self._later = later
        self.act = self.moment = ""
        self._passing = False
        self.tell: Callable[[], None] = lambda: None
        handle = core.handle

        def watched(event: Any) -> Any:
            before = core.token_state
            effects = handle(event)
            self._look(before, core.token_state)
            return effects

        core.handle = watched

    def arm(self, act: str, moment: str) -> None:
        """From now on it is to "kill" or "stop" itself at that moment, once."""
        self.act, self.moment = act, moment

    def locked(self) -> None:
        """The application has the lock."""
        if self.moment == "locked":
            self._strike()

    def sends(self) -> None:
        """Something is about to be sent; the state on which it depends has been kept."""
        if self._passing:
            self._passing = False
            self._strike()

    def _look(self, before: str, now: str) -> None:
        if not self.act or before == now:
            return
        if (now if self.moment == "holding" else before) != "eating":
            return
        if self.moment == "holding":
            self._strike()
        elif self.moment == "passing":
            self._passing = True
        elif self.moment == "passed":
            self._later(self._strike)

    def _strike(self) -> None:
        act, self.act, self.moment = self.act, "", ""
        if act:
            self.tell()
            os.kill(os.getpid(), signal.SIGKILL if act == "kill" else signal.SIGSTOP)


def _append(path: Path) -> Any:
    return path.open("ab")
