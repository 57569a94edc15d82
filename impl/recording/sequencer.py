"""Traces: one record for each event that SEQUENCER handled, as docs/trace-format.md defines it.

A `Tracer` is set as the `recorder` of a Sequencer; without one nothing is built. It only looks: a
member behaves the same with it and without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from raincheck.impl.messages import Address, Digest, Payloads, Run, Table, View
from raincheck.impl.sequencer.core import Sequencer, intervals
from raincheck.impl.sequencer.events import (
    Deliver,
    Effect,
    Event,
    InstallView,
    Join,
    Multicast,
    ReceiveData,
    ReceiveForward,
    SendForward,
    SendJoinRsp,
)

from .writer import VERSION, Record


def variables(sequencer: Sequencer) -> Record:
    """The specification's variables of a member, in the words of the trace format."""
    return {
        "status": sequencer.status,
        "view": sequencer.view,
        "seqno": sequencer.seqno,
        "said": sequencer.said,
        "forwardTable": intervals(sequencer.forward_table),
        "resend": intervals(sequencer.resend),
        "receivedTable": rows(tuple(sorted(sequencer.received_table.items()))),
        "early": [[f.view, *_run(f.messages)] for f in sequencer.early],
        "position": rows(tuple(sorted(sequencer.position.items()))),
    }


def rows(table: Table) -> list[list[Any]]:
    """A table or digest as the trace writes it."""
    return [[*address, value] for address, value in table]


class Tracer:
    """Makes the records of one member and hands them to `write`."""

    def __init__(
        self,
        run: str,
        me: Address,
        nodes: Iterable[str],
        write: Callable[[Record], None],
        *,
        said: int = 0,
    ) -> None:
        self._write = write
        self._me = me
        self._nodes = sorted({*nodes, me.node})
        self._said = said
        self._common = {
            "run": run,
            "protocol": "sequencer",
            "node": me.node,
            "incarnation": me.incarnation,
        }
        self._index = 0
        self._before: Record = {}

    def header(self, initial: View | None) -> None:
        """Write the header; `initial` is a founder's first view, None for one who joins."""
        first = initial and {"id": initial.id.counter, "members": initial.members}
        self._write(
            {
                "kind": "header",
                "version": VERSION,
                **self._common,
                "nodes": self._nodes,
                "constants": {},
                "initial": first,
                "said": self._said,
            }
        )

    def footer(self) -> None:
        """Write the footer: no event is missing at the end."""
        common = {k: v for k, v in self._common.items() if k != "protocol"}
        self._write({"kind": "footer", **common, "index": self._index})

    def before(self, sequencer: Sequencer) -> None:
        """Remember the state before the first event; `after` keeps it up to date."""
        if not self._before:
            self._before = variables(sequencer)

    def after(self, sequencer: Sequencer, event: Event, effects: list[Effect]) -> None:
        """Write the record of an event."""
        self._index += 1
        sent = [out for out in map(self._sent, effects) if out is not None]
        self._write(
            {
                "kind": "event",
                **self._common,
                "index": self._index,
                "clock": sequencer.clock,
                "action": type(event).__name__,
                "args": _args(event, effects),
                "received": self._received(event),
                "sent": sent,
                "changed": self._changed(sequencer, effects),
            }
        )

    def _received(self, event: Event) -> list[Any] | None:
        match event:
            case ReceiveForward(sender, forward):
                return ["FORWARD", *sender, *self._me, forward.position]
            case ReceiveData(coordinator, data):
                return ["DATA", *coordinator, data.position]
            case Join(coordinator, rsp):
                return ["JOIN_RSP", *coordinator, *self._me, rsp.view.id.counter]
        return None

    def _sent(self, effect: Effect) -> Record | None:
        match effect:
            case SendForward(to, forward):
                name = ["FORWARD", *self._me, *to, forward.position]
                return _message(name, to, forward.view, forward.messages, forward.payloads)
            case Multicast(data):
                name = ["DATA", *self._me, data.position]
                return _message(name, None, data.view, data.messages, data.payloads)
            case SendJoinRsp(to, rsp):
                counter = rsp.view.id.counter
                return {
                    "id": ["JOIN_RSP", *self._me, *to, counter],
                    "to": to,
                    "view": counter,
                    "table": rows(rsp.table),
                    "digest": _digest(rsp.digest),
                }
        return None

    def _changed(self, sequencer: Sequencer, effects: list[Effect]) -> Record:
        old, new = self._before, variables(sequencer)
        changed = {name: new[name] for name in new if new[name] != old[name]}
        if "position" in changed:
            at = {(n, i): 0 for n, i, _ in old["position"]}
            at |= {(n, i): place for n, i, place in new["position"]}
            was = {(n, i): place for n, i, place in old["position"]}
            changed["position"] = [[*who, at[who]] for who in sorted(at) if at[who] != was.get(who)]
        for effect in effects:
            if isinstance(effect, Deliver):
                changed["delivered"] = {"view": effect.view, "messages": _run(effect.messages)}
        self._before = new
        return changed


def _args(event: Event, effects: list[Effect]) -> Record:
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
        case InstallView(view):
            return {"view": view.id.counter, "members": view.members}
        case Join(_, rsp):
            return {
                "view": rsp.view.id.counter,
                "members": rsp.view.members,
                "table": rows(rsp.table),
                "digest": _digest(rsp.digest),
            }
    for effect in effects:  # Send, Resend
        match effect:
            case SendForward(_, forward):
                return {"messages": _run(forward.messages)}
            case Multicast(data):
                return {"messages": _run(data.messages)}
    return {}


def _run(run: Run) -> list[Any]:
    return [*run.sender, run.first, run.size]


def _digest(digest: Digest) -> list[list[Any]]:
    return rows(digest.entries)


def _message(
    name: list[Any], to: Address | None, view: int, run: Run, payloads: Payloads
) -> Record:
    return {"id": name, "to": to, "view": view, "messages": _run(run), "crc": payloads.crc()}
