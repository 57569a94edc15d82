"""The notes that LOCKS' invariants and findings need: of posts, tables, and who holds what."""

from __future__ import annotations

from typing import Any

from raincheck.conformance.trace.layers.speaks import Said
from raincheck.impl.recording.canonical import plain
from raincheck.model.locks.events import Arrive, Depart, Held, Post
from raincheck.model.locks.field import NewSession
from raincheck.model.locks.handlers import Local

from .posted import FOUNDS, POSTS, READS, RECOVERS

HOLDS, TOLD, TABLES = "holds ", "told", "tables"
"""The topics of notes on what is held of a name, on what the application is told that it holds,
and on a good table behind a post."""


def begins(before: Local | None, after: Local) -> Said:
    """Note the epoch in which a founder begins."""
    if before is None and after.base is not None:
        yield FOUNDS, plain(after.base)


def holds(before: Local | None, after: Local) -> Said:
    """Note what is held of a name, and the epoch if the table is good for it."""
    then, now = _by_name(before), _by_name(after)
    for name in sorted(then.keys() | now.keys()):
        if then.get(name) != now.get(name):
            yield f"{HOLDS}{name}", now.get(name)


def _by_name(me: Local | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if me is None:
        return found
    epoch = plain(me.epoch) if me.base == me.epoch else None
    for held in sorted(me.held):
        found.setdefault(held.name, [epoch, []])[1].append([held.request, held.mode])
    return found


def arrives(before: Local, event: Arrive, after: Local, outputs: tuple[Any, ...]) -> Said:
    """Note what was read, the table then, and what was told."""
    if event.news or event.epoch != before.epoch:
        yield READS, [plain(event.epoch), [post.place for post in event.news]]
    if event.news:
        yield from _table(after, event.news[-1].place)
    yield from _told(after, outputs)


def departs(_before: Local, event: Depart, after: Local, outputs: tuple[Any, ...]) -> Said:
    """Note what was posted, the table then, and what was told."""
    for output in outputs:
        if isinstance(output, Post):
            yield POSTS, [plain(output), event.read]
            yield from _table(after, output.place)
    yield from _told(after, outputs)


def _table(me: Local, place: int) -> Said:
    if me.base is not None and me.base == me.epoch:
        yield TABLES, [plain(me.base), place, plain(me.table)]


def _told(me: Local, outputs: tuple[Any, ...]) -> Said:
    for output in outputs:
        if isinstance(output, Held):
            yield TOLD, [*plain(output), me.session]


def recovers(_before: Local, event: NewSession, _after: Local, _outputs: tuple[Any, ...]) -> Said:
    """Note that the member goes on with another process."""
    yield RECOVERS, event.session
