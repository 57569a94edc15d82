"""The results of checking a trace: findings, and the report of one file.

They travel from Spark's workers as JSON and are compared between engines, so they are plain values.
"""

from typing import Any

import msgspec

from raincheck.conformance.trace.invariants.asked import Tested
from raincheck.conformance.trace.layers.speaks import Statement

from .events import Address

VIOLATED = "violated"
INCONCLUSIVE = "inconclusive"
HOLDS = "holds"
WORDS = {HOLDS: "conforms", VIOLATED: "violates", INCONCLUSIVE: "inconclusive"}


def claims_synchrony(constants: dict[str, Any]) -> bool:
    """Whether a header with these constants claims virtually synchronous views."""
    return bool(constants.get("VirtualSynchrony", True))


class Promise(msgspec.Struct, frozen=True):
    """A property's verdict, and the smallest witness against it."""

    name: str
    verdict: str
    witness: dict[str, Any] = {}
    reason: str = ""
    judged: dict[str, int] = {}
    """Over how many members, views and messages (of the ring: tokens, locks) it was judged."""
    assumption: str = ""
    """The assumption that this run does not meet: then its violation is inconclusive."""
    parts: dict[str, int] = {}
    """Of an invariant, how often each of its parts was asked, in the words of its declaration."""
    idle: bool = False
    """Whether it is inconclusive for nothing but that this run does not ask all of it: it is not
    shown, and the run is not the worse for it."""


class Difference(msgspec.Struct, frozen=True):
    """A variable, or a part of a message, whose recorded value is not the expected one."""

    name: str
    expected: Any
    recorded: Any


class FalseConjunct(msgspec.Struct, frozen=True):
    """A conjunct of the guard that is false, and the values that make it so."""

    text: str
    values: dict[str, Any]


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One reason why a trace does not conform, or why nobody can tell."""

    verdict: str
    part: str
    """`local` (a node's own events), `network` (between nodes), `layers` (between the files of one
    node) or `records` (what is missing)."""
    reason: str
    run: str
    node: str
    incarnation: int
    index: int = 0
    clock: int = 0
    action: str = ""
    path: str = ""
    line: int = 0
    conjuncts: tuple[FalseConjunct, ...] = ()
    differences: tuple[Difference, ...] = ()
    sent_by: tuple[str, int] | None = None
    """The file and the event that sent what was received otherwise."""

    def place(self) -> tuple[Any, ...]:
        """Sorts findings: violations first, then by clock, node and index."""
        where = (self.clock, self.node, self.incarnation, self.index)
        return (self.verdict != VIOLATED, *where, self.part, self.reason)


class FileReport(msgspec.Struct, kw_only=True):
    """The report on one file whose events were checked; the ends of its channels travel apart."""

    run: str
    protocol: str
    node: str
    incarnation: int
    path: str
    nodes: tuple[str, ...] = ()
    constants: dict[str, Any] = {}
    merges: bool = False
    """Whether groups of its name merge: then several views may have one number."""
    events: int = 0
    """How many events were read, whether or not they could be checked."""
    conforming: int = 0
    """The longest conforming prefix: that many events."""
    end: str = "open"
    """`footer`, `ended` (by an event after which there is none), `open` (nothing said) or `broken`.
    """
    complete: bool = False
    """Whether no event can be missing at the end."""
    findings: list[Finding] = []
    actions: dict[str, int] = {}
    sent_to: tuple[Address, ...] = ()
    """Processes to which it sent something."""
    written: dict[str, int] = {}
    """The last number that it wrote to each of its streams."""
    seen: Any = None
    """The observations of its observer, if its protocol has one."""
    said: list[Statement] = []
    """Its statements about what other layers speak of as well (`trace/layers/`)."""
    tally: dict[str, int] = {}
    """The number of things of each sort that its events said and that are only counted."""
    tracks: dict[str, bytes] = {}
    """By stream, the numbers that other layers' digests are of."""
    tested: dict[str, Tested] = {}
    """The number of times that each part of its protocol's invariants was evaluated on it."""
    noted: list[Statement] = []
    """What invariants over several members need of it."""
    sequences: dict[str, bytes] = {}
    """Digests of values that invariants compare in order, by name."""

    @property
    def who(self) -> Address:
        """Whose file it is."""
        return (self.node, self.incarnation)
