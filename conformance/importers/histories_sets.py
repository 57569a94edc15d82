"""The workload broadcast of a history: what each process has read in the end."""

from collections.abc import Iterator
from typing import Any, Final

from .edn import name_of
from .found import Found, Read, Unsaid

KNOWN: Final = "history"
"""The member that stands for all that was acknowledged, or read by anybody."""
_UNORDERED: Final = (
    "a read of the workload broadcast is a set: have each node log its deliveries in their order "
    "(--log-format deliveries)"
)
_UNORDERED_NAMES: Final = ("total_order", "sender_fifo", "gap_freeness", "uniform_total_order")


class Sets:
    """The broadcasts and the reads of one history."""

    def __init__(self) -> None:
        self._senders: dict[str, str] = {}
        self._acknowledged: dict[str, int] = {}
        """The line of each acknowledged message."""
        self._sent: dict[str, int] = {}
        """The line of each message that may have been broadcast."""
        self._reads: dict[int, tuple[bool, int, list[str]]] = {}
        """Each process's last read: whether it is final, its line, what it has."""
        self._seen: dict[str, int] = {}
        """All that anybody has read at any time, with a line."""

    def broadcast(self, line: int, kind: str, process: int, value: Any) -> None:
        """Take in a broadcast; raise ValueError if it has no value."""
        message = name_of(value)
        if kind == "invoke":
            self._senders[message] = str(process)
            self._sent[message] = line
        elif kind == "ok":
            self._acknowledged[message] = line
        elif kind == "fail":
            self._sent.pop(message, None)

    def read(self, line: int, process: int, value: Any, final: bool) -> None:
        """Take in a read; raise ValueError if it is no set."""
        if not isinstance(value, list):
            raise ValueError("a read has a list or a set of messages as its value")
        messages = [name_of(each) for each in value]
        self._seen |= dict.fromkeys(messages, line)
        self._reads[process] = (final, line, messages)

    def rows(self) -> Iterator[Found]:
        """Yield the rows, if there was such a workload."""
        if not self._reads and not self._senders:
            return
        for position, (message, line) in enumerate(self._sent.items(), start=1):
            yield Read(line, self._row(message, position) | {"event": "send"})
        finals = {who: read for who, read in self._reads.items() if read[0]}
        known = self._acknowledged | self._seen
        logs = {str(who): read for who, read in (finals or self._reads).items()}
        last = max([*known.values(), *self._sent.values()], default=1)
        for member, (final, line, messages) in (logs | {KNOWN: (True, last, [*known])}).items():
            for name in _UNORDERED_NAMES:
                yield Unsaid(name, _UNORDERED, idle=True, rows=(member, "deliver"))
            for position, message in enumerate(messages, start=1):
                yield Read(line, self._row(message, position) | {"member": member})
            if final:
                yield Read(line, {"member": member, "event": "end", "position": len(messages)})

    def _row(self, message: str, position: int) -> dict[str, Any]:
        sender = self._senders.get(message, "nobody")
        return {"member": sender, "sender": sender, "message": message, "position": position}
