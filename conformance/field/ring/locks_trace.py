"""A member's trace of LOCKS, beside that of RAINCORE, on whose kept state it depends.

A post is sent with the token, once the member's state is kept. A process that comes back lacks what
was recorded of a post, of an epoch or of a session that was not kept: it had no consequence, and is
cut off. The file goes on with the next session, which is another core.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from raincheck.impl.locks.core import Locks
from raincheck.impl.recording.core import attach, detach
from raincheck.impl.recording.writer import Record
from raincheck.impl.ring.node import RingNode
from raincheck.model.locks.field import NewSession

from .record import PROTOCOL
from .trace import Trace, cut_behind, whole_lines

LOCKS = "locks"
TRACED = (PROTOCOL, LOCKS)


class LocksTrace(Trace):
    """The trace of one process's LOCKS."""

    protocol = LOCKS

    def __init__(self, node: RingNode, folder: Path, run: str, *args: Any, **how: Any) -> None:
        """The rest is as of `Trace`."""
        self._last = node.core.last_ordinal
        super().__init__(node.locks.core, folder, run, *args, **how)
        node.locks.on_session = self._begin_anew

    def _go_on(self, path: Path, _state: Record, _at: float) -> None:
        index, known = cut_posts(path, self._core, self._last)
        self._recorder.resume(index, known)
        if self._core.session > known["session"]:
            self._recovers()

    def _begin_anew(self, core: Locks) -> None:
        detach(self._core)
        self._core = core
        self._recovers()
        attach(core, self._recorder)

    def _recovers(self) -> None:
        core = self._core
        self._recorder.handled(core, NewSession(core.session, core.epoch), ())


class RingTraces:
    """The traces of one process of a ring."""

    def __init__(
        self,
        node: RingNode,
        folder: Path,
        run: str,
        nodes: tuple[str, ...],
        *,
        clock: Callable[[], float],
        problem: Callable[[str], None],
        locks: bool = True,
    ) -> None:
        """`locks`: LOCKS is recorded as well."""
        how: dict[str, Any] = {"clock": clock, "problem": problem}
        how |= {"traced": TRACED} if locks else {}
        self._all = [Trace(node.core, folder, run, nodes, **how)]
        if locks:
            self._all.append(LocksTrace(node, folder, run, nodes, **how))

    def close(self) -> None:
        """Write that no event is missing, and record no more."""
        for trace in self._all:
            trace.close()

    def abandon(self) -> None:
        """Close the files as the end of a process does."""
        for trace in self._all:
            trace.abandon()


def cut_posts(path: Path, core: Locks, last: int) -> tuple[int, Record]:
    """Cut the file behind the last record of which the kept state knows.

    `last` is the place up to which the member has read, by that state. Return that record's index,
    and the state that it led to.
    """
    lines = whole_lines(path)
    folded: Record = dict(json.loads(lines[0])["initial"])
    kept, index = 1, 0
    for place, line in enumerate(lines[1:], 2):
        record = json.loads(line)
        if record["kind"] != "event" or _unknown(record, core, last):
            break
        kept, index = place, record["index"]
        folded |= record["changed"]
    cut_behind(path, lines[:kept])
    return index, folded


def _unknown(record: Record, core: Locks, last: int) -> bool:
    """Whether the kept state does not have what this event did."""
    args, number = record["args"], 0 if core.epoch is None else core.epoch.n
    match record["action"]:
        case "NewSession":
            return bool(args["session"] >= core.session)
        case "Arrive":
            return bool(args["epoch"][0] > number)
        case "Depart":
            posts = [fields for name, fields in record.get("told", ()) if name == "Post"]
            return any(post[1][0] >= number and post[2] > last for post in posts)
    return False
