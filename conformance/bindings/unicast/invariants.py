"""The points of a trace at which UNICAST's invariants are evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import compress, groupby
from operator import attrgetter, is_not
from typing import Any, Final, NamedTuple

from raincheck.conformance.trace.invariants.asked import (
    Invariants,
    OfMembers,
    OfState,
    Unshown,
)
from raincheck.conformance.trace.invariants.moments import Asking, Moments, broken, name
from raincheck.conformance.trace.layers.speaks import Said
from raincheck.conformance.trace.records import Address
from raincheck.conformance.trace.step import Step
from raincheck.model.unicast.field import LANE
from raincheck.model.unicast.local import Local, found, sender_to
from raincheck.model.unicast.local import new as _new
from raincheck.model.unicast.promises import buffers_bounded, well_formed, window_of

_SENDERS: Final = Local._fields.index("senders")
_CLOSED_AND_LAST: Final = attrgetter("after.closed", "after.connections")


def _sent(_before: Local, event: Any, after: Local, _outputs: Any) -> Said:
    return [(_called("sent", event.to, sender_to(after, event.to).connection), event.content)]


def _consumed(before: Local, event: Any, _after: Local, outputs: tuple[Any, ...]) -> Said:
    receiver = found(before.receivers, event.source)
    if receiver is None or not outputs:
        return ()
    return [(_called("consumed", event.source, receiver.connection), outputs[0].content)]


@lru_cache(maxsize=4096)
def _called(kind: str, peer: Any, connection: int) -> str:
    """Return the name of what was sent, or consumed, in a conversation."""
    return f"{kind} {_key(peer, connection)}"


def _key(peer: Any, connection: int) -> str:
    """Return the name of a conversation: the peer, and the connection in its lane."""
    node, _, lane = peer.node.partition(LANE)
    return f"{node}.{peer.incarnation} {lane or 0} {connection}"


def _ends(me: Local) -> Said:
    if me.up:
        yield from _reached(me.senders, me.receivers)


def _reached(senders: Any, receivers: Any) -> Said:
    """Say how far these ends have come."""
    for to, sender in senders:
        if sender.acked:
            numbers = [sender.acked, sender.consumed]
            yield "acked", [_key(to, sender.connection), *numbers]
    for source, receiver in receivers:
        numbers = [receiver.arrived, receiver.consumed]
        yield "arrived", [_key(source, receiver.connection), *numbers]


def _dropped(before: Local, _event: Any, after: Local, _outputs: Any) -> Said:
    """Say how far the ends had come that are given up."""
    senders = [entry for entry in before.senders if entry not in after.senders]
    receivers = [entry for entry in before.receivers if entry not in after.receivers]
    return _reached(senders, receivers)


def _fresh(before: Local, after: Local) -> Local:
    """Return the process with only those ends that are not the ones of before."""
    if before.closed is not after.closed:
        return after
    head, closed = after[:_SENDERS], after.closed
    senders = _changed(before.senders, after.senders)
    return _new(Local, (*head, senders, _changed(before.receivers, after.receivers), closed))


def _changed(before: tuple[Any, ...], after: tuple[Any, ...]) -> tuple[Any, ...]:
    if before is after:
        return ()
    if len(before) != len(after):
        return after
    return tuple([new for old, new in zip(before, after, strict=True) if old is not new])


class _Gathered(NamedTuple):
    """The ends that several steps have changed."""

    merged: tuple[Local, ...]
    """Processes that have all of them; where the last connection has another number, another one.
    """
    steps: int
    sending: int
    """The number of steps that have changed the end of a sender."""
    receiving: int
    """The number of steps that have changed the end of a receiver."""
    older: bool
    """Whether a receiver may be older than the one before, or than one that was closed."""

    def all(self, holds: Callable[[Local], bool]) -> bool:
        """Whether that holds of all ends."""
        return all(map(holds, self.merged))


def _gather(steps: Sequence[Step]) -> _Gathered | None:
    """Gather changed ends; None where connections were closed."""
    if steps[0].before.closed is not steps[0].after.closed:
        return None
    merged: list[Local] = []
    sending, receiving, older = 0, 0, False
    for (closed, connections), alike in groupby(steps, key=_CLOSED_AND_LAST):
        senders: list[Any] = []
        receivers: list[Any] = []
        replaced: list[Any] = []
        for _, _, before, _, after, _ in alike:
            old, new = before.senders, after.senders
            if old is not new:
                count = len(senders)
                senders += compress(new, map(is_not, old, new)) if len(old) == len(new) else new
                sending += len(senders) > count
            old, new = before.receivers, after.receivers
            if old is not new:
                if len(old) == len(new):
                    count = len(replaced)
                    replaced += compress(zip(old, new, strict=True), map(is_not, old, new))
                    receiving += len(replaced) > count
                else:
                    receivers += new
                    receiving += bool(new)
                    older = older or not _never_older(None, before, after)
        newest = dict(closed)
        for (who, was), entry in replaced:
            peer, end = entry
            if peer != who or not newest.get(peer, -1) < end.connection >= was.connection:
                older = True
            receivers.append(entry)
        merged.append(
            after._replace(
                senders=tuple(senders), receivers=tuple(receivers), connections=connections
            )
        )
    return _Gathered(tuple(merged), len(steps), sending, receiving, older)


def _never_older(_rules: Any, before: Local | None, after: Local) -> bool:
    """No connection of a peer is older than one that was closed, or than the one before."""
    for peer, receiver in after.receivers:
        closed = found(after.closed, peer)
        if closed is not None and receiver.connection <= closed:
            return False
        old = None if before is None else found(before.receivers, peer)
        if old is not None and receiver.connection < old.connection:
            return False
    return True


def _conversations(moments: Moments, kind: str) -> Iterator[tuple[Address, str, bytes]]:
    for who, report in moments.reports.items():
        for called, digests in report.sequences.items():
            said, _, key = called.partition(" ")
            if said == kind:
                yield who, key, digests


def _other_end(who: Address, key: str) -> tuple[str, str]:
    """Return the peer in the name of a conversation, and the name that the peer has for it."""
    peer, *rest = key.split(" ")
    return peer, " ".join([name(who), *rest])


def prefixes(moments: Moments) -> Asking:
    """The messages consumed of a conversation are the first of those sent in it."""
    sent = {(name(who), key): digests for who, key, digests in _conversations(moments, "sent")}
    known = {name(who) for who in moments.reports}
    count = 0
    for who, key, consumed in _conversations(moments, "consumed"):
        peer, theirs = _other_end(who, key)
        if peer not in known:
            continue
        there = sent.get((peer, theirs), b"")
        if not there.startswith(consumed) and not _cut(moments, peer, there, consumed):
            told = f"{len(consumed) // 8} messages of {peer} on connection {key.split()[-1]}"
            return Asking(count, broken(who, 0, told, f"{len(there) // 8} that it sent"))
        count += len(consumed) // 8
    return Asking(count)


def _cut(moments: Moments, peer: str, sent: bytes, consumed: bytes) -> bool:
    """Whether the sender was killed, and its file ends before what was consumed."""
    killed = any(name(who) == peer for who in moments.crashed)
    return killed and consumed.startswith(sent)


def arrived(moments: Moments) -> Asking:
    """All that a sender has given up by the end of a connection has arrived at its other end."""
    there: dict[tuple[str, str], list[Any]] = {}
    for who, note in moments.noted("arrived"):
        if who not in moments.crashed:
            key = _other_end(who, note.value[0])
            there[key] = list(map(max, note.value[1:], there.get(key, note.value[1:])))
    count = 0
    for who, note in moments.noted("acked"):
        key, *numbers = note.value
        peer, _ = _other_end(who, key)
        # Of a connection that the peer has followed by a newer one nothing is known.
        has = there.get((name(who), " ".join([peer, *key.split(" ")[1:]])))
        if has is None:
            continue
        count += 1
        if numbers[0] > has[0] or numbers[1] > has[1]:
            return Asking(count, broken(who, note.index, numbers, f"{peer} has {has} in the end"))
    return Asking(count)


INVARIANTS: Final = Invariants(
    of={
        "TypeOK": (
            OfState(
                reads=("senders", "receivers", "connections"),
                alone=well_formed,
                sweep=lambda _, ends: ends.steps if ends.all(well_formed) else None,
                how="an end's numbers are in order, and it keeps what they say",
            ),
        ),
        "ReliableFifoUnicast": (
            OfMembers(
                judge=prefixes,
                how="what was consumed of a connection is how what was sent on it begins",
            ),
        ),
        "NothingStale": (
            OfMembers(
                judge=prefixes,
                how="what was consumed was sent to this life of the process, on this connection",
            ),
            OfState(
                reads=("receivers", "closed"),
                holds=_never_older,
                asked=lambda _, me: bool(me.receivers),
                sweep=lambda _, ends: None if ends.older else ends.receiving,
                how="no connection of a peer follows a newer one",
            ),
        ),
        "LivesInOrder": (
            Unshown(why="nobody promises it: by the specification's own cases it does not hold"),
        ),
        "BoundedBuffers": (
            OfState(
                reads=("receivers",),
                holds=lambda rules, _, me: buffers_bounded(rules, me),
                asked=lambda _, me: bool(me.receivers),
                sweep=lambda rules, ends: (
                    ends.receiving if ends.all(partial(buffers_bounded, rules)) else None
                ),
                how="a receiver keeps at most a window of messages",
            ),
        ),
        "WindowKept": (
            OfState(
                reads=("senders",),
                holds=lambda rules, _, me: window_of(rules, me),
                asked=lambda _, me: bool(me.senders),
                sweep=lambda rules, ends: (
                    ends.sending if ends.all(partial(window_of, rules)) else None
                ),
                how="a sender has at most a window out that is not consumed, and a probe",
            ),
        ),
        "KeptUntilArrived": (
            OfMembers(
                judge=arrived,
                how="what a sender has given up by the end of a connection has arrived by its end "
                "at the receiver: where both end is a consistent cut, and its numbers only grow",
            ),
        ),
    },
    focus=_fresh,
    gather=_gather,
    says={"Forget": _dropped, "Renew": _dropped},
    numbers={"Send": _sent, "Consume": _consumed},
    ends=_ends,
)
