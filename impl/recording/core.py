"""Traces of any protocol's core: one record for each event that it handled (docs/trace-format.md).

`attach` sets a recorder between a core and who calls it; without one nothing is there and nothing
costs anything. It only looks: what the core does and returns is the same with and without it.

Messages carry nothing for its sake. In a FIFO channel both ends count; a datagram's contents are
its name. Members that a partition has parted, and a merge has brought together, have a new channel:
what was under way in the old one is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address

from .described import DATAGRAM, Described, Parcel
from .writer import VERSION, Record


class Recorder:
    """Makes the records of one core and hands them to `write`."""

    def __init__(
        self,
        described: Described,
        run: str,
        me: Address,
        nodes: Collection[str],
        write: Callable[[Record], None],
        *,
        constants: Record | None = None,
        real: bool = False,
        traced: Collection[str] = (),
        merges: bool = False,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """With a clock each record has its time, for information only.

        `real`: the records are those of the protocol's `Binding.real`. `traced`: all protocols
        that are recorded of this process, where they are several. `merges`: groups of this name
        merge, and number their views alike until they do.
        """
        self._clock = clock
        self._real = {"real": True} if real else {}
        self._described = described
        self._write = write
        self._me = me
        self._nodes = sorted({*nodes, me.node})
        self._constants = constants or {}
        self._traced = {"traced": sorted(traced)} if traced else {}
        self._merges = {"merges": True} if merges else {}
        self._who = {"run": run, "node": me.node, "incarnation": me.incarnation}
        self._common = described.ordered({**self._who, "protocol": described.protocol})
        self._index = 0
        self._before: Record | None = None
        self._given: Record = {}
        self._beside: frozenset[Address] = frozenset()
        self._since: dict[Address | None, int] = {}
        """Where groups merge: the number of the view with which each process came into this one's.
        """
        self._sent: dict[tuple[str, Address | None], int] = {}
        self._received: dict[tuple[str, Address | None], int] = {}

    def begin(self, core: Any) -> None:
        """Write the header, with the core's initial state, before the first event."""
        if self._before is not None:
            return
        self._before = self._described.variables(core)
        self._meet(core)
        self._write(
            {
                "kind": "header",
                "version": VERSION,
                **self._common,
                "nodes": self._nodes,
                **self._traced,
                **self._merges,
                "constants": self._constants,
                **self._described.opening(core, self._before),
                **self._real,
            }
        )

    def look(self, core: Any) -> None:
        """Before an event, note what others have changed since the last one."""
        given = self._described.given(core)
        if not given:
            return
        known = self._before or {}
        news = {name: value for name, value in given.items() if value != known[name]}
        self._given |= news
        self._before = known | news

    def resume(self, index: int, state: Record) -> None:
        """Continue the file of an earlier process, after that record and in that state."""
        self._index, self._before = index, state

    def handled(self, core: Any, event: Any, effects: Iterable[Any]) -> None:
        """Write the record of an event."""
        effects = tuple(effects)
        described, self._index = self._described, self._index + 1
        sent = [parcel for effect in effects for parcel in described.sent(effect)]
        record: Record = {
            "kind": "event",
            **self._common,
            "index": self._index,
            **described.stamp(core),
            "action": type(event).__name__,
            "args": described.args(event, effects),
            "received": self._consumed(event),
            "sent": [self._named(parcel) for parcel in sent],
            "changed": self._changed(core, event, effects),
        }
        if told := [each for effect in effects for each in described.indications(effect)]:
            record["told"] = told
        if self._given:
            record["given"], self._given = self._given, {}
        if self._clock is not None:
            record["at"] = round(self._clock(), 6)
        self._write(record)
        self._meet(core)

    def _changed(self, core: Any, event: Any, effects: Sequence[Any]) -> Record:
        parts = self._described.parts(core, event, effects)
        if parts is not None:
            return parts
        before, after = self._before or {}, self._described.variables(core)
        self._before = after
        return {name: after[name] for name in after if after[name] != before.get(name)}

    def refused(self, event: Any) -> None:
        """Count a message that the core refused, as it has taken a number in its channel."""
        self._consumed(event)

    def footer(self, core: Any) -> None:
        """Write the footer: no event is missing at the end, even if there was none."""
        self.begin(core)
        self._write({"kind": "footer", **self._who, "index": self._index})

    def _named(self, parcel: Parcel) -> Record:
        to = parcel.other
        ends = self._me if to is None else (*self._me, *to)
        return {
            "id": self._id(parcel, ends, self._sent),
            "to": to,
            **self._described.contents(parcel),
        }

    def _consumed(self, event: Any) -> list[Any] | None:
        parcel = self._described.arrived(event)
        if parcel is None or parcel.other is None:
            return None
        ends = parcel.other if parcel.to_all else (*parcel.other, *self._me)
        return self._id(parcel, ends, self._received)

    def _id(
        self, parcel: Parcel, ends: tuple[Any, ...], counts: dict[tuple[str, Address | None], int]
    ) -> list[Any]:
        if parcel.channel == DATAGRAM:
            # The short fields are for people: checks compare the contents.
            short = (each for each in parcel.content.values() if not isinstance(each, list))
            return [parcel.message, *ends, *short]
        if parcel.place is not None:
            return [parcel.channel, *ends, parcel.place]
        since = self._since.get(parcel.other)
        channel = parcel.channel if since is None else f"{parcel.channel} {since}"
        key = (channel, parcel.other)
        before = counts.get(key, 0)
        counts[key] = before + parcel.size
        return [channel, *ends, before + 1]

    def _meet(self, core: Any) -> None:
        """Where groups merge, note who has come into this process's view."""
        if self._merges and (members := frozenset(getattr(core, "members", ()))) != self._beside:
            if new := members - self._beside:
                self._since |= dict.fromkeys(new, view_number(core.view))
            self._beside = members


def view_number(view: Any) -> int:
    """Return the number of a view that a core or record has as a number, an id or a whole view."""
    if isinstance(view, int):
        return view
    number: int = getattr(view, "id", view).counter
    return number


def attach(core: Any, recorder: Recorder) -> None:
    """Record every event that the core handles from now on; a core has at most one recorder."""
    handle = core.handle

    def recorded(event: Any) -> Any:
        recorder.begin(core)
        recorder.look(core)
        try:
            effects = handle(event)
        except NotEnabled:
            recorder.refused(event)
            raise
        recorder.handled(core, event, effects)
        return effects

    core.handle = recorded


def detach(core: Any) -> None:
    """Remove the recorder from the core."""
    vars(core).pop("handle", None)
