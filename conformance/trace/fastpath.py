"""The usual records of a trace, judged at once: typed by the protocol's binding, bytes by bytes.

Nearly every record of a good trace is written as the recorder writes it, and is what the model
does. Such a record is accepted here, without its contents ever becoming trees: `args` come as the
handler's input, and what the handler answers is encoded and compared with the bytes that stand in
the record. Whatever is not accepted changes nothing, and is judged by `follower.py` alone: it may
be written otherwise, or it may be wrong. So nothing is refused here, and no complaint stands here.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any, Final, Literal, NamedTuple, TypeAlias, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Raw, UnsetType

from raincheck.conformance.bindings.binding import DATAGRAM, Binding
from raincheck.conformance.bindings.conversion import fields_of, plain, shaped
from raincheck.model.machine.machine import Refused

from .columns import DATAGRAM_ROW, FIFO_ROW, Channel, Columns

encode: Final = msgspec.json.Encoder(order="deterministic").encode
"""Sets are in the order of what is in them, as `plain` has them."""
encode_as_is: Final = msgspec.json.Encoder().encode
_new: Final = tuple.__new__
_ATOMS: Final = (bool, int, float, str, type(None))
_MANY: Final = frozenset({tuple, frozenset, list, set})
_ABSENT: Final = b"[]"
_UNCHANGED: Final = b"{}"

Write: TypeAlias = Callable[[Any], bytes]
Take: TypeAlias = Callable[[Any, Any], Any]
"""(record, local state) -> the answer if the record is what the model does; else None."""


class Sent(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A message that the event sent, as far as it must be read."""

    id: Raw
    to: tuple[str, int]
    message: str
    content: Raw


class _Event(msgspec.Struct, gc=False, kw_only=True):
    """What all records have; `args`, `received` and `told` are as the action says."""

    run: str
    protocol: str
    node: str
    incarnation: int
    index: int
    sent: tuple[Sent, ...] = ()
    given: Raw | UnsetType = UNSET
    at: float | None = None
    kind: Literal["event"]


# ---------------------------------------------------------------------- how values are written


@lru_cache(maxsize=1024)
def as_written(wanted: Any) -> bool:
    """Whether values of that type are read and written by msgspec just as traces have them."""
    if hasattr(wanted, "__supertype__"):
        return as_written(wanted.__supertype__)
    origin, args = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        return all(map(as_written, args)) and sum(each is not type(None) for each in args) == 1
    if origin is Literal:
        return all(type(each) in (str, int) for each in args)
    if origin is frozenset:
        # In the order in which `plain` has them: of texts and numbers, and of tuples of these.
        return all(map(_ordered, args))
    if origin is tuple:
        return all(as_written(each) for each in args if each is not Ellipsis)
    if isinstance(wanted, type) and hasattr(wanted, "_fields"):
        return all(map(as_written, fields_of(wanted).values()))
    return wanted in _ATOMS or wanted is None


def _ordered(wanted: Any) -> bool:
    if isinstance(wanted, type) and hasattr(wanted, "_fields"):
        return all(map(_ordered, fields_of(wanted).values()))
    if get_origin(wanted) is tuple:
        return all(_ordered(each) for each in get_args(wanted) if each is not Ellipsis)
    return wanted in (int, str)


def _encode_plainly(value: Any) -> bytes:
    return encode(plain(value))


def _alike(made: Mapping[str, Any], changed: bytes) -> bool:
    """Whether these are the same names and values, in whatever order."""
    recorded = msgspec.json.decode(changed, type=dict[str, Raw])
    return recorded.keys() == made.keys() and all(
        encode_as_is(made[name]) == bytes(raw) for name, raw in recorded.items()
    )


def _getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """What gets these attributes, as a tuple."""
    if len(names) == 1:
        only = attrgetter(names[0])
        return lambda value: (only(value),)
    return attrgetter(*names)


def _writing(kind: type[Any], names: tuple[str, ...], wanted: Mapping[str, Any]) -> Write:
    """How these fields of a value of that type are written, in the shape that is wanted."""
    if not names:
        return lambda _: b"{}"
    kinds = fields_of(kind)
    if not all(as_written(kinds[name]) and kinds[name] == wanted[name] for name in names):
        return lambda value: encode_as_is(
            {name: plain(shaped(getattr(value, name), wanted[name])) for name in names}
        )
    made: Any = msgspec.defstruct("Content", list(names), gc=False)
    places = [list(kinds).index(name) for name in names]
    if len(places) == 1:
        (only,) = places
        return lambda value: encode(made(value[only]))
    get = itemgetter(*places)
    return lambda value: encode(made(*get(value)))


def wanted_of(binding: Binding, message: str) -> type[Any]:
    """The type whose fields say how the contents of a message are compared."""
    kind = binding.inputs[binding.arrival(message)]
    if message in binding.whole:
        kind = fields_of(kind)[binding.whole[message]]
    return kind


