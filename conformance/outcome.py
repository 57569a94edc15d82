"""The outcome of a verb: its results beside the expected ones, and one verdict over all of them."""

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Self

HOLDS = "holds"
VIOLATED = "violated"
INCONCLUSIVE = "inconclusive"

EXIT_CODES = {HOLDS: 0, VIOLATED: 1, INCONCLUSIVE: 2}
USAGE_EXIT_CODE = 3
ERROR = "error"
"""The verdict in the JSON object of a usage or set-up error."""

_RESERVED = frozenset({"name", "protocol", "verdict", "expected", "detail", "idle"})


def plain(value: object) -> Any:
    """The value as JSON can carry it: sets sorted, infinities as null, the rest as text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(key): plain(entry) for key, entry in value.items()}
        case list() | tuple():
            return [plain(entry) for entry in value]
        case Set():
            return sorted((plain(entry) for entry in value), key=str)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    item = getattr(value, "item", None)  # a number of numpy
    return plain(item()) if callable(item) else str(value)


@dataclass(frozen=True, slots=True)
class Result:
    """One thing that was checked.

    `verdict` is "holds", "inconclusive", "violated", or the name of the violated property;
    `expected` is "holds", "violated" (whatever is violated) or the name of a property.
    """

    name: str
    protocol: str
    verdict: str
    expected: str = HOLDS
    figures: dict[str, object] = field(default_factory=dict)
    """Further columns for the JSON object, such as "distinct_states"; "property" says what is
    violated where the verdict does not."""
    detail: str = ""
    """Text for people: a counterexample, a list of what is missing."""
    idle: bool = False
    """Whether it is inconclusive only since a run does not ask it: named, and held against nobody.
    """

    def __post_init__(self) -> None:
        if self.idle and self.verdict != INCONCLUSIVE:
            raise ValueError(f"{self.name} is {self.verdict}: it is not idle")
        taken = sorted(_RESERVED & self.figures.keys())
        if taken:
            raise ValueError(f"figures of {self.name} reuse the names {taken}")

    @property
    def as_expected(self) -> bool:
        """Whether this is what the catalog foresees; an inconclusive result is only if idle."""
        if self.verdict == INCONCLUSIVE:
            return self.idle
        if self.expected == VIOLATED:
            return self.verdict != HOLDS
        if self.verdict == VIOLATED:
            return self.figures.get("property") == self.expected
        return self.verdict == self.expected

    def as_json(self) -> dict[str, Any]:
        """The result as one entry of "results"."""
        entry = {
            "name": self.name,
            "protocol": self.protocol,
            "verdict": self.verdict,
            "expected": self.expected,
            **plain(self.figures),
        }
        entry |= {"idle": True} if self.idle else {}
        return entry | {"detail": self.detail} if self.detail else entry

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Self:
        """Return the result that `as_json` wrote."""
        figures = {key: each for key, each in entry.items() if key not in _RESERVED}
        own = {key: str(each) for key, each in entry.items() if key in _RESERVED - {"idle"}}
        return cls(**own, figures=figures, idle=bool(entry.get("idle")))


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that one run of a verb found, and the command that finds it again."""

    verb: str
    results: tuple[Result, ...]
    reproduce: str
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further entries of the JSON object, after the results."""
    head: Mapping[str, Any] = field(default_factory=dict)
    """Further entries of the JSON object, before the results."""
    headline: tuple[str, ...] = ()
    """The lines that the terminal shows before the results."""

    @property
    def verdict(self) -> str:
        """ "violated" beats "inconclusive" beats "holds"; of no results nothing can be said."""
        surprises = [result for result in self.results if not result.as_expected]
        if any(result.verdict != INCONCLUSIVE for result in surprises):
            return VIOLATED
        shown = len(self.results) > self.idle
        return HOLDS if shown and not surprises else INCONCLUSIVE

    @property
    def idle(self) -> int:
        """The number of results that only name what a run does not show."""
        return sum(result.idle for result in self.results)

    @property
    def exit_code(self) -> int:
        """0 holds, 1 violated, 2 inconclusive."""
        return EXIT_CODES[self.verdict]

    def as_json(self) -> dict[str, Any]:
        """The one JSON object of a run."""
        return {
            "verb": self.verb,
            "verdict": self.verdict,
            **self.head,
            "results": [result.as_json() for result in self.results],
            "reproduce": self.reproduce,
            **self.more,
        }
