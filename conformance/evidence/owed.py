"""The results that a step of an audit owes: all that its verb tries for these words.

Each verb names them in its `owed`, from the code by which it chooses what to try, and tries nothing
there. A result that is missing, doubled, of something else, or that expects something else than the
catalog shows nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from raincheck.conformance.outcome import HOLDS

from .identity import some


class Owed(NamedTuple):
    """A result that must be there, and what it must expect."""

    name: str
    protocol: str
    expected: str = HOLDS


class Owes(NamedTuple):
    """All that is known of a step's results before it runs."""

    results: tuple[Owed, ...] = ()
    others: frozenset[str] | None = frozenset()
    """The answers that further results may expect: no result if it is empty, any if it is None."""


UNKNOWN = Owes(others=None)
"""Of a verb's work that only somebody else's module knows."""


def fault_in(owes: Owes, results: Sequence[Mapping[str, Any]], left_out: Iterable[str] = ()) -> str:
    """Return what is wrong with the results of a step, in words, or "".

    `left_out` are the names of what the verb itself says that it has not tried.
    """
    keys = [(str(each["name"]), str(each["protocol"])) for each in results]
    there = dict(zip(keys, results, strict=True))
    unasked = {*left_out}
    wanted = {(each.name, each.protocol): each for each in owes.results if each.name not in unasked}
    mine = [(key, each, there[key]) for key, each in wanted.items() if key in there]
    faults = {
        "it has several results of": [name for (name, _), n in Counter(keys).items() if n > 1],
        "it has no result of": [name for name, protocol in wanted if (name, protocol) not in there],
        "the catalog expects something else of": [
            name for (name, _), each, found in mine if _expected(found) != each.expected
        ],
        "it says that nothing asks": [name for (name, _), _, found in mine if found.get("idle")],
        "it has results that nobody asked for:": [
            name
            for (name, protocol), found in there.items()
            if owes.others is not None
            and (name, protocol) not in wanted
            and _expected(found) not in owes.others
        ],
    }
    return "; ".join(f"{words} {some(names)}" for words, names in faults.items() if names)


def _expected(entry: Mapping[str, Any]) -> str:
    return str(entry.get("expected", HOLDS))
