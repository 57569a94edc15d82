"""What the service says of members and their logs: the first operators of `spec/TotalOrder.tla`."""

from __future__ import annotations

from collections.abc import Iterable

from .state import Delivery, Message, Order, Process, State


def sequence(log: Iterable[Delivery], view: int) -> Order:
    """Return the messages that a log has of a view, in order."""
    return tuple(each.message for each in log if each.view == view)


def beyond(process: Process, view: int) -> bool:
    """Whether it has delivered something in a later view."""
    return any(each.view > view for each in process.delivered)


def went_on(state: State, process: Process, view: int) -> bool:
    """Whether it has gone on from the view to the next; deliveries show that of who is gone."""
    if not 0 < view < len(state.views):
        return False
    old, new = state.views[view - 1], state.views[view]
    if process.address not in old.members & new.members - new.joiners:
        return False
    return (process.present and process.view > view) or beyond(process, view)


def counts(state: State, process: Process, view: int, *, uniform: bool) -> bool:
    """Whether those who go on from the view have to deliver what the process has."""
    return uniform or process.present or went_on(state, process, view)


def firm(process: Process) -> tuple[Delivery, ...]:
    """Return what it delivered for certain: all, or if it is gone what it went on from."""
    return tuple(e for e in process.delivered if process.present or beyond(process, e.view))


def ahead(state: State, node: int, log: tuple[Delivery, ...], view: int) -> list[Process]:
    """Return the others that have delivered more in the view than the log has."""
    mine = len(sequence(log, view))
    return [
        other
        for place, other in enumerate(state.processes)
        if place != node and len(sequence(other.delivered, view)) > mine
    ]


def leaving(state: State) -> bool:
    """Whether somebody is still in the last view but one."""
    return any(p.present and p.view == len(state.views) - 1 for p in state.processes)


def is_prefix(short: Order, long: Order) -> bool:
    """Whether one is the beginning of the other."""
    return long[: len(short)] == short


def known_of(message: Message, known: Iterable[Message]) -> list[int]:
    """Return the numbers of the messages that the sender sent in the same life."""
    return [each.seqno for each in known if each.sender == message.sender]
