"""Files of records, as they are read and followed, around the rules for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import msgspec

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.bindings.conversion import ShapeError
from raincheck.conformance.trace import tracefile
from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.following.ends import Ends
from raincheck.conformance.trace.following.initial import initial_local
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.traceparquet import ROWS, write_parquet

from . import pingpong, pingpong_formless
from .around_runs import miscounted, write_group
from .pingpong_talk import Records, at, heard, known, note, talk, write
from .pingpong_talk import files as files_of
from .planting import Ask, Complaints, Shown, sentences

# ---------------------------------------------------------------------- what is read


def _read(path: Path, most: int = tracefile.MAX_LINE) -> Complaints:
    """Return how many records there are, and what cannot be read."""
    problems: list[Problem] = []
    before, tracefile.MAX_LINE = tracefile.MAX_LINE, most
    try:
        batches = list(tracefile.read_records(path, problems.append))
    finally:
        tracefile.MAX_LINE = before
    records = sum(len(batch.records) for batch in batches)
    return [f"{records} records", *(f"line {each.line}: {each.reason}" for each in problems)]


_CRASH: Final = b'{"kind":"crash","run":"r1","node":"a","incarnation":0}\n'


def _lines(*lines: bytes, most: int = tracefile.MAX_LINE) -> Ask:
    def ask(folder: Path) -> Complaints:
        path = folder / "a.jsonl"
        path.write_bytes(b"".join(lines))
        return _read(path, most)

    return ask


def _long_parquet(folder: Path) -> Complaints:
    """Return what is said of a file of which a record behind the first block is none."""
    crash: dict[str, Any] = {"kind": "crash", "run": "r1", "node": "a", "incarnation": 0}
    path = folder / "a.parquet"
    count = write_parquet(path, [*[crash] * (ROWS + 2), crash | {"kind": "x"}, crash])
    return [f"{count} written", *_read(path)]


# ---------------------------------------------------------------------- what is followed


def _followed(records: Records, binding: str = "pingpong") -> Ask:
    """Ask what is said of a run, and whether all events of its files were counted."""

    def ask(folder: Path) -> Complaints:
        write(folder, records)
        with known(binding):
            verdicts = check_paths([folder])
        told = miscounted(verdicts, folder)
        return [*sentences(verdicts), *(each for each in told if "conforming" not in each)]

    return ask


def _changed(*changes: Callable[[Records], Any]) -> Records:
    records = talk()
    for change in changes:
        change(records)
    return records


def _skipped() -> Records:
    """a takes b's first note and its third, and never its second."""
    said = [note("b", number, place) for place, number in enumerate((5, 10, 20), 1)]
    records = files_of(*said, heard("a", "Note", 5, 1), heard("a", "Note", 20, 2))
    at("a", 2, received=["fifo", "b", 0, "a", 0, 3])(records)
    return records


def _refused_between(folder: Path) -> Complaints:
    """Return what is said if the second of three notes is put aside; all are written as usual."""
    said = [note("b", number, place) for place, number in enumerate((5, 10, 20), 1)]
    taken = [heard("a", "Note", number, count) for count, number in ((1, 5), (2, 10), (2, 20))]
    records = files_of(*said, *taken)
    for place in (1, 2, 3):
        at("a", place, received=["fifo", "b", 0, "a", 0, place])(records)
    at("a", 2, args__sender="z")(records)
    at("a", 3, index=2)(records)
    at("a", 4, index=2)(records)
    for node, lines in records.items():
        text = msgspec.json.Encoder().encode_lines(lines)
        (folder / f"r1.{node}.jsonl").write_bytes(text)
    with known():
        return sentences(check_paths([folder]))


def _wrong_in_the_middle(folder: Path) -> Complaints:
    """Return what is said of a group's STABLE, of which one event has changed nothing."""
    write_group(folder)
    path = folder / "run.a.0.stable.jsonl"
    records = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    wrong = next(each for each in records[5:] if each.get("changed"))
    wrong["changed"] = {}
    path.write_bytes(msgspec.json.Encoder().encode_lines(records))
    files = [*sorted(folder.glob("*.stable.jsonl")), folder / "faults.jsonl"]
    verdicts = check_paths(files)
    words = [f"{each.verdict}: {each.reason}" for each in verdicts[0].findings]
    alone = folder / "alone"
    alone.mkdir()
    for file in files:
        file.rename(alone / file.name)
    told = miscounted(verdicts, alone)
    return [*words, *(each for each in told if "conforming" not in each)]


