"""The usual records of a trace, judged at once: typed by the protocol's binding, bytes by bytes.

Nearly every record of a good trace is written as the recorder writes it, and is what the model
does. Such a record is accepted here, without its contents ever becoming trees: `args` come as the
handler's input, and what the handler answers is encoded and compared with the bytes that stand in
the record. Whatever is not accepted changes nothing, and is judged in full (`in_full.py`): it may
be written otherwise, or it may be wrong. So nothing is refused here, and no complaint stands here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from raincheck.conformance.bindings.binding import DATAGRAM, Binding
from raincheck.conformance.trace.columns import DATAGRAM_ROW, FIFO_ROW, Channel, Columns
from raincheck.model.machine.machine import Refused

from .forms import ABSENT, Arrival, Forms
from .writing import alike, encode, encode_as_is

_MANY: Final = frozenset({tuple, frozenset, list, set})

Take: TypeAlias = Callable[[Any, Any], Any]
"""(record, local state) -> the answer if the record is what the model does; else None."""


class FastPath:
    """Takes the usual records of one file."""

    def __init__(
        self, binding: Binding, forms: Forms, rules: Any, me: tuple[str, int], columns: Columns
    ) -> None:
        self._binding, self._forms, self._rules = binding, forms, rules
        self._me, self._columns = me, columns
        self._sends: dict[type[Any], Any] = {}
        self._tells = frozenset(each for each in binding.outputs if each.__name__ in binding.told)

    def taking(self, kind: type[Any]) -> Take:
        """Return what takes the records of that type."""
        action = self._forms.actions[kind]
        handler, parts = self._binding.traced_handler(action.name), self._binding.parts
        make, rules, tells = action.make, self._rules, self._tells
        variables, hidden = self._forms.variables, self._forms.hidden
        sends, sending, departures = self._sends, self._sending, self._forms.departures
        arriving = None if action.arrival is None else self._arriving(action.arrival)
        if not action.known:
            return lambda _record, _local: None

        def take(record: Any, local: Any) -> Any:
            event = make(record.args)
            came = None
            if arriving is not None:
                came = arriving(event, bytes(record.received))
                if came is None:
                    return None
            answer = handler(rules, local, event)
            if isinstance(answer, Refused):
                return None
            after, outputs = answer
            changed = record.changed
            if parts is not None:
                made = parts(local, after) if after is not local else {}
                if encode_as_is(made) != bytes(changed) and (
                    len(made) < 2 or not alike(made, bytes(changed))
                ):
                    return None
            elif changed or (after is not local and after != local):
                probe = list(local)
                for name, raw in changed.items():
                    if name not in variables:
                        return None
                    place, write = variables[name]
                    probe[place] = value = after[place]
                    if write(value) != bytes(raw):
                        return None
                for place in hidden:
                    probe[place] = after[place]
                if tuple(probe) != after:
                    return None
            sent, index = record.sent, record.index
            if outputs:
                todo: list[tuple[Channel, bytes]] = []
                try:
                    at = 0
                    for output in outputs:
                        cls = output.__class__
                        if cls in departures:
                            at = (sends.get(cls) or sending(cls))(output, sent, at, index, todo)
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
                    for channel, _ in todo:
                        channel.count -= 1
                    return None
                for channel, row in todo:
                    channel.rows += row
            elif sent or (tells and bytes(record.told) != ABSENT):
                return None
            if came is not None:
                channel, digest = came
                if channel.fifo:
                    channel.count = number = channel.count + 1
                    channel.rows += FIFO_ROW(digest, index, number)
                else:
                    channel.rows += DATAGRAM_ROW(digest, index)
            return answer

        return take

    def _arriving(self, arrival: Arrival) -> Any:
        message, name, place, sender_at, compared = arrival
        fifo, begins = name != DATAGRAM, message.encode()
        end_of, me, columns = self._binding.end_of, self._me, self._columns
        digest = columns.digest
        known: dict[Any, tuple[bytes, Channel]] = {}

        def reader(sender: Any) -> tuple[bytes, Channel] | None:
            end = end_of(sender)
            if isinstance(end, str) or len(end) != 2:
                return None
            text = encode([name if fifo else message, *end, *me]).decode()
            channel = columns.channel(text, incoming=True, fifo=fifo)
            known[sender] = found = (text[:-1].encode(), channel)
            return found

        def arriving(event: Any, received: bytes) -> tuple[Channel, int] | None:
            arrived = event if place is None else event[place]
            sender = arrived[sender_at]
            found = known.get(sender) or reader(sender)
            if found is None:
                return None
            prefix, channel = found
            if fifo:
                if received != b"%b,%d]" % (prefix, channel.count + 1):
                    return None
            elif not received.startswith(prefix) or received[len(prefix)] not in b",]":
                return None
            return channel, digest(begins + compared(arrived))

        return arriving

    def _sending(self, kind: type[Any]) -> Any:
        message, name, to_at, content, compared = self._forms.departures[kind]
        fifo, begins = name != DATAGRAM, message.encode()
        end_of, me, columns = self._binding.end_of, self._me, self._columns
        digest = columns.digest
        known: dict[Any, tuple[tuple[str, int], bytes, Channel]] = {}

        def writer(to: Any) -> tuple[tuple[str, int], bytes, Channel] | None:
            end = end_of(to)
            if isinstance(end, str) or len(end) != 2:
                return None
            text = encode([name if fifo else message, *me, *end]).decode()
            channel = columns.channel(text, incoming=False, fifo=fifo)
            known[to] = found = ((end[0], end[1]), text[:-1].encode(), channel)
            return found

        def send(
            output: Any, sent: Any, at: int, index: int, todo: list[tuple[Channel, bytes]]
        ) -> int:
            """Go through the copies of a message, from place `at` on; -1 if they are not there."""
            to = output[to_at]
            if to.__class__ in _MANY:
                left = {end_of(each): each for each in to}
                parts = sent[at : at + len(to)]
                if not len(parts) == len(to) == len(left):
                    return -1
            else:
                left = None
                parts = sent[at : at + 1]
                if not parts:
                    return -1
            written = content(output)
            mark = digest(begins + (written if compared is None else compared(output)))
            row = DATAGRAM_ROW(mark, index)
            for part in parts:
                whom = to if left is None else left.pop(part.to, None)
                if whom is None:
                    return -1
                found = known.get(whom) or writer(whom)
                if found is None:
                    return -1
                end, prefix, channel = found
                if part.to != end or part.message != message or bytes(part.content) != written:
                    return -1
                identity = bytes(part.id)
                if fifo:
                    number = channel.count + 1
                    if identity != b"%b,%d]" % (prefix, number):
                        return -1
                    row = FIFO_ROW(mark, index, number)
                elif not identity.startswith(prefix) or identity[len(prefix)] not in b",]":
                    return -1
                channel.count += 1
                todo.append((channel, row))
            return at + len(parts)

        self._sends[kind] = send
        return send
