"""The promises of UNICAST: the twins of the invariants in `spec/Unicast.tla`, in its order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from raincheck.model.machine.runs import Address

from .events import Content
from .handlers import Local, Rules, Sender, address, found

if TYPE_CHECKING:
    from .state import State


def _heard(state: State, place: int) -> dict[Address, list[Content]]:
    """Return, per address, what a process has consumed, in order, of all that used that address."""
    heard: dict[Address, list[Content]] = {}
    for source, content in state.delivered[place]:
        heard.setdefault(source, []).append(content)
    return heard


def reliable_fifo_unicast(state: State) -> bool:
    """The messages consumed of a connection are a prefix of those sent on it."""
    for place in range(len(state.locals)):
        for heard in _heard(state, place).values():
            counts: dict[tuple[int, int, int], int] = {}
            for life, meant, connection, number in heard:
                conversation = (life, meant, connection)
                counts[conversation] = counts.get(conversation, 0) + 1
                if number != counts[conversation]:
                    return False
    return True


def nothing_stale(state: State) -> bool:
    """Nothing sent to a former life is consumed; of an address, nothing older follows newer."""
    for place, me in enumerate(state.locals):
        for heard in _heard(state, place).values():
            talks = [(life, connection) for life, _, connection, _ in heard]
            if talks != sorted(talks) or any(meant != me.incarnation for _, meant, _, _ in heard):
                return False
    return True


def lives_in_order(state: State) -> bool:
    """Not promised: no message of a former life follows one of a later life."""
    for delivered in state.delivered:
        lives: dict[str, int] = {}
        for source, (life, *_) in delivered:
            if life < lives.get(source.node, 0):
                return False
            lives[source.node] = life
    return True


def bounded_buffers(rules: Rules, state: State) -> bool:
    """A receiver keeps at most one window of messages."""
    return all(buffers_bounded(rules, me) for me in state.locals)


def buffers_bounded(rules: Rules, me: Local) -> bool:
    """That receiver's part of `bounded_buffers`."""
    window = rules.window
    return all(len(receiver.buffer) <= window for _, receiver in me.receivers)


def window_kept(rules: Rules, state: State) -> bool:
    """A sender has at most one window out that it does not know to be consumed, and a probe."""
    return all(window_of(rules, me) for me in state.locals)


def window_of(rules: Rules, me: Local) -> bool:
    """That sender's part of `window_kept`."""
    most = rules.window + 1
    return all(sender.out <= sender.consumed + most for _, sender in me.senders)


def well_formed(me: Local) -> bool:
    """A process's own part of TypeOK."""
    connections = me.connections
    return all(
        consumed <= acked <= out <= seqno
        and 1 <= connection <= connections
        and len(sent) == seqno - acked
        for _, (connection, seqno, acked, out, consumed, sent) in me.senders
    ) and all(
        consumed <= arrived and len(buffer) >= arrived - consumed
        for _, (_, arrived, consumed, buffer, _) in me.receivers
    )


def kept_until_arrived(rules: Rules, state: State) -> bool:
    """Messages that a sender no longer keeps have arrived, unless the receiver has closed."""
    running = {address(rules, me): me for me in state.locals if me.up}
    return all(
        _has_arrived(running[to], address(rules, me), sender)
        for me in state.locals
        for to, sender in me.senders
        if to in running and sender.acked > 0
    )


def _has_arrived(peer: Local, source: Address, sender: Sender) -> bool:
    if (found(peer.closed, source) or 0) >= sender.connection:
        return True
    receiver = found(peer.receivers, source)
    return (
        receiver is not None
        and receiver.connection == sender.connection
        and receiver.arrived >= sender.acked
        and receiver.consumed >= sender.consumed
    )


def invariants(rules: Rules) -> Mapping[str, Callable[[State], bool]]:
    """Return the spec's invariants by name, for an instance with these rules."""
    return {
        "ReliableFifoUnicast": reliable_fifo_unicast,
        "NothingStale": nothing_stale,
        "LivesInOrder": lives_in_order,
        "BoundedBuffers": partial(bounded_buffers, rules),
        "WindowKept": partial(window_kept, rules),
        "KeptUntilArrived": partial(kept_until_arrived, rules),
    }
