"""SEQUENCER's values of the implementation as the model's: contents, messages, a core's state.

Law of this file: it translates and decides nothing. The implementation moves runs, the model's
system single messages, so every run is read message by message. The contents are read too: each
payload has its sender and its number, by which the model knows the message.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from raincheck.impl import messages as wire
from raincheck.impl.sequencer import events as impl
from raincheck.impl.sequencer.core import Own, Sequencer, intervals
from raincheck.model.machine.runs import Address, Intervals, Run
from raincheck.model.sequencer import handlers as model
from raincheck.model.sequencer.handlers import Local, Table
from raincheck.model.sequencer.state import Tagged

DAMAGED: Final = -1
"""Stands for a message's number where the contents are not its sender's."""


# ------------------------------------------------------------------ contents


def payload(node: str, number: int) -> bytes:
    """Return the contents of the node's message `number`, counted over all its lives."""
    return f"{node}#{number}".encode()


def payloads(node: str, first: int, count: int) -> wire.Payloads:
    """Return the contents of `count` messages of the node, from number `first` on."""
    return wire.Payloads.pack([payload(node, first + i) for i in range(count)])


def number_of(node: str, contents: bytes) -> int:
    """Return the number of the node's message with these contents; DAMAGED if there is none."""
    whose, _, number = contents.partition(b"#")
    return int(number) if whose == node.encode() and number.isdigit() else DAMAGED


def singles(run: wire.Run, contents: wire.Payloads) -> tuple[Run, ...]:
    """Return the messages of a run one by one, each with the number in its contents.

    An empty run counts as damaged: no handler may return one.
    """
    sender = Address(*run.sender)
    parts = contents.unpack()
    if run.size < 1 or len(parts) != run.size:
        return (Run(sender, run.first, run.size, DAMAGED),)
    return tuple(
        Run(sender, run.first + i, 1, number_of(sender.node, each)) for i, each in enumerate(parts)
    )


def tagged(message: impl.Forward | impl.Data | impl.Deliver) -> tuple[Tagged, ...]:
    """Return the messages of a FORWARD, DATA or delivery, each with its view."""
    return tuple((single, message.view) for single in singles(message.messages, message.payloads))


def table_of(table: Iterable[tuple[wire.Address, int]]) -> Table:
    """Return a receivedTable in the model's order."""
    return _table_of(tuple(table))


def addresses(members: Iterable[wire.Address]) -> tuple[Address, ...]:
    """Return the implementation's addresses as the model's."""
    return _addresses(tuple(members))


# A member's state is read after every event, and most of it is as it was.
@lru_cache(maxsize=4096)
def _table_of(table: tuple[tuple[wire.Address, int], ...]) -> Table:
    return tuple(sorted((Address(*who), seqno) for who, seqno in table))


@lru_cache(maxsize=4096)
def _addresses(members: tuple[wire.Address, ...]) -> tuple[Address, ...]:
    return tuple(Address(*member) for member in members)


# ------------------------------------------------------------------ a member


def local_of(core: Sequencer) -> Local:
    """Return the member's state as the model's."""
    mine = Address(*core.me)
    return Local(
        node=core.node,
        status=core.status,
        incarnation=core.incarnation,
        view=core.view,
        members=addresses(core.members),
        seqno=core.seqno,
        said=core.said,
        forward_table=_intervals(core.forward_table),
        resend=_intervals(core.resend),
        received_table=table_of(core.received_table.items()),
        early=tuple(
            model.Forward(single, forward.view, mine)
            for forward in core.early
            for single in singles(forward.messages, forward.payloads)
        ),
        held=tuple(
            model.Held(single, entry.place + i)
            for entry in core.held
            for i, single in enumerate(singles(entry.run, entry.payloads))
        ),
        told=core.told,
        heard=table_of(core.heard.items()),
        announced=core.announced,
    )


def _intervals(entries: deque[Own]) -> Intervals:
    return tuple((low, high) for low, high in intervals(entries)) if entries else ()
