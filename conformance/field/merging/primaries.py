"""The promises of a group of which only the primary side goes on, judged from its members' logs.

Each member logs the views that it has formed as primary ones, beside its log of deliveries: the
view, its members, its number and history, and after how many of its deliveries. All members of the
runs have one vote each, and nobody says `found=True`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec

from raincheck.conformance.deliveries.logs import Row
from raincheck.conformance.trace.keys import twice
from raincheck.impl.messages import ViewId
from raincheck.impl.stack.reports import PrimaryChange

FOLDER = "primaries"
"""The folder of the logs, beside that of the deliveries."""


class Formed(NamedTuple):
    """A member has formed a view as a primary one, after so many deliveries."""

    member: str
    view: int
    members: tuple[str, ...]
    number: int
    history: int
    after: int


def label(view: ViewId) -> int:
    """Return a view's number in the logs: its own, then what tells apart who has decided it."""
    return view.counter << 32 | zlib.crc32(str(view.coordinator).encode())


class PrimaryLog:
    """One member's log of primary views; each call is one write."""

    def __init__(self, path: Path, member: str) -> None:
        path.parent.mkdir(exist_ok=True)
        self._file = path.open("x", encoding="utf-8")
        self._member = member

    def formed(self, change: PrimaryChange, after: int) -> None:
        """Record that the view has become primary."""
        assert change.history is not None, "a primary view has a history"
        members = tuple(str(member) for member in change.view.members)
        view, history = label(change.view.id), label(change.history)
        row = Formed(self._member, view, members, change.number, history, after)
        self._file.write(json.dumps(row._asdict()) + "\n")
        self._file.flush()


class _Row(msgspec.Struct):
    member: str
    view: int
    members: tuple[str, ...]
    number: int
    history: int
    after: int


_decode = msgspec.json.Decoder(_Row).decode


def read_primaries(paths: Iterable[Path]) -> list[Formed]:
    """Read the logs of a run; raises ValueError for a line that is none."""
    lines = [line for path in paths for line in path.read_bytes().splitlines()]
    rows = [_decode(line) for line in lines]
    if ambiguous := next(filter(None, map(twice, lines)), ""):
        raise ValueError(ambiguous)
    return [Formed(*(getattr(row, name) for name in Formed._fields)) for row in rows]


def two_primaries(formed: Iterable[Formed]) -> str:
    """Return what of the primary views is not one chain, or ""."""
    views: dict[int, Formed] = {}
    for row in sorted(formed, key=lambda row: (row.number, row.view, row.member)):
        known = views.setdefault(row.number, row)
        if (known.view, known.history) != (row.view, row.history):
            return (
                f"{known.member} and {row.member} have both formed a primary view {row.number}: "
                f"view {known.view >> 32} ({' '.join(known.members)}) and view {row.view >> 32} "
                f"({' '.join(row.members)})"
            )
    for before, after in pairwise(views.values()):
        if before.history != after.history:
            return f"primary views {before.number} and {after.number} are of two histories"
        if not _majority(before.members, after.members):
            return (
                f"primary view {after.number} ({' '.join(after.members)}) has no majority of the "
                f"one before, {before.number} ({' '.join(before.members)})"
            )
    return ""


def delivered_elsewhere(formed: Iterable[Formed], rows: Iterable[Row]) -> str:
    """Return what a member has delivered in a view that it had not formed as primary, or ""."""
    since = {(row.member, row.view): row.after for row in formed}
    for row in rows:
        if row.event != "deliver":
            continue
        after = since.get((row.member, int(row.view)))
        if after is None or row.position <= after:
            return (
                f"{row.member} delivers {row.sender} {row.message} in view {int(row.view) >> 32}, "
                f"which it has not formed as a primary view by then"
            )
    return ""


def delivered_twice(rows: Iterable[Row]) -> str:
    """Return what a member has delivered though its state had it, or "".

    A member that takes a state has what the provider had at that place, and nothing else: what it
    alone has delivered before is undone.
    """
    logs: dict[str, list[Row]] = {}
    for row in rows:
        if row.event in ("deliver", "state"):
            logs.setdefault(row.member, []).append(row)
    for member, log in sorted(logs.items()):
        has: set[tuple[str, str]] = set()
        for row in log:
            message = row.sender, row.message
            if row.event == "state":
                has = _contents(logs, row.sender, row.after or 0)
            elif message in has:
                return f"{member} delivers {row.sender} {row.message} again ({row.position})"
            else:
                has.add(message)
    return ""


def _contents(logs: dict[str, list[Row]], member: str, upto: int) -> set[tuple[str, str]]:
    """Return the messages that are in a member's state at that position of its log."""
    has: set[tuple[str, str]] = set()
    for row in logs.get(member, []):
        if row.position > upto:
            break
        if row.event == "state":
            has = _contents(logs, row.sender, row.after or 0)
        else:
            has.add((row.sender, row.message))
    return has


def _majority(before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """Whether more than half are still there, or half of them with the smallest address."""
    there = set(before) & set(after)
    if 2 * len(there) != len(before):
        return 2 * len(there) > len(before)
    return min(before, key=_address) in there


def _address(member: str) -> tuple[str, int]:
    name, _, incarnation = member.rpartition(".")
    return name, int(incarnation)
