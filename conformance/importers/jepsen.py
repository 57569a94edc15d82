"""Histories of Jepsen and Maelstrom: EDN or JSON, one operation in each line.

Of the workload `broadcast` (or `set`, whose `add` is a broadcast) a process's last read is what it
has delivered; final reads are complete. Of the workload `kafka` the polls are deliveries, each key
is a log of its own, and each assignment begins a new consumer. The file is held until its end: only
then it is known which messages there are.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from .edn import EdnError, read_edn
from .found import Found, Importer, Lines, Refused
from .histories_logs import Logs
from .histories_sets import Sets
from .objects import NoObject, json_object

_TYPES: Final = frozenset({"invoke", "ok", "fail", "info"})
_BROADCASTS: Final = frozenset({"broadcast", "add"})
_LOGS: Final = frozenset({"send", "poll", "txn"})
_NEW_CONSUMER: Final = frozenset({"assign", "subscribe", "crash"})
_ASIDE: Final = frozenset({"debug-topic-partitions", "commit", "topology", "list"})


class _Operation(NamedTuple):
    type: str
    f: str
    process: int
    value: Any
    final: bool
    typed: bool
    """Whether a map's keys may be numbers, as in EDN."""


def read(lines: Lines, file: str) -> Iterator[Found]:  # noqa: ARG001
    """Yield the rows of one history."""
    sets, logs = Sets(), Logs()
    for line, text in lines:
        try:
            done = _operation(text)
        except (EdnError, NoObject) as error:
            yield Refused(line, str(error))
            continue
        if isinstance(done, str):
            yield Refused(line, done)
        elif done is None or done.f in _ASIDE:
            continue
        else:
            try:
                _take(sets, logs, line, done)
            except ValueError as error:
                yield Refused(line, str(error))
    yield from sets.rows()
    yield from logs.rows()


def _take(sets: Sets, logs: Logs, line: int, done: _Operation) -> None:
    """Take an operation in; raise ValueError if it has no meaning."""
    if done.f in _BROADCASTS:
        sets.broadcast(line, done.type, done.process, done.value)
    elif done.f == "read":
        if done.type == "ok":
            sets.read(line, done.process, done.value, done.final)
    elif done.f in _NEW_CONSUMER:
        logs.begins_anew(done.process)
    elif done.f in _LOGS:
        logs.done(line, done.type, done.process, done.value, done.typed)
    else:
        raise ValueError(f"{done.f} is of neither workload, broadcast or kafka")


def _operation(text: str) -> _Operation | str | None:
    """Return an operation, None for one of no client, or why it is none; raises what readers do."""
    plain = text.startswith('{"')
    found = json_object(text) if plain else read_edn(text)
    if not isinstance(found, Mapping):
        return "not an operation: it is no map"
    kind, function, process = (_word(found.get(key)) for key in ("type", "f", "process"))
    if kind not in _TYPES or not function or not process:
        return "not an operation: it needs type (invoke, ok, fail or info), f and process"
    number = found["process"]
    if isinstance(number, bool) or (process.isdigit() and not isinstance(number, int)):
        return f"a client's process is a whole number, not {number!r:.60}"
    if not isinstance(number, int):
        return None  # the nemesis
    final = found.get("final?", found.get("final"))
    return _Operation(kind, function, number, found.get("value"), final is True, not plain)


def _word(value: object) -> str:
    return str(value).lstrip(":") if isinstance(value, str | int) else ""


IMPORTER: Final = Importer(
    "jepsen",
    read,
    (".edn", ".jsonl", ".ndjson"),
    "histories of Jepsen and Maelstrom: EDN or JSON, the workloads broadcast, set and kafka",
    {
        "agreement": "the history needs a final read (:final? true) of each process",
        "total_order": "two processes have to poll the same key",
        "gap_freeness": "the polls of a process have to go on from where they stopped",
        "virtual_synchrony": "a history has no views",
    },
)