def _written_otherwise(folder: Path) -> Complaints:
    """Return what does not hold of a group's layers if each record has spaces and another order."""
    write_group(folder)
    for path in folder.iterdir():
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        turned = [dict(reversed(each.items())) for each in lines]
        path.write_text("".join(json.dumps(each) + "\n" for each in turned))
    verdicts = check_paths([folder])
    promises = [each for verdict in verdicts for each in verdict.promises]
    silent = [f"{each.name}: {each.reason}" for each in promises if each.idle]
    uncompared = [each for verdict in verdicts for each in verdict.not_compared]
    return [*sentences(verdicts), *miscounted(verdicts, folder), *silent, *uncompared]


# ---------------------------------------------------------------------- how it begins

_HEAD: Final = {"node": "a", "peer": "b", "said": 0, "heard": 0, "mood": "fair"}


def _begins(*heads: dict[str, Any]) -> Ask:
    def ask(_: Path) -> Complaints:
        told = []
        for binding in (pingpong.BINDING, pingpong_formless.BINDING):
            for head in heads:
                try:
                    told.append(repr(initial_local(binding, head)))
                except ShapeError as error:
                    told.append(str(error))
        return told

    return ask


def _met(_: Path) -> Complaints:
    """What channels to three peers are called, of which one came with a view, and one by an event
    that has the view where the state does not.
    """
    nobody: Any = None
    ends = Ends(binding_of("gms"), ("a", 0), nobody, lambda _: None)
    ends.meet(SimpleNamespace(view=3, members=[("a", 0), ("b", 0)]))
    ends.meet(
        SimpleNamespace(members=[("a", 0), ("b", 0), ("c", 0)]), event=SimpleNamespace(view=5)
    )
    return [ends._called("M", ("a", 0, node, 0), incoming=False) for node in "bcd"]


AROUND: Final[dict[str, dict[str, Shown]]] = {
    "trace.tracefile": {
        "an empty line between two records": Shown(
            _lines(_CRASH, b"\n", _CRASH),
            (
                "2 records",
                "line 2: empty line",
            ),
        ),
        "a bad line behind one that is too long": Shown(
            _lines(_CRASH, b" " * 3 * tracefile.CHUNK + b"\n", b"nonsense\n", _CRASH, most=1000),
            (
                "2 records",
                "line 2: the line is longer than 1000 bytes",
                "line 3: not JSON: JSON is malformed: invalid character (byte 4)",
            ),
        ),
    },
    "trace.traceparquet": {
        "a bad row behind many": Shown(
            _long_parquet,
            (
                "4100 written",
                "4099 records",
                "line 4099: not a trace record: Invalid value 'x' - at `$.kind`",
            ),
        ),
    },
    "trace.following.follower": {
        "what follows a wrong event": Shown(
            _followed(_changed(at("b", 1, changed__heard=7))),
            (
                "r1: violated",
                "violated local, b.0 event 1 ReceiveNote: not what the model does; heard: 7, not 1",
            ),
        ),
        "a protocol whose records cannot be read at once": Shown(
            _followed(talk(), "pingpong_formless"), ()
        ),
        "what follows a wrong event in a block": Shown(
            _wrong_in_the_middle, ("violated: not what the model does",)
        ),
        "records that are written otherwise": Shown(
            _written_otherwise,
            (
                "HeardOfIsHeard: nothing is said of it in this run",
                "FetchedIsReconciled: nothing is said of it in this run",
            ),
        ),
    },
    "trace.columns": {
        "what follows a note that is put aside": Shown(
            _refused_between,
            (
                "r1: inconclusive",
                'r1.a.jsonl line 3: received: it comes from ["b",0], and the sender is "z"',
            ),
        ),
    },
    "trace.following.ends": {
        "channels, by the views in which their ends came together": Shown(
            _met, ("M 3", "M 5", "M")
        ),
        "a message that is not the next one": Shown(
            _followed(_skipped()),
            (
                "r1: violated",
                'violated local, a.0 event 2: ["fifo","b",0,"a",0,3]: message 2 of the '
                "channel is next, and this is 3",
            ),
        ),
    },
    "trace.following.initial": {
        "a state in which a file begins": Shown(
            _begins(_HEAD, _HEAD | {"said": "x"}, _HEAD | {"secret": 3}, {"node": "a"}),
            (
                "Local(node='a', peer='b', said=0, heard=0, mood='fair', secret=0)",
                "initial.said: 'x' is no int",
                "Local(node='a', peer='b', said=0, heard=0, mood='fair', secret=0)",
                "initial: peer is missing",
                "Local(node='a', peer='b', said=0, heard=0, mood='fair', secret=0)",
                "initial.said: 'x' is no int",
                "Local(node='a', peer='b', said=0, heard=0, mood='fair', secret=0)",
                "initial: peer is missing",
            ),
        ),
    },
}
