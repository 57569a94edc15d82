"""Part (a) for any protocol with `Binding`: one file of a trace against the model's handlers.

Law of this file: it sees one node's records alone. It folds the handlers over them, compares what
was sent and what changed, and keeps what part (b) needs (`facednet.py`). Nothing is dropped in
silence: a record that cannot be used is put into quarantine with the reason.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from raincheck.conformance.bindings.binding import DATAGRAM, Binding, binding_of, bound_protocols
from raincheck.conformance.bindings.conversion import ShapeError, fields_of, plain, shaped
from raincheck.conformance.errors import Inconclusive, UsageError
from raincheck.conformance.trace.ring.seen import RingObserver, RingSeen
from raincheck.impl.recording.canonical import in_order
from raincheck.model.machine.machine import Refused

from .batches import Problem, Report
from .events import FORMAT_VERSION
from .findings import INCONCLUSIVE, VIOLATED, Difference, FalseConjunct, Finding
from .tracefile import PROTOCOLS, read_records

Natural = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Address = tuple[str, Natural]


class Header(msgspec.Struct, tag_field="kind", tag="header", kw_only=True):
    """Whose file it is, and the local state in which it begins."""

    version: int
    run: str
    protocol: str
    node: str
    incarnation: Natural
    nodes: tuple[str, ...]
    constants: dict[str, Any] = {}
    initial: Any = None
    real: bool = False


class Sent(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A message that the event sent."""

    id: list[Any]
    to: Address
    message: str
    content: dict[str, Any]


class Event(msgspec.Struct, tag_field="kind", tag="event", kw_only=True):
    """One event that the core handled."""

    run: str
    protocol: str
    node: str
    incarnation: Natural
    index: Natural
    action: str
    args: dict[str, Any]
    received: list[Any] | None = None
    sent: tuple[Sent, ...] = ()
    changed: dict[str, Any] = {}
    told: tuple[tuple[str, Any], ...] = ()
    given: dict[str, Any] = {}
    at: float | None = None


class Footer(msgspec.Struct, tag_field="kind", tag="footer", kw_only=True):
    """No event is missing at the end."""

    run: str
    node: str
    incarnation: Natural
    index: Natural


OBSERVERS: Final = {"raincore": RingObserver}
"""Protocols whose promises are judged over traces: what looks at the states of a file."""
DECODER: Final = msgspec.json.Decoder(Header | Event | Footer)


class End(msgspec.Struct, frozen=True):
    """One end of a message: its id, the event, and a digest of what is in it."""

    id: str
    index: int
    digest: str
    fifo: bool = False


class FileReport(msgspec.Struct, kw_only=True):
    """What one file says."""

    run: str
    protocol: str
    node: str
    incarnation: int
    path: str
    nodes: tuple[str, ...] = ()
    events: int = 0
    conforming: int = 0
    complete: bool = False
    findings: list[Finding] = []
    actions: dict[str, int] = {}
    sent: list[End] = []
    received: list[End] = []
    seen: RingSeen | None = None
    """What its protocol's promises speak of."""

    @property
    def who(self) -> Address:
        """Whose file it is."""
        return (self.node, self.incarnation)


class _Unusable(Exception):
    """The record cannot be used; the text says why."""


def check_file(path: Path, report: Report) -> FileReport | None:
    """Check one file; None if it has no header that can be used."""
    checker: _Checker | None = None
    for batch in read_records(path, report, DECODER):
        for line, record in enumerate(batch.records, batch.line):
            try:
                if checker is None:
                    checker = _Checker(path, _header(record, line))
                else:
                    checker.take(record, line)
            except (_Unusable, ShapeError) as problem:
                report(Problem(str(path), line, str(problem)))
                if checker is None:
                    return None
    return None if checker is None else checker.done()


def _header(record: Any, line: int) -> Header:
    if not isinstance(record, Header) or line != 1:
        raise _Unusable("the first record is not a header: nothing in this file can be checked")
    if record.version != FORMAT_VERSION:
        raise _Unusable(f"version {record.version}: this reader knows version {FORMAT_VERSION}")
    if record.node not in record.nodes:
        raise _Unusable(f"node {record.node!r} is not among the header's nodes")
    return record


