"""UNICAST as real processes run it: the parts that `spec/Unicast.tla` omits and traces show.

A lane of a peer is a peer of its own here, named "b#1": three connections that share only the
counter of ids. All other handlers are those of `model/unicast/handlers.py`, restricted by the
class: by a window in bytes, by a bound on the gaps in an acknowledgement, and by not sending again,
because of a gap, a message that was sent again a moment ago. Each only holds back messages that the
spec would send.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import compress, count
from operator import is_not, itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from raincheck.model.machine.machine import Accepted, Conjunct, Refused
from raincheck.model.machine.runs import Address

from . import events as on
from . import handlers as model
from .handlers import Answer
from .local import Local, Receiver, Sender
from .local import Rules as SpecRules

Table: TypeAlias = tuple[tuple[Address, Any], ...]
"""Ends of connections, by peer."""
LANE = "#"
"""The separator of a peer's name and the number of a lane."""
_LENGTH: Final = itemgetter(2)
"""The length of a content: (lane, seqno, bytes of the datagram, their CRC-32)."""


@dataclass(frozen=True, slots=True)
class Rules(SpecRules):
    """The rules of the spec, and the bounds of the class."""

    window_bytes: int = 2 << 20
    gaps: int = 32

    def limit(self, sender: Sender) -> int:
        """Return the highest seqno that both windows allow: one message is allowed by any."""
        out, allowed = sender.out, min(sender.seqno, SpecRules.limit(self, sender))
        if allowed <= out:
            return allowed
        under_way = sum(map(_LENGTH, sender.sent[: out - sender.acked]))
        for length in map(_LENGTH, sender.sent[out - sender.acked : allowed - sender.acked]):
            if under_way and under_way + length > self.window_bytes:
                break
            under_way += length
            out += 1
        return out


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
    """As the spec has it, to another node (U1, U6)."""
    if event.to.node.partition(LANE)[0] == me.node:
        return Refused((Conjunct("n # p", {"to": event.to}),))
    return model.send(rules, me, event)


def receive_ack(rules: Rules, me: Local, event: ReceiveAck) -> Answer:
    """As the spec has it, without what was sent lately (U3, U6)."""
    answer = model.receive_ack(rules, me, event)  # type: ignore[arg-type]  # it has one field more
    if not event.lately or not isinstance(answer, Accepted):
        return answer
    lately = event.lately
    sent = (o for o in answer.outputs if not isinstance(o, on.Message) or o.seqno not in lately)
    return Accepted(answer.local, tuple(sent))


def acknowledge(rules: Rules, me: Local, event: on.Acknowledge) -> Answer:
    """Acknowledge as in the spec, with a bounded number of gaps (U3)."""
    answer = model.acknowledge(rules, me, event)
    if not isinstance(answer, Accepted):
        return answer
    (ack,) = answer.outputs
    assert isinstance(ack, on.Ack)
    if len(ack.missing) <= rules.gaps:
        return answer
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


def parts(before: Local, after: Local) -> dict[str, Any]:
    """Return the changes as a trace has them: the numbers of each end of a connection that changed.

    Kept messages are only counted; they show when they are sent again, passed up, or missing.
    """
    found: dict[str, Any] = {}
    _, _, _, last, sending, receiving, ended = before
    _, _, _, connections, senders, receivers, closed = after
    if connections != last:
        found["connections"] = connections
    if senders is not sending:
        _add(found, "senders", sending, senders, _of_sender)
    if receivers is not receiving:
        _add(found, "receivers", receiving, receivers, _of_receiver)
    if closed is not ended:
        _add(found, "closed", ended, closed, int)
    return found


def _of_sender(s: Sender) -> tuple[Any, ...]:
    return s[:5]  # all but the messages


def _of_receiver(r: Receiver) -> list[Any]:
    connection, arrived, consumed, buffer, owed = r
    return [connection, arrived, consumed, len(buffer), owed]


def _add(
    found: dict[str, Any],
    name: str,
    before: Table,
    after: Table,
    numbers: Callable[[Any], Any],
) -> None:
    """Add the entries that changed, if there are any."""
    changed: list[list[Any]] = []
    if len(before) == len(after):
        entries = zip(before, after, strict=True)
        for (peer, was), (who, now) in compress(entries, map(is_not, before, after)):
            if peer != who:
                break
            if was != now:
                changed.append([who, numbers(now)])
        else:
            if changed:
                found[name] = changed
            return
    old, new = map(dict, _apart(before, after))
    found[name] = [
        [peer, numbers(new[peer]) if peer in new else None]
        for peer in sorted(old.keys() | new.keys())
        if old.get(peer) != new.get(peer)
    ]


def _apart(before: Table, after: Table) -> tuple[Table, Table]:
    """Return both tables without the same entries at their beginnings and at their ends."""
    least = min(len(before), len(after))
    low = next(compress(count(), map(is_not, before, after)), least)
    high = next(compress(count(), map(is_not, reversed(before), reversed(after))), least)
    high = min(high, least - low)
    return before[low : len(before) - high], after[low : len(after) - high]


INPUTS: Mapping[str, type[Any]] = {**model.INPUTS, "ReceiveAck": ReceiveAck, "Renew": Renew}
HANDLERS: Mapping[str, Callable[[Any, Local, Any], Answer]] = {
    **model.HANDLERS,
    "Send": send,
    "ReceiveAck": receive_ack,
    "Acknowledge": acknowledge,
    "Renew": renew,
}
