"""Faults planted for the rules of `trace/run.py`: which files belong to which run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from raincheck.conformance.trace.events import Crash, Footer, encode_lines

from .planting import Planted
from .sequencer_story import unsure


def _empty(folder: Path) -> None:
    (folder / "empty.jsonl").touch()


def _nonsense(folder: Path) -> None:
    (folder / "bad.jsonl").write_text("nonsense\n")


def _headless(folder: Path) -> None:
    footer = Footer(run="r1", node="a", incarnation=0, index=1)
    (folder / "headless.jsonl").write_bytes(encode_lines([footer]))


def _twin(folder: Path) -> None:
    (folder / "twin.jsonl").write_bytes((folder / "r1.a.0.jsonl").read_bytes())


def _mixed_faults(folder: Path) -> None:
    footer = Footer(run="r1", node="c", incarnation=0, index=1)
    records = [Crash(run="r1", node="c", incarnation=0), footer]
    (folder / "faults.jsonl").write_bytes(encode_lines(records))


def _lost_file(folder: Path) -> None:
    crash = Crash(run="r1", node="a", incarnation=7, traced=("sequencer",))
    (folder / "faults.jsonl").write_bytes(encode_lines([crash]))


def _recorded(path: Path, *traced: str) -> None:
    head, _, events = path.read_bytes().partition(b"\n")
    header = {**json.loads(head), "traced": traced}
    path.write_bytes(json.dumps(header).encode() + b"\n" + events)


def _lost_layer(folder: Path) -> None:
    for path in folder.glob("r1.*.jsonl"):
        _recorded(path, "flush", "sequencer")


def _disagreeing(folder: Path) -> None:
    _recorded(folder / "r1.b.0.jsonl", "sequencer")


PLANTED: Final[dict[str, Planted]] = {
    "trace.run": {
        "sort: the first record is not a header: nothing in this file can be checked": unsure(
            "the first record is not a header: nothing in this file can be checked",
            spoil=_headless,
        ),
        "sort: found.problems.append(problems[0])": unsure(
            "bad.jsonl line 1: not JSON", spoil=_nonsense
        ),
        "sort: no header: the file is empty or does not begin with one": unsure(
            "empty.jsonl line 1: no header: the file is empty or does not begin with one",
            spoil=_empty,
        ),
        "sort: there is no file of … of …, which left one": unsure(
            "faults.jsonl line 1: there is no file of sequencer of a.7, which left one",
            spoil=_lost_file,
        ),
        "_untraced: other protocols than … says are said to be recorded of …": unsure(
            "b.0.jsonl line 1: other protocols than r1.a.0.jsonl says are said to be recorded",
            spoil=_disagreeing,
        ),
        "_untraced: there is no file of … of …, which was recorded": unsure(
            "there is no file of flush of r1, which was recorded", spoil=_lost_layer
        ),
        "gone_in: only crash records belong here": unsure(
            "only crash records belong here", spoil=_mixed_faults
        ),
        "second_file: a second file for … ….…: … is one": unsure(
            "a second file for r1 a.0: r1.a.0.jsonl is one", spoil=_twin
        ),
    },
}