class _Checker:
    """The fold over one file."""

    def __init__(self, path: Path, header: Header) -> None:
        try:
            binding = binding_of(header.protocol)
        except (UsageError, Inconclusive) as lacking:
            known = ", ".join(dict.fromkeys((*PROTOCOLS, *bound_protocols())))
            raise _Unusable(f"protocol {header.protocol!r}: this reader knows {known}") from lacking
        self.binding = (binding.real or binding) if header.real else binding
        try:
            self.rules = self.binding.rules(**header.constants)
        except TypeError as error:
            raise _Unusable(f"constants: {error}") from error
        self.path = path
        self.header = header
        self.report = FileReport(
            run=header.run,
            protocol=header.protocol,
            node=header.node,
            incarnation=header.incarnation,
            path=str(path),
            nodes=header.nodes,
        )
        self.local = initial_local(self.binding, header.initial)
        self.broken = False
        """Whether the fold has stopped: from here on nobody knows the state."""
        observer = OBSERVERS.get(header.protocol)
        self.observer = observer(self.local) if observer is not None else None
        self.recorded = self.local
        """The state as recorded: the model's while the fold goes on."""
        self.last = 0
        self.ended = False
        self._counts: dict[tuple[bool, str], int] = {}
        begins = self.binding.begins
        if begins is not None and not begins(self.rules, self.local):
            self._find("a node does not begin like this", line=1)

    def done(self) -> FileReport:
        """Return the report; without a footer events may be missing at the end."""
        self.report.complete = self.ended
        if self.observer is not None:
            self.report.seen = self.observer.done()
        return self.report

    def take(self, record: Any, line: int) -> None:
        """Check the next record."""
        mine = (self.header.run, self.header.node, self.header.incarnation)
        if isinstance(record, Header):
            raise _Unusable("a second header")
        if (record.run, record.node, record.incarnation) != mine:
            raise _Unusable("a record of another run, node or incarnation than the header's")
        if self.ended:
            raise _Unusable("a record after the footer")
        if isinstance(record, Footer):
            self.ended = True
            if record.index > self.last:
                self._missing(self.last + 1, record.index, line)
            return
        if record.protocol != self.header.protocol:
            raise _Unusable(f"an event of {record.protocol!r}")
        if record.index <= self.last:
            raise _Unusable(f"index {record.index} came before")
        wanted = self.binding.traced_input(record.action)
        if wanted is None:
            raise _Unusable(f"{self.header.protocol} has no action {record.action!r}")
        event = _within("args", shaped, record.args, wanted)
        given = _within("given", self._given, record.given)
        sent = [_within("sent", self._sent_end, each) for each in record.sent]
        received = _within("received", self._received_end, record, event)
        if record.index > self.last + 1:
            self._missing(self.last + 1, record.index - 1, line)
        self.last = record.index
        self.report.events += 1
        counts = self.report.actions
        counts[record.action] = counts.get(record.action, 0) + 1
        self.report.sent += [msgspec.structs.replace(end, index=record.index) for end in sent]
        if received is not None:
            self.report.received.append(received)
        if not self.broken:
            self.local = self.local._replace(**given)
            self._step(record, event, line)
            if not self.broken:
                self.report.conforming = record.index
        if self.observer is not None:
            self.recorded = self.local if not self.broken else self._as_recorded(record)
            self.observer.take(self.recorded, record)

    def _given(self, given: dict[str, Any]) -> dict[str, Any]:
        """What others have changed since the last event."""
        if unknown := sorted(given.keys() - self.binding.given):
            raise ShapeError(f"nobody but the core changes {unknown[0]}")
        wanted = fields_of(self.binding.local)
        return {name: shaped(value, wanted[name]) for name, value in given.items()}

    def _as_recorded(self, record: Event) -> Any:
        """What the record says of the state, as far as it can be read."""
        known, values = fields_of(self.binding.local), {}
        for name in known.keys() & record.changed.keys() - self.binding.uncompared:
            with suppress(ShapeError):
                values[name] = shaped(record.changed[name], known[name])
        return self.recorded._replace(**values)

    # ------------------------------------------------------------------ one step

    def _step(self, record: Event, event: Any, line: int) -> None:
        try:
            answer = self.binding.traced_handler(record.action)(self.rules, self.local, event)
        except Exception as error:  # noqa: BLE001 - an input that no run has may be anything
            self._find(f"the model cannot answer: {type(error).__name__}: {error}", record, line)
            return
        if isinstance(answer, Refused):
            conjuncts = tuple(
                FalseConjunct(text, {name: plain(value) for name, value in values.items()})
                for text, values in answer.conjuncts
            )
            reason = f"{record.action} is not enabled"
            self._find(reason, record, line, conjuncts=conjuncts)
            return
        differences = [
            *self._changes(record, answer.local),
            *self._messages(record, answer.outputs),
            *self._told(record, answer.outputs),
        ]
        if differences:
            self._find("not what the model does", record, line, differences=tuple(differences))
            return
        self.local = answer.local

    def _changes(self, record: Event, after: Any) -> Iterator[Difference]:
        before = self.local
        if self.binding.parts is not None:
            parts = self.binding.parts(before, after)
            made = {name: plain(value) for name, value in parts.items()}
            for name in sorted(made.keys() | record.changed.keys()):
                expected, told = made.get(name, "unchanged"), record.changed.get(name, "unchanged")
                if expected != told:
                    yield Difference(name, expected, told)
            return
        known = fields_of(self.binding.local)
        for name in record.changed:
            if name not in known or name in self.binding.uncompared:
                yield Difference(name, None, record.changed[name])
        for name, wanted in known.items():
            if name in self.binding.uncompared:
                continue
            old, new = getattr(before, name), getattr(after, name)
            if name in record.changed:
                try:
                    recorded = shaped(record.changed[name], wanted)
                except ShapeError:
                    yield Difference(name, plain(new), record.changed[name])
                    continue
                if recorded != new:
                    yield Difference(name, plain(new), record.changed[name])
            elif old != new:
                yield Difference(name, plain(new), "unchanged")

    def _messages(self, record: Event, outputs: tuple[Any, ...]) -> Iterator[Difference]:
        expected = _by_receiver(
            [
                (type(made).__name__, plain(to), _content(made), made, to)
                for output in outputs
                for made, to in parcels(self.binding, output)
            ]
        )
        recorded = _by_receiver([(each.message, each.to, each.content) for each in record.sent])
        for place in range(max(len(expected), len(recorded))):
            name = f"sent[{place + 1}]"
            if place >= len(recorded):
                yield Difference(name, list(expected[place][:3]), None)
            elif place >= len(expected):
                yield Difference(name, None, list(recorded[place]))
            elif not self._same(expected[place][3:], recorded[place]):
                yield Difference(name, list(expected[place][:3]), list(recorded[place]))

    def _told(self, record: Event, outputs: tuple[Any, ...]) -> Iterator[Difference]:
        """What the layer above was told."""
        made = [(type(each).__name__, plain(each)) for each in outputs]
        expected = [each for each in made if each[0] in self.binding.told]
        pairs = enumerate(zip_longest(expected, record.told), 1)
        for place, (model, told) in pairs:
            if model != told:
                yield Difference(f"told[{place}]", model, told)

    def _same(self, output: tuple[Any, ...], recorded: tuple[str, Address, dict[str, Any]]) -> bool:
        made, to = output
        message, receiver, content = recorded
        kind = type(made)
        if message != kind.__name__ or plain(to) not in (receiver[0], list(receiver)):
            return False
        kinds = fields_of(kind)
        if content.keys() != kinds.keys() - {"to"}:
            return False
        try:
            return all(shaped(content[n], kinds[n]) == getattr(made, n) for n in content)
        except ShapeError:
            return False

    # ------------------------------------------------------------------ both ends of messages

    def _sent_end(self, sent: Sent) -> End:
        kind = next((k for k in self.binding.outputs if k.__name__ == sent.message), None)
        channel = self.binding.channels.get(sent.message)
        if kind is None or channel is None:
            raise ShapeError(f"{self.header.protocol} has no message {sent.message!r}")
        me = (self.header.node, self.header.incarnation)
        digest = self._digest(sent.message, me, sent.content)
        return self._end(sent.id, (*me, *sent.to), sent.message, digest, incoming=False)

    def _received_end(self, record: Event, event: Any) -> End | None:
        message = next(
            (name for name in self.binding.channels if self.binding.arrival(name) == record.action),
            None,
        )
        if message is None:
            if record.received is not None:
                raise ShapeError(f"{record.action} consumes no message")
            return None
        if record.received is None:
            raise ShapeError(f"{record.action} consumes a message, and none is named")
        ends = record.received[1:5]
        if len(ends) < 4:
            raise ShapeError(f"{record.received} is no id of a message")
        arrived = self.binding.as_sent(message, event)
        digest = _digest(arrived._asdict(), self._common(message))
        me = [self.header.node, self.header.incarnation]
        end = self._end(record.received, (*ends[:2], *me), message, digest, incoming=True)
        sender = getattr(arrived, self.binding.sent_by, None)
        sender = ends[:2] if sender is None else plain(self.binding.end_of(sender))
        if sender not in (ends[0], ends[:2]):
            raise ShapeError(f"it comes from {ends[:2]}, and the sender is {sender}")
        return msgspec.structs.replace(end, index=record.index)

    def _end(
        self, name: list[Any], ends: tuple[Any, ...], message: str, digest: str, *, incoming: bool
    ) -> End:
        """The end of that message; raise ShapeError if its id is not the one it must have."""
        channel = self.binding.channels[message]
        if channel == DATAGRAM:
            if name[:5] != [message, *ends]:
                raise ShapeError(f"{name} is not the id of a {message} between {ends}")
            return End(json_text(name[:5]), 0, digest)
        if name[:5] != [channel, *ends] or len(name) != 6:
            raise ShapeError(f"{name} is not an id of channel {channel!r} between {ends}")
        key = (incoming, json_text(name[:5]))
        count = self._counts.get(key, 0) + 1
        self._counts[key] = name[5] if type(name[5]) is int else count
        if name[5] != count and not self.broken:
            reason = f"message {count} of the channel is next, and this is {name[5]}"
            self._find(f"{json_text(name)}: {reason}", index=self.last + 1)
        return End(json_text(name), 0, digest, fifo=True)

    def _common(self, message: str) -> tuple[str, tuple[str, ...]]:
        """What a message and the event by which it arrives have in common."""
        kind = next(k for k in self.binding.outputs if k.__name__ == message)
        wanted = self._wanted(message)
        there = fields_of(kind).keys()
        left_out = {"to", *self.binding.adjusted.get(message, ())}
        names = tuple(n for n in fields_of(wanted) if n in there and n not in left_out)
        return message, names

    def _digest(self, message: str, _sender: Address, content: dict[str, Any]) -> str:
        wanted = fields_of(self._wanted(message))
        common = self._common(message)
        return _digest({n: shaped(content.get(n), wanted[n]) for n in common[1]}, common)

    def _wanted(self, message: str) -> type[Any]:
        """The type whose fields say how the contents of a message are compared."""
        kind = self.binding.inputs[self.binding.arrival(message)]
        if message in self.binding.whole:
            kind = fields_of(kind)[self.binding.whole[message]]
        return kind

    # ------------------------------------------------------------------ findings

    def _missing(self, low: int, high: int, line: int) -> None:
        self._find(f"events {low} to {high} are missing", line=line, verdict=INCONCLUSIVE)

    def _find(
        self,
        reason: str,
        record: Event | None = None,
        line: int = 0,
        *,
        index: int = 0,
        verdict: str = VIOLATED,
        conjuncts: tuple[FalseConjunct, ...] = (),
        differences: tuple[Difference, ...] = (),
    ) -> None:
        self.broken = True
        self.report.findings.append(
            Finding(
                verdict=verdict,
                part="records" if verdict == INCONCLUSIVE else "local",
                reason=reason,
                run=self.header.run,
                node=self.header.node,
                incarnation=self.header.incarnation,
                index=record.index if record is not None else index or self.last,
                action=record.action if record is not None else "",
                path=str(self.path),
                line=line,
                conjuncts=conjuncts,
                differences=differences,
            )
        )


