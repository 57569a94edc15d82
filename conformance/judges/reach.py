"""The lines of the checkers that an input reaches: of other lines it can say nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeAlias

Line: TypeAlias = tuple[str, int]
"""A file's path, and a number."""


@contextmanager
def reached(files: frozenset[str]) -> Iterator[set[Line]]:
    """Note which lines of these files run in this thread."""
    found: set[Line] = set()

    def called(frame: FrameType, _event: str, _: Any) -> Callable[..., Any] | None:
        path = frame.f_code.co_filename
        if path not in files:
            return None
        found.add((path, frame.f_lineno))

        def within(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
            if event == "line":
                found.add((path, frame.f_lineno))
            return within

        return within

    before = sys.gettrace()
    sys.settrace(called)
    try:
        yield found
    finally:
        sys.settrace(before)
