"""Faults planted for what is between files: `trace/channels_compared.py`, `judged.py`, `run.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from .pingpong_talk import (
    Records,
    at,
    files,
    good,
    heard,
    judged,
    judged_files,
    note,
    plant,
    talk,
    unsure,
)
from .planting import Complaints, Plant, Planted

_JUDGE: Final = "judge: "
_COMPARE: Final = "compare: "
_ROW: Final = ", int(received[at, INDEX]), int(numbered[at])"
_TOLD: Final = "what was found is told all the same"


def _only(words: str, good: Records, bad: Records, **more: Any) -> Plant:
    """Plant another run than the usual one."""
    return Plant(
        good=lambda folder: judged(folder, good),
        bad=lambda folder: judged(folder, bad),
        words=words,
        **more,
    )


def _twin(folder: Path) -> Complaints:
    """Add a second file of a."""
    judged(folder, talk())
    (folder / "twin.jsonl").write_bytes((folder / "r1.a.jsonl").read_bytes())
    return judged_files(folder)


def _lonely(records: Records) -> Records:
    """Remove the file of b."""
    return {"a": records["a"]}


def _unrecorded(records: Records) -> None:
    """a's file ends before its hail, and does not say that an event is missing."""
    del records["a"][2:]


_ALONE: Final = files(note("a", 1, 1))
_CIRCLE: Final = (
    files(note("a", 1, 1), heard("b", "Note", 1, 1), note("b", 5, 1), heard("a", "Note", 5, 1)),
    files(heard("a", "Note", 5, 1), note("a", 1, 1), heard("b", "Note", 1, 1), note("b", 5, 1)),
)

_CONTENTS: Final = plant(
    '["fifo","b",0,"a",0,1] was sent with other contents',
    at("a", 4, args__number=6, told=[["Heard", [6]]]),
)
_NEVER: Final = plant(
    '["Hail","a",0,"b",0] was never sent',
    at("b", 2, args__number=9, told=[["Heard", [9]]]),
)
_EARLY: Final = _only('["fifo","b",0,"a",0,1] was received before it was sent', *_CIRCLE)

PLANTED: Final[dict[str, Planted]] = {
    "trace.channels_compared": {
        f"{_COMPARE}bad += [Bad(ABSENT{_ROW}) for at in lost]": _NEVER,
        f"{_COMPARE}bad += [Bad(CONTENTS{_ROW}) for at in other]": _CONTENTS,
        "circle: stuck.append(Stuck(who, mine.next, channel, mine.numbers[mine.at]))": _EARLY,
    },
    "trace.judged": {
        f"{_JUDGE}verdict = VIOLATED": plant(
            "r1: violated",
            at("b", 5, changed__said=7),
            then="not what the model does",
            why=_TOLD,
        ),
        f"{_JUDGE}findings": unsure(
            "r1: inconclusive",
            lambda records: records["b"].pop(),
            then="no footer",
            why=_TOLD,
        ),
        f"{_JUDGE}problems": unsure(
            "r1: inconclusive",
            lambda records: records["b"].append(records["b"][-1]),
            then="a record after the footer",
            why="what was put aside is told all the same",
        ),
        f"{_JUDGE}not any((report.events for report in by_who.values()))": _only(
            "r1: inconclusive", talk(), files()
        ),
        "_records: no footer: events may be missing at the end": unsure(
            "no footer: events may be missing at the end", lambda records: records["b"].pop()
        ),
        "_records: there is no file of node …": _only(
            "there is no file of node b", _ALONE, _lonely(_ALONE)
        ),
        "_unsent: … was sent with other contents": _CONTENTS,
        "_unsent: … was never sent": _NEVER,
        "_unsent: …: the records of ….… do not show its sending": unsure(
            '["Hail","a",0,"b",0]: the records of a.0 do not show its sending',
            _unrecorded,
            crashed="a",
        ),
        f"{_JUDGE}… was received before it was sent": _EARLY,
    },
    "trace.run": {
        "check_files: a second file for … ….…: … is one": Plant(
            good=good(), bad=_twin, words="a second file for r1 a.0: r1.a.jsonl is one"
        ),
    },
}
