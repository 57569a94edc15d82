"""Faults planted for the rules of `trace/run.py`: which files belong to which run."""

from __future__ import annotations

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


PLANTED: Final[dict[str, Planted]] = {
    "trace.run": {
        "sorted_out: the first record is not a header: nothing in this file can be checked": unsure(
            "the first record is not a header: nothing in this file can be checked",
            spoil=_headless,
        ),
        "sorted_out: found.problems.append(problems[0])": unsure(
            "bad.jsonl line 1: not JSON", spoil=_nonsense
        ),
        "sorted_out: no header: the file is empty or does not begin with one": unsure(
            "empty.jsonl line 1: no header: the file is empty or does not begin with one",
            spoil=_empty,
        ),
        "_gone: only crash records belong here": unsure(
            "only crash records belong here", spoil=_mixed_faults
        ),
        "follow_process: a second file for … ….…: … is one": unsure(
            "a second file for r1 a.0: r1.a.0.jsonl is one", spoil=_twin
        ),
    },
}
