"""What consumers and producers of Kafka log: one file for each of them, or named in each line.

JSON lines with `topic`, `partition` and `offset`, as `kcat -C -J` writes them, or the lines of
`kafka-console-consumer` with its properties `print.partition` and `print.offset`. A line with
`producer` is an acknowledged send.
"""

import re
from collections.abc import Iterator
from typing import Final

from .found import Found, Importer, Lines, Refused
from .objects import NoObject, json_object, name_in, whole
from .partitions import ADVICE, Consumers, stored, unsaid

_CONSOLE: Final = re.compile(r"(?:\w+:\d+\t)?Partition:(\d{1,9})\tOffset:(\d{1,18})(?:\t|$)")
WANTED: Final = "topic (a name), partition and offset (whole numbers)"


def read(lines: Lines, file: str) -> Iterator[Found]:
    """Yield a delivery for each record; its consumer is the file's name if it names none.

    A console consumer's file is named `consumer@topic`, or only after the consumer.
    """
    yield from unsaid()
    consumers = Consumers()
    named, _, topic = file.partition("@")
    for line, text in lines:
        if console := _CONSOLE.match(text):
            partition = f"{topic or 'partition'}-{int(console[1])}"
            yield consumers.delivered(line, named, partition, int(console[2]))
            continue
        try:
            record = json_object(text)
            consumer, producer = name_in(record, "consumer"), name_in(record, "producer")
        except NoObject as error:
            yield Refused(line, f"neither JSON nor a line with Partition: and Offset: ({error})")
            continue
        name, number, offset = record.get("topic"), record.get("partition"), record.get("offset")
        place = whole(offset)
        if not isinstance(name, str) or not name or whole(number) is None or place is None:
            yield Refused(line, f"not a record of Kafka: it needs {WANTED}")
            continue
        partition = f"{name}-{whole(number)}"
        if producer:
            yield stored(line, partition, place)
        else:
            yield consumers.delivered(line, consumer or file, partition, place)


IMPORTER: Final = Importer(
    "kafka",
    read,
    (".jsonl", ".ndjson", ".log", ".txt"),
    "consumers of Kafka: kcat -J, kafka-console-consumer, or JSON lines; order per partition",
    ADVICE,
)
