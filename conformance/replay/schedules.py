"""Files of schedules: one JSON object per line, a walk or a run that somebody wants again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.cases.tables import Case
from raincheck.conformance.errors import UsageError
from raincheck.conformance.outcome import HOLDS, VIOLATED, Result
from raincheck.model.sequencer.system import SequencerSystem

from . import protocol as verticals
from .moves import Move
from .pair import Differs, Pair


class Schedules:
    """A file of schedules that appears whole or not at all; nothing if none is wanted."""

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
        """Whether there is a file."""
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


def play(system: SequencerSystem, name: str, moves: Sequence[Move], where: str) -> Result:
    """Play a schedule on the model and on the real cores side by side."""
    pair = Pair(system, name=name)
    try:
        for move in moves:
            pair.play(move)
    except Differs as parted:
        figures: dict[str, object] = {"steps": len(pair.moves)}
        text = parted.mismatch.text()
        return Result(name, "sequencer", VIOLATED, figures=figures, detail=text)
    except (ValueError, KeyError) as error:
        raise UsageError(f"{where}: {error}; the schedule is not one of this instance.") from error
    return Result(name, "sequencer", HOLDS, figures={"steps": len(pair.moves)})


def play_faces(
    protocol: str, case: Case, name: str, record: Mapping[str, Any], where: str
) -> Result:
    """Play a schedule of a protocol that has Binding."""
    try:
        found = verticals.play(binding_of(protocol), case, record["steps"])
    except (KeyError, TypeError, UsageError) as error:
        raise UsageError(f"{where}: {error}") from error
    figures: dict[str, object] = {"steps": len(record["steps"])}
    if found is None:
        return Result(name, protocol, HOLDS, figures=figures)
    return Result(name, protocol, VIOLATED, figures=figures, detail=found.text())


def read_schedules(path: Path) -> Iterator[tuple[dict[str, Any], list[Move]]]:
    """Yield each record of a file of schedules with its moves; raise UsageError if one is bad."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Cannot read {path} ({error}): name a file of schedules.") from error
    if not lines:
        raise UsageError(f"{path} is empty: name a file of schedules.")
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            if record.get("protocol", "sequencer") != "sequencer":
                yield record, []
                continue
            yield record, [Move.from_json(step) for step in record["steps"]]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{path}:{number} is no schedule: {error}.") from error
