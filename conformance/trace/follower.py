"""Part (a) for any protocol with `Binding`: one file of a trace against the model's handlers.

Law of this file: it sees one node's records alone. It folds the handlers over them, compares what
was sent and what changed, and keeps what part (b) needs (`columns.py`). Nothing is dropped in
silence: a record that cannot be used is put into quarantine with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import UNSET

from raincheck.conformance.bindings.binding import DATAGRAM, Binding, binding_of, bound_protocols
from raincheck.conformance.bindings.conversion import ShapeError, fields_of, plain, shaped
from raincheck.conformance.errors import Inconclusive, UsageError
from raincheck.impl.recording.canonical import in_order
from raincheck.model.machine.machine import Refused

from .batches import Problem, Report
from .collector import no_collector
from .columns import Channel, Columns, Digest, ends_of
from .events import FORMAT_VERSION
from .fastpath import FastPath, Take, common_fields, forms_of, wanted_of
from .findings import INCONCLUSIVE, VIOLATED, Difference, FalseConjunct, FileReport, Finding
from .promised import Followed, Promised
from .records import DECODER, Address, Event, Footer, Header, Sent
from .tracefile import count_lines, decode_block, read_blocks, split_lines

_FOOTER: Final = b'{"kind":"footer"'
Find: TypeAlias = Callable[[str], Binding]
"""Returns a protocol's binding."""
End: TypeAlias = tuple[Channel, int, int]
"""One end of a message: its channel, a digest of what is in it, and its number there."""


class _Unusable(Exception):
    """The record cannot be used; the text says why."""


def check_file(
    path: Path, report: Report, digest: Digest = hash, find: Find = binding_of
) -> tuple[FileReport, Columns] | None:
    """Check one file; None if it has no header that can be used.

    `digest` and `find` are given by who checks many files.
    """
    follower: Followed | None = None
    with no_collector():
        for follower in follow_file(path, report, digest, find):  # noqa: B007 - the last one counts
            pass
    return None if follower is None else (follower.done(), follower.columns)


def follow_file(
    path: Path, report: Report, digest: Digest = hash, find: Find = binding_of
) -> Iterator[Followed]:
    """Check one file, and yield who follows it after each block of lines."""
    follower: Followed | None = None
    for line, block in read_blocks(path, report):
        while follower is None and block:
            head, newline, block = block.partition(b"\n")
            for batch in decode_block(path, line, head + newline, report, DECODER):
                follower = _begun(path, batch.records[0], line, report, digest, find)
                if follower is None:
                    return
            line += 1
        if follower is not None:
            if block:
                follower.feed(line, block)
            yield follower


def _begun(
    path: Path, record: Any, line: int, report: Report, digest: Digest, find: Find
) -> Followed | None:
    """Begin with the first record; None if it is no header that can be used."""
    try:
        header = _header(record, line)
        binding = _binding(header, find)
        if binding.promised is not None and binding.promised.follow is not None:
            return binding.promised.follow(path, header, report)
        return Follower(path, header, report, digest, binding)
    except (_Unusable, ShapeError) as problem:
        report(Problem(str(path), line, str(problem)))
        return None


def _binding(header: Header, find: Find) -> Binding:
    try:
        return find(header.protocol)
    except (UsageError, Inconclusive) as lacking:
        known = ", ".join(bound_protocols())
        raise _Unusable(f"protocol {header.protocol!r}: this reader knows {known}") from lacking


def _header(record: Any, line: int) -> Header:
    if not isinstance(record, Header) or line != 1:
        raise _Unusable("the first record is not a header: nothing in this file can be checked")
    if record.version != FORMAT_VERSION:
        raise _Unusable(f"version {record.version}: this reader knows version {FORMAT_VERSION}")
    if record.node not in record.nodes:
        raise _Unusable(f"node {record.node!r} is not among the header's nodes")
    return record


