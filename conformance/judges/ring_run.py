"""The traces of a good run of a ring, to plant faults in, and the judges' findings about them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from raincheck.conformance.trace.findings import HOLDS, VIOLATED, Promise
from raincheck.conformance.trace.ring.generator import record_ring

from .planting import Complaints
from .ring_faults import Records, checked, path_of, records, rewritten

Fault = Callable[[Records], None]
RUN: Final = "sim-1"


@cache
def _files() -> dict[str, bytes]:
    """The good traces, recorded once."""
    with TemporaryDirectory() as name:
        record_ring(Path(name), RUN)
        return {path.name: path.read_bytes() for path in Path(name).iterdir()}


def traces(folder: Path, member: str = "", fault: Fault | None = None) -> None:
    """Write the traces into that folder, with a fault in those of one member."""
    for name, content in _files().items():
        (folder / name).write_bytes(content)
    if fault is not None:
        path = path_of(folder, member)
        lines = records(path)
        fault(lines)
        rewritten(path, lines)


def sentence(promise: Promise) -> str:
    """Return a promise with all its details."""
    return f"{promise.name}: {promise.verdict}: {promise.reason or promise.witness}"


def unkept(folder: Path) -> Complaints:
    """Return the promises that do not hold by the traces in that folder."""
    return [sentence(each) for each in checked(folder).promises if each.verdict != HOLDS]


def broken(folder: Path) -> Complaints:
    """Return the violated promises; of a trace that is not the model's, none holds."""
    return [sentence(each) for each in checked(folder).promises if each.verdict == VIOLATED]


def good(folder: Path) -> Complaints:
    """Judge the ring without a fault."""
    traces(folder)
    return unkept(folder)
