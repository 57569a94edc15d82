"""The package on its way to the workers of a cluster, and the functions that run there.

A worker needs Python, NumPy, PyArrow and msgspec; raincheck itself travels with the application,
and so does the project at hand, with its `raincheck.toml`. A function goes by its name: what
travels in Spark's own way is a few lines that find the package first, then the function in it.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from raincheck.conformance.protocols import registry
from raincheck.conformance.protocols.record import FILE, MODULES

from .settings import connects, embedded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGE: Final = __name__.partition(".")[0]
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""The time of every file in the archive, so that the same package is the same archive."""
_LEFT_OUT: Final = frozenset({"__pycache__"})
Sent: TypeAlias = tuple[str, tempfile.TemporaryDirectory[str]]
_sent: WeakKeyDictionary[SparkSession, dict[frozenset[str], Sent]] = WeakKeyDictionary()
"""What each session's workers fetch, for as long as it lives, by the modules in it."""


def at_workers(session: SparkSession, modules: Iterable[str] = ()) -> str:
    """Send the package to the session's workers; return the name under which they have it.

    Workers in this process's own JVM have it already: then the name is empty. `modules` are more of
    them that the workers are to find. Raise UsageError if the project's records are wrong.
    """
    if not _apart(session):
        return ""
    wanted = frozenset(modules)
    sent = _sent.setdefault(session, {})
    if wanted in sent:
        return sent[wanted][0]
    kept = tempfile.TemporaryDirectory(prefix="raincheck-ship-")
    draft = Path(kept.name, "raincheck.zip")
    name = f"raincheck-{written(draft, wanted)}"
    archive = draft.rename(draft.with_name(f"{name}.zip"))
    if connects(session):
        session.addArtifacts(f"{archive}#{name}", archive=True)
    else:
        session.sparkContext.addArchive(f"{archive}#{name}")
    sent[wanted] = (name, kept)
    return name


def function(archive: str, named: Callable[..., Any], *given: Any) -> Callable[[Any], Any]:
    """Return what calls the function with its rows and what is given, on a worker.

    The function is one of a module. `archive` is what `at_workers` has returned.
    """
    module, name = named.__module__, named.__qualname__

    def run(rows: Any) -> Any:
        import sys
        from importlib import import_module

        if archive:
            from pyspark import SparkFiles

            folder = SparkFiles.get(archive)
            if folder not in sys.path:
                sys.path.insert(0, folder)
                import_module("raincheck.conformance.protocols.registry").at_home(folder)
        return getattr(import_module(module), name)(rows, *given)

    return run


def _apart(session: SparkSession) -> bool:
    """Return whether the workers are other processes than children of this one's JVM."""
    return connects(session) or not embedded(session.sparkContext.master)


def written(archive: Path, modules: Iterable[str] = ()) -> str:
    """Write the package and the project at hand to an archive; return a digest of its contents."""
    digest = sha256()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, path in sorted(_contents(modules).items()):
            data = path.read_bytes() if isinstance(path, Path) else path
            file.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
            digest.update(f"{name} {len(data)}\n".encode() + data)
    return digest.hexdigest()[:16]


def _contents(modules: Iterable[str]) -> dict[str, Path | bytes]:
    """Return the archive's names, and the file or the bytes of each."""
    found: dict[str, Path | bytes] = dict(_registered())
    home = registry.project()
    wanted = {PACKAGE, *(module.partition(".")[0] for module in modules)}
    if home is not None:
        records = registry.protocols().values()
        found[FILE] = home
        for record in records:
            for path in filter(None, (record.cases, record.mutants)):
                found[_inside(path, home.parent)] = path
            wanted |= {name.partition(".")[0] for name in record.modules(*MODULES)}
        for folder in registry.folders(home):  # an empty one would not be there
            found[f"{_inside(folder, home.parent)}/.keep"] = b""
    for name in sorted(wanted):
        for path, place in _module(name):
            beside = home is not None and path.is_relative_to(home.parent)
            found[_inside(path, home.parent) if beside and home else place] = path
    return found


def _inside(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def _module(name: str) -> Iterator[tuple[Path, str]]:
    """Yield the files of a top module, and their places below a folder of sys.path."""
    spec = find_spec(name)
    if spec is None:
        return
    for location in spec.submodule_search_locations or ():
        for folder, folders, files in os.walk(location, followlinks=True):
            folders[:] = [each for each in folders if each not in _LEFT_OUT]
            for each in files:
                path = Path(folder, each)
                yield path, f"{name}/{_inside(path, Path(location))}"
        return
    if spec.origin is not None and Path(spec.origin).is_file():
        yield Path(spec.origin), Path(spec.origin).name


def _registered() -> Iterator[tuple[str, bytes]]:
    """Yield what says that the package is installed, by which its protocols are found."""
    try:
        here = distribution(PACKAGE)
    except PackageNotFoundError:
        return
    folder = f"{PACKAGE}-{here.version}.dist-info"
    for name in ("METADATA", "entry_points.txt"):
        text = here.read_text(name)
        if text:
            yield f"{folder}/{name}", text.encode()
