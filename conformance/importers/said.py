"""The verdicts on imported logs, with what their formats cannot say and what to log instead."""

from collections.abc import Iterable, Mapping
from typing import Self

import msgspec

from raincheck.conformance.deliveries.properties import Verdicts
from raincheck.conformance.trace.findings import INCONCLUSIVE, Promise

from .found import Found, Importer, Unsaid


class Said(msgspec.Struct):
    """All that the files of one system say beside their rows."""

    unsaid: dict[str, Unsaid] = {}
    sparse: bool = False

    def note(self, found: Found) -> None:
        """Take in what an importer found."""
        if isinstance(found, Unsaid):
            known = self.unsaid.get(found.property, found)
            # Of several files the least forgiving is the one that counts, in any order of files.
            self.unsaid[found.property] = min(known, found, key=lambda each: (each.idle, each.what))
        else:
            self.sparse = True

    def joined(self, other: Self) -> Self:
        """Take in what others of the files say; return itself."""
        for unsaid in other.unsaid.values():
            self.note(unsaid)
        self.sparse |= other.sparse
        return self


def told(verdicts: Verdicts, importer: Importer, said: Said, names: Iterable[str]) -> Verdicts:
    """Return the verdicts with what the log cannot say; `names` are the properties asked for."""
    asked = frozenset(names)
    whole = not verdicts.problems and not verdicts.facts.holes
    advice = importer.advice if whole else {}
    properties = [_told(each, advice, said, each.name in asked) for each in verdicts.properties]
    return msgspec.structs.replace(verdicts, properties=properties)


def _told(promise: Promise, advice: Mapping[str, str], said: Said, asked: bool) -> Promise:
    unsaid = said.unsaid.get(promise.name)
    if unsaid is not None:
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
