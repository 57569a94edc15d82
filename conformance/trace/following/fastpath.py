"""The usual records of a trace, judged at once: typed by the protocol's binding, bytes by bytes.

Nearly every record of a good trace is written as the recorder writes it, and is what the model
does. Such a record is accepted here, without its contents ever becoming trees: `args` come as the
handler's input, and what the handler answers is encoded and compared with the bytes that stand in
the record. Whatever is not accepted changes nothing, and is judged in full (`in_full.py`): it may
be written otherwise, or it may be wrong. So nothing is refused here, and no complaint stands here.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress, count
from operator import is_not
from typing import Any, Final, TypeAlias

from msgspec import UNSET

from raincheck.conformance.bindings.binding import DATAGRAM, Binding
from raincheck.conformance.trace.columns import Append, Channel, Columns, Digest
from raincheck.conformance.trace.invariants.asked import Change
from raincheck.conformance.trace.invariants.watch import Step, Watch, plan_of
from raincheck.conformance.trace.layers.speaks import Heard, Speaks
from raincheck.model.machine.machine import Accepted

from .forms import ABSENT, UNCHANGED, Arrival, Forms
from .writing import alike, encode, encode_as_is

_LISTS: Final = frozenset({tuple, list})
_SETS: Final = frozenset({frozenset, set})

Take: TypeAlias = Callable[[Any, Any], Any]
"""(record, local state) -> the answer if the record is what the model does; else None."""


class Made(dict[Any, Any]):
    """A table whose entries are made when they are first asked for."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Any) -> Any:
        found = self[key] = self._make(key)
        return found


