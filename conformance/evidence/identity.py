"""The identity of an audit: the commit, each source that its evidence rests on, tools, machine.

Evidence speaks of the sources that it was made from and of no others. Each run of a verb keeps
their digest in its summary, and an audit the hash of each of them, so that evidence of other
sources can be refused with their names.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import raincheck
from raincheck.conformance.errors import UsageError
from raincheck.conformance.protocols.record import FILE, Protocol
from raincheck.conformance.protocols.registry import project, protocols

from .store import hash_of, module_hashes

ENDINGS: Final = (".py", ".toml", ".tla", ".html")
EMPTY: Final = sha256(b"").hexdigest()
"""The hash of a name that is imported and is no module."""
NAMED: Final = 5
"""The most sources that a sentence names."""


def sources(*, again: bool = False) -> dict[str, str]:
    """Return the SHA-256 of each source, by its path in the package or in its project.

    Those of the package are read once, unless they are wanted `again`.
    """
    if again:
        _package.cache_clear()
    found = dict(_package())
    ours = _root()
    for record in protocols().values():
        if ours not in (record.home, *record.home.parents):
            found |= _of_project(record)
    return dict(sorted(found.items()))


def digest_of(hashes: Mapping[str, str]) -> str:
    """Return one hash for all sources."""
    return sha256(repr(sorted(hashes.items())).encode()).hexdigest()


def digest() -> str:
    """Return the digest of the present sources, or "" where a record cannot be read."""
    try:
        return digest_of(sources())
    except (OSError, UsageError):
        return ""


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return the sources that only one of them has, or that differ."""
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


def some(names: list[str]) -> str:
    """Return the first few names, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def identity(tools: Mapping[str, str]) -> dict[str, Any]:
    """Return everything that says of what an audit speaks."""
    found = project()
    commit, changed = _commit(found.parent if found is not None else _root())
    return {
        "commit": commit,
        "clean": bool(commit) and not changed,
        "changed": changed,
        "tools": dict(tools),
        "machine": machine(),
        "sources": sources(again=True),
    }


def machine() -> dict[str, object]:
    """Return what the machine is, without its name."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": platform.machine(),
        "processors": os.cpu_count() or 1,
    }


def _commit(folder: Path) -> tuple[str, list[str]]:
    """Return the commit at hand and the changed files of the tree; nothing outside a work tree."""
    commit = _git(folder, "rev-parse", "HEAD").strip()
    if not commit:
        return "", []
    lines = _git(folder, "status", "--porcelain").splitlines()
    return commit, [line[3:] for line in lines]


def _git(folder: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _root() -> Path:
    return Path(raincheck.__file__).parent


@cache
def _package() -> tuple[tuple[str, str], ...]:
    """Return the sources of the package itself."""
    root, found = _root(), []
    for folder, folders, files in os.walk(root, followlinks=True):
        folders[:] = sorted(each for each in folders if each != "__pycache__")
        for name in files:
            if name.endswith(ENDINGS):
                path = Path(folder, name)
                found.append((f"{root.name}/{path.relative_to(root).as_posix()}", hash_of(path)))
    return tuple(found)


def _of_project(record: Protocol) -> dict[str, str]:
    """Return the sources of a protocol of somebody else's: its record, tables, modules."""
    files = [record.home / FILE, record.cases]
    files += [record.mutants] if record.mutants is not None else []
    files += [*record.cases.parent.glob("*.tla"), *record.cases.parent.parent.glob("*.tla")]
    found = {_within(path, record.home): hash_of(path) for path in files if path.is_file()}
    modules = module_hashes(*record.modules("model", "binding", "proof", "story", "run"))
    return found | {
        f"module {name}": each
        for name, each in modules.items()
        if each != EMPTY and name.partition(".")[0] != raincheck.__name__
    }


def _within(path: Path, home: Path) -> str:
    return path.relative_to(home).as_posix() if path.is_relative_to(home) else path.name
