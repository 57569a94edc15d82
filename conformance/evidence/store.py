"""The store of evidence: kept under a key of everything that the evidence depends on.

Law of this file: the key covers everything that the evidence depends on, code and tools included;
an entry that cannot be read is missing; an undecided result is never kept.
"""

import ast
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.outcome import Result

FOLDER: Final = Path(".raincheck-cache")
OURS: Final = "raincheck"


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file's contents."""
    return sha256(path.read_bytes()).hexdigest()


def files_key(files: Sequence[Path]) -> str:
    """Return the part of a key for files: names and contents, wherever the folder is."""
    return " ".join(f"{each.name}={hash_of(each)}" for each in sorted(files, key=lambda f: f.name))


def code_key(*modules: str) -> str:
    """Return the part of a key for modules and all that they import of ours and their own."""
    return sha256(repr(sorted(module_hashes(*modules).items())).encode()).hexdigest()


def module_hashes(*modules: str) -> dict[str, str]:
    """Return the SHA-256 of these modules and of all that they import of ours and their own."""
    wanted, found = list(modules), dict[str, str]()
    own = frozenset(name.partition(".")[0] for name in (OURS, *modules))
    while wanted:
        name = wanted.pop()
        if name not in found:
            text = source_of(name)
            found[name] = sha256(text.encode()).hexdigest()
            if text:
                wanted += _imported(name, text, own)
    return found


def source_of(module: str) -> str:
    """Return a module's text, or "" if there is no such module."""
    path = _path_of(module)
    return path.read_text(encoding="utf-8") if path is not None else ""


@cache
def _path_of(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ModuleNotFoundError, ValueError):
        # The name before the dot is a module, and no package; or it was made in memory.
        return None
    return Path(spec.origin) if spec is not None and spec.origin else None


@cache
def _imported(module: str, text: str, own: frozenset[str]) -> tuple[str, ...]:
    """Return the modules of these packages that a text imports, anywhere in it."""
    package = module if _is_package(module) else module.rpartition(".")[0]
    found = dict.fromkeys(_prefixes(module))
    for node in _statements(ast.parse(text, str(_path_of(module)))):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = f"{package}.{node.module or ''}".rstrip(".") if node.level else node.module or ""
            # A name imported from a package may be a module too.
            names = [base, *(f"{base}.{each.name}" for each in node.names)]
        else:
            continue
        for name in names:
            if name.partition(".")[0] in own:
                found |= dict.fromkeys([*_prefixes(name), name])
    return tuple(found)


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes except those that only type checkers see."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from _statements(node)


def _is_package(module: str) -> bool:
    path = _path_of(module)
    return path is not None and path.name == "__init__.py"


def _prefixes(module: str) -> Iterator[str]:
    """Yield the packages around a module, which run when it is imported."""
    parts = module.split(".")
    yield from (".".join(parts[:n]) for n in range(1, len(parts)))


def tools_key(*packages: str) -> str:
    """Return the part of a key for Python and for packages of others."""
    return " ".join([sys.version, *(f"{each}={version(each)}" for each in packages)])


def key_of(**parts: object) -> str:
    """Return the key of evidence that depends on these parts."""
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Found:
    """The results of a step of a verb, and the files beside them."""

    results: tuple[Result, ...]
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Store:
    """A folder of evidence, one file per entry, by kind and key."""

    folder: Path = FOLDER

    def get(self, kind: str, key: str) -> Any:
        """Return the entry kept under the key, or None."""
        try:
            return json.loads(self.file(kind, key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def put(self, kind: str, key: str, entry: object) -> None:
        """Keep an entry. If the folder cannot be written, the next run is only slower."""
        path = self.file(kind, key)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                draft.write_text(json.dumps(entry), encoding="utf-8", newline="\n")
                os.replace(draft, path)
            finally:
                draft.unlink(missing_ok=True)

    def file(self, kind: str, key: str, ending: str = "json") -> Path:
        """Return where an entry is, or would be."""
        return self.folder / kind / key[:2] / f"{key}.{ending}"


def store_of(cache_folder: Path | None, *, unused: bool) -> Store | None:
    """Return the store that a verb's options choose, or None."""
    return None if unused else Store(cache_folder or FOLDER)


def gathered(
    store: Store | None, kind: str, key: Callable[[], str], gather: Callable[[], Found]
) -> Found:
    """Return the evidence of an earlier run with the same key, else gather it.

    Gathered evidence is kept if all results are as expected, so a failure is found again by each
    run. Results of an earlier run are marked: their figure `cached` is true.
    """
    if store is None:
        return gather()
    name = key()
    if (known := _found(store.get(kind, name))) is not None:
        marked = (replace(each, figures=each.figures | {"cached": True}) for each in known.results)
        return replace(known, results=tuple(marked))
    found = gather()
    if all(each.as_expected for each in found.results):
        results = [each.as_json() for each in found.results]
        store.put(kind, name, {"results": results, "files": dict(found.files)})
    return found


def _found(entry: Any) -> Found | None:
    try:
        results = tuple(map(Result.from_json, entry["results"]))
        files = {str(name): str(text) for name, text in entry["files"].items()}
    except (TypeError, KeyError, AttributeError, ValueError):
        return None
    return Found(results, files)
