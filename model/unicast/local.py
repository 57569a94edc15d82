"""The local state of a process of UNICAST, and its rules."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, NamedTuple, TypeVar

from raincheck.model.machine.machine import state
from raincheck.model.machine.runs import Address

from .events import Content

T = TypeVar("T")
new: Final = tuple.__new__  # half the time of a NamedTuple's own constructor
_KEY: Final = itemgetter(0)
_FEW: Final = 8
"""Entries of a table that are sooner looked through than searched by halves."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The repairs that are switched on, and the window; the names are the spec's constants."""

    incarnations: bool = True
    connection_ids: str = "newer"
    ack_connection: bool = True
    remember_closed: bool = True
    duplicates: str = "exact"
    ack_duplicates: bool = True
    timer: bool = True
    probe: bool = True
    consumed_window: bool = True
    window: int = 2

    def limit(self, sender: Sender) -> int:
        """Return the highest seqno that the window allows (U6)."""
        return (sender.consumed if self.consumed_window else sender.acked) + self.window


@state
class Sender(NamedTuple):
    """The sending end of a connection: `sent` holds the messages acked + 1 .. seqno."""

    connection: int
    seqno: int = 0
    acked: int = 0
    out: int = 0
    consumed: int = 0
    sent: tuple[Content, ...] = ()


@state
class Receiver(NamedTuple):
    """The receiving end: `buffer` holds the messages that are not consumed yet, by seqno."""

    connection: int
    arrived: int = 0
    consumed: int = 0
    buffer: tuple[tuple[int, Content], ...] = ()
    owed: bool = False


@state
class Local(NamedTuple):
    """The local state of a process; tables are by peer, in the order of addresses."""

    node: str
    up: bool = True
    incarnation: int = 0
    connections: int = 0
    senders: tuple[tuple[Address, Sender], ...] = ()
    receivers: tuple[tuple[Address, Receiver], ...] = ()
    closed: tuple[tuple[Address, int], ...] = ()


# ---------------------------------------------------------------------- tables


def address(rules: Rules, me: Local) -> Address:
    """Return the process's address."""
    return Address(me.node, me.incarnation if rules.incarnations else 0)


def place_of(table: tuple[tuple[Address, T], ...], key: Address) -> int:
    """Return the place of that address's entry, or -1."""
    if len(table) > _FEW:
        place = bisect_left(table, key, key=_KEY)
        return place if place < len(table) and table[place][0] == key else -1
    for place, (address, _) in enumerate(table):
        if address == key:
            return place
    return -1


def found(table: tuple[tuple[Address, T], ...], key: Address) -> T | None:
    """Return the entry of that address, or None."""
    if len(table) > _FEW:
        place = place_of(table, key)
        return table[place][1] if place >= 0 else None
    for address, value in table:
        if address == key:
            return value
    return None


def with_entry(
    table: tuple[tuple[Address, T], ...], key: Address, value: T
) -> tuple[tuple[Address, T], ...]:
    """Return the table with that entry, in place of the old one if there was one."""
    place = place_of(table, key)
    if place < 0:
        return tuple(sorted((*table, (key, value)), key=_KEY))
    return placed(table, place, value)


def placed(
    table: tuple[tuple[Address, T], ...], place: int, value: T
) -> tuple[tuple[Address, T], ...]:
    """Return the table with another value in the entry at that place."""
    entries = list(table)
    entries[place] = (entries[place][0], value)
    return tuple(entries)


def without_entry(
    table: tuple[tuple[Address, T], ...], key: Address
) -> tuple[tuple[Address, T], ...]:
    """Return the table without the entry of that address."""
    return tuple(entry for entry in table if entry[0] != key)


def sender_to(me: Local, to: Address) -> Sender:
    """Return the sending end to that address; a new one if there is none."""
    return found(me.senders, to) or Sender(me.connections + 1)


def wire(rules: Rules, connection: int) -> int:
    """Return the connection's number as a datagram carries it."""
    return 1 if rules.connection_ids == "none" else connection


def highest(receiver: Receiver) -> int:
    """Return the highest seqno seen."""
    # The buffer is in the order of seqnos.
    return max(receiver.arrived, receiver.buffer[-1][0]) if receiver.buffer else receiver.arrived


def missing(receiver: Receiver) -> tuple[int, ...]:
    """Return the seqnos missing below the highest one seen (U3)."""
    above = range(receiver.arrived + 1, highest(receiver) + 1)
    if not above:
        return ()
    seen = {seqno for seqno, _ in receiver.buffer}
    return tuple(seqno for seqno in above if seqno not in seen)


def with_senders(me: Local, senders: tuple[tuple[Address, Sender], ...]) -> Local:
    """Return the process with these sending ends."""
    node, up, incarnation, connections, _, receivers, closed = me
    return new(Local, (node, up, incarnation, connections, senders, receivers, closed))


def with_receivers(me: Local, receivers: tuple[tuple[Address, Receiver], ...]) -> Local:
    """Return the process with these receiving ends."""
    node, up, incarnation, connections, senders, _, closed = me
    return new(Local, (node, up, incarnation, connections, senders, receivers, closed))
