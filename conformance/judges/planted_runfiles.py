"""Faults planted for the rules of `trace/runfiles.py`: which files belong to which run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from raincheck.conformance.trace.events import Crash, Footer, encode_lines
from raincheck.conformance.trace.tracegen import Trace

from .planting import Planted
from .sequencer_story import D, sets, unsure


def _empty(folder: Path) -> None:
    (folder / "empty.jsonl").touch()


def _twin(folder: Path) -> None:
    (folder / "twin.jsonl").write_bytes((folder / "r1.a.0.jsonl").read_bytes())


def _mixed_faults(folder: Path) -> None:
    footer = Footer(run="r1", node="c", incarnation=0, index=1)
    records = [Crash(run="r1", node="c", incarnation=0), footer]
    (folder / "faults.jsonl").write_bytes(encode_lines(records))


def _other_constants(trace: Trace) -> None:
    sets(constants={"VirtualSynchrony": False, "HoldSends": True})(trace[D][0])


def _other_nodes(trace: Trace) -> None:
    sets(nodes=("a", "b", "c", "d", "e"))(trace[D][0])


_TWIN: Final = unsure("a second file for r1 a.0: r1.a.0.jsonl is one", spoil=_twin)
_MIXED: Final = unsure("only crash records belong here", spoil=_mixed_faults)
_OTHER: Final = "r1.d.0.jsonl line 1: other constants or nodes than r1.a.0.jsonl"

PLANTED: Final[dict[str, Planted]] = {
    "trace.runfiles": {
        "index_runs: no header: the file is empty or does not begin with one": unsure(
            "empty.jsonl line 1: no header: the file is empty or does not begin with one",
            spoil=_empty,
        ),
        "index_runs: run.problems.append(Problem(str(path), 1, reason))": _TWIN,
        "_clash: a second file for … ….…: … is one": _TWIN,
        "_clash: other.constants != header.constants": unsure(_OTHER, _other_constants),
        "_clash: sorted(other.nodes) != sorted(header.nodes)": unsure(_OTHER, _other_nodes),
        "_faults: only crash records belong here": _MIXED,
        "_faults: report(problem)": _MIXED,
    },
}
