"""Planted inputs for the work of Spark's workers on a run's files: pieces, blocks, and problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np

from raincheck.conformance.spark import pipeline
from raincheck.conformance.spark.packing import packed, unpacked
from raincheck.conformance.trace.sequencer.tracegen import write_trace

from . import pingpong_talk, planted_channels, planted_streams, ring_run
from .around_runs import on_plan, write_group
from .planting import Ask, Complaints, Shown, sentences
from .sequencer_story import trace_of


@contextmanager
def _small() -> Iterator[None]:
    """Let a run of a few kilobytes be cut as a large one is."""
    names = ("MEETING", "PIECE", "WHOLE")
    before = [getattr(pipeline, name) for name in names]
    pipeline.MEETING, pipeline.PIECE, pipeline.WHOLE = (1 << 11, 3, 200)  # type: ignore[misc]
    try:
        yield
    finally:
        pipeline.MEETING, pipeline.PIECE, pipeline.WHOLE = before  # type: ignore[misc]


def _in_pieces(write: Callable[[Path], object]) -> Ask:
    """Ask what is said of a run that is cut in small pieces, and in which order."""

    def ask(folder: Path) -> Complaints:
        write(folder)
        with _small(), pingpong_talk.known():
            verdicts = on_plan(sorted(folder.iterdir()))
        runs = [f"{each.run} {each.protocol}: {each.verdict}" for each in verdicts]
        return [*runs, *sentences(verdicts)]

    return ask


def _cut(folder: Path) -> Complaints:
    """Return in how many blocks and pieces the ends of streams travel, and what is lost of them."""
    write_group(folder)
    (path,) = folder.glob("run.a.0.jsonl")
    names = {str(path): str(path)}
    told = []
    for blocks, most in ((1, 1 << 20), (4, 3)):
        found = pipeline.file_pieces("run", "sequencer", names, blocks, most)
        ends = [piece for piece in found if piece[4].startswith(("sent", "received"))]
        rows = [len(unpacked(piece[5])) for piece in ends]
        used = {piece[3] for piece in ends}
        told.append(f"{len(used)} blocks, {max(rows) <= most}, {sum(rows)} rows")
    whole = told[0].split(", ")[2]
    return [each.replace(whole, "all rows") for each in told]


def _bad_file(folder: Path) -> None:
    write_trace(folder, trace_of(1))
    with (folder / "r1.b.0.jsonl").open("a") as file:
        file.write("nonsense\n")


def _lied(folder: Path) -> None:
    """b has read contents that a has not sent."""
    planted_streams.CONTENTS.bad(folder)


def _never_sent(folder: Path) -> None:
    planted_channels.NEVER.bad(folder)


def _packed(_: Path) -> Complaints:
    """Return tables that are not what they were before they were packed."""
    small = np.array([[1, 5], [2, -7], [300, 1 << 40]], dtype=np.int64)
    tables = {"some rows": small, "one row": small[:1], "no row": small[:0]}
    wide = np.array([[-(1 << 63)], [(1 << 63) - 1], [0]], dtype=np.int64)
    tables |= {"steps of each width": np.cumsum([[0], [100], [-200], [1 << 20], [1 << 40]], axis=0)}
    tables |= {"all numbers": wide}
    back = {name: unpacked(packed(table)) for name, table in tables.items()}
    return [name for name, table in tables.items() if back[name].tolist() != table.tolist()]


AROUND: Final[dict[str, dict[str, Shown]]] = {
    "spark.pipeline": {
        "a group in pieces": Shown(
            _in_pieces(write_group),
            (
                "run flush: holds",
                "run gms: holds",
                "run nakack: holds",
                "run sequencer: holds",
                "run stable: holds",
                "run state_transfer: holds",
                "run unicast: holds",
                "run layers: holds",
            ),
        ),
        "a ring in pieces": Shown(_in_pieces(ring_run.traces), ("sim-1 raincore: holds",)),
        "a stream of other contents, in pieces": Shown(
            _in_pieces(_lied),
            (
                "r1 sequencer: violated",
                "r1: violated",
                'violated network, c.0 event 1 ReceiveData: ["DATA","a",0,"c",0,1] was '
                'sent with other contents; contents: "those of event 1 here", not "those that '
                'event 1 of a.0 has sent"',
            ),
        ),
        "a message that was not sent, in pieces": Shown(
            _in_pieces(_never_sent),
            (
                "r1 pingpong: violated",
                "r1: violated",
                'violated network, b.0 event 2: ["Hail","a",0,"b",0] was never sent',
            ),
        ),
        "a file with a line that is no record": Shown(
            _in_pieces(_bad_file),
            (
                "r1 sequencer: inconclusive",
                "r1: inconclusive",
                "r1.b.0.jsonl line 6: not JSON: JSON is malformed: invalid character (byte 4)",
            ),
        ),
        "rows in blocks and pieces": Shown(
            _cut,
            (
                "1 blocks, True, all rows",
                "4 blocks, True, all rows",
            ),
        ),
    },
    "spark.packing": {
        "tables that travel": Shown(_packed, ()),
    },
}