def _by_receiver(sent: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The same with the copies of one message sorted: to whom it goes first does not matter."""
    found: list[tuple[Any, ...]] = []
    for _, copies in groupby(sent, lambda each: (each[0], json_text(each[2]))):
        found += sorted(copies, key=lambda each: in_order(each[1]))
    return found


def _content(output: Any) -> dict[str, Any]:
    return {name: plain(value) for name, value in output._asdict().items() if name != "to"}


def initial_local(binding: Binding, initial: Any) -> Any:
    """Return the header's state as the model's Local; what is never compared has its default."""
    if not isinstance(initial, dict):
        raise ShapeError("initial: the header must say in which state the node begins")
    defaults = getattr(binding.local, "_field_defaults", {})
    values = {}
    for name, wanted in fields_of(binding.local).items():
        if name in binding.uncompared:
            values[name] = defaults.get(name)
        elif name in initial:
            values[name] = _within(f"initial.{name}", shaped, initial[name], wanted)
        else:
            raise ShapeError(f"initial: {name} is missing")
    if unknown := sorted(initial.keys() - values.keys()):
        raise ShapeError(f"initial: there is no {unknown[0]}")
    return binding.local(**values)


def parcels(binding: Binding, output: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a network message once for each of its receivers, with the receiver."""
    if type(output).__name__ not in binding.channels:
        return
    to = output.to
    alone = isinstance(to, str) or hasattr(to, "_fields")
    for each in [to] if alone else sorted(to):
        yield output, binding.end_of(each)


def _digest(values: dict[str, Any], common: tuple[str, tuple[str, ...]]) -> str:
    message, names = common
    text = json_text([message, *(plain(values[name]) for name in names)])
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def json_text(value: Any) -> str:
    """Return the value as JSON, always the same for the same value."""
    return msgspec.json.encode(value).decode()


def _within(where: str, make: Callable[..., Any], *given: Any) -> Any:
    try:
        return make(*given)
    except ShapeError as error:
        raise ShapeError(f"{where}: {error}") from error
