"""What clients of NATS JetStream log: of each delivery the line `MSG …`, or JSON with its `reply`.

The subject to which a delivery is acknowledged names the stream, the consumer and the message's
number in the stream. JSON with `stream` and `seq`, an acknowledgement to a publisher, is a send.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from .found import Found, Importer, Lines, Refused
from .objects import NoObject, json_object, name_in, whole
from .partitions import ADVICE, Consumers, stored, unsaid

_ASIDE: Final = frozenset({"INFO", "PING", "PONG", "+OK"})
_OLD, _NEW = 9, (11, 12)
"""The number of words in a reply subject; the newer ones have a domain and an account, too."""


class _Delivery(NamedTuple):
    stream: str
    consumer: str
    number: int


def _delivery(reply: object) -> _Delivery | None:
    words = reply.split(".") if isinstance(reply, str) else []
    if words[:2] != ["$JS", "ACK"] or len(words) not in (_OLD, *_NEW):
        return None
    stream, consumer, _, number = words[2:6] if len(words) == _OLD else words[4:8]
    place = whole(number)
    return None if place is None else _Delivery(stream, consumer, place)


def read(lines: Lines, file: str) -> Iterator[Found]:
    """Yield a delivery for each message; the client is the file's name if a line names none."""
    yield from unsaid()
    consumers = Consumers()
    for line, text in lines:
        words = text.split()
        client = file
        if words[0].upper() in _ASIDE:
            continue
        if words[0].upper() in ("MSG", "HMSG"):
            reply: object = words[3] if len(words) > 4 else None
        else:
            try:
                record = json_object(text)
                client = name_in(record, "client") or file
            except NoObject as error:
                yield Refused(line, f"neither a line MSG … nor JSON ({error})")
                continue
            number = whole(record.get("seq"))
            if number is not None and isinstance(record.get("stream"), str):
                if not record.get("duplicate"):
                    yield stored(line, record["stream"], number)
                continue
            reply = record.get("reply")
        found = _delivery(reply)
        if found is None:
            yield Refused(line, "no delivery of JetStream: it needs the reply subject $JS.ACK.…")
        else:
            member = f"{client}/{found.consumer}"
            yield consumers.delivered(line, member, found.stream, found.number)


IMPORTER: Final = Importer(
    "nats",
    read,
    (".log", ".txt", ".jsonl", ".ndjson"),
    "clients of NATS JetStream: lines MSG … $JS.ACK.…, or JSON lines with reply; order per stream",
    ADVICE,
)