def common_fields(binding: Binding, message: str) -> tuple[str, ...]:
    """What a message and the event by which it arrives have in common."""
    kind = next(each for each in binding.outputs if each.__name__ == message)
    left_out = {"to", *binding.adjusted.get(message, ())}
    wanted = fields_of(wanted_of(binding, message))
    return tuple(name for name in fields_of(kind) if name in wanted and name not in left_out)


# ---------------------------------------------------------------------- what a protocol has


class Arrival(NamedTuple):
    """A message, and where it is in the input of the action by which it arrives."""

    message: str
    channel: str
    place: int | None
    """Of the field that is the message, where it comes as one."""
    sender: int
    compared: Write


class Departure(NamedTuple):
    """A message that an output is."""

    message: str
    channel: str
    to: int
    content: Write
    compared: Write | None
    """What of it is compared with what arrives, where that is not all of it."""


class Action(NamedTuple):
    """An action, and how a record's `args` become its handler's input."""

    name: str
    make: Callable[[Any], Any]
    arrival: Arrival | None
    known: bool
    """Whether who sent the message that arrives can be told from the input."""


class Forms(NamedTuple):
    """What the records of one protocol look like."""

    decoder: msgspec.json.Decoder[Any]
    actions: Mapping[type[Any], Action]
    """By the record's type."""
    departures: Mapping[type[Any], Departure]
    """By the output's type."""
    variables: Mapping[str, tuple[int, Write]]
    hidden: tuple[int, ...]
    """The places of variables that are never compared."""


_forms: dict[int, tuple[Binding, Forms | None]] = {}


def forms_of(binding: Binding) -> Forms | None:
    """Return what the protocol's records look like; None where its types are out of reach."""
    found = _forms.get(id(binding))
    if found is None:
        try:
            found = (binding, _made(binding))
        except TypeError:
            found = (binding, None)
        _forms[id(binding)] = found
    return found[1]


def _made(binding: Binding) -> Forms:
    actions: dict[type[Any], Action] = {}
    for name, kind in {**binding.field_inputs, **binding.inputs}.items():
        fields = fields_of(kind)
        typed = [(key, wanted if as_written(wanted) else Any) for key, wanted in fields.items()]
        args = msgspec.defstruct("Args", typed, gc=False, forbid_unknown_fields=True)
        message = next((each for each in binding.channels if binding.arrival(each) == name), None)
        received: Any = ("received", None, None) if message is None else ("received", Raw)
        changed: Any = ("changed", dict[str, Raw], {})
        if binding.parts is not None:
            changed = ("changed", Raw, Raw(_UNCHANGED))
        told: Any = ("told", Raw, Raw(_ABSENT)) if binding.told else ("told", tuple[()], ())
        record = msgspec.defstruct(
            "Event",
            [("args", args), received, changed, told],
            bases=(_Event,),
            tag_field="action",
            tag=name,
            gc=False,
            kw_only=True,
        )
        arrival = None if message is None else _arrival(binding, message, kind)
        actions[record] = Action(name, _making(kind), arrival, message is None or bool(arrival))
    kinds = fields_of(binding.local)
    return Forms(
        msgspec.json.Decoder(Union[tuple(actions)]),  # noqa: UP007
        actions,
        {
            kind: _departure(binding, kind)
            for kind in binding.outputs
            if kind.__name__ in binding.channels
        },
        {
            name: (place, encode if as_written(kinds[name]) else _encode_plainly)
            for place, name in enumerate(kinds)
            if name not in binding.uncompared
        },
        tuple(place for place, name in enumerate(kinds) if name in binding.uncompared),
    )


def _making(kind: type[Any]) -> Callable[[Any], Any]:
    """How an input is made of its fields."""
    fields = fields_of(kind)
    if not fields:
        only = kind()
        return lambda _: only
    get = _getter(tuple(fields))
    if all(map(as_written, fields.values())):
        return lambda args: _new(kind, get(args))
    return lambda args: shaped(list(get(args)), kind)


def _departure(binding: Binding, kind: type[Any]) -> Departure:
    message, kinds = kind.__name__, fields_of(kind)
    names, common = tuple(n for n in kinds if n != "to"), common_fields(binding, message)
    arrives = fields_of(wanted_of(binding, message))
    same = names == common and all(kinds[name] == arrives[name] for name in names)
    return Departure(
        message,
        binding.channels[message],
        list(kinds).index("to"),
        _writing(kind, names, kinds),
        None if same else _writing(kind, common, arrives),
    )


def _arrival(binding: Binding, message: str, kind: type[Any]) -> Arrival | None:
    whole = binding.whole.get(message)
    wanted = wanted_of(binding, message)
    arrives = fields_of(wanted)
    if binding.sent_by not in arrives:
        return None
    return Arrival(
        message,
        binding.channels[message],
        None if whole is None else list(fields_of(kind)).index(whole),
        list(arrives).index(binding.sent_by),
        _writing(wanted, common_fields(binding, message), arrives),
    )


# ---------------------------------------------------------------------- one file


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
                    len(made) < 2 or not _alike(made, bytes(changed))
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
            elif sent or (tells and bytes(record.told) != _ABSENT):
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
