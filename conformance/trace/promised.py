"""The hook by which a protocol's binding adds to the judgement of its traces.

Whether each file, and what was between the nodes, is as the model says is asked of every protocol.
A protocol's own are the findings between members beside that, and the promises to the application:
it sees the reports on a run's files, once each of them has been followed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from .batches import Report
from .findings import FileReport, Finding, Promise
from .records import Address, Header

if TYPE_CHECKING:
    # A member of a run reads bindings, and judges nothing: it starts without NumPy.
    from .channels_compared import Compared
    from .columns import Columns


class Run(NamedTuple):
    """The knowledge of one protocol of a run, once its files and channels were checked."""

    reports: Mapping[Address, Any]
    """Of each process, in the order of their names, the report: a `Promised.report`."""
    compared: Mapping[str, Compared]
    crashed: Collection[Address]
    """Whom the harness killed."""
    findings: Sequence[Finding]
    complete: bool
    """Whether all records were checked, and nothing was found."""


class Observer(Protocol):
    """Whoever looks at the states of one file, as recorded."""

    def take(self, after: Any, index: int, at: float | None, outputs: Iterable[Any]) -> None:
        """That event has led to this state, then, and put this out."""

    def done(self) -> Any:
        """All that was seen: the report's `seen`."""


class Followed(Protocol):
    """Whoever follows the records of one file."""

    columns: Columns
    clock: int
    """The last event's, if its records have any: the file with the lowest is read on."""
    run: str
    who: Address
    """Whose file it is."""

    @property
    def nodes(self) -> Collection[str]:
        """The nodes of the run, by the header."""

    @property
    def local(self) -> Any:
        """The member's state in the model, after the last event that was a step of the model."""

    @property
    def ended(self) -> bool:
        """Whether its footer was read: nothing more can come."""

    @property
    def events(self) -> int:
        """How many events were read."""

    @property
    def findings(self) -> Sequence[Finding]:
        """What was found in this file alone, so far."""

    @property
    def members(self) -> Collection[Address]:
        """The members of its last view, if its messages are streams that all of them read."""

    def feed(self, line: int, block: bytes) -> None:
        """Check the records of a block of lines, the first of which is number `line`."""

    def so_far(self, *, whole: bool = True) -> FileReport:
        """Return the report as if the file ended here; more may be fed afterwards.

        Not `whole`: without what only promises, and other layers, are judged by.
        """

    def spill(self) -> None:
        """Move to the disk what is needed at the end only, if it is much."""

    def done(self) -> FileReport:
        """Return the report, after the last record; call it once."""


Follow: TypeAlias = Callable[[Path, Header, Report], Followed]


def _nothing(_run: Run) -> Iterator[Any]:
    return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """The judgements over all files of a run; `Binding.promised`."""

    report: type[FileReport] = FileReport
    """The type of the report on one file; it travels between processes."""
    observer: Callable[[Any], Observer] | None = None
    """Of the state in which a file begins: who looks at its states."""
    follow: Follow | None = None
    """Follows a file whose records are not those of other protocols."""
    arrives: Mapping[str, str] = field(default_factory=dict)
    """By which action the messages of a stream arrive, by the first part of its name."""
    findings: Callable[[Run], Iterable[Finding]] = _nothing
    """Finds why a run does not conform, although each file and channel does."""
    promises: Callable[[Run], Iterable[Promise]] = _nothing
    """The verdicts on what was promised to the application."""
    again: Callable[[Run], Collection[str]] | None = None
    """The names of the promises that a second evaluation finds broken: asked on Spark."""

    @property
    def one_by_one(self) -> bool:
        """Whether the properties are judged one by one, not by conformance alone."""
        return self.promises is not _nothing
