"""The workload kafka of a history: what processes have sent to logs and polled from them."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from .edn import name_of
from .found import Found, Read, Unsaid

_NOT_ALL: Final = (
    "a process need not have polled all of a log: ask gap_freeness, which finds what it skipped"
)


class _Polled(NamedTuple):
    line: int
    member: str
    key: str
    value: str


class Logs:
    """The sends and polls of one history.

    A message is known by its value. Its number is its place among those that are known of its log,
    counted from the first one's offset: offsets may have holes, and a number that is missing
    between two others is a message that was skipped.
    """

    def __init__(self) -> None:
        self._offsets: dict[str, dict[str, int]] = defaultdict(dict)
        """Of each log the lowest offset at which somebody saw a message."""
        self._sent: dict[tuple[str, str], int] = {}
        """The line of each message that may have been sent."""
        self._polled: list[_Polled] = []
        self._consumers: Counter[int] = Counter()

    def begins_anew(self, process: int) -> None:
        """Take in that a process has another assignment: it may begin anywhere."""
        self._consumers[process] += 1

    def done(self, line: int, kind: str, process: int, value: Any, typed: bool) -> None:
        """Take in an operation; raise ValueError, and take none of it, if it has no meaning.

        `typed`: a map's keys may be numbers.
        """
        if not isinstance(value, list):
            raise ValueError("send, poll and txn have a list of [:send …] and [:poll …] as value")
        sends: list[tuple[str, str, int | None]] = []
        polls: list[tuple[str, str, int]] = []
        for part in value:
            match part:
                case ["send", key, [offset, message]]:
                    sends.append((_key(key, typed), name_of(message), _offset(offset)))
                case ["send", key, message]:
                    sends.append((_key(key, typed), name_of(message), None))
                case ["poll", dict() as found] if kind == "ok":
                    polls += _pairs(found, typed)
                case ["poll"]:
                    continue
                case ["poll", *_] if kind != "ok":
                    continue
                case _:
                    raise ValueError(f"neither [:send key value] nor [:poll {{…}}]: {part!r:.60}")
        for key, message, at in sends:
            if kind == "invoke":
                self._sent[key, message] = line
            elif kind == "fail":
                self._sent.pop((key, message), None)
            if kind == "ok" and at is not None:
                self._seen(key, message, at)
        consumer = self._consumers[process]
        member = f"{process}.{consumer}" if consumer else f"{process}"
        for key, message, offset in polls:
            self._seen(key, message, offset)
            self._polled.append(_Polled(line, f"{member}@{key}", key, message))

    def _seen(self, key: str, message: str, offset: int) -> None:
        known = self._offsets[key]
        known[message] = min(offset, known.get(message, offset))

    def rows(self) -> Iterator[Found]:
        """Yield the rows, if there was such a workload."""
        if not self._polled and not self._sent:
            return
        yield Unsaid("agreement", _NOT_ALL, idle=True)
        numbers: dict[tuple[str, str], int] = {}
        for key, known in self._offsets.items():
            ordered = sorted((offset, message) for message, offset in known.items())
            numbers |= {(key, each[1]): ordered[0][0] + at for at, each in enumerate(ordered)}
        for (key, message), line in self._sent.items():
            if (number := numbers.get((key, message))) is not None:
                columns = {"member": key, "message": number, "position": number + 1}
                yield Read(line, columns | {"event": "send"})
        positions: Counter[str] = Counter()
        for line, member, key, message in self._polled:
            positions[member] += 1
            columns = {"member": member, "sender": key, "message": numbers[key, message]}
            yield Read(line, columns | {"position": positions[member]})


def _pairs(found: dict[Any, Any], typed: bool) -> Iterator[tuple[str, str, int]]:
    for key, pairs in found.items():
        for pair in pairs if isinstance(pairs, list) else [pairs]:
            offset = _offset(pair[0]) if isinstance(pair, list) and len(pair) == 2 else None
            if offset is None:
                raise ValueError(f"a poll of {key} has {pair!r:.60}, not [offset value]")
            yield _key(key, typed), name_of(pair[1]), offset


def _offset(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if whole else None


def _key(value: Any, typed: bool) -> str:
    """Return the name of a log; JSON has numbers among a map's keys as texts."""
    return name_of(value) if typed or not isinstance(value, str) else value
