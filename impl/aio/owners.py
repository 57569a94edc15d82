"""Whose a lock is: a task's own, or somebody's for whom the task runs, as a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextvars import ContextVar
from typing import Any

from raincheck.impl.errors import LockMisused

from .waiting import running_loop

_acting: ContextVar[tuple[object, asyncio.Task[Any] | None] | None] = ContextVar(
    "acting", default=None
)
"""For whom a task runs, and which one: the tasks that it makes inherit this, and are others."""


def act_for(whom: object) -> None:
    """Let the current task have and wait for locks in somebody's name."""
    _acting.set((whom, asyncio.current_task()))


def owner() -> object:
    """Return whose locks a task asks for: its own, unless it runs for somebody. None: no task's."""
    task = None if running_loop() is None else asyncio.current_task()
    whom, for_task = _acting.get() or (None, None)
    return whom if whom is not None and for_task is task else task


def who_ends(entered: Collection[object], what: str) -> object:
    """Return which of those that have entered something ends it: the present owner.

    A task may end what another one has entered, as exit stacks and fixtures of tests do, if only
    one has. Raises LockMisused if nobody knows which.
    """
    whose = owner()
    if whose in entered or not entered:
        return whose
    if len(entered) > 1:
        raise LockMisused(
            f"{what} was entered by several, and none of them is the {owner_called()} that ends "
            f"it; end it where it was entered"
        )
    (only,) = entered
    return only


def owner_called() -> str:
    """Return what errors call the present owner: "task", or "thread" if a task runs for one."""
    return "task" if isinstance(owner(), asyncio.Task) else "thread"
