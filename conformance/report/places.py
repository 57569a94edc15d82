"""The place in a file that each result of an audit is about: a definition, a table, a summary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.evidence.basis import Basis, Entry, Step
from raincheck.conformance.evidence.folder import SUMMARY
from raincheck.conformance.outcome import Result
from raincheck.conformance.protocols.record import FILE
from raincheck.conformance.protocols.registry import protocols
from raincheck.conformance.replay.mutants import load_mutants
from raincheck.conformance.tlc.spec import spec_of

Place = tuple[Path, int]


def placed(results: Iterable[Result], basis: Basis, folder: Path) -> tuple[Result, ...]:
    """Return the results, each with its file and line, and one more for each surprise in a step."""
    modules = {case.protocol: case.module for case, _ in basis.cases}
    steps = {step.name: step for step in basis.steps}
    found = []
    for result in results:
        kind, _, name = result.name.partition(" ")
        if kind == "step":
            path, line = folder / name / SUMMARY, 1
        else:
            path, line = _place(kind, name, result.protocol, modules)
        found.append(_at(result, path, line))
        if kind == "step" and name in steps:
            found += _surprises(steps[name], folder)
    return tuple(found)


def _surprises(step: Step, folder: Path) -> Iterator[Result]:
    """Yield a result for each surprise of a step, so that none of them is only counted."""
    for entry in step.surprises:
        path, line = _place_of_entry(entry, folder / step.folder)
        yield _at(
            Result(
                f"{step.name}: {entry['name']}",
                str(entry["protocol"]),
                str(entry["verdict"]),
                str(entry.get("expected", "holds")),
                {"property": entry["property"]} if "property" in entry else {},
                str(entry.get("detail", "")),
            ),
            path,
            line,
        )


def _at(result: Result, path: Path, line: int) -> Result:
    return replace(result, figures=result.figures | {"file": _shown(path), "line": line})


def _shown(path: Path) -> str:
    """Return the path as an editor at the working folder would want it."""
    return _from(path, Path.cwd())


@cache
def _from(path: Path, folder: Path) -> str:
    whole, here = path.resolve(), folder.resolve()
    return whole.relative_to(here).as_posix() if whole.is_relative_to(here) else str(path)


def _place(kind: str, name: str, protocol: str, modules: dict[str, Path]) -> Place:
    record = protocols().get(protocol)
    if record is None:
        return Path(FILE), 1
    if kind == "property" and protocol in modules:
        spec = spec_of(modules[protocol])
        for path in (spec, modules[protocol]):
            if line := line_of(path, rf"^{re.escape(name)}\s*=="):
                return path, line
    pattern = {
        "assumption": rf"^\[assumption\.{re.escape(name)}\]",
        "hole": rf'^flaw\s*=\s*"{re.escape(name)}"',
    }.get(kind)
    if pattern is not None:
        return record.cases, line_of(record.cases, pattern) or 1
    path = record.home / FILE
    return path, line_of(path, rf"^\[protocol\.{re.escape(protocol)}\]") or 1


def _place_of_entry(entry: Entry, folder: Path) -> Place:
    """Return where a case, a mutant or a recorded event is, else the line of the summary."""
    name = str(entry["name"])
    first: Any = entry.get("first")
    if isinstance(first, dict) and first.get("path"):
        return Path(str(first["path"])), int(first.get("line") or 1)
    for case in load_cases():
        if case.name == name:
            record = protocols()[case.protocol]
            short = name.removeprefix(f"{case.protocol.replace('_', '-')}-")
            return record.cases, line_of(record.cases, rf"^\[case\.{re.escape(short)}\]") or 1
    for mutant in load_mutants():
        if mutant.name == name and (table := protocols()[mutant.protocol].mutants) is not None:
            return table, line_of(table, rf"^\[mutant\.{re.escape(name)}\]") or 1
    path = folder / SUMMARY
    return path, line_of(path, rf'"name": "{re.escape(name)}"') or 1


@cache
def _lines(path: Path) -> tuple[str, ...]:
    try:
        return tuple(path.read_text(encoding="utf-8").splitlines())
    except OSError:
        return ()


@cache
def line_of(path: Path, pattern: str) -> int:
    """Return the number of the first line that has the pattern, or 0."""
    found = re.compile(pattern)
    return next((n for n, line in enumerate(_lines(path), 1) if found.search(line)), 0)
