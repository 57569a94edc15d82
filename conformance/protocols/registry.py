"""The registry of protocols: those of the project at hand, or those that are installed.

A project has a `raincheck.toml` in the working folder or in one above it; inside a project the
verbs know its protocols alone. Elsewhere they know every protocol that an installed package has
registered: an entry point of the group `raincheck.protocols` names a package that contains a
`raincheck.toml`. Ours are registered in the same way.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.cases.table import read_table
from raincheck.conformance.errors import UsageError

from .record import FILE, Protocol, record_of

GROUP: Final = "raincheck.protocols"

_extra: dict[str, Protocol] = {}
_elsewhere: list[bool] = []
"""Not empty while the project at hand is left aside."""
_home: list[Path] = []
"""The folder that stands for the working one, on a worker to which the project was sent."""


def project() -> Path | None:
    """Return the nearest `raincheck.toml` at or above the working folder, if there is one."""
    here = str(_home[-1] if _home else Path.cwd())
    # As strings, because this is asked thousands of times.
    while not os.path.isfile(found := os.path.join(here, FILE)):
        here, below = os.path.dirname(here), here
        if here == below:
            return None
    return Path(found)


def at_home(folder: str) -> None:
    """Look for the project at hand in this folder from now on, instead of the working one."""
    _home.append(Path(folder))


def folders(path: Path) -> list[Path]:
    """Return the folders of a project's modules; raise UsageError if its file is wrong."""
    return [Path(each) for each in _folders(path, read_table(path))]


def protocols() -> Mapping[str, Protocol]:
    """Return the records by name; raise UsageError if a file of them is wrong."""
    found = None if _elsewhere else project()
    return {**(_read(found) if found is not None else _installed()), **_extra}


def protocol(name: str) -> Protocol:
    """Return a protocol's record; raise UsageError, with near names, if there is none."""
    known = protocols()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        have = f"did you mean {' or '.join(close)}?" if close else f"there is {', '.join(known)}."
        raise UsageError(f"There is no protocol {name}: {have}")
    return known[name]


def offering(what: str) -> tuple[Protocol, ...]:
    """Return the protocols whose record has such a module."""
    return tuple(each for each in protocols().values() if each.offers(what))


@contextmanager
def added(record: Protocol) -> Iterator[Protocol]:
    """Add a protocol for a while, in this process: for tests."""
    before = _extra.get(record.name)
    _extra[record.name] = record
    try:
        yield record
    finally:
        del _extra[record.name]
        if before is not None:
            _extra[record.name] = before


@contextmanager
def installed_alone() -> Iterator[None]:
    """Know the installed protocols for a while, wherever this process works: for the inputs that
    are planted for our checkers.
    """
    _elsewhere.append(True)
    try:
        yield
    finally:
        _elsewhere.pop()


@cache
def _read(path: Path) -> dict[str, Protocol]:
    content = read_table(path)
    if unknown := sorted(content.keys() - {"path", "protocol"}):
        raise UsageError(f"{path}: {unknown[0]} is no key: give path and [protocol.…] only.")
    tables = content.get("protocol")
    if not isinstance(tables, dict) or not tables:
        raise UsageError(f"{path}: it has no [protocol.…] table: give at least one.")
    for folder in reversed(_folders(path, content)):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    return {name: record_of(name, table, path.parent) for name, table in tables.items()}


def _folders(path: Path, content: Mapping[str, Any]) -> list[str]:
    """Return the folders in which the project's modules are looked for."""
    folders = content.get("path", ["."])
    if not isinstance(folders, list) or not all(isinstance(each, str) for each in folders):
        raise UsageError(f"{path}: path must be a list of folders.")
    found = [path.parent / each for each in folders]
    for folder in found:
        if not folder.is_dir():
            raise UsageError(f"{path}: path has {folder}, which is no folder: correct it.")
    return [str(folder) for folder in found]


@cache
def _installed() -> dict[str, Protocol]:
    """Return the records that installed packages have registered."""
    found: dict[str, Protocol] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        for name, record in _read(_file_of(entry.value, _said(entry))).items():
            if found.setdefault(name, record).where != record.where:
                raise UsageError(
                    f"{_said(entry)} registers {name}, which {found[name].where} does as well: "
                    "rename one."
                )
    if not found:
        raise UsageError(
            f"No protocol is registered: change to a folder with a {FILE}, or reinstall raincheck, "
            "which registers its own protocols."
        )
    return found


def _said(entry: EntryPoint) -> str:
    return f"The entry point {entry.name} = {entry.value}"


def _file_of(package: str, said: str) -> Path:
    try:
        spec = find_spec(package)
    except ImportError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(f"{said} names no package: {GROUP} is for packages with a {FILE}.")
    path = Path(next(iter(spec.submodule_search_locations)), FILE)
    if not path.is_file():
        raise UsageError(f"{said}, but there is no {path}: add it to the package.")
    return path
