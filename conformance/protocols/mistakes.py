"""Mistakes in a project's own modules, told apart from bugs of raincheck by the traceback."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from raincheck.conformance.errors import UsageError
from raincheck.model.machine.machine import ModelError

from .record import MODULES
from .registry import protocols


def mistake_in(error: BaseException) -> str | None:
    """Return where and how a module of a project failed, in words; None if none did.

    A module is a project's if a record names it or its package; ours are no project's.
    """
    said = _said(error)
    if isinstance(error, SyntaxError) and error.filename and _within(error.filename):
        return f"{error.filename}, line {error.lineno}: {said}"
    places = [place for each in _causes(error) for place in _places(each.__traceback__)]
    if places:
        file, line = places[-1]
        return f"{file}, line {line}: {said}"
    return said if isinstance(error, ModelError) else None


def _said(error: BaseException) -> str:
    if isinstance(error, ModelError):
        return str(error)
    return "".join(traceback.format_exception_only(error)[-1:]).strip()


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and those that it was raised from, the first one last."""
    seen: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in seen:
        seen.append(following)
        following = following.__cause__
    yield from seen


def _places(trace: TracebackType | None) -> Iterator[tuple[str, int]]:
    roots = _packages()
    for frame, line in traceback.walk_tb(trace):
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] in roots:
            yield frame.f_code.co_filename, line


def _packages() -> set[str]:
    """Return the top packages of the projects' modules."""
    try:
        known = protocols().values()
    except UsageError:
        return set()
    named = {name.partition(".")[0] for each in known for name in each.modules(*MODULES)}
    return named - {__name__.partition(".")[0]}


def _within(filename: str) -> bool:
    """Return whether a file is a module of a project's packages."""
    return bool(_packages() & set(Path(filename).with_suffix("").parts))
