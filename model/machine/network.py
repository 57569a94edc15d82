"""The promises of the layers below, as values: the twin of spec/Network.tla.

A unicast channel is the tuple of messages sent and not yet received. A multicast stream is the
tuple of everything a node ever multicast, and each receiver has a position in it. Places and
positions count from 1, as in the spec. A datagram link is the frozenset of datagrams under way, or
their tuple where the network does not reorder. Every function is pure and returns a new value.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeAlias, TypeVar

M = TypeVar("M")
H = TypeVar("H", bound=Hashable)

Link: TypeAlias = frozenset[H] | tuple[H, ...]
"""Datagrams under way from one node to another: a set, or a queue if they are not reordered."""


def send(channel: tuple[M, ...], *messages: M) -> tuple[M, ...]:
    """Return the channel, or stream, with the messages appended."""
    return channel + messages


def receivable(channel: tuple[M, ...], fifo: bool) -> range:
    """Return the places from which the next message may be received: only the first if FIFO."""
    last = len(channel)
    return range(1, min(last, 1) + 1 if fifo else last + 1)


def without(channel: tuple[M, ...], place: int) -> tuple[M, ...]:
    """Return the channel once the message at the place has been received."""
    _check(channel, place)
    return channel[: place - 1] + channel[place:]


def take(channel: tuple[M, ...], place: int = 1) -> tuple[M, tuple[M, ...]]:
    """Return the message at the place and the channel without it."""
    return channel[_check(channel, place) - 1], without(channel, place)


def unread(stream: tuple[M, ...], position: int) -> M | None:
    """Return the message that a receiver at the position gets next, None if it has them all.

    This is NAKACK's promise: in order, without gaps and duplicates.
    """
    if position < 0:
        raise IndexError(f"position {position} is before the start of a stream")
    return stream[position] if position < len(stream) else None


# ---------------------------------------------------------------------- datagrams


def empty_link(reorder: bool) -> Link[H]:
    """Return a link with nothing under way."""
    return frozenset() if reorder else ()


def put(link: Link[H], datagrams: Iterable[H]) -> Link[H]:
    """Return the link with the datagrams added; those already under way are not added again."""
    if isinstance(link, frozenset):
        return link.union(datagrams)
    return link + tuple(d for d in datagrams if d not in link)


def arriving(link: Link[H]) -> Link[H]:
    """Return the datagrams that may arrive next: any, or the first if the link does not reorder."""
    return link if isinstance(link, frozenset) else link[:1]


def dropped(link: Link[H], datagram: H) -> Link[H]:
    """Return the link without the datagram."""
    if isinstance(link, frozenset):
        return link - {datagram}
    return tuple(d for d in link if d != datagram)


def after_arrival(link: Link[H], datagram: H, duplicate: bool) -> tuple[Link[H], ...]:
    """Return the possible links after the datagram has arrived."""
    left = dropped(link, datagram)
    return (left, link) if duplicate else (left,)


def _check(channel: tuple[M, ...], place: int) -> int:
    # Python would take place 0 for the last message.
    if not 1 <= place <= len(channel):
        raise IndexError(f"no place {place} in a channel of {len(channel)} messages")
    return place
