"""Spans of OpenTelemetry, exported as JSON lines.

A line is a batch in the form of OTLP (`resourceSpans`), or one span as the SDK for Python prints
it. A span with the attributes of messaging systems is a send or a delivery; attributes that begin
with `raincheck.` and are named after the columns of a delivery log say more, and go before.

The times of spans are wall clocks, and exporters send spans in no promised order. So the order of
deliveries is known only if each has `raincheck.position`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from raincheck.conformance.deliveries.logs import COLUMNS

from .found import Found, Importer, Lines, Read, Refused, Unsaid
from .objects import NoObject, json_object, whole
from .otlp import NoSpan, Span, spans_of

_PREFIX: Final = "raincheck."
_OPERATIONS: Final = {
    "send": "send",
    "publish": "send",
    "create": "send",
    "receive": "deliver",
    "process": "deliver",
    "deliver": "deliver",
}
_KINDS: Final = {"PRODUCER": "send", "CONSUMER": "deliver"}
_OURS: Final = "raincheck.message"
_TEXT: Final = "messaging.message.id"
_NUMBERS: Final = ("messaging.kafka.offset", "messaging.kafka.message.offset")
_IDS: Final = (_OURS, _TEXT, *_NUMBERS)
_WANTED: Final = {
    _TEXT: "a text (numbers stand in raincheck.message)",
    _OURS: "a number, or a text that is none",
}
_OPERATION: Final = ("messaging.operation.type", "messaging.operation")
_PARTITION: Final = (
    "messaging.destination.partition.id",
    "messaging.kafka.destination.partition",
    "messaging.kafka.partition",
)
NO_ORDER: Final = (
    "spans have wall clocks and are exported in no promised order: set the attribute "
    "raincheck.position of each delivery's span to 1, 2, 3 … in its member"
)
NO_SEND_ORDER: Final = (
    "spans have wall clocks and are exported in no promised order: set the attribute "
    "raincheck.position of each send's span to 1, 2, 3 … in its sender"
)
_OF_ORDER: Final = ("total_order", "uniform_total_order", "sender_fifo", "state_cut")


def read(lines: Lines, file: str) -> Iterator[Found]:  # noqa: ARG001
    """Yield the rows of one exported file."""
    spans = _Spans()
    for line, text in lines:
        try:
            found = [*spans_of(json_object(text))]
        except (NoObject, NoSpan) as error:
            yield Refused(line, str(error))
            continue
        for span in found:
            yield from spans.rows(line, span)


class _Spans:
    """The spans of one file until now."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._operations: dict[tuple[str, str, str], str] = {}
        self._counted: Counter[tuple[str, str]] = Counter()
        self._placed: dict[tuple[str, str], bool] = {}
        """Of a member and an event: whether the first such span had a position."""

    def rows(self, line: int, span: Span) -> Iterator[Found]:
        """Yield the row of a span, if it has one."""
        if span.id and span.id in self._known:
            return  # an export that was tried again
        self._known.add(span.id)
        own = {
            name.removeprefix(_PREFIX): value
            for name, value in span.attributes.items()
            if name.startswith(_PREFIX)
        }
        operation = str(_first(span.attributes, _OPERATION) or "")
        event = (
            own.get("event")
            or _OPERATIONS.get(operation)
            or (_KINDS.get(span.kind) if not operation and _messaging(span.attributes) else None)
        )
        if event is None or "messaging.batch.message_count" in span.attributes:
            return
        event = str(event)
        try:
            columns = _columns(span.attributes, event, own)
        except ValueError as problem:
            yield Refused(line, str(problem))
            return
        member, message = str(columns.get("member")), str(columns.get("message"))
        if event in ("deliver", "send"):
            key = (event, f"{member} {columns.get('sender')}", message)
            # A message that is received and then processed has two spans, and is delivered once.
            if self._operations.setdefault(key, operation) != operation:
                return
            placed = "position" in columns
            if self._placed.setdefault((member, event), placed) and not placed:
                yield Refused(line, f"no raincheck.position, which other spans of {member} have")
                return
            if not self._placed[member, event]:
                self._counted[event, member] += 1
                columns["position"] = self._counted[event, member]
                if columns["position"] == 1:
                    yield from _without_order(member, event)
        yield Read(line, columns)


