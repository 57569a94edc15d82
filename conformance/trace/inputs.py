"""The files that a command was given, by name or in folders."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from raincheck.conformance.errors import UsageError

Opens: TypeAlias = Callable[[Path], BinaryIO]
"""Opens a file to read it from its beginning; raises OSError."""

_URI = re.compile(r"(?:file:/|[a-z][a-z0-9+.-]+://).*", re.DOTALL | re.IGNORECASE)


class Uri(NamedTuple):
    """A file or a folder on another file system than this machine's."""

    text: str

    def __str__(self) -> str:
        return self.text


def place(text: str) -> Path | Uri:
    """Return where that is: `file:` and what has no scheme are this machine's own."""
    if not _URI.fullmatch(text):
        return Path(text)
    parts = urlsplit(text)
    if parts.scheme.lower() != "file":
        return Uri(text)
    return Path(unquote(parts.path))


def opened(path: Path) -> BinaryIO:
    """The file as it is on the disk."""
    return path.open("rb")


def files_in(
    paths: Iterable[Path], suffixes: tuple[str, ...], kind: str, advice: str
) -> list[Path]:
    """Each file given, and each in a folder given that ends so; raise UsageError for none."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = _in_folder(path, suffixes)
            if not inside:
                raise UsageError(f"{path} holds no {kind} ({', '.join(suffixes)}): {advice}")
            found.update(dict.fromkeys(inside))
        elif path.is_file():
            found[path] = None
        else:
            what = "is neither a file nor a folder" if path.exists() else "does not exist"
            raise UsageError(f"{path} {what}: name a {kind} or a folder of them")
    return list(found)


def files_there(paths: Iterable[Path], suffixes: tuple[str, ...]) -> list[Path]:
    """The same as far as they are there now; what is not there may come."""
    found: dict[Path, None] = {}
    for path in paths:
        inside = _in_folder(path, suffixes) if path.is_dir() else [path] if path.is_file() else []
        found.update(dict.fromkeys(inside))
    return list(found)


def _in_folder(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    return sorted(f for f in folder.rglob("*") if f.suffix in suffixes and f.is_file())
