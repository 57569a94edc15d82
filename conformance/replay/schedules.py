"""Files of schedules: one JSON object per line, each a walk or a run to be repeated."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from raincheck.conformance.bindings.binding import Binding, MakeCore, binding_of
from raincheck.conformance.cases.tables import Case
from raincheck.conformance.errors import UsageError
from raincheck.conformance.outcome import HOLDS, VIOLATED, Result
from raincheck.model.machine.composed import Composed

from .cores import Cores, Mismatch, Problem
from .replayable import instance_of, system_for
from .steps import check_step, find_move


class Schedules:
    """A file of schedules that appears whole or not at all; without a path nothing is written."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.draft = None if path is None else path.with_name(f".{path.name}.{os.getpid()}")

    def __enter__(self) -> Schedules:
        if self.draft is not None:
            try:
                self._file = self.draft.open("w", encoding="utf-8", newline="\n")
            except OSError as error:
                raise UsageError(
                    f"Cannot write {self.path} ({error.strerror}): name another file."
                ) from error
        return self

    @property
    def wanted(self) -> bool:
        """Whether a file is written."""
        return self.draft is not None

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one schedule."""
        if self.draft is not None:
            self._file.write(json.dumps(record) + "\n")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.draft is None or self.path is None:
            return
        self._file.close()
        if kind is None:
            self.draft.replace(self.path)
        else:
            self.draft.unlink(missing_ok=True)


def play(
    binding: Binding,
    instance: tuple[str, Composed[Any, Any]],
    steps: Sequence[Mapping[str, Any]],
    make: MakeCore | None = None,
) -> Mismatch | None:
    """Play a schedule on the model and on the real cores; raise UsageError if it does not fit."""
    name, system = instance
    cores = Cores(binding, system, make)
    (state, *_) = system.initial()
    moves = []
    try:
        cores.begin(state)
        for number, step in enumerate(steps, 1):
            move = find_move(system, state, step)
            if move is None:
                raise UsageError(f"step {number}, {step['action']}, is not possible in {name}.")
            moves.append(move)
            cores.perform(move)
            state = move.target
    except Problem as problem:
        record = {"steps": steps[: len(moves)]}
        return Mismatch(name, tuple(moves), problem.problem, problem.differences, record)
    return None


def play_record(record: Mapping[str, Any], cases: Mapping[str, Case], where: str) -> Result:
    """Play one record of a file of schedules, which names a case or brings an instance along."""
    protocol, case = record.get("protocol", "sequencer"), str(record.get("case", ""))
    try:
        binding = binding_of(protocol)
        if "instance" in record:
            system = instance_of(binding, record["instance"], case).system
        elif case not in cases:
            raise UsageError(f"the catalog has no case {case!r}.")
        else:
            system = system_for(cases[case])
        found = play(binding, (case, system), record["steps"])
    except (KeyError, TypeError, ValueError, UsageError) as error:
        raise UsageError(f"{where}: {error}") from error
    figures: dict[str, object] = {"steps": len(record["steps"])}
    name = f"{case or 'schedule'}:{where.rpartition(':')[2]}"
    if found is None:
        return Result(name, protocol, HOLDS, figures=figures)
    return Result(name, protocol, VIOLATED, figures=figures, detail=found.text())


def read_schedules(path: Path) -> Iterator[dict[str, Any]]:
    """Yield each record of a file of schedules; raise UsageError if one is bad."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Cannot read {path} ({error}): name a file of schedules.") from error
    if not lines:
        raise UsageError(f"{path} is empty: name a file of schedules.")
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            for step in record["steps"]:
                check_step(step)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{path}:{number} is no schedule: {error}.") from error
        yield record
