"""Whose a lock is: a task's own, or somebody's for whom the task runs, as a thread."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

acting: ContextVar[object | None] = ContextVar("acting", default=None)
"""For whom a task runs: what that one has and waits for is not the task's own."""


def owner() -> object:
    """Return whose locks a task asks for: its own, unless it runs for somebody."""
    return acting.get() or asyncio.current_task()
