"""The spans in a line of exported OpenTelemetry, of either form."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

_KINDS: Final = {4: "PRODUCER", 5: "CONSUMER"}
_VALUES: Final = ("stringValue", "boolValue", "intValue", "doubleValue", "bytesValue")


class NoSpan(ValueError):
    """A line has no spans; the message says why."""


class Span(NamedTuple):
    """What is read of a span."""

    id: str
    """Unique among all spans, "" if it has none."""
    kind: str
    """`PRODUCER`, `CONSUMER` or another one."""
    attributes: Mapping[str, Any]
    """Its attributes, and those of its resource."""


def spans_of(line: Mapping[str, Any]) -> Iterator[Span]:
    """Yield the spans of a line; raise NoSpan if it has not the form of one."""
    try:
        if "resourceSpans" in line:
            yield from _batch(line)
        elif isinstance(line.get("context"), Mapping) and "attributes" in line:
            yield _printed(line)
        else:
            raise NoSpan("no span: it has neither resourceSpans nor context and attributes")
    except (AttributeError, KeyError, TypeError) as error:
        raise NoSpan(f"not the form of an exported span ({error})") from error


def _batch(line: Mapping[str, Any]) -> Iterator[Span]:
    for each in line["resourceSpans"]:
        shared = _attributes(each.get("resource", {}).get("attributes", []))
        for scope in each.get("scopeSpans", []):
            for span in scope.get("spans", []):
                kind = span.get("kind", 0)
                named = kind.removeprefix("SPAN_KIND_") if isinstance(kind, str) else ""
                own = _attributes(span.get("attributes", []))
                name = f"{span.get('traceId', '')}{span.get('spanId', '')}"
                yield Span(name, named or _KINDS.get(kind, ""), shared | own)


def _printed(line: Mapping[str, Any]) -> Span:
    context, resource = line["context"], line.get("resource") or {}
    attributes = {**(resource.get("attributes") or {}), **(line["attributes"] or {})}
    name = f"{context.get('trace_id', '')}{context.get('span_id', '')}"
    return Span(name, str(line.get("kind", "")).removeprefix("SpanKind."), attributes)


def _attributes(listed: Any) -> dict[str, Any]:
    return {each["key"]: _value(each["value"]) for each in listed}


def _value(given: Mapping[str, Any]) -> Any:
    if "arrayValue" in given:
        return [_value(each) for each in given["arrayValue"].get("values", [])]
    return next((given[name] for name in _VALUES if name in given), None)
