"""Whose a lock is: a task's own, or somebody's for whom the task runs, as a thread."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

_acting: ContextVar[tuple[object, asyncio.Task[Any] | None] | None] = ContextVar(
    "acting", default=None
)
"""For whom a task runs, and which one: the tasks that it makes inherit this, and are others."""


def act_for(whom: object) -> None:
    """Let the current task have and wait for locks in somebody's name."""
    _acting.set((whom, asyncio.current_task()))


def owner() -> object:
    """Return whose locks a task asks for: its own, unless it runs for somebody."""
    task = asyncio.current_task()
    whom, for_task = _acting.get() or (None, None)
    return whom if whom is not None and for_task is task else task


def owner_called() -> str:
    """Return what errors call the present owner: "task", or "thread" if a task runs for one."""
    return "task" if owner() is asyncio.current_task() else "thread"
