"""The local state of a process of UNICAST, and its rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from raincheck.model.machine.runs import Address

from .events import Content

T = TypeVar("T")


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


class Sender(NamedTuple):
    """The sending end of a connection: `sent` holds the messages acked + 1 .. seqno."""

    connection: int
    seqno: int = 0
    acked: int = 0
    out: int = 0
    consumed: int = 0
    sent: tuple[Content, ...] = ()


class Receiver(NamedTuple):
    """The receiving end: `buffer` holds the messages that are not consumed yet, by seqno."""

    connection: int
    arrived: int = 0
    consumed: int = 0
    buffer: tuple[tuple[int, Content], ...] = ()
    owed: bool = False


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


def found(table: tuple[tuple[Address, T], ...], key: Address) -> T | None:
    """Return the entry of that address, or None."""
    return next((value for known, value in table if known == key), None)


def with_entry(
    table: tuple[tuple[Address, T], ...], key: Address, value: T
) -> tuple[tuple[Address, T], ...]:
    """Return the table with that entry, in place of the old one if there was one."""
    return tuple(sorted(((*without_entry(table, key), (key, value))), key=lambda entry: entry[0]))


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
    return max(receiver.arrived, *(seqno for seqno, _ in receiver.buffer), 0)


def missing(receiver: Receiver) -> tuple[int, ...]:
    """Return the seqnos missing below the highest one seen (U3)."""
    seen = {seqno for seqno, _ in receiver.buffer}
    above = range(receiver.arrived + 1, highest(receiver) + 1)
    return tuple(seqno for seqno in above if seqno not in seen)
