"""UNICAST as real processes run it: the parts that `spec/Unicast.tla` omits and traces show.

A lane of a peer is a peer of its own here, named "b#1": three connections that share only the
counter of ids. All other handlers are those of `model/unicast/handlers.py`, restricted by the
class: by a window in bytes, by a bound on the gaps in an acknowledgement, and by not sending again,
because of a gap, a message that was sent again a moment ago. Each only holds back messages that the
spec would send.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from raincheck.model.machine.machine import Accepted, refusal
from raincheck.model.machine.runs import Address

from . import events as on
from . import handlers as model
from .handlers import Answer
from .local import Local, Sender, found, sender_to
from .local import Rules as SpecRules

LANE = "#"
"""The separator of a peer's name and the number of a lane."""
_LENGTH = 2
"""The length of a content: (lane, seqno, bytes of the datagram, their CRC-32)."""


@dataclass(frozen=True, slots=True)
class Rules(SpecRules):
    """The rules of the spec, and the bounds of the class."""

    window_bytes: int = 2 << 20
    gaps: int = 32


class ReceiveAck(NamedTuple):
    """An acknowledgement arrives; of its missing messages, `lately` were recently sent again."""

    sender: Address
    connection: int
    arrived: int
    consumed: int
    missing: tuple[int, ...]
    lately: tuple[int, ...]


class Renew(NamedTuple):
    """JOIN_RSP arrives: connections begin anew, and messages on the old ones are void."""


def end_of(who: Address) -> Address:
    """Return the process that the end belongs to, without the lane."""
    return Address(who.node.partition(LANE)[0], who.incarnation)


def send(rules: Rules, me: Local, event: on.Send) -> Answer:
    """Send as in the spec, within the window in bytes (U1, U6)."""
    refused = refusal((end_of(event.to).node != me.node, "n # p", {"to": event.to}))
    if refused:
        return refused
    old = sender_to(me, event.to)
    new = old._replace(seqno=old.seqno + 1, sent=(*old.sent, event.content))
    return model.send(_within(rules, new), me, event)


def receive_ack(rules: Rules, me: Local, event: ReceiveAck) -> Answer:
    """Receive as in the spec, within the window in bytes, without messages just resent (U3, U6)."""
    sender_of, connection, arrived, consumed, missing, lately = event
    ack = on.ReceiveAck(sender_of, connection, arrived, consumed, missing)
    unmoved = model.receive_ack(replace(rules, window=0), me, ack)
    if not isinstance(unmoved, Accepted):
        return unmoved
    sender = found(unmoved.local.senders, event.sender)
    if sender is None:
        return unmoved
    answer = model.receive_ack(_within(rules, sender), me, ack)
    assert isinstance(answer, Accepted)
    sent = (o for o in answer.outputs if not isinstance(o, on.Message) or o.seqno not in lately)
    return Accepted(answer.local, tuple(sent))


def acknowledge(rules: Rules, me: Local, event: on.Acknowledge) -> Answer:
    """Acknowledge as in the spec, with a bounded number of gaps (U3)."""
    answer = model.acknowledge(rules, me, event)
    if not isinstance(answer, Accepted):
        return answer
    (ack,) = answer.outputs
    assert isinstance(ack, on.Ack)
    missing = tuple(first_gaps(ack.missing, rules.gaps))
    return Accepted(answer.local, (ack._replace(missing=missing),))


def renew(_rules: Rules, me: Local, _event: Renew) -> Answer:
    """Do the sender's half of `Forget`: ids go on, so that later connections are newer."""
    return Accepted(me._replace(senders=()))


def first_gaps(missing: tuple[int, ...], most: int) -> Iterator[int]:
    """Return the missing seqnos of the first `most` gaps."""
    gaps, before = 0, 0
    for k in missing:
        gaps += k != before + 1 or before == 0
        before = k
        if gaps > most:
            return
        yield k


def _within(rules: Rules, sender: Sender) -> Rules:
    """Return the rules with the window that the window in bytes leaves this sender."""
    out, limit = sender.out, min(sender.seqno, sender.consumed + rules.window)
    waiting = sender.sent[out - sender.acked :]
    under_way = sum(each[_LENGTH] for each in sender.sent[: out - sender.acked])
    for each in waiting[: max(0, limit - out)]:
        if under_way and under_way + each[_LENGTH] > rules.window_bytes:
            break
        under_way += each[_LENGTH]
        out += 1
    return replace(rules, window=max(0, out - sender.consumed))


def parts(before: Local, after: Local) -> dict[str, Any]:
    """Return the changes as a trace has them: the numbers of each end of a connection that changed.

    Kept messages are only counted; they show when they are sent again, passed up, or missing.
    """
    ends: dict[str, Callable[[Any], Any]] = {
        "senders": lambda s: [s.connection, s.seqno, s.acked, s.out, s.consumed],
        "receivers": lambda r: [r.connection, r.arrived, r.consumed, len(r.buffer), r.owed],
        "closed": int,
    }
    found: dict[str, Any] = {}
    if after.connections != before.connections:
        found["connections"] = after.connections
    for name, numbers in ends.items():
        old, new = dict(getattr(before, name)), dict(getattr(after, name))
        if old == new:
            continue
        changed = [
            [list(peer), numbers(new[peer]) if peer in new else None]
            for peer in sorted(old.keys() | new.keys())
            if old.get(peer) is not new.get(peer) and old.get(peer) != new.get(peer)
        ]
        if changed:
            found[name] = changed
    return found


INPUTS: Mapping[str, type[Any]] = {**model.INPUTS, "ReceiveAck": ReceiveAck, "Renew": Renew}
HANDLERS: Mapping[str, Callable[[Any, Local, Any], Answer]] = {
    **model.HANDLERS,
    "Send": send,
    "ReceiveAck": receive_ack,
    "Acknowledge": acknowledge,
    "Renew": renew,
}
