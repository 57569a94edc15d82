"""The lines and values of events that findings name: looked up at the end, and kept by no check.

What is between files is found out where their records are gone. So the files that a finding names
are read once more, of a run that conforms none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from .findings import Difference, Finding
from .judged import RunVerdict


class _Numbered(msgspec.Struct):
    kind: str = ""
    index: int = 0


class _Record(msgspec.Struct):
    args: dict[str, Any] = {}
    sent: list[dict[str, Any]] = []


class Placed(NamedTuple):
    """An event's line, and the line's number."""

    line: int
    text: bytes


Events: TypeAlias = dict[str, dict[int, Placed]]
"""By file and index."""
_DECODER = msgspec.json.Decoder(_Numbered)
_RECORDS = msgspec.json.Decoder(_Record)


def located(verdict: RunVerdict) -> RunVerdict:
    """Return the verdict with the lines of the events that its findings are about.

    Of a message that was sent with other contents it has the contents at both ends.
    """
    events = {path: events_in(Path(path), which) for path, which in wanted([verdict]).items()}
    return with_events(verdict, events)


def wanted(verdicts: Iterable[RunVerdict]) -> dict[str, set[int]]:
    """Return the events that findings are about: their numbers, by file."""
    found: dict[str, set[int]] = defaultdict(set)
    for verdict in verdicts:
        for finding in verdict.findings:
            for path, index in _places(finding):
                found[path].add(index)
    return found


def with_events(verdict: RunVerdict, events: Events) -> RunVerdict:
    """Return the verdict with what these events say; those of other findings may be among them."""
    findings = [_with_values(_with_line(each, events), events) for each in verdict.findings]
    return msgspec.structs.replace(verdict, findings=findings)


def _places(finding: Finding) -> list[tuple[str, int]]:
    """Return the events to look up, in files of lines."""
    places = [(finding.path, finding.index)]
    if finding.line and finding.sent_by is None:
        places = []
    if finding.sent_by is not None:
        places.append(finding.sent_by)
    return [(p, at) for p, at in places if p and at and not p.endswith(".parquet")]


def _with_line(finding: Finding, events: Events) -> Finding:
    there = events.get(finding.path, {}).get(finding.index)
    if finding.line or there is None:
        return finding
    return msgspec.structs.replace(finding, line=there.line)


def _with_values(finding: Finding, events: Events) -> Finding:
    """Return the finding with the contents that were sent and received, if they are there."""
    if finding.sent_by is None:
        return finding
    path, index = finding.sent_by
    there = events.get(path, {}).get(index)
    here = events.get(finding.path, {}).get(finding.index)
    if there is None or here is None:
        return finding
    try:
        sent, args = _RECORDS.decode(there.text).sent, _RECORDS.decode(here.text).args
    except msgspec.MsgspecError:
        return finding
    name = msgspec.json.decode(finding.reason.partition(" was sent")[0])
    contents = next(
        (_contents(each) for each in reversed(sent) if _is_of(each.get("id"), name)), None
    )
    if contents is None:
        return finding
    received = {key: args[key] for key in contents if key in args} or args
    differs = {key for key in received if received[key] != contents.get(key)}
    expected = {key: contents.get(key) for key in received if key in differs}
    recorded = {key: received[key] for key in received if key in differs}
    differences = (Difference("contents", expected or contents, recorded or received),)
    return msgspec.structs.replace(finding, differences=differences)


def _is_of(called: Any, name: list[Any]) -> bool:
    """Whether a message that was sent is the one of that name, or holds it in its run."""
    if not isinstance(called, list) or len(called) < 2:
        return False
    return called == name or (called[:-1] == name[: len(called) - 1] and called[-1] <= name[-1])


def _contents(sent: dict[str, Any]) -> dict[str, Any]:
    content = sent.get("content")
    if isinstance(content, dict):
        return content
    return {key: value for key, value in sent.items() if key not in ("id", "to")}


def events_in(path: Path, indices: set[int]) -> dict[int, Placed]:
    """Return the events with these numbers; of several of one number, the first."""
    with path.open("rb") as file:
        return events_among(enumerate(file, 1), indices)


def events_among(lines: Iterable[tuple[int, bytes]], indices: Container[int]) -> dict[int, Placed]:
    """Return the events with these numbers among numbered lines."""
    found: dict[int, Placed] = {}
    for number, text in lines:
        try:
            record = _DECODER.decode(text)
        except msgspec.MsgspecError:
            continue  # it is in quarantine
        if record.kind == "event" and record.index in indices:
            found.setdefault(record.index, Placed(number, text))
    return found
