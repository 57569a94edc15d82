"""Trace files that grow before a test's eyes: their pieces come in any order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from raincheck.conformance.trace.findings import VIOLATED
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.verbs.following import about

PIECES = (1, 9, 120, 900, 5000)
"""Bytes that are written at once."""


def grown(
    source: Path, place: Path, random: Random, pieces: Sequence[int] = PIECES
) -> Iterator[float]:
    """Write the source's files to that place piece by piece, and yield the time now and then."""
    left = {each: each.read_bytes() for each in sorted(source.iterdir())}
    now = 0.0
    place.mkdir(parents=True, exist_ok=True)
    while left:
        path = random.choice(sorted(left))
        size = random.choice(pieces)
        with (place / path.name).open("ab") as file:
            file.write(left[path][:size])
        left[path] = left[path][size:]
        if not left[path]:
            del left[path]
        if random.random() < 0.5:
            now += random.choice((0.1, 1.0, 30.0))
            yield now
    yield now


def violated(verdicts: Iterable[RunVerdict]) -> set[tuple[Any, ...]]:
    """Return what these verdicts call violated, as it is told while files grow."""
    found: set[tuple[Any, ...]] = set()
    for each in verdicts:
        found |= {about(each.protocol, one) for one in each.findings if one.verdict == VIOLATED}
        found |= {(each.run, one.name) for one in each.promises if one.verdict == VIOLATED}
    return found
