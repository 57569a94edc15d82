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
_IDS: Final = ("messaging.message.id", "messaging.kafka.offset", "messaging.kafka.message.offset")
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
        self._unsaid: set[str] = set()

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
        columns = self._columns(span.attributes, str(event), own)
        if isinstance(columns, str):
            yield Refused(line, columns)
            return
        member, message = str(columns.get("member")), str(columns.get("message"))
        if event in ("deliver", "send"):
            key = (str(event), f"{member} {columns.get('sender')}", message)
            # A message that is received and then processed has two spans, and is delivered once.
            if self._operations.setdefault(key, operation) != operation:
                return
            if "position" not in columns:
                self._counted[str(event), member] += 1
                columns["position"] = self._counted[str(event), member]
                yield from self._without_order(str(event))
        yield Read(line, columns)

    def _without_order(self, event: str) -> Iterator[Unsaid]:
        """Yield, once, what cannot be judged without the positions of these events."""
        if event not in self._unsaid:
            self._unsaid.add(event)
            why = NO_ORDER if event == "deliver" else NO_SEND_ORDER
            names = _OF_ORDER if event == "deliver" else ("sender_fifo",)
            yield from (Unsaid(name, why) for name in names)

    def _columns(
        self, attributes: Mapping[str, Any], event: str, own: Mapping[str, Any]
    ) -> dict[str, Any] | str:
        """Return the columns of a row, or why there is none."""
        columns = {name: own[name] for name in COLUMNS if name in own} | {"event": event}
        for name in ("position", "after"):
            if name in columns:
                number = whole(columns[name])
                if number is None:
                    return f"raincheck.{name} is no whole number: {columns[name]!r:.40}"
                columns[name] = number
        where = str(attributes.get("messaging.destination.name", ""))
        if (partition := _first(attributes, _PARTITION)) is not None:
            where += f"-{partition}"
        who = attributes.get("service.instance.id") or attributes.get("service.name")
        if "message" not in columns and (message := _first(attributes, _IDS)) is not None:
            columns["message"] = str(message)
        if event in ("deliver", "send") and "message" not in columns:
            return f"a span of a {event} needs messaging.message.id or raincheck.message"
        if event == "deliver":
            columns.setdefault("sender", where)
        if event == "send":
            columns.setdefault("member", own.get("sender", where))
        else:
            columns.setdefault("member", f"{who}@{where}" if who and where else who)
        if not columns["member"]:
            return "no member: set service.instance.id or service.name, or raincheck.member"
        return columns


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
