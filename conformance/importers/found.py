"""The parts of an importer: what it is given, and what it may find.

    def read(lines, file):
        for line, text in lines:
            member, sender, message = text.split()
            yield Read(line, {"member": member, "sender": sender, "message": message})

    IMPORTER = Importer("mine", read, (".log",), "…")

An importer is a pure function of the lines of one file, so it runs wherever the file is read: in
this process or on a worker of Spark.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

Lines: TypeAlias = Iterable[tuple[int, str]]
"""A file's lines without their ends, each with its number from 1."""


class Read(NamedTuple):
    """A row of a delivery log, with the columns of docs/trace-format.md."""

    line: int
    columns: Mapping[str, Any]


class Refused(NamedTuple):
    """A line that is none of the format: it goes into quarantine."""

    line: int
    reason: str


class Unsaid(NamedTuple):
    """A property of which this log says too little: unless it is violated, it is inconclusive."""

    property: str
    what: str
    """The reason, and what to log."""
    idle: bool = False
    """Whether that is not held against a log of whose system nobody asks this property by name."""
    rows: tuple[str, str] | None = None
    """A member, and an event: of such rows of it the property is not asked, since what they say
    of it is the importer's, such as an order that the log does not have.
    """


class Sparse(NamedTuple):
    """The numbers of messages may have holes: one is missing if it was sent or somebody has it."""


Found: TypeAlias = Read | Refused | Unsaid | Sparse


class Importer(NamedTuple):
    """A format of logs."""

    name: str
    read: Callable[[Lines, str], Iterator[Found]]
    """The lines of one file, and its name without folder and suffix."""
    suffixes: tuple[str, ...]
    """The files that are read of a folder."""
    about: str
    """A line for the list of formats."""
    advice: Mapping[str, str] = {}
    """Per property, what to log where it is inconclusive."""
