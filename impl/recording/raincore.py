"""The traces of a ring's member: RAINCORE's records, written ahead, and going on with its life.

No state is kept before the record that led to it. A process that comes back with its state goes on
in the file of the one before. The last records of that one may have led to a state that was not
kept; then they had no consequence and are cut off.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from raincheck.impl.raincore.core import Raincore
from raincheck.impl.raincore.events import (
    Committed,
    Deliver,
    Eats,
    Event,
    Receive911,
    ReceiveToken,
)

from .canonical import plain
from .core import Recorder, attach, detach
from .described import DATAGRAM, ByName, Parcel
from .sending import Both, place_of, writer_to
from .writer import BUFFER, Record

_NAMES: Final = (
    "me",
    "up",
    "view_state",
    "token_state",
    "global_view",
    "global_view_number",
    "reserved",
    "last_token",
    "new_nodes",
    "promised",
    "attempt",
    "phase",
    "wanted",
    "heard",
    "contacts",
    "leaving",
    "outbox",
    "said",
    "last_ordinal",
    "awaited",
)
_NOT_KEPT: Final = frozenset({"up", "leaving", "awaited"})
"""What coming back sets anew, so that no state file has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaincoreForm(ByName):
    """Describes RAINCORE's records: the core's names are the specification's."""

    protocol: str = "raincore"
    names: tuple[str, ...] = _NAMES
    channels: Mapping[str, str] = field(
        default_factory=lambda: {"Token": DATAGRAM, "Call911": DATAGRAM}
    )
    _known: dict[str, tuple[Any, Any]] = field(default_factory=dict, repr=False, compare=False)

    def variables(self, core: Raincore) -> Record:
        """The attributes; one that is the same object as before is the same."""
        known = self._known
        found: Record = {}
        for name in self.names:
            value = getattr(core, name)
            before = known.get(name)
            if before is None or before[0] is not value:
                before = known[name] = (value, plain(value))
            found[name] = before[1]
        return found

    def arrived(self, event: Event) -> Parcel | None:
        """A token or a 911 comes whole, and tells who sent it."""
        match event:
            case ReceiveToken(message):
                name = "Token"
            case Receive911(message):
                name = "Call911"
            case _:
                return None
        content = self._fields(message)
        content.pop("to")
        return Parcel(name, message.current, content, DATAGRAM)

    def given(self, core: Raincore) -> Record:
        """Whom a joiner may ask: it may learn of others."""
        return {"contacts": plain(core.contacts)}

    def indications(self, effect: Any) -> Iterable[tuple[str, Any]]:
        """The token, a view, a message."""
        if isinstance(effect, Eats | Committed | Deliver):
            yield type(effect).__name__, plain(effect)


class RingTrace:
    """The trace of one process of a ring."""

    def __init__(
        self,
        core: Raincore,
        trace: str | Path,
        run: str,
        nodes: Collection[str],
        *,
        problem: Callable[[str], None],
        beside: str = "",
        ahead: bool = True,
        traced: Sequence[str] = (),
        clock: Callable[[], float] | None = None,
    ) -> None:
        """`trace` and `beside` are those of `writer_to`; `ahead`: a file has each record at once;
        `traced`: all protocols that are recorded of this process.

        `problem` is told in a sentence what cannot be written.
        """
        self._core = core
        me = core.me
        described = RaincoreForm()
        path = None
        if place_of(str(trace)) is None:
            path = Path(trace) / f"{run}.{me.node}.{me.incarnation}.{described.protocol}.jsonl"
        back = core.up == "down" or not core.repairs.incarnations
        goes_on = back and path is not None and path.exists()
        self._writer = writer_to(
            trace, run, me, problem=problem, protocol=described.protocol, beside=beside,
            buffer=0 if ahead else BUFFER, open_file=append_to if goes_on else None,
        )  # fmt: skip
        self._recorder: Recorder | None = Recorder(
            described, run, me, nodes, self._writer,
            constants=undone(core.repairs), traced=traced, clock=clock,
        )  # fmt: skip
        why = ""
        if goes_on and path is not None:
            try:
                self._go_on(path, described.variables(core), None if clock is None else clock())
            except (OSError, ValueError, KeyError) as error:
                why = f"{path} cannot go on ({error})"
        elif core.up == "down":
            why = "what was recorded of it before is not in the folder where its trace is to go on"
        if why:
            self._recorder = None
            problem(f"{me} has come back, and is not traced: {why}")
        else:
            attach(core, self._recorder)

    @property
    def lost(self) -> int:
        """How many records were not written or not sent."""
        return self._writer.lost

    @property
    def pending(self) -> bool:
        """Whether there is something left to be written or sent."""
        return self._writer.pending

    def flush(self) -> None:
        """Write it, and send what the socket takes."""
        self._writer.flush()

    def close(self) -> None:
        """Write that no event is missing, and record no more."""
        if self._recorder is not None:
            self._recorder.footer(self._core)
        self.abandon()

    def abandon(self) -> None:
        """Record no more, and do not claim to be complete, as at the end of a process."""
        if self._recorder is not None:
            detach(self._core)
            self._recorder = None
        self._writer.close()

    def _go_on(self, path: Path, state: Record, at: float | None) -> None:
        """Go on with the trace from where the state was kept; the process crashed there."""
        assert self._recorder is not None
        header, index, known = cut_to(path, state)
        if isinstance(self._writer, Both):
            self._writer.sender(header)
        common = {key: header[key] for key in ("run", "protocol", "node", "incarnation")}
        gone = {"kind": "event", **common, "action": "Crash", "args": {}, "received": None}
        time = {} if at is None else {"at": round(at, 6)}
        crash = {**gone, "index": index + 1, "sent": [], **time}
        down = known | {"up": "down"}
        self._writer({**crash, "changed": {"up": "down"}})
        index += 1
        if state["up"] == "new":
            # As written, a life that has lost its state has the name of the one before.
            changed = {name: state[name] for name in state if state[name] != down[name]}
            self._writer({**crash, "index": index + 1, "action": "Forget", "changed": changed})
            index, down = index + 1, state
        self._recorder.resume(index, down)


def undone(repairs: Any) -> Record:
    """Return the repairs that a header names: those that are switched off."""
    return {name: on for name, on in asdict(repairs).items() if not on}


def cut_to(path: Path, state: Record) -> tuple[Record, int, Record]:
    """Cut the file behind the last record that led to this state, as far as states are kept.

    Return its header, that record's index, and the state. If no record led there, which a check of
    the trace will report, only an unfinished line is cut. Raises OSError, ValueError or KeyError
    for what is no trace.
    """
    with path.open("rb+") as file:
        header = json.loads(file.readline())
        folded: Record = dict(header["initial"])
        end = file.tell()
        kept = (end, 0, folded)
        matched = False
        for line in file:
            if not line.endswith(b"\n"):
                break
            end += len(line)
            record = json.loads(line)
            if record["kind"] != "event":
                continue
            folded = folded | record.get("given", {}) | record["changed"]
            same = all(folded[name] == state[name] for name in state if name not in _NOT_KEPT)
            if same or not matched:
                kept = (end, record["index"], folded)
                matched = matched or same
        file.truncate(kept[0])
    return header, kept[1], kept[2]


def append_to(path: Path) -> IO[bytes]:
    """Open the file of a life that goes on."""
    return path.open("ab")