class Follower:
    """The fold over one file."""

    def __init__(
        self, path: Path, header: Header, problems: Report, digest: Digest, binding: Binding
    ) -> None:
        promised = binding.promised or Promised()
        self.binding = (binding.real or binding) if header.real else binding
        try:
            self.rules = self.binding.rules(**header.constants)
        except TypeError as error:
            raise _Unusable(f"constants: {error}") from error
        self.path = path
        self.header = header
        self.report = promised.report(
            run=header.run,
            protocol=header.protocol,
            node=header.node,
            incarnation=header.incarnation,
            path=str(path),
            nodes=header.nodes,
            constants=header.constants,
        )
        self.run, self.who, self.clock = header.run, self.report.who, 0
        self.local = initial_local(self.binding, header.initial)
        defaults = getattr(self.binding.local, "_field_defaults", {})
        self._unread = {name: defaults[name] for name in self.binding.unread}
        self.broken = False
        """Whether the fold has stopped: from here on nobody knows the state."""
        self.observer = None if promised.observer is None else promised.observer(self.local)
        self.recorded = self.local
        """The state as recorded: the model's while the fold goes on."""
        self.last = 0
        self.ended = False
        self.columns = Columns(digest)
        self._problem = problems
        forms = forms_of(self.binding)
        self._decode = None if forms is None else forms.decoder
        me = (header.node, header.incarnation)
        self._fast = (
            None if forms is None else FastPath(self.binding, forms, self.rules, me, self.columns)
        )
        self._takes: dict[type[Any], Take] = {}
        self._counts: Counter[type[Any]] = Counter()
        begins = self.binding.begins
        if begins is not None and not begins(self.rules, self.local):
            self._find("a node does not begin like this", line=1)

    def feed(self, line: int, block: bytes) -> None:
        """Check the records of a block of lines, the first of which is number `line`."""
        # The last line may be no event, but the footer.
        cut = block.rfind(b"\n", 0, -1) + 1
        events = block[:cut] if block.startswith(_FOOTER, cut) else block
        records = self._decoded(events)
        if records is not None:
            self._fold(line, records, events)
            line, block = line + len(records), block[len(events) :]
        for number, text in enumerate(split_lines(block), line):
            records = self._decoded(text)
            if records is not None:
                self._fold(number, records, text)
            else:
                self._judge(number, text)

    def _decoded(self, block: bytes) -> list[Any] | None:
        """The records, if all of them are events that are written as usual."""
        if self._decode is None or self.broken or self.ended or not block.endswith(b"\n"):
            return None
        try:
            str(block, "utf-8")
            records: list[Any] = self._decode.decode_lines(block)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        return records if len(records) == count_lines(block) else None

    def _fold(self, line: int, records: list[Any], block: bytes) -> None:
        """Take the events that are what the model does as they come; judge the others."""
        header, takes, observer = self.header, self._takes, self.observer
        run, protocol = header.run, header.protocol
        node, incarnation = header.node, header.incarnation
        local, last = self.local, self.last
        judged: list[type[Any]] = []
        lines: list[bytes] = []
        for place, record in enumerate(records):
            kind = record.__class__
            answer = None
            if (
                record.index == last + 1
                and record.run == run
                and record.node == node
                and record.incarnation == incarnation
                and record.protocol == protocol
                and record.given is UNSET
            ):
                try:
                    answer = (takes.get(kind) or self._taking(kind))(record, local)
                except Exception:  # noqa: BLE001 - it is judged below, and then it is told
                    answer = None
            if answer is not None:
                last += 1
                local = answer[0]
                if observer is not None:
                    self.recorded = local
                    observer.take(local, last, record.at, answer[1])
                continue
            lines = lines or split_lines(block)
            judged.append(kind)
            self._goes_on(local, last)
            self._judge(line + place, lines[place])
            local, last = self.local, self.last
            if self.broken or self.ended:
                for number, text in enumerate(lines[place + 1 : len(records)], line + place + 1):
                    self._judge(number, text)
                records = records[: place + 1]
                break
        else:
            self._goes_on(local, last)
        self.report.events += len(records) - len(judged)
        self._counts.update(map(type, records))
        self._counts.subtract(judged)

    def _goes_on(self, local: Any, last: int) -> None:
        """Note how far the events are what the model does."""
        # What only grows, and nobody reads, is forgotten now and then.
        self.local = local._replace(**self._unread) if self._unread else local
        if last > self.last:
            self.last = self.report.conforming = last

    def _taking(self, kind: type[Any]) -> Take:
        """What takes records of a type that has not come before."""
        assert self._fast is not None
        take = self._takes[kind] = self._fast.taking(kind)
        return take

    def _judge(self, line: int, text: bytes) -> None:
        """Judge one record."""
        for batch in decode_block(self.path, line, text, self._problem, DECODER):
            for record in batch.records:
                try:
                    self.take(record, line)
                except (_Unusable, ShapeError) as problem:
                    self._problem(Problem(str(self.path), line, str(problem)))

    def done(self) -> FileReport:
        """Return the report; without a footer events may be missing at the end."""
        actions = self.report.actions
        for kind, count in self._counts.items():
            if count:
                action = kind.__struct_config__.tag
                actions[action] = actions.get(action, 0) + count
        self.report.complete = self.ended
        self.report.end = "footer" if self.ended else "open"
        to = [ends_of(end.text)[1] for end in self.columns.sent.values() if end.rows]
        self.report.sent_to = tuple(sorted({node for node, _ in to}))
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
        for channel, digest, number in [*sent, *([] if received is None else [received])]:
            channel.add(digest, record.index, number)
        if not self.broken:
            self.local = self.local._replace(**given)
            self._step(record, event, line)
            if not self.broken:
                self.report.conforming = record.index
        if self.observer is not None:
            self.recorded = self.local if not self.broken else self._as_recorded(record)
            self.observer.take(self.recorded, record.index, record.at, self._outputs(record))

    def _given(self, given: dict[str, Any]) -> dict[str, Any]:
        """What others have changed since the last event."""
        if unknown := sorted(given.keys() - self.binding.given):
            raise ShapeError(f"nobody but the core changes {unknown[0]}")
        wanted = fields_of(self.binding.local)
        return {name: shaped(value, wanted[name]) for name, value in given.items()}

    def _outputs(self, record: Event) -> Iterator[Any]:
        """What the record says the layer above was told, as far as it can be read."""
        kinds = {kind.__name__: kind for kind in self.binding.outputs}
        for name, fields in record.told:
            with suppress(ShapeError):
                if name in kinds:
                    yield shaped(fields, kinds[name])

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
        digest = self._digest(sent.message, sent.content)
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
        if len(ends) != 4 or type(ends[1]) is not int:
            raise ShapeError(f"{record.received} is no id of a message")
        arrived = self.binding.as_sent(message, event)
        digest = self._digest(message, arrived._asdict())
        me = [self.header.node, self.header.incarnation]
        end = self._end(record.received, (*ends[:2], *me), message, digest, incoming=True)
        sender = getattr(arrived, self.binding.sent_by, None)
        sender = ends[:2] if sender is None else plain(self.binding.end_of(sender))
        if sender not in (ends[0], ends[:2]):
            raise ShapeError(f"it comes from {ends[:2]}, and the sender is {sender}")
        return end

    def _end(
        self, name: list[Any], ends: tuple[Any, ...], message: str, digest: int, *, incoming: bool
    ) -> End:
        """The end of that message; raise ShapeError if its id is not the one it must have."""
        kind = self.binding.channels[message]
        if kind == DATAGRAM:
            if name[:5] != [message, *ends]:
                raise ShapeError(f"{name} is not the id of a {message} between {ends}")
            channel = self.columns.channel(json_text(name[:5]), incoming=incoming, fifo=False)
            return channel, digest, 0
        if name[:5] != [kind, *ends] or len(name) != 6:
            raise ShapeError(f"{name} is not an id of channel {kind!r} between {ends}")
        channel = self.columns.channel(json_text(name[:5]), incoming=incoming, fifo=True)
        count = channel.count + 1
        channel.count = name[5] if type(name[5]) is int else count
        if name[5] != count and not self.broken:
            reason = f"message {count} of the channel is next, and this is {name[5]}"
            self._find(f"{json_text(name)}: {reason}", index=self.last + 1)
        return channel, digest, channel.count

    def _digest(self, message: str, values: dict[str, Any]) -> int:
        """What stands for the contents, as far as they are compared at both ends."""
        wanted = fields_of(wanted_of(self.binding, message))
        names = common_fields(self.binding, message)
        common = {name: plain(shaped(values.get(name), wanted[name])) for name in names}
        return self.columns.digest(message.encode() + msgspec.json.encode(common))

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


def json_text(value: Any) -> str:
    """Return the value as JSON, always the same for the same value."""
    return msgspec.json.encode(value).decode()


def _within(where: str, make: Callable[..., Any], *given: Any) -> Any:
    try:
        return make(*given)
    except ShapeError as error:
        raise ShapeError(f"{where}: {error}") from error
