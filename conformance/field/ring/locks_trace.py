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

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.bindings.recorded import FromBinding
from raincheck.impl.locks.core import Locks
from raincheck.impl.recording.core import Recorder, attach, detach
from raincheck.impl.recording.raincore import RingTrace, append_to, undone
from raincheck.impl.recording.sending import Both, writer_to
from raincheck.impl.recording.writer import Record
from raincheck.impl.ring.node import RingNode
from raincheck.model.locks.field import NewSession

from .record import PROTOCOL

LOCKS = "locks"
TRACED = (PROTOCOL, LOCKS)


class LocksTrace:
    """The trace of one process's LOCKS."""

    def __init__(
        self,
        node: RingNode,
        folder: Path,
        run: str,
        nodes: tuple[str, ...],
        *,
        clock: Callable[[], float],
        problem: Callable[[str], None],
        beside: str = "",
    ) -> None:
        """`beside` is that of `writer_to`."""
        core, me = node.locks.core, node.address
        self._core = core
        binding = binding_of(LOCKS)
        real = binding.real is not None
        described = FromBinding(binding.of_traces(real=real, merges=False))
        path = folder / f"{run}.{me.node}.{me.incarnation}.{LOCKS}.jsonl"
        before = path.exists()
        self.writer = writer_to(
            folder, run, me, problem=problem, protocol=LOCKS, beside=beside, buffer=0,
            open_file=append_to if before else None,
        )  # fmt: skip
        self._recorder = Recorder(
            described, run, me, nodes, self.writer,
            constants=undone(core.repairs), real=real, traced=TRACED, clock=clock,
        )  # fmt: skip
        if before:
            header, index, known = cut_posts(path, core, node.core.last_ordinal)
            if isinstance(self.writer, Both):
                self.writer.sender(header)
            self._recorder.resume(index, known)
            if core.session > known["session"]:
                self._recovers()
        attach(core, self._recorder)
        node.locks.on_session = self._begin_anew

    def close(self) -> None:
        """Write that no event is missing, and record no more."""
        self._recorder.footer(self._core)
        self.abandon()

    def abandon(self) -> None:
        """Close the file as the end of a process does."""
        detach(self._core)
        self.writer.close()

    def _begin_anew(self, core: Locks) -> None:
        detach(self._core)
        self._core = core
        self._recovers()
        attach(core, self._recorder)

    def _recovers(self) -> None:
        core: Any = self._core  # its epochs are the model's, by another name
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
        beside: str = "",
    ) -> None:
        """`locks`: LOCKS is recorded as well; `beside` is that of `writer_to`."""
        how: dict[str, Any] = {"clock": clock, "problem": problem, "beside": beside}
        traced = TRACED if locks else ()
        self._ring = RingTrace(node.core, folder, run, nodes, traced=traced, **how)
        self._locks = LocksTrace(node, folder, run, nodes, **how) if locks else None

    @property
    def lost(self) -> int:
        """How many records were not written or not sent."""
        return self._ring.lost + (0 if self._locks is None else self._locks.writer.lost)

    def flush(self) -> None:
        """Write what is left, and send what the socket takes."""
        self._ring.flush()
        if self._locks is not None:
            self._locks.writer.flush()

    def close(self) -> None:
        """Write that no event is missing, and record no more."""
        self._ring.close()
        if self._locks is not None:
            self._locks.close()

    def abandon(self) -> None:
        """Close the files as the end of a process does."""
        self._ring.abandon()
        if self._locks is not None:
            self._locks.abandon()


def cut_posts(path: Path, core: Locks, last: int) -> tuple[Record, int, Record]:
    """Cut the file behind the last record of which the kept state knows.

    `last` is the place up to which the member has read, by that state. Return the file's header,
    that record's index, and the state that it led to.
    """
    with path.open("rb+") as file:
        header = json.loads(file.readline())
        folded: Record = dict(header["initial"])
        end, index = file.tell(), 0
        for line in file:
            if not line.endswith(b"\n"):  # a kill left it unfinished
                break
            record = json.loads(line)
            if record["kind"] != "event" or _unknown(record, core, last):
                break
            end, index = end + len(line), record["index"]
            folded |= record["changed"]
        file.truncate(end)
    return header, index, folded


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
