"""The spans in a line of exported OpenTelemetry, of either form."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

_KINDS: Final = {4: "PRODUCER", 5: "CONSUMER"}
_VALUES: Final = ("stringValue", "boolValue", "doubleValue")


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
    except NoSpan:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
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
    found = {each["key"]: _value(each["value"]) for each in listed}
    if len(found) < len(listed):
        raise NoSpan("an attribute stands twice in one list")
    return found


def _value(given: Mapping[str, Any]) -> Any:
    if "arrayValue" in given:
        return [_value(each) for each in given["arrayValue"].get("values", [])]
    if "intValue" in given:  # a text where JSON's numbers are too small for it
        return int(given["intValue"])
    if "bytesValue" in given:
        return str(given["bytesValue"]).encode()
    return next((given[name] for name in _VALUES if name in given), None)
