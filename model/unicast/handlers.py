"""UNICAST: the twin of `spec/Unicast.tla`, one function per handler of a process.

The law of this file: a handler sees one process's local state and one input. Its guard comes first
in the spec's words, followed by the effect of the spec's action on this process. Datagrams and
deliveries are outputs: the network (`system.py`) decides what becomes of them. Rules U1 to U9 are
at the head of the spec.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from raincheck.model.machine.machine import Accepted, Refused, Value, refusal
from raincheck.model.machine.runs import Address

from .events import (
    Ack,
    Acknowledge,
    Consume,
    Crash,
    Deliver,
    Forget,
    Message,
    Output,
    Receive,
    ReceiveAck,
    Restart,
    Retransmit,
    Send,
)
from .local import (
    Local,
    Receiver,
    Rules,
    Sender,
    address,
    found,
    highest,
    missing,
    new,
    sender_to,
    wire,
    with_entry,
    with_receivers,
    with_senders,
    without_entry,
)

__all__ = [
    "HANDLERS",
    "INPUTS",
    "Local",
    "Receiver",
    "Rules",
    "Sender",
    "address",
    "found",
    "sender_to",
]

Answer: TypeAlias = Accepted[Local, Output] | Refused

# Apart from the texts of other conjuncts, because no input of a process makes these false.
_TIMER, _DOWN = "Timer", "~up[n]"


def _pushed(rules: Rules, sender: Sender) -> Sender:
    """Return the sender once all messages that the window allows are out (U6)."""
    if sender.out >= sender.seqno:
        return sender
    out = min(sender.seqno, rules.limit(sender))
    return sender._replace(out=out) if out > sender.out else sender


def _datagrams(
    rules: Rules, to: Address, sender: Sender, seqnos: Sequence[int]
) -> tuple[Message, ...]:
    if not seqnos:
        return ()
    connection = wire(rules, sender.connection)
    sent, first = sender.sent, sender.acked + 1
    return tuple([new(Message, (to, connection, k, sent[k - first])) for k in seqnos])


# ---------------------------------------------------------------------- handlers


def send(rules: Rules, me: Local, event: Send) -> Answer:
    """The application sends its next message (U1)."""
    other = event.to.node != me.node
    refused = None if me.up and other else refusal(_up(me), (other, "n # p", {"to": event.to}))
    if refused:
        return refused
    old = sender_to(me, event.to)
    connection, seqno, acked, out, consumed, sent = old
    sent = (*sent, event.content)
    end = _pushed(rules, new(Sender, (connection, seqno + 1, acked, out, consumed, sent)))
    outputs = _datagrams(rules, event.to, end, range(out + 1, end.out + 1))
    if connection > me.connections:
        me = me._replace(connections=connection)
    return Accepted(with_senders(me, with_entry(me.senders, event.to, end)), outputs)


def receive(rules: Rules, me: Local, event: Receive) -> Answer:
    """A message arrives (U2, U5, U6, U8)."""
    refused = None if me.up else refusal(_up(me))
    if refused:
        return refused
    source, connection, k, content = event
    known = found(me.receivers, source)
    latest = found(me.closed, source)
    if latest is not None and connection <= latest:
        return Accepted(me)
    anew = known is None or (rules.connection_ids != "none" and connection != known.connection)
    if known is not None and rules.connection_ids == "newer" and connection < known.connection:
        return Accepted(me)
    receiver = Receiver(connection) if known is None or anew else known
    if _is_duplicate(rules, receiver, k):
        receiver = receiver._replace(owed=receiver.owed or rules.ack_duplicates)
    elif k > (receiver.consumed if rules.consumed_window else receiver.arrived) + rules.window:
        receiver = receiver._replace(owed=True)
    else:
        buffer, arrived = receiver.buffer, receiver.arrived
        last = not buffer or buffer[-1][0] < k
        buffer = (*buffer, (k, content)) if last else tuple(sorted((*buffer, (k, content))))
        if k == arrived + 1:
            for seqno, _ in buffer[-1:] if last else buffer:
                arrived = seqno if seqno == arrived + 1 else arrived
        receiver = new(Receiver, (receiver.connection, arrived, receiver.consumed, buffer, True))
    return Accepted(with_receivers(me, with_entry(me.receivers, source, receiver)))


def _is_duplicate(rules: Rules, receiver: Receiver, k: int) -> bool:
    if rules.duplicates == "exact":
        known = receiver.buffer
        if not known or k > known[-1][0]:
            return k <= receiver.arrived
        return k <= receiver.arrived or any(seqno == k for seqno, _ in known)
    return k <= highest(receiver)


def consume(_rules: Rules, me: Local, event: Consume) -> Answer:
    """The layer above takes the next message of a connection (U2)."""
    receiver = found(me.receivers, event.source)
    enabled = me.up and receiver is not None and receiver.consumed < receiver.arrived
    refused = (
        None
        if enabled
        else refusal(
            _up(me),
            _known(receiver, "a \\in DOMAIN receivers[n]", event.source),
            (
                receiver is None or receiver.consumed < receiver.arrived,
                "r.consumed < r.arrived",
                {"r": receiver or ()},
            ),
        )
    )
    if refused or receiver is None:
        return refused or Accepted(me)
    connection, arrived, consumed, buffer, _ = receiver
    (_, content), rest = buffer[0], buffer[1:]
    receiver = new(Receiver, (connection, arrived, consumed + 1, rest, True))
    me = with_receivers(me, with_entry(me.receivers, event.source, receiver))
    return Accepted(me, (Deliver(event.source, content),))


def acknowledge(_rules: Rules, me: Local, event: Acknowledge) -> Answer:
    """Send an acknowledgement that is owed (U3, U6)."""
    receiver = found(me.receivers, event.source)
    enabled = me.up and receiver is not None and receiver.owed
    refused = (
        None
        if enabled
        else refusal(
            _up(me),
            _known(receiver, "a \\in DOMAIN receivers[n]", event.source),
            (receiver is None or receiver.owed, "r.owed", {"r": receiver or ()}),
        )
    )
    if refused or receiver is None:
        return refused or Accepted(me)
    connection, arrived, consumed, buffer, _ = receiver
    ack = Ack(event.source, connection, arrived, consumed, missing(receiver))
    receiver = new(Receiver, (connection, arrived, consumed, buffer, False))
    receivers = with_entry(me.receivers, event.source, receiver)
    return Accepted(with_receivers(me, receivers), (ack,))


def receive_ack(rules: Rules, me: Local, event: ReceiveAck) -> Answer:
    """An acknowledgement arrives (U3, U6).

    Arrived messages need not be kept, missing ones are sent again, and the window may open.
    """
    refused = None if me.up else refusal(_up(me))
    if refused:
        return refused
    to, connection, arrived, consumed, asked = event[:5]
    old = found(me.senders, to)
    if old is None or arrived > old.out:
        return Accepted(me)
    if rules.ack_connection and connection != wire(rules, old.connection):
        return Accepted(me)
    acked = max(old.acked, arrived)
    consumed = max(old.consumed, min(consumed, arrived))
    sent = old.sent[acked - old.acked :]
    at = old.connection, old.seqno, acked, old.out, consumed, sent
    end = _pushed(rules, new(Sender, at))
    again = [k for k in asked if acked < k <= old.out]
    outputs = _datagrams(rules, to, end, (*again, *range(old.out + 1, end.out + 1)))
    return Accepted(with_senders(me, with_entry(me.senders, to, end)), outputs)


def retransmit(rules: Rules, me: Local, event: Retransmit) -> Answer:
    """The timer: send the oldest unacknowledged message again (U4, U7).

    It is a probe if it is still behind the window.
    """
    sender = found(me.senders, event.to)
    refused = refusal(
        (rules.timer, _TIMER, {}),
        _up(me),
        _known(sender, "a \\in DOMAIN senders[n]", event.to),
        (
            sender is None or sender.acked < sender.seqno,
            "s.acked + 1 <= s.seqno",
            {"s": sender or ()},
        ),
        (
            sender is None or sender.acked < sender.out or rules.probe,
            "s.acked + 1 <= s.out \\/ Probe",
            {"s": sender or ()},
        ),
    )
    if refused or sender is None:
        return refused or Accepted(me)
    oldest = sender.acked + 1
    sender = sender._replace(out=max(sender.out, oldest))
    me = me._replace(senders=with_entry(me.senders, event.to, sender))
    return Accepted(me, _datagrams(rules, event.to, sender, (oldest,)))


def forget(rules: Rules, me: Local, event: Forget) -> Answer:
    """The membership reports that a process is gone (U9)."""
    receiver = found(me.receivers, event.peer)
    known = receiver is not None or found(me.senders, event.peer) is not None
    refused = refusal(
        _up(me),
        (
            known,
            "a \\in DOMAIN senders[n] \\cup DOMAIN receivers[n]",
            {"a": event.peer},
        ),
    )
    if refused:
        return refused
    closed = me.closed
    if rules.remember_closed and receiver is not None:
        closed = with_entry(closed, event.peer, receiver.connection)
    return Accepted(
        me._replace(
            senders=without_entry(me.senders, event.peer),
            receivers=without_entry(me.receivers, event.peer),
            closed=closed,
        )
    )


def crash(_rules: Rules, me: Local, _event: Crash) -> Answer:
    """The process crashes."""
    return refusal(_up(me)) or Accepted(Local(me.node, up=False, incarnation=me.incarnation))


def restart(_rules: Rules, me: Local, _event: Restart) -> Answer:
    """The process comes back, with nothing but its name."""
    refused = refusal((not me.up, _DOWN, {"up": me.up}))
    return refused or Accepted(Local(me.node, incarnation=me.incarnation + 1))


def _up(me: Local) -> tuple[bool, str, Mapping[str, Value]]:
    return me.up, "up[n]", {"up": me.up}


def _known(entry: object, text: str, key: Address) -> tuple[bool, str, Mapping[str, Value]]:
    return entry is not None, text, {"a": key}


INPUTS: Mapping[str, type[Any]] = {
    each.__name__: each
    for each in (
        *(Send, Receive, Consume, Acknowledge, ReceiveAck, Retransmit, Forget),
        *(Crash, Restart),
    )
}

HANDLERS: Mapping[str, Callable[[Rules, Local, Any], Answer]] = {
    "Send": send,
    "Receive": receive,
    "Consume": consume,
    "Acknowledge": acknowledge,
    "ReceiveAck": receive_ack,
    "Retransmit": retransmit,
    "Forget": forget,
    "Crash": crash,
    "Restart": restart,
}