class FastPath:
    """Takes the usual records of one file after another, all with the same rules."""

    def __init__(self, binding: Binding, forms: Forms, rules: Any, digest: Digest) -> None:
        self.binding, self.rules = binding, rules
        self._forms, self._digest = forms, digest
        self._me = ("", 0)
        self._columns = Columns(digest)
        self._heard = Heard(None)
        self._change: Callable[[Change], None] | None = None
        self._step: Callable[[Step], None] | None = None
        self.takes = Made(self._taking)
        """The function that takes a record, by the record's type."""
        self._sends = Made(self._sending)
        self._known: list[dict[Any, Any]] = []
        """By peer, what its channels are called: of the present file."""
        self._tells = frozenset(each for each in binding.outputs if each.__name__ in binding.told)

    def begin(
        self, me: tuple[str, int], columns: Columns, heard: Heard, watch: Watch | None
    ) -> None:
        """Begin with another file."""
        self._me, self._columns, self._heard = me, columns, heard
        self._change = None if watch is None else watch.change
        self._step = None if watch is None else watch.step
        for known in self._known:
            known.clear()

    def _taking(self, kind: type[Any]) -> Take:
        """Return what takes the records of that type."""
        action = self._forms.actions[kind]
        handler, parts = self.binding.traced_handler(action.name), self.binding.parts
        make, rules, tells, changes = action.make, self.rules, self._tells, self._changed
        sends, departures = self._sends, self._forms.departures
        arriving = None if action.arrival is None else self._arriving(action.arrival)
        speaks = self.binding.speaks or Speaks()
        says, tallies = speaks.says.get(action.name), speaks.tallies.get(action.name)
        tracks = speaks.tracks
        plan = plan_of(self.binding)
        asks = None if plan is None else plan.step(action.name)
        if not action.known:
            return lambda _record, _local: None

        def take(record: Any, local: Any) -> Any:
            if record.given is not UNSET:
                return None
            event = make(record.args)
            came = None
            if arriving is not None:
                came = arriving(event, bytes(record.received))
                if came is None:
                    return None
            answer = handler(rules, local, event)
            if answer.__class__ is not Accepted:
                return None
            after, outputs = answer
            changed, made = bytes(record.changed), None
            if after is local:
                if changed != UNCHANGED:
                    return None
            elif parts is None:
                if changed != changes(local, after):
                    return None
            else:
                made = parts(local, after)
                if encode_as_is(made) != changed and (len(made) < 2 or not alike(made, changed)):
                    return None
            sent = record.sent
            if outputs:
                todo: list[tuple[Channel, Append, Append, int]] = []
                try:
                    at = 0
                    for output in outputs:
                        if output.__class__ in departures:
                            at = sends[output.__class__](output, sent, at, todo)
                            if at < 0:
                                break
                    if tells and at >= 0:
                        told = [
                            (each.__class__.__name__, each)
                            for each in outputs
                            if each.__class__ in tells
                        ]
                        if encode(told) != bytes(record.told):
                            at = -1
                except Exception:  # noqa: BLE001 - it is found out where the record is judged
                    at = -1
                if at != len(sent):
                    for channel, _, _, _ in todo:
                        channel.count -= 1
                    return None
                index = record.index
                for _, digests, indices, mark in todo:
                    digests(mark)
                    indices(index)
            elif sent or (tells and bytes(record.told) != ABSENT):
                return None
            if came is not None:
                channel, digests, indices, mark = came
                channel.count += 1
                digests(mark)
                indices(record.index)
            if tracks and made:
                self._heard.track(record.index, made)
            if says is not None:
                self._heard.say(record.index, says(local, event, after, outputs))
            if tallies is not None:
                self._heard.count(tallies(event, after))
            if after is not local and self._change is not None:
                self._change((record.index, local, after))
            if asks is not None and self._step is not None:
                self._step((asks, record.index, local, event, after, outputs))
            return answer

        return take

    def _changed(self, local: Any, after: Any) -> bytes:
        """The variables that have changed, as a record has them."""
        shown, found = self._forms.variables, []
        for place in compress(count(), map(is_not, local, after)):
            variable = shown.get(place)
            if variable is not None and local[place] != after[place]:
                found.append(variable.begin + variable.write(after[place]))
        return b"{%b}" % b",".join(found)

    def _arriving(self, arrival: Arrival) -> Any:
        message, name, place, sender_at, pick, compared = arrival
        fifo, begins, digest = name != DATAGRAM, message.encode(), self._digest
        end_of, spoiled = self.binding.end_of, self.binding.spoiled.get(message)
        known: dict[Any, tuple[bytes, Channel, Append, Append]] = {}
        self._known.append(known)

        def reader(sender: Any) -> tuple[bytes, Channel, Append, Append] | None:
            end = end_of(sender)
            if isinstance(end, str) or len(end) != 2:
                return None
            text = encode([name if fifo else message, *end, *self._me])
            channel = self._columns.channel(text.decode(), incoming=True, fifo=fifo)
            known[sender] = found = (text[:-1], channel, *channel.appending())
            return found

        def arriving(event: Any, received: bytes) -> tuple[Channel, Append, Append, int] | None:
            arrived = event if place is None else event[place]
            sender = arrived[sender_at]
            found = known.get(sender) or reader(sender)
            if found is None or (spoiled is not None and spoiled(arrived)):
                return None
            prefix, channel, digests, indices = found
            if fifo:
                if received != b"%b,%d]" % (prefix, channel.count + 1):
                    return None
            elif not received.startswith(prefix) or received[len(prefix)] not in b",]":
                return None
            return channel, digests, indices, digest(begins + compared(pick(arrived)))

        return arriving

    def _sending(self, kind: type[Any]) -> Any:
        message, name, to_at, pick, content, compared = self._forms.departures[kind]
        fifo, begins, digest = name != DATAGRAM, message.encode(), self._digest
        end_of = self.binding.end_of
        known: dict[Any, tuple[bytes, bytes, Channel, Append, Append]] = {}
        self._known.append(known)
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

        def send(
            output: Any, sent: Any, at: int, todo: list[tuple[Channel, Append, Append, int]]
        ) -> int:
            """Go through the copies of a message, from place `at` on; -1 if they are not there."""
            nonlocal last
            to = output[to_at]
            values = pick(output)
            if values == last[0]:
                _, written, mark = last
            else:
                written = content(values) + b"}"
                other = written[:-1] if compared is None else compared[1](compared[0](output))
                mark = digest(begins + other)
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
                todo.append((channel, digests, indices, mark))
                at += 1
            return at

        return send
