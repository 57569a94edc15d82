"""What a member has received and, under safe delivery, not delivered yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from raincheck.impl.messages import Address, Payloads, Run


class Entry(NamedTuple):
    """A run; `place` is that of its first message in the coordinator's stream."""

    place: int
    run: Run
    payloads: Payloads


class Held:
    """Runs in the order of the stream; their number is `len`, `messages` that of the messages in
    them, `size` that of their bytes.
    """

    __slots__ = ("_entries", "_of", "messages", "size")

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque()
        self._of: dict[Address, tuple[int, int]] = {}  # of each sender, messages and bytes
        self.messages = 0
        self.size = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def append(self, place: int, run: Run, payloads: Payloads) -> None:
        """Hold a run behind all others."""
        self._entries.append(Entry(place, run, payloads))
        self._count(run.sender, run.size, payloads.size)

    def count_of(self, sender: Address) -> int:
        """Return how many messages of that sender are held."""
        return self._of[sender][0] if sender in self._of else 0

    def bytes_of(self, sender: Address) -> int:
        """Return how many bytes of that sender are held."""
        return self._of[sender][1] if sender in self._of else 0

    def covers(self, place: int) -> bool:
        """Return whether a message is held whose place is at most that one."""
        return bool(self._entries) and self._entries[0].place <= place

    def taken(self, place: int | None) -> list[tuple[Run, Payloads]]:
        """Take out, and return, the messages up to that place; all of them if it is None."""
        found: list[tuple[Run, Payloads]] = []
        entries = self._entries
        while entries and (place is None or entries[0].place <= place):
            at, run, payloads = entries.popleft()
            size = run.size if place is None else min(run.size, place - at + 1)
            if size < run.size:  # the rest stays
                rest = Run(run.sender, run.first + size, run.size - size)
                entries.appendleft(Entry(at + size, rest, payloads.part(size, rest.size)))
                run, payloads = Run(run.sender, run.first, size), payloads.part(0, size)
            self._count(run.sender, -size, -payloads.size)
            found.append((run, payloads))
        return found

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._of.clear()
        self.messages = 0
        self.size = 0

    def _count(self, sender: Address, messages: int, size: int) -> None:
        known = self._of.get(sender, (0, 0))
        self._of[sender] = known[0] + messages, known[1] + size
        if not self._of[sender][0]:
            del self._of[sender]
        self.messages += messages
        self.size += size
