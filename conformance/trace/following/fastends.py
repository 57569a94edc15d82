"""Both ends of messages, of records that are taken by the fast path: compared bytes by bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from raincheck.conformance.bindings.binding import DATAGRAM, Binding
from raincheck.conformance.trace.columns import Append, Channel, Columns, Digest
from raincheck.conformance.trace.step import Step

from .forms import Arrival, Forms
from .writing import encode

_LISTS: Final = frozenset({tuple, list})
_SETS: Final = frozenset({frozenset, set})

End: TypeAlias = tuple[Channel, Append, Append, int]
"""The channel of a message, what adds its digest and its event's index there, and the digest."""
Arriving: TypeAlias = Callable[[Any, bytes], End | None]
"""(input, the id of what was received) -> its end; None if it is not the one that is next."""
Sending: TypeAlias = Callable[[Any, Any, int, list[End]], int]
"""(output, what was sent, place of its first copy, the ends) -> the place behind its last copy; -1
if they are not there."""


class FastEnds:
    """The ends of the messages of one file after another."""

    def __init__(self, binding: Binding, forms: Forms, digest: Digest) -> None:
        self._binding, self._digest = binding, digest
        self._me = ("", 0)
        self._merges = False
        self._columns = Columns(digest)
        self._peers: list[dict[Any, Any]] = []
        """By peer, what its channels are called: of the present file."""
        self._arriving = {
            action.name: self._arrival(action.arrival)
            for action in forms.actions.values()
            if action.arrival is not None
        }
        self._sending = {kind: self._departure(kind, forms) for kind in forms.departures}

    def begin(self, me: tuple[str, int], columns: Columns, *, merges: bool) -> None:
        """Begin with another file. Where groups `merge` the names of channels depend on views: what
        goes by one is judged in full.
        """
        self._me, self._columns, self._merges = me, columns, merges
        for known in self._peers:
            known.clear()

    def take(self, records: Sequence[Any], steps: Sequence[Step]) -> int:
        """Keep the ends of what the steps receive and send, and return of how many steps: the next
        one's are not what its record says.
        """
        arriving, sending = self._arriving, self._sending
        for place, (record, step) in enumerate(zip(records, steps, strict=False)):
            action, index, _, event, _, outputs = step
            sent, arrives = record.sent, arriving.get(action)
            if arrives is None and not outputs and not sent:
                continue
            ends: list[End] = []
            came, at = None, 0
            try:
                if arrives is not None:
                    came = arrives(event, bytes(record.received))
                    if came is None:
                        return place
                for output in outputs:
                    send = sending.get(output.__class__)
                    if send is not None:
                        at = send(output, sent, at, ends)
                        if at < 0:
                            break
            except Exception:  # noqa: BLE001 - it is found out where the record is judged
                at = -1
            if at != len(sent):
                for channel, _, _, _ in ends:
                    channel.count -= 1
                return place
            if came is not None:
                came[0].count += 1
                ends.append(came)
            for _, digests, indices, mark in ends:
                digests(mark)
                indices(index)
        return len(steps)

    def _arrival(self, arrival: Arrival) -> Arriving:
        message, name, place, sender_at, pick, compared = arrival
        fifo, begins, digest = name != DATAGRAM, message.encode(), self._digest
        end_of, spoiled = self._binding.end_of, self._binding.spoiled.get(message)
        known: dict[Any, tuple[bytes, Channel, Append, Append]] = {}
        self._peers.append(known)

        def reader(sender: Any) -> tuple[bytes, Channel, Append, Append] | None:
            end = end_of(sender)
            if isinstance(end, str) or len(end) != 2:
                return None
            text = encode([name if fifo else message, *end, *self._me])
            channel = self._columns.channel(text.decode(), incoming=True, fifo=fifo)
            known[sender] = found = (text[:-1], channel, *channel.appending())
            return found

        def arriving(event: Any, received: bytes) -> End | None:
            arrived = event if place is None else event[place]
            sender = arrived[sender_at]
            found = known.get(sender) or reader(sender)
            if found is None or (spoiled is not None and spoiled(arrived)):
                return None
            if fifo and self._merges:
                return None
            prefix, channel, digests, indices = found
            if fifo:
                if received != b"%b,%d]" % (prefix, channel.count + 1):
                    return None
            elif not received.startswith(prefix) or received[len(prefix)] not in b",]":
                return None
            return channel, digests, indices, digest(begins + compared(pick(arrived)))

        return arriving

    def _departure(self, kind: type[Any], forms: Forms) -> Sending:
        message, name, to_at, pick, content, compared = forms.departures[kind]
        fifo, begins, digest = name != DATAGRAM, message.encode(), self._digest
        end_of = self._binding.end_of
        known: dict[Any, tuple[bytes, bytes, Channel, Append, Append]] = {}
        self._peers.append(known)
        last: tuple[Any, bytes, int] = (None, b"", 0)

        def writer(to: Any) -> tuple[bytes, bytes, Channel, Append, Append] | None:
            end = end_of(to)
            if isinstance(end, str) or len(end) != 2:
                return None
            text = encode([name if fifo else message, *self._me, *end])
            channel = self._columns.channel(text.decode(), incoming=False, fifo=fifo)
            begin = b'{"id":' + text[:-1] + (b"," if fifo else b"")
            behind = b'],"to":%b,"message":%b,"content":' % (encode(end), encode(message))
            known[to] = found = (begin, behind, channel, *channel.appending())
            return found

        def send(output: Any, sent: Any, at: int, ends: list[End]) -> int:
            nonlocal last
            if fifo and self._merges:
                return -1
            to = output[to_at]
            values = pick(output)
            if values == last[0]:
                _, written, mark = last
            else:
                body = content(values)
                arrives = body if compared is None else compared[1](compared[0](output))
                written, mark = body + b"}", digest(begins + arrives)
                last = (values, written, mark)
            if to.__class__ in _SETS:
                to = sorted(to)
            elif to.__class__ not in _LISTS:
                to = (to,)
            for whom in to:
                found = known.get(whom) or writer(whom)
                if found is None or at >= len(sent):
                    return -1
                begin, behind, channel, digests, indices = found
                text = bytes(sent[at])
                if fifo:
                    if text != b"%b%d%b%b" % (begin, channel.count + 1, behind, written):
                        return -1
                else:
                    rest = behind + written
                    if not text.startswith(begin) or not text.endswith(rest):
                        return -1
                    # Between them are more parts of the id, which end where the array ends.
                    tail = text[len(begin) : -len(rest)]
                    if (tail and tail[:1] != b",") or b"]" in tail:
                        return -1
                channel.count += 1
                ends.append((channel, digests, indices, mark))
                at += 1
            return at

        return send
