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

from .columns import Columns, digest_of

encode: Final = msgspec.json.Encoder(order="deterministic").encode
_new: Final = tuple.__new__
_ATOMS: Final = (bool, int, float, str, type(None))
_NOTHING: Final = b"null"

Take: TypeAlias = Callable[[Any, Any], Any]
"""(record, local state) -> the answer if the record is what the model does; else None."""


class Sent(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A message that the event sent, as far as it must be read."""

    id: Raw
    to: tuple[str, int]
    message: str
    content: Raw


class _Event(msgspec.Struct, gc=False, kw_only=True):
    run: str
    protocol: str
    node: str
    incarnation: int
    index: int
    received: Raw = Raw(_NOTHING)
    sent: tuple[Sent, ...] = ()
    changed: dict[str, Raw] = {}
    kind: Literal["event"]
    told: Raw = Raw(b"[]")
    given: Raw | UnsetType = UNSET
    at: float | None = None


@lru_cache(maxsize=256)
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


def _encoder(wanted: Any) -> Callable[[Any], bytes]:
    """How a value of that type is written."""
    return encode if as_written(wanted) else _encode_plainly


def _encode_plainly(value: Any) -> bytes:
    return encode(plain(value))


class Shape(NamedTuple):
    """How the events of one protocol are read."""

    decoder: msgspec.json.Decoder[Any]
    inputs: Mapping[type[Any], tuple[str, type[Any], Callable[[Any], Any]]]
    """By the record's type: the action, and how its `args` become the handler's input."""


_shapes: dict[int, Shape | None] = {}


def shape_of(binding: Binding) -> Shape | None:
    """Return how the events of the protocol are read; None where its types are out of reach."""
    if id(binding) not in _shapes:
        try:
            _shapes[id(binding)] = _shape(binding)
        except TypeError:
            _shapes[id(binding)] = None
        _kept.append(binding)
    return _shapes[id(binding)]


_kept: list[Binding] = []


def _shape(binding: Binding) -> Shape:
    inputs: dict[type[Any], Any] = {}
    for action, kind in {**binding.field_inputs, **binding.inputs}.items():
        fields = fields_of(kind)
        typed = [(name, wanted if as_written(wanted) else Any) for name, wanted in fields.items()]
        args = msgspec.defstruct("Args", typed, gc=False, forbid_unknown_fields=True)
        record = msgspec.defstruct(
            "Event",
            [("args", args)],
            bases=(_Event,),
            tag_field="action",
            tag=action,
            gc=False,
            kw_only=True,
        )
        inputs[record] = (action, kind, _making(kind, fields))
    return Shape(msgspec.json.Decoder(Union[tuple(inputs)]), inputs)  # noqa: UP007


def _making(kind: type[Any], fields: Mapping[str, Any]) -> Callable[[Any], Any]:
    """How an input is made of its fields."""
    if not fields:
        only = kind()
        return lambda _: only
    get: Any = attrgetter(*fields)
    if all(map(as_written, fields.values())):
        if len(fields) == 1:
            return lambda args: _new(kind, (get(args),))
        return lambda args: _new(kind, get(args))
    return lambda args: shaped([getattr(args, name) for name in fields], kind)


class Quick:
    """Takes the usual records of one file."""

    def __init__(
        self, binding: Binding, shape: Shape, rules: Any, me: tuple[str, int], columns: Columns
    ) -> None:
        self.binding, self.rules, self.me, self.columns = binding, rules, me, columns
        kinds = fields_of(binding.local)
        self._known = {
            name: (place, _encoder(kinds[name]))
            for place, name in enumerate(binding.local._fields)
            if name not in binding.uncompared
        }
        self._hidden = [
            place for place, name in enumerate(binding.local._fields) if name in binding.uncompared
        ]
        self._sends = {
            kind: self._sending(kind)
            for kind in binding.outputs
            if kind.__name__ in binding.channels
        }
        self._tells = frozenset(kind for kind in binding.outputs if kind.__name__ in binding.told)
        self.takes = {
            record: self._taking(action, kind, make)
            for record, (action, kind, make) in shape.inputs.items()
        }

    def _taking(self, action: str, kind: type[Any], make: Callable[[Any], Any]) -> Take:
        binding, rules, known, hidden = self.binding, self.rules, self._known, self._hidden
        handler, parts = binding.traced_handler(action), binding.parts
        message = next((m for m in binding.channels if binding.arrival(m) == action), None)
        arriving = None if message is None else self._arriving(message, kind)
        sends, tells = self._sends, self._tells

        def take(record: Any, local: Any) -> Any:
            event = make(record.args)
            came = None
            if arriving is not None:
                came = arriving(event, bytes(record.received))
                if came is None:
                    return None
            elif bytes(record.received) != _NOTHING:
                return None
            answer = handler(rules, local, event)
            if isinstance(answer, Refused):
                return None
            after, outputs = answer
            changed = record.changed
            if parts is not None:
                made = parts(local, after) if after is not local else {}
                if made.keys() != changed.keys():
                    return None
                for name, raw in changed.items():
                    if encode(made[name]) != bytes(raw):
                        return None
            elif changed:
                probe = list(local)
                for name, raw in changed.items():
                    if name not in known:
                        return None
                    place, write = known[name]
                    probe[place] = value = after[place]
                    if write(value) != bytes(raw):
                        return None
                for place in hidden:
                    probe[place] = after[place]
                if tuple(probe) != after:
                    return None
            elif after is not local and after != local:
                if not hidden:
                    return None
                probe = list(local)
                for place in hidden:
                    probe[place] = after[place]
                if tuple(probe) != after:
                    return None
            sent, at = record.sent, 0
            index = record.index
            todo: list[Any] = []
            if outputs:
                try:
                    for output in outputs:
                        send = sends.get(output.__class__)
                        if send is not None:
                            at = send(output, sent, at, todo)
                            if at < 0:
                                break
                except Exception:  # noqa: BLE001 - what it is, is found out where it is judged
                    at = -1
            if tells and at >= 0:
                told = [
                    (each.__class__.__name__, each) for each in outputs if each.__class__ in tells
                ]
                if encode(told) != bytes(record.told):
                    at = -1
            if at != len(sent):
                for channel, _ in todo:
                    channel.count -= 1
                return None
            if todo:
                if len(todo) == 1 or not todo[0][0].fifo:
                    for channel, digest in todo:
                        channel.add(digest, index)
                else:
                    for channel, _ in todo:
                        channel.count -= 1
                    for channel, digest in todo:
                        channel.count += 1
                        channel.add(digest, index)
            if came is not None:
                channel, digest = came
                channel.count += 1
                channel.add(digest, index)
            return answer

        return take

    def _arriving(self, message: str, kind: type[Any]) -> Any:
        binding = self.binding
        whole = binding.whole.get(message)
        wanted = kind if whole is None else fields_of(kind)[whole]
        output = next(each for each in binding.outputs if each.__name__ == message)
        names = common_fields(binding, output, wanted)
        contents = _contents(message, names, fields_of(wanted), fields_of(wanted))
        if binding.sent_by not in wanted._fields:
            return lambda *_: None
        sender_at = wanted._fields.index(binding.sent_by)
        place = None if whole is None else kind._fields.index(whole)
        name, fifo = binding.channels[message], binding.channels[message] != DATAGRAM
        readers: dict[Any, Any] = {}

        def reader(sender: Any) -> Any:
            end = binding.end_of(sender)
            if isinstance(end, str) or len(end) != 2:
                return None
            text = encode([name if fifo else message, *end, *self.me]).decode()
            channel = self.columns.channel(text, incoming=True, fifo=fifo)
            readers[sender] = found = (text[:-1].encode(), channel)
            return found

        def arriving(event: Any, received: bytes) -> Any:
            arrived = event if place is None else event[place]
            sender = arrived[sender_at]
            found = readers.get(sender) or reader(sender)
            if found is None:
                return None
            prefix, channel = found
            if fifo:
                if received != b"%b,%d]" % (prefix, channel.count + 1):
                    return None
            elif not received.startswith(prefix) or received[len(prefix)] not in b",]":
                return None
            return channel, digest_of(contents(arrived))

        return arriving

    def _sending(self, kind: type[Any]) -> Any:
        binding, message = self.binding, kind.__name__
        kinds = fields_of(kind)
        to_at = kind._fields.index("to")
        fields = [name for name in kind._fields if name != "to"]
        content = _content(fields, kinds, kind)
        wanted = wanted_of(binding, message)
        names = common_fields(binding, kind, wanted)
        contents = _contents(message, names, kinds, fields_of(wanted))
        name, fifo = binding.channels[message], binding.channels[message] != DATAGRAM
        writers: dict[Any, Any] = {}

        def writer(to: Any) -> Any:
            end = binding.end_of(to)
            if isinstance(end, str) or len(end) != 2:
                return None
            text = encode([name if fifo else message, *self.me, *end]).decode()
            channel = self.columns.channel(text, incoming=False, fifo=fifo)
            writers[to] = found = (tuple(end), text[:-1].encode(), channel)
            return found

        def send(output: Any, sent: Any, at: int, todo: list[Any]) -> int:
            to = output[to_at]
            alone = to.__class__ not in _MANY
            if alone:
                count = 1
            else:
                count = len(to)
                to = {binding.end_of(each): each for each in to}
                if len(to) != count:
                    return -1
            parts = sent[at : at + count]
            if len(parts) != count:
                return -1
            written = content(output)
            digest = digest_of(contents(output))
            for part in parts:
                whom = to if alone else to.pop(part.to, None)
                if whom is None:
                    return -1
                found = writers.get(whom) or writer(whom)
                if found is None:
                    return -1
                end, prefix, channel = found
                identity = bytes(part.id)
                if part.to != end or part.message != message or bytes(part.content) != written:
                    return -1
                if fifo:
                    if identity != b"%b,%d]" % (prefix, channel.count + 1):
                        return -1
                elif not identity.startswith(prefix) or identity[len(prefix)] not in b",]":
                    return -1
                channel.count += 1
                todo.append((channel, digest))
            return at + count

        return send


_MANY: Final = frozenset({tuple, frozenset, list, set})


def wanted_of(binding: Binding, message: str) -> type[Any]:
    """The type whose fields say how the contents of a message are compared."""
    kind = binding.inputs[binding.arrival(message)]
    if message in binding.whole:
        kind = fields_of(kind)[binding.whole[message]]
    return kind


def common_fields(binding: Binding, kind: type[Any], wanted: type[Any]) -> tuple[str, ...]:
    """What a message and the event by which it arrives have in common."""
    there = fields_of(kind).keys()
    left_out = {"to", *binding.adjusted.get(kind.__name__, ())}
    return tuple(n for n in fields_of(wanted) if n in there and n not in left_out)


def _content(
    fields: list[str], kinds: Mapping[str, Any], kind: type[Any]
) -> Callable[[Any], bytes]:
    """How a message's content is written."""
    if not fields:
        return lambda _: b"{}"
    at = [kind._fields.index(name) for name in fields]
    if all(as_written(kinds[name]) for name in fields):
        made = msgspec.defstruct("Content", fields, gc=False)
        if len(at) == 1:
            (only,) = at
            return lambda output: encode(made(output[only]))
        get = itemgetter(*at)
        return lambda output: encode(made(*get(output)))
    return lambda output: encode({name: plain(getattr(output, name)) for name in fields})


def _contents(
    message: str, names: tuple[str, ...], kinds: Mapping[str, Any], wanted: Mapping[str, Any]
) -> Callable[[Any], bytes]:
    """What of a message is compared at both ends, in the shape in which it arrives."""
    if not names:
        only = encode([message])
        return lambda _: only
    if all(as_written(kinds[n]) and kinds[n] == wanted[n] for n in names):
        get: Any = attrgetter(*names)
        if len(names) == 1:
            return lambda value: encode((message, get(value)))
        return lambda value: encode((message, *get(value)))
    return lambda value: encode(
        [message, *(plain(shaped(getattr(value, n), wanted[n])) for n in names)]
    )
