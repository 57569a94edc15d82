"""A call that is watched: which lines of which files ran, which guards were asked, who refused.

It looks from outside, so that no model and no core knows of it, or is slower for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from raincheck.model.machine.machine import Refused, refusal


class Asked(NamedTuple):
    """A conjunct that a handler asked: whether it held, its text, and the values that decided."""

    holds: bool
    text: str
    values: Mapping[str, Any]


class No(NamedTuple):
    """A refusal: the function that answered it, and its arguments."""

    code: CodeType
    given: Mapping[str, Any]
    answer: Refused


@dataclass(slots=True)
class Seen:
    """What was seen of a call."""

    ran: dict[CodeType, set[int]] = field(default_factory=dict)
    """By function, in the order in which they were entered, the lines that ran."""
    asked: list[Asked] = field(default_factory=list)
    refusals: list[No] = field(default_factory=list)


@contextmanager
def watching(folders: Iterable[Path]) -> Iterator[Seen]:
    """Watch what runs in this thread in files of these folders."""
    seen = Seen()
    prefixes = tuple(map(str, folders))

    def each_line(frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
        if event == "line":
            seen.ran.setdefault(frame.f_code, set()).add(frame.f_lineno)
        elif event == "return" and isinstance(arg, Refused):
            seen.refusals.append(No(frame.f_code, dict(frame.f_locals), arg))
        return each_line

    def each_call(frame: FrameType, event: str, _arg: Any) -> Callable[..., Any] | None:
        if event != "call":
            return None
        if frame.f_code is refusal.__code__:
            seen.asked += [Asked(*each) for each in frame.f_locals["guard"]]
            return None
        if not _inside(frame.f_code.co_filename, prefixes):
            return None
        seen.ran.setdefault(frame.f_code, set())
        return each_line

    before = sys.gettrace()
    sys.settrace(each_call)
    try:
        yield seen
    finally:
        sys.settrace(before)


@cache
def _inside(file: str, folders: tuple[str, ...]) -> bool:
    """Tell whether the file is in one of the folders, whatever links lead there."""
    path = Path(file).resolve()
    return any(path.is_relative_to(Path(folder).resolve()) for folder in folders)
