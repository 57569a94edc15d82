"""Records read from a trace, in batches, with the problems of lines that are no records."""

from collections.abc import Callable
from typing import NamedTuple

from .events import Record


class Problem(NamedTuple):
    """A record that was put into quarantine, and why."""

    path: str
    line: int
    reason: str
    excerpt: str = ""


class Batch(NamedTuple):
    """Records of consecutive lines, the first of which is number `line`."""

    line: int
    records: list[Record]


Report = Callable[[Problem], None]
