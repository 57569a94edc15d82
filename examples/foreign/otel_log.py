"""Spans of a queue with one producer and two consumers, for `raincheck conform --log-format otel`.

    pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-common
    python otel_log.py FOLDER

Each service exports its spans into a file of its own: the producer and the first consumer as the
SDK prints them, the second consumer in batches of OTLP's JSON. The judges of order need
one number beside the usual attributes of messaging, `raincheck.position`.
"""

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

from google.protobuf.json_format import MessageToJson
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind, Tracer

MESSAGES = 40


class Lines(SpanExporter):
    """An exporter that appends JSON lines to a file."""

    def __init__(self, path: Path, otlp: bool) -> None:
        self._file, self._otlp = path.open("w"), otlp

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Write spans: a line for each, or one for all in the form of OTLP."""
        batch = MessageToJson(encode_spans(spans), indent=None) if self._otlp else None
        lines = [batch] if batch is not None else [span.to_json(indent=None) for span in spans]
        self._file.write("".join(f"{line}\n" for line in lines))
        return SpanExportResult.SUCCESS


def service(folder: Path, name: str, otlp: bool = False) -> TracerProvider:
    """Return a provider of tracers for a service that has a file of its own."""
    provider = TracerProvider(resource=Resource({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(Lines(folder / f"{name}.jsonl", otlp)))
    return provider


def message(tracer: Tracer, kind: SpanKind, operation: str, number: int, position: int) -> None:
    """Make the span of one message."""
    attributes = {
        "messaging.system": "example",
        "messaging.destination.name": "orders",
        "messaging.operation.type": operation,
        "messaging.message.id": str(number),
        "raincheck.position": position,
    }
    with tracer.start_as_current_span(f"{operation} orders", kind=kind, attributes=attributes):
        pass


def main(folder: Path) -> None:
    """Send messages, and have both consumers process them."""
    shop = service(folder, "shop")
    providers = [shop, service(folder, "billing"), service(folder, "shipping", otlp=True)]
    sender, *receivers = (provider.get_tracer("example") for provider in providers)
    for number in range(1, MESSAGES + 1):
        message(sender, SpanKind.PRODUCER, "send", number, number)
    for receiver, number in itertools.product(receivers, range(1, MESSAGES + 1)):
        message(receiver, SpanKind.CONSUMER, "process", number, number)
    for provider in providers:
        provider.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
