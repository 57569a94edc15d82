"""The form of SEQUENCER's records, as docs/trace-format.md defines it: messages in runs, a clock.

Its network messages carry their places in their channels, so the recorder counts none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from raincheck.impl.messages import Address, Digest, Payloads, Run, View
from raincheck.impl.sequencer.core import Sequencer, intervals
from raincheck.impl.sequencer.events import (
    Deliver,
    Effect,
    Event,
    Forward,
    InstallView,
    Join,
    Merge,
    Multicast,
    ReceiveAck,
    ReceiveData,
    ReceiveForward,
    ReceiveSafe,
    SendAck,
    SendForward,
    SendJoinRsp,
    SendSafe,
)

from .core import Recorder
from .described import Parcel, UsualForm
from .writer import Record


def sequencer_recorder(
    run: str,
    me: Address,
    nodes: Collection[str],
    write: Callable[[Record], None],
    traced: Collection[str] = (),
    *,
    merges: bool = False,
    delivery: str = "agreed",
) -> Recorder:
    """Return the recorder of a member's SEQUENCER; `traced`: all that is recorded; `merges`:
    groups of this name merge; `delivery`: the group's.
    """
    constants = {} if delivery == "agreed" else {"Delivery": delivery}
    return Recorder(
        SequencerForm(merges=merges),
        run,
        me,
        nodes,
        write,
        constants=constants,
        traced=traced,
        merges=merges,
    )


class SequencerForm(UsualForm):
    """Describes SEQUENCER's records to the recorder of one core."""

    __slots__ = ("_before", "_merges")

    protocol = "sequencer"

    def __init__(self, *, merges: bool = False) -> None:
        """`merges`: views have their whole ids, and FORWARDs are counted in each channel anew when
        a merge has brought its ends together.
        """
        self._before: Record = {}
        self._merges = merges

    def ordered(self, common: Record) -> Record:
        """The protocol second, as in `conformance/trace/events.py`."""
        return {"run": common["run"], "protocol": self.protocol, **common}

    def variables(self, core: Sequencer) -> Record:
        """The specification's variables of a member."""
        self._before = {
            "status": core.status,
            "view": core.view,
            "seqno": core.seqno,
            "said": core.said,
            "forwardTable": intervals(core.forward_table),
            "resend": intervals(core.resend),
            "receivedTable": _rows(sorted(core.received_table.items())),
            "early": [[f.view, *_run(f.messages)] for f in core.early],
            "position": _rows(sorted(core.position.items())),
        }
        if core.repairs.delivery == "safe":
            self._before |= {
                "held": core.held.messages,
                "told": core.told,
                "heard": _rows(sorted(core.heard.items())),
                "announced": core.announced,
            }
        return self._before

    def opening(self, core: Sequencer, _variables: Record) -> Record:
        """A founder's first view, null for who joins; what earlier lives of the node have sent."""
        joining = core.status == "joining"
        initial = None if joining else {"id": core.view, "members": core.members}
        if self._merges and initial is not None:
            initial["by"] = core.members[0]
        return {"initial": initial, "said": core.said}

    def stamp(self, core: Sequencer) -> Record:
        """Lamport's clock."""
        return {"clock": core.clock}

    def args(self, event: Event, effects: Sequence[Effect]) -> Record:
        """The event's fields; of own messages, the run that they became."""
        match event:
            case ReceiveForward(sender, (messages, view, payloads, _, _)):
                run = _run(messages)
                return {"from": sender, "messages": run, "view": view, "crc": payloads.crc()}
            case ReceiveData(_, (messages, view, payloads, position, _)):
                return {
                    "from": messages.sender,
                    "messages": _run(messages),
                    "view": view,
                    "position": position,
                    "crc": payloads.crc(),
                }
            case ReceiveAck(sender, place) | ReceiveSafe(sender, place):
                return {"from": sender, "position": place}
            case InstallView(view):
                return self._view(view)
            case Merge(view, table, digest):
                return self._view(view) | {"table": _rows(table), "digest": _digest(digest)}
            case Join(_, rsp):
                return {
                    **self._view(rsp.view),
                    "table": _rows(rsp.table),
                    "digest": _digest(rsp.digest),
                }
        for effect in effects:  # Send, Resend
            match effect:
                case SendForward(_, forward):
                    return {"messages": _run(forward.messages)}
                case Multicast(data):
                    return {"messages": _run(data.messages)}
        return {}

    def _view(self, view: View) -> Record:
        by = {"by": view.id.coordinator} if self._merges else {}
        return {"view": view.id.counter, "members": view.members, **by}

    def _forward(self, other: Address, forward: Forward, content: Record) -> Parcel:
        size = forward.messages.size
        place = None if self._merges else forward.position
        return Parcel("FORWARD", other, content, "FORWARD", place, size)

    def sent(self, effect: Effect) -> Iterable[Parcel]:
        """At most one message, with its place in the channel; of a JOIN_RSP it is the view."""
        match effect:
            case SendForward(to, forward):
                content = _content(forward.view, forward.messages, forward.payloads)
                return (self._forward(to, forward, content),)
            case Multicast(data):
                content = _content(data.view, data.messages, data.payloads)
                return (Parcel("DATA", None, content, "DATA", data.position),)
            case SendJoinRsp(to, rsp):
                view = rsp.view.id.counter
                known = {"table": _rows(rsp.table), "digest": _digest(rsp.digest)}
                return (Parcel("JOIN_RSP", to, {"view": view, **known}, "JOIN_RSP", view),)
            case SendAck(to, place):
                return (Parcel("ACK", to, {}, "ACK", place),)
            case SendSafe(place):
                return (Parcel("SAFE", None, {}, "SAFE", place),)
        return ()

    def arrived(self, event: Event) -> Parcel | None:
        """The message's name as it was when sent; `args` has its content."""
        match event:
            case ReceiveForward(sender, forward):
                return self._forward(sender, forward, {})
            case ReceiveData(coordinator, data):
                return Parcel("DATA", coordinator, {}, "DATA", data.position, to_all=True)
            case Join(coordinator, rsp):
                return Parcel("JOIN_RSP", coordinator, {}, "JOIN_RSP", rsp.view.id.counter)
            case ReceiveAck(sender, place):
                return Parcel("ACK", sender, {}, "ACK", place)
            case ReceiveSafe(coordinator, place):
                return Parcel("SAFE", coordinator, {}, "SAFE", place, to_all=True)
        return None

    def contents(self, parcel: Parcel) -> Record:
        """The content alone: the id has the message's name."""
        return parcel.content

    def parts(self, core: Sequencer, _event: Event, effects: Sequence[Effect]) -> Record:
        """The variables that have changed, of `position` the entries, and what was delivered."""
        old = self._before
        new = self.variables(core)
        changed = {name: new[name] for name in new if new[name] != old[name]}
        if "position" in changed:
            was = {(n, i): place for n, i, place in old["position"]}
            now = dict.fromkeys(was, 0) | {(n, i): place for n, i, place in new["position"]}
            moved = (who for who in sorted(now) if now[who] != was.get(who))
            changed["position"] = [[*who, now[who]] for who in moved]
        delivered = [effect for effect in effects if isinstance(effect, Deliver)]
        if delivered and core.repairs.delivery == "safe":
            runs = as_few(effect.messages for effect in delivered)
            changed["released"] = {"view": delivered[0].view, "messages": [*map(_run, runs)]}
        elif delivered:
            (effect,) = delivered
            changed["delivered"] = {"view": effect.view, "messages": _run(effect.messages)}
        return changed


def as_few(runs: Iterable[Run]) -> list[Run]:
    """Return the messages of these runs, in their order, as as few runs as possible."""
    found: list[Run] = []
    for run in runs:
        last = found[-1] if found else None
        if last is not None and last.sender == run.sender and last.first + last.size == run.first:
            found[-1] = last._replace(size=last.size + run.size)
        else:
            found.append(run)
    return found


def _rows(table: Iterable[tuple[Address, int]]) -> list[list[Any]]:
    return [[*address, value] for address, value in table]


def _run(run: Run) -> list[Any]:
    return [*run.sender, run.first, run.size]


def _digest(digest: Digest) -> list[list[Any]]:
    return _rows(digest.entries)


def _content(view: int, run: Run, payloads: Payloads) -> Record:
    return {"view": view, "messages": _run(run), "crc": payloads.crc()}
