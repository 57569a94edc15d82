"""The lines of findings that name an event: looked up at the end, so that no check keeps them.

What is between files is found out where their records are gone. So the files that a finding names
are read once more, of a run that conforms none.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import msgspec

from .findings import Finding
from .judged import RunVerdict


class _Numbered(msgspec.Struct):
    kind: str = ""
    index: int = 0


_DECODER = msgspec.json.Decoder(_Numbered)


def located(verdict: RunVerdict) -> RunVerdict:
    """Return the verdict with the lines of the events that its findings are about."""
    wanted: dict[str, set[int]] = defaultdict(set)
    for finding in filter(_unplaced, verdict.findings):
        wanted[finding.path].add(finding.index)
    lines = {path: _lines(Path(path), indices) for path, indices in wanted.items()}
    findings = [
        msgspec.structs.replace(each, line=lines[each.path].get(each.index, 0))
        if _unplaced(each)
        else each
        for each in verdict.findings
    ]
    return msgspec.structs.replace(verdict, findings=findings)


def _unplaced(finding: Finding) -> bool:
    """Whether it names an event of a file of lines, and no line."""
    named = bool(finding.path and finding.index) and not finding.line
    return named and not finding.path.endswith(".parquet")


def _lines(path: Path, indices: set[int]) -> dict[int, int]:
    """Return the lines of the events with these numbers; of several of one number, the first's."""
    found: dict[int, int] = {}
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            try:
                record = _DECODER.decode(text)
            except msgspec.MsgspecError:
                continue  # it is in quarantine
            if record.kind == "event" and record.index in indices:
                found.setdefault(record.index, number)
    return found
