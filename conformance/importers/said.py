"""The verdicts on imported logs, with what their formats cannot say and what to log instead."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Self, TypeAlias

import msgspec

from raincheck.conformance.deliveries.properties import Verdicts
from raincheck.conformance.trace.findings import INCONCLUSIVE, VIOLATED, Promise

from .found import Found, Importer, Unsaid

Rows: TypeAlias = frozenset[tuple[str, str]]
"""Members and events."""


class Said(msgspec.Struct):
    """All that the files of one system say beside their rows."""

    unsaid: dict[str, Unsaid] = {}
    unasked: dict[str, set[tuple[str, str]]] = {}
    """By property: of which rows it is not asked, by member and event."""
    sparse: bool = False

    def note(self, found: Found) -> None:
        """Take in what an importer found."""
        if isinstance(found, Unsaid):
            if found.rows is not None:
                self.unasked.setdefault(found.property, set()).add(found.rows)
                found = found._replace(rows=None)
            known = self.unsaid.get(found.property, found)
            # Of several files the least forgiving is the one that counts, in any order of files.
            self.unsaid[found.property] = min(known, found, key=lambda each: (each.idle, each.what))
        else:
            self.sparse = True

    def joined(self, other: Self) -> Self:
        """Take in what others of the files say; return itself."""
        for unsaid in other.unsaid.values():
            self.note(unsaid)
        for name, rows in other.unasked.items():
            self.unasked.setdefault(name, set()).update(rows)
        self.sparse |= other.sparse
        return self

    def apart(self) -> Iterator[tuple[Rows, set[str]]]:
        """Yield the rows that are not asked of some properties, and these."""
        found: dict[Rows, set[str]] = defaultdict(set)
        for name, rows in self.unasked.items():
            found[frozenset(rows)].add(name)
        yield from found.items()


def told(verdicts: Verdicts, importer: Importer, said: Said, names: Iterable[str]) -> Verdicts:
    """Return the verdicts with what the log cannot say; `names` are the properties asked for."""
    asked = frozenset(names)
    whole = not verdicts.problems and not verdicts.facts.holes
    advice = importer.advice if whole else {}
    properties = [_told(each, advice, said, each.name in asked) for each in verdicts.properties]
    return msgspec.structs.replace(verdicts, properties=properties)


def _told(promise: Promise, advice: Mapping[str, str], said: Said, asked: bool) -> Promise:
    unsaid = said.unsaid.get(promise.name)
    if unsaid is not None and promise.verdict != VIOLATED:
        return msgspec.structs.replace(
            promise,
            verdict=INCONCLUSIVE,
            reason=unsaid.what,
            idle=unsaid.idle and not asked,
        )
    more = advice.get(promise.name)
    if promise.verdict != INCONCLUSIVE or not more:
        return promise
    return msgspec.structs.replace(promise, reason=f"{promise.reason}: {more}")