def _columns(attributes: Mapping[str, Any], event: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a row; raise ValueError, which says why, if there is none."""
    columns = {name: own[name] for name in COLUMNS if name in own} | {"event": event}
    for name in ("position", "after"):
        if name in columns:
            number = whole(columns[name])
            if number is None:
                raise ValueError(f"raincheck.{name} is no whole number: {columns[name]!r:.40}")
            columns[name] = number
    where = _text(attributes, "messaging.destination.name")
    if (partition := _first(attributes, _PARTITION)) is not None:
        if whole(partition) is None and not isinstance(partition, str):
            raise ValueError(f"a partition is a text or a number, not {partition!r:.60}")
        where += f"-{partition}"
    who = _text(attributes, "service.instance.id") or _text(attributes, "service.name")
    if event in ("deliver", "send"):
        columns["message"] = _id(attributes, event)
    if event == "deliver":
        columns.setdefault("sender", where)
    if event == "send":
        columns.setdefault("member", own.get("sender", where))
    else:
        columns.setdefault("member", f"{who}@{where}" if who and where else who)
    if not columns["member"]:
        raise ValueError("no member: set service.instance.id or service.name, or raincheck.member")
    return columns


def _id(attributes: Mapping[str, Any], event: str) -> str | int:
    """Return a message's id: an attribute has texts or numbers, so that no two are taken for one.

    `raincheck.message` may have both, but no text that reads as a number.
    """
    for name in _IDS:
        if name not in attributes:
            continue
        given = attributes[name]
        number = isinstance(given, int) and not isinstance(given, bool)
        if name in _NUMBERS and (place := whole(given)) is not None:
            return place
        if name == _TEXT and isinstance(given, str):
            return given
        if name == _OURS and (number or (isinstance(given, str) and whole(given) is None)):
            return given  # type: ignore[no-any-return]
        wanted = _WANTED.get(name, "a whole number")
        raise ValueError(f"{name} is {wanted}, not {given!r:.60}")
    raise ValueError(f"a span of a {event} needs {_TEXT} or {_OURS}")


def _text(attributes: Mapping[str, Any], name: str) -> str:
    """Return a text among the attributes, "" if it is not there."""
    given = attributes.get(name, "")
    if not isinstance(given, str):
        raise ValueError(f"{name} is a text, not {given!r:.60}")
    return given


def _without_order(member: str, event: str) -> Iterator[Unsaid]:
    """Yield what cannot be asked of a member's events without their positions."""
    why = NO_ORDER if event == "deliver" else NO_SEND_ORDER
    names = _OF_ORDER if event == "deliver" else ("sender_fifo",)
    yield from (Unsaid(name, why, rows=(member, event)) for name in names)


def _messaging(attributes: Mapping[str, Any]) -> bool:
    return "messaging.system" in attributes or "messaging.destination.name" in attributes


def _first(attributes: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((attributes[name] for name in names if name in attributes), None)


IMPORTER: Final = Importer(
    "otel",
    read,
    (".jsonl", ".ndjson"),
    "spans of OpenTelemetry as JSON lines, of OTLP or of the SDK for Python",
    {
        "agreement": "end each member's log with a span whose raincheck.event is end",
        "no_creation": "export the producers' spans, too",
        "sender_fifo": "set raincheck.sender and number each sender's messages: raincheck.message",
        "gap_freeness": "number each sender's messages in raincheck.message, and set "
        "raincheck.sender",
        "virtual_synchrony": "set raincheck.view where the system has views",
    },
)
