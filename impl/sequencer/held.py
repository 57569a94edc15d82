"""What a member has received and, under safe delivery, not delivered yet."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import NamedTuple

from raincheck.impl.messages import Address, Payloads, Run


class Entry(NamedTuple):
    """A run; `place` is that of its first message in the coordinator's stream."""

    place: int
    run: Run
    payloads: Payloads


class Held:
    """Runs in the order of the stream. NAKACK's windows bound them: nothing is safe before it is
    acknowledged, and a coordinator multicasts only so much that is not.
    """

    __slots__ = ("_counts", "_entries")

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque()
        self._counts: Counter[Address] = Counter()

    def __bool__(self) -> bool:
        return bool(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def append(self, place: int, run: Run, payloads: Payloads) -> None:
        """Hold a run behind all others."""
        self._entries.append(Entry(place, run, payloads))
        self._counts[run.sender] += run.size

    def count_of(self, sender: Address) -> int:
        """Return how many messages of that sender are held."""
        return self._counts[sender] if self._counts else 0

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
            self._counts[run.sender] -= size
            if not self._counts[run.sender]:
                del self._counts[run.sender]
            found.append((run, payloads))
        return found

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._counts.clear()
